# profile_column.py - the part of file_profile.py that proposes how a column of text becomes numbers, dates
# or durations. Each proposal is tried on the column's different values before it is made.

import re

MISSING = {'', '#N/A', '#N/A N/A', '#NA', '-1.#IND', '-1.#QNAN', '-NaN', '-nan', '1.#IND', '1.#QNAN', '<NA>',
           'N/A', 'NA', 'NULL', 'NaN', 'n/a', 'nan', 'null'}        # what pandas takes for missing by default
MARKS = {'-', '--', '?', '.', '..', 'missing', 'unknown', 'n.a.', 'k.a.', 'na', 'none', 'nil', '#value!',
         '#ref!', '#div/0!', 'x', '*', '***', '\\n'}
PLAIN = re.compile(r'[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf', re.A | re.I)
ENGLISH = re.compile(r"\d+(\.\d+)?|\d{1,3}([,'’\u066c\s]\d{3})+([.\u066b]\d+)?|"
                     r"\d{1,2}(,\d\d)+,\d{3}(\.\d+)?|\d+\u066b\d+")
GERMAN = re.compile(r"\d+(,\d+)?|\d{1,3}([.'’\s]\d{3})+(,\d+)?")
AMOUNT = re.compile(r'[-+(]?\s*([$€£¥]\s*[\d.,]+|[\d.,]+\s*([$€£¥%]|EUR|USD|GBP|CHF))\s*\)?')
CURRENCY = re.compile(r'[$€£¥%₹]|EUR|USD|GBP|CHF|JPY|CNY|INR|BRL|CAD|AUD|SEK|NOK|DKK|PLN|CZK|HUF|TRY|ZAR')
CLOCK = re.compile(r'\d{1,3}:[0-5]\d:[0-5]\d(\.\d+)?')
SPAN = re.compile(r'(\d+(\.\d+)?\s*(days?|d|hours?|hr|h|minutes?|min|m|seconds?|sec|s)\s*)+')
MONTHS = ('jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec')
DAYS = (                        # how a date is written, and its formats in order of trust
    (r'\d{4}-\d\d?-\d\d?', ('%Y-%m-%d',)), (r'\d{4}/\d\d?/\d\d?', ('%Y/%m/%d',)),
    (r'\d{4}\.\d\d?\.\d\d?', ('%Y.%m.%d',)), (r'\d\d?\.\d\d?\.\d{4}', ('%d.%m.%Y',)),
    (r'\d\d?\.\d\d?\.\d\d', ('%d.%m.%y',)), (r'\d\d?/\d\d?/\d{4}', ('%m/%d/%Y', '%d/%m/%Y')),
    (r'\d\d?/\d\d?/\d\d', ('%m/%d/%y', '%d/%m/%y', '%y/%m/%d')),
    (r'\d\d?-\d\d?-\d{4}', ('%d-%m-%Y', '%m-%d-%Y')),
    (r'\d\d-\d\d-\d\d', ('%y-%m-%d', '%d-%m-%y', '%m-%d-%y')),
    (r'\d\d? [A-Z][a-z]+ \d{4}', ('%d %b %Y', '%d %B %Y')), (r'\d\d?-[A-Z][a-z]{2}-\d{4}', ('%d-%b-%Y',)),
    (r'\d\d?/[A-Z][a-z]{2}/\d{4}', ('%d/%b/%Y',)),
    (r'\d\d?-[A-Z][a-z]{2}-\d\d', ('%d-%b-%y',)), (r'\d\d?[A-Z]{3}\d{4}', ('%d%b%Y',)),
    (r'[A-Z][a-z]+ \d\d?, \d{4}', ('%b %d, %Y', '%B %d, %Y')),
    (r'[A-Z][a-z]+ \d\d? \d{4}', ('%b %d %Y', '%B %d %Y')),
    (r'[A-Z][a-z]{2}-\d\d', ('%b-%y',)), (r'[A-Z][a-z]{2}[- ]\d{4}', ('%b-%Y', '%b %Y')),
    (r'\d{4}-\d\d', ('%Y-%m',)))
DAYS = tuple((re.compile(day), forms) for day, forms in DAYS)
TIME = re.compile(r'(?P<gap>[ T]|, ?|:)(?P<clock>\d\d?:\d\d(?P<s>:\d\d(?P<f>[.,]\d+)?)?)(?P<p> ?[AaPp][Mm])?'
                  r'(?P<zone> ?(UTC|GMT|Z|[+-]\d\d:?\d\d))?')
CTIME = re.compile(r'[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(\.\d+)? \d{4}')
STAMP = re.compile(r'\d{8}T\d{6}Z?')
ISO = re.compile(r'\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?( ?(Z|UTC|[+-]\d\d:?\d\d))?)?')


class Plan:
    """How a column is to be read. kind: what it then is; form: how its numbers or dates are written."""

    def __init__(self, kind, form='', marks=(), remark='', code='', text=False):
        self.kind, self.form, self.marks, self.remark = kind, form, list(marks), remark
        self.code = code                # an expression over {} for the column; '': the reader does it
        self.text = text                # the reader must leave it as text


def column_plan(name, counts, commas=''):
    """counts: {cell: how often}. commas: the file's decimal mark, as far as it is known."""
    absent = [v for v in counts if v.strip() in MISSING]
    blank = [v for v in absent if v and not v.strip()]
    cells = {v: n for v, n in counts.items() if v.strip() not in MISSING}
    marks = [v for v in cells if v.strip().lower() in MARKS]
    rest = [v for v in cells if v not in marks] or list(cells)
    if not cells:
        return Plan('empty')
    if len(cells) == len(marks):
        marks = [v for v in marks if v == '\\N']
        return Plan('empty' if len(marks) == len(cells) else 'text', marks=marks)
    if numbering([v.strip() for v in rest]) and len(rest) == sum(counts[v] for v in rest):
        return Plan('code', text=True)
    eight = 'da' in str(name).lower() and all(re.fullmatch(r'\d{8}', v.strip()) for v in rest)
    gaps = bool(absent or marks)
    found = (eight and dates(name, rest, cells) or numbers(rest, gaps) or dates(name, rest, cells)
             or other_numbers(rest, commas) or durations(rest) or mostly_numbers(rest, cells))
    if not found:
        return codes_or_text(counts, cells, rest)
    found.marks = [] if found.kind == 'text' and not found.text else marks + blank
    return found


def numbering(cells):
    """Are these 2009.9, 2009.10, 2009.100, of which a float would lose the zeros?"""
    parts = [v.partition('.') for v in cells]
    if len(parts) <= 20 or len({a for a, *_ in parts}) >= 10 or not all(
            a.isdigit() and b.isdigit() for a, _, b in parts):
        return False
    after = [b for *_, b in parts]
    return len(set(map(len, after))) > 1 and any(len(b) > 1 and b[-1] == '0' for b in after)


def mostly_numbers(values, counts):
    """Of a long column, of which at most 2 % are none: these are lost, and counted."""
    total = sum(counts.values())
    odd = [v for v in values if not PLAIN.fullmatch(v.strip())] if total > 99 else values
    if sum(counts[v] for v in odd) * 50 > total or len(odd) > 20:
        return None
    good = numbers([v for v in values if v not in set(odd)], True)
    return Plan('float', code="pd.to_numeric({}, errors='coerce')") if good and good.kind == 'float' else None


def codes_or_text(counts, cells, rest):
    lost = [v for v in counts if v in MISSING and v]
    found = Plan('text', marks=[v for v in cells if v.strip() == '\\N'])
    # "NA" among words of two capitals is Namibia, or sodium
    if lost == ['NA'] and all(re.fullmatch('[A-Z]{2}', v.strip()) for v in rest):
        found.kind = 'codes'
    return found


def numbers(values, gaps):
    """Of cells that any reader takes for numbers."""
    if not all(PLAIN.fullmatch(v.strip()) for v in values):
        return None
    cells = [v.strip() for v in values]
    whole = all(v.lstrip('+-').isdigit() for v in cells)
    longest = max(map(len, cells))
    zeros = any(re.match(r'0\d', v) for v in cells) and any(v.strip('0') for v in cells)
    if zeros and whole or whole and all(v[0] == '+' and len(v) > 7 for v in cells):
        return Plan('code', text=True)
    too_long = whole and longest > 18 and not all(-2 ** 63 <= int(v) < 2 ** 64 for v in cells)
    if whole and longest > 14 and (gaps or too_long):
        return Plan('code', text=True)          # a float would round it
    return Plan('int' if whole and not gaps else 'float')


def parsed(values, form, **more):
    import pandas as pd
    try:
        return pd.to_datetime(pd.Series(values, dtype=object), format=form, errors='coerce', **more)
    except (ValueError, TypeError, OverflowError):
        return pd.Series([pd.NaT] * len(values))


def date_forms(value):
    """[(format, does it have a zone?)] that one date may be written in."""
    if CTIME.fullmatch(value):
        return ['%a %b %d %H:%M:%S' + '.%f' * ('.' in value) + ' %Y']
    weekday = re.match(r'(Mon|Tue|Wed|Thu|Fri|Sat|Sun)(\w*day)?(,? )', value)
    if weekday:
        day = ('%A' if weekday[2] else '%a') + weekday[3]
        return [day + form for form in date_forms(value[weekday.end():])]
    if STAMP.fullmatch(value):
        return ['%Y%m%dT%H%M%S' + '%z' * value.endswith('Z')]
    for day, forms in DAYS:
        m = day.match(value)
        rest = value[m.end():] if m else ''
        t = TIME.fullmatch(rest) if rest else None
        if m and (t or not rest):
            return [form + (time_form(t) if t else '') for form in forms]
    return []


def time_form(t):
    clock = ('%I' if t['p'] else '%H') + ':%M' + (':%S' if t['s'] else '')
    clock += t['f'][0] + '%f' if t['f'] else ''
    zone = (t['zone'] or '').strip()
    half = ' ' * t['p'].startswith(' ') + '%p' if t['p'] else ''
    zone = ' ' * t['zone'].startswith(' ') + (zone if zone in ('UTC', 'GMT') else '%z') if zone else ''
    return t['gap'] + clock + half + zone


def dates(name, values, counts):
    """The format that explains most of the dates. A few that none explains are lost, and counted."""
    cells = [v.strip() for v in values]
    if all(re.fullmatch(r'\d{8}', v) for v in cells) and 'da' in str(name).lower():
        tried = ['%Y%m%d']
    else:
        seen = [v for v in cells[:50] if v[:1].isalnum() and re.search(r'\d', v)]
        if 2 * len(seen) < len(cells[:50]):
            return None
        if all(re.fullmatch(r'\d{4}-\d\d', v) and (int(v[:4]) + 1) % 100 == int(v[5:]) for v in seen):
            return None                 # 2007-08, 2008-09: years that begin in summer
        shapes = [date_forms(v) for v in seen]
        if 2 * sum(map(bool, shapes)) < len(shapes):
            return None
        tried = list(dict.fromkeys(form for forms in shapes for form in forms))
    edge = any(v != v.strip() for v in values)
    iso = sum(bool(ISO.fullmatch(v)) for v in cells) if tried != ['%Y%m%d'] else 0
    if iso == len(cells):
        return iso_dates(values, cells, edge, counts)
    best = []
    for form in tried[:8]:
        good = parsed(cells, form).notna()
        best.append((int(good.sum()), -tried.index(form), form, good))
    best.sort(key=lambda b: b[:2], reverse=True)
    fit, _, form, good = best[0]
    lost = [v for v, well in zip(values, good) if not well]
    if not few_lost(lost, counts, sum(counts[v] for v in values)):
        shaped = sum(bool(date_forms(v)) for v in cells)
        if shaped * 10 < 9 * len(cells) or tried == ['%Y%m%d']:
            return None
        same = len({re.sub(r'\d+', '9', v) for v in cells}) == 1
        return Plan('text', text=True, remark='dates, but some are none or outside 1678 to 2261' if same else
                    'dates in several formats')
    also = [b for b in best[1:] if b[0] == fit and sorted(b[2]) == sorted(form)]
    remark = 'day and month may be swapped' if also and '%b' not in form.lower() else ''
    how = ", errors='coerce'" * bool(lost) + (', utc=True' if '%z' in form else '')
    if also and len(cells) > 5 and not increasing(cells, form):
        ordered = [b[2] for b in also if increasing(cells, b[2])]
        form, remark = (ordered[0], '') if ordered else (also[0][2] if form[:2] == '%y' else form, remark)
    return Plan('date', form, remark=remark, code="pd.to_datetime({}%s, format=%r%s)" % (
        '.str.strip()' * edge, form, how), text=form == '%Y%m%d')


def increasing(cells, form):
    """Do the dates of a column follow each other, in the order that their cells first occur in?"""
    return parsed(cells, form).is_monotonic_increasing


def few_lost(lost, counts, total):
    """May these be lost, which is then told? At most 2 %, or one."""
    rows = sum(counts[v] for v in lost)
    return rows * 50 <= total or rows == 1 and total >= 10


def iso_dates(values, cells, edge, counts):
    import pandas as pd
    zones = {m and m[0] for m in (re.search(r'T?\d\d:\d\d\S*?( ?)(Z|UTC|[+-]\d\d:?\d\d)$', v) for v in cells)}
    ends = {re.search(r'(Z| ?UTC|[+-]\d\d:?\d\d)?$', v[16:])[0] for v in cells if len(v) > 10}
    shapes = {re.sub(r'\d+', '9', re.sub(r'(Z| ?UTC|[+-]\d\d:?\d\d)$', '', v[10:])) for v in cells}
    how = ', utc=True' if len(ends) > 1 or zones - {None} and len(zones) > 1 and len(ends) > 1 else ''
    if len(shapes) > 1 and int(pd.__version__.split('.')[0]) > 1:
        how += ", format='ISO8601'"
    given = {'utc': True} if 'utc' in how else {}
    good = parsed(cells, 'ISO8601' if 'ISO' in how else None, **given).notna()
    lost = [v for v, well in zip(values, good) if not well]
    if not few_lost(lost, counts, sum(counts[v] for v in values)):
        return Plan('text', text=True, remark='dates, but some are none or outside 1678 to 2261')
    how += ", errors='coerce'" * bool(lost)
    if how or edge:
        return Plan('date', 'iso', code='pd.to_datetime({}%s%s)' % ('.str.strip()' * edge, how), text=True)
    return Plan('date', 'iso')


def number_parts(values):
    """(the sign or unit that each has, the digits of each) of values such as "-1,234.50 EUR"; None."""
    signs, cores = set(), []
    for v in values:
        if len(v) > 40:
            return None
        v = v.strip()
        core = re.sub(r"[^\d.,'’٫٬\s]", '', v).strip()
        signs.add(re.sub(r"[\d.,'’٫٬\s+()−-]", '', v))
        if len(signs) > 1 or not core or not re.fullmatch(
                r"[(+−-]*\s*[^\d\s.,()+−-]{0,3}\s*[+−-]?[\d.,'’٫٬\s]+"
                r"[^\d\s.,()+−-]{0,3}\s*[)−-]?", v):
            return None
        cores.append(core)
    return signs.pop(), cores


def other_numbers(values, commas):
    """Numbers with marks between thousands, a decimal comma, brackets, signs, or other digits."""
    parts = number_parts(values)
    if not parts:
        return None
    sign, cores = parts
    if len(sign) > 3 or sign and not CURRENCY.fullmatch(sign):
        return None
    forms = [form for form, fits in (('.', ENGLISH), (',', GERMAN)) if all(fits.fullmatch(c) for c in cores)]
    marked = any(re.search('[.,]', c) for c in cores)
    if not forms or any(re.match(r'0\d', c) and len(c) > 2 for c in cores):
        return None
    if len(forms) > 1 and marked and commas not in forms:
        return None if sign else Plan('float', 'either')
    form = commas if commas in forms else forms[0]
    bare = not sign and not any(re.search(r"['’٫٬\s()−]|-\s*$|[^\x00-\x7f]", v.strip()) for v in values)
    return Plan('float', form, code='' if bare else number_code(values, sign, form),
                remark='in %s' % sign if sign else '')


def number_code(values, sign, form):
    def any_has(pattern):
        return any(re.search(pattern, v.strip()) for v in values)

    code = '{}'
    if any_has(r'^\('):
        code += r".str.replace(r'^\s*\((.*)\)\s*$', r'-\1', regex=True)"
    if any_has(r'[-−]$'):
        code += r".str.replace(r'^(.*)[-−]\s*$', r'-\1', regex=True)"
    off = [c for c in (',' if form == '.' else '.', "'", '’', '٬') if any_has(re.escape(c))]
    off = '[%s\\s]' % ''.join(off) if off else r'\s'
    code += ".str.replace(r%s, '', regex=True)" % quoted(('%s|' % re.escape(sign) if sign else '') + off)
    if form == ',':
        code += ".str.replace(',', '.', regex=False)"
    code += ".str.replace('٫', '.', regex=False)" * any_has('٫')
    code += ".str.replace('−', '-', regex=False)" * any_has('−')
    return code + ('.astype(float)' if re.sub(r'\D', '', ''.join(values)).isascii()
                   else ".map(float, na_action='ignore')")


def quoted(pattern):
    return "'%s'" % pattern if "'" not in pattern else '"%s"' % pattern


def durations(values):
    """Of 1:02:30 or 2m 35s; not metres ("5 m"), nor times of day, which are written 09:05:00."""
    cells = [v.strip() for v in values]
    clocks = [v.partition(':')[0] for v in cells if CLOCK.fullmatch(v)]
    if clocks:
        good = len(clocks) == len(cells) and any(len(h) == 1 or int(h) > 23 for h in clocks)
    else:
        good = all(v[:1].isdigit() and SPAN.fullmatch(v) for v in cells)
        good = good and re.search(r'[^m\d.\s]', ''.join(cells))
    return Plan('duration', code='pd.to_timedelta({})') if good else None
