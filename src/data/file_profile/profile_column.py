# profile_column.py - the part of file_profile.py that proposes how a column of text becomes numbers, dates
# or durations. Each proposal is tried on the column's different values before it is made.

import re

MISSING = {'', '#N/A', '#N/A N/A', '#NA', '-1.#IND', '-1.#QNAN', '-NaN', '-nan', '1.#IND', '1.#QNAN', '<NA>',
           'N/A', 'NA', 'NULL', 'NaN', 'n/a', 'nan', 'null'}        # what pandas takes for missing by default
MARKS = {'-', '--', '?', '.', '..', 'missing', 'unknown', 'n.a.', 'k.a.', 'na', 'nan', 'none', 'nil',
         'null', '(null)', '#value!', '#ref!', '#div/0!', 'x', '*', '**', '***', ':', '---', '...', 'nd',
         'n.d.', '\\n'}
PLAIN = re.compile(r'[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf', re.A | re.I)
NUMERAL = re.compile(r'[+-]?[\d.,]+([eE][+-]?\d+)?', re.A)     # what a reader may make a number of
ENGLISH = re.compile(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|\d{1,3}([,'’\u066c\s]\d{3})+([.\u066b]\d+)?|"
                     r"\d{1,2}(,\d\d)+,\d{3}(\.\d+)?|\d+\u066b\d+")
GERMAN = re.compile(r"\d+(,\d+)?([eE][+-]?\d+)?|\d{1,3}([.'’\s]\d{3})+(,\d+)?")
CURRENCY = r'R\$|[$€£¥%₹]|kr|Kč|zł|Ft|TL|EUR|USD|GBP|CHF|JPY|CNY|INR|BRL|CAD|AUD|SEK|NOK|DKK|' \
           'PLN|CZK|HUF|TRY|ZAR'
AMOUNT = re.compile(r"[(+−-]*\s*(?P<before>%s)?\s*[+−-]?(?P<core>[\d.,'’٫٬\s]+([eE][+-]?\d+)?)"
                    r'(?P<behind>%s)?\s*[)−-]?' % (CURRENCY, CURRENCY))
CODE = re.compile(r'[A-Za-z]+\d+|\d{1,3}(\.\d{1,3}){3}')       # TL14, or an address of the internet
CLOCK = re.compile(r'\d{1,3}:[0-5]\d:[0-5]\d(\.\d+)?')
SPAN = re.compile(r'(\d+(\.\d+)?\s*(days?|d|hours?|hr|h|minutes?|min|m|seconds?|sec|s)\s*)+')
MONTHS = ('jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec')
DATE_ORDERS = {                 # of the parts of a date by what stands between them, in order of trust
    '-': 'Ymd dmY mdY dbY ymd dmy mdy dby by bY Ym', '/': 'Ymd mdY dmY dbY mdy dmy ymd', '.': 'Ymd dmY dmy',
    ' ': 'dbY dBY bdY BdY bY', None: 'dbY'}
DATE_PARTS = {'Y': r'\d{4}', 'y': r'\d\d', 'm': r'\d\d?', 'd': r'\d\d?', 'b': '(?i:%s)' % '|'.join(MONTHS)}
DATE_PARTS['B'] = DATE_PARTS['b'] + '[a-z]*'
DATE_WORD = r'(?:\d+|[A-Za-z]+)'
DATE_DAY = r'(?P<day>\d\d?[A-Za-z]{3}\d{4}|%s(?P<gap>[-/. ])%s((?P=gap)%s|, %s)?)' % (4 * (DATE_WORD,))
DATE = re.compile(r'(?P<weekday>(Mon|Tue|Wed|Thu|Fri|Sat|Sun)(?P<long>\w*day)?(?P<after>,? ))?' + DATE_DAY +
                  r'((?P<to>[ T]|, ?|:)(?P<clock>\d\d?:\d\d(?P<s>:\d\d(?P<f>[.,]\d+)?)?)'
                  r'(?P<half> ?[AaPp][Mm])?(?P<zone> ?(UTC|GMT|Z|[+-]\d\d:?\d\d))?)?', re.A)
CTIME = re.compile(r'[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(\.\d+)? \d{4}')
STAMP = re.compile(r'\d{8}T\d{6}Z?')
ISO = re.compile(r'\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?( ?(Z|UTC|[+-]\d\d:?\d\d))?)?')
ISO_WAYS = ({}, {'utc': True}, {'format': 'ISO8601'}, {'format': 'ISO8601', 'utc': True})


class Plan:
    """How a column is to be read. kind: what it then is; code: an expression over {} for the column, or '' if
    the reader makes it what it is; remark: for its description; lost: what the code loses; marks: of what is
    missing, beside those of pandas."""

    def __init__(self, kind, code='', remark=''):
        self.kind, self.code, self.remark, self.lost, self.marks = kind, code, remark, '', []


def column_plan(name, counts, decimal=''):
    """counts: {cell: how often}. decimal: the file's decimal mark, as far as it is known."""
    cells = {v: n for v, n in counts.items() if v.strip() not in MISSING}
    marks = [v for v in cells if v.strip().lower() in MARKS]
    rest = [v for v in cells if v not in marks]
    gaps = len(rest) < len(counts)
    eight = 'da' in str(name).lower() and all(re.fullmatch(r'\d{8}', v.strip()) for v in rest)
    found = rest and (numbering(rest, counts) or eight and dates(rest, cells, ['%Y%m%d'])
                      or numbers(rest, gaps) or dates(rest, cells) or amounts(rest, decimal)
                      or durations(rest) or mostly_numbers(rest, cells))
    if found:
        found.marks = marks + [v for v in counts if v and not v.strip()]
        return found
    null = [v for v in cells if v.strip() == '\\N']
    found = Plan('text' if len(cells) > len(null) else 'empty')
    found.marks = null
    # "NA" among words of two capitals is Namibia, or sodium
    if [v for v in counts if v in MISSING and v] == ['NA'] and rest and all(
            re.fullmatch('[A-Z]{2}', v.strip()) for v in rest):
        found.kind = 'codes'
    return found


def numbering(values, counts):
    """Are these 2009.9, 2009.10, 2009.100, of which a float would lose the zeros?"""
    parts = [v.strip().partition('.') for v in values]
    if len(parts) <= 20 or len({a for a, *_ in parts}) >= 10 or any(counts[v] > 1 for v in values) or not all(
            a.isdigit() and b.isdigit() for a, _, b in parts):
        return None
    after = [b for *_, b in parts]
    return len(set(map(len, after))) > 1 and any(len(b) > 1 and b[-1] == '0' for b in after) and Plan('code')


def tolerant(code):
    """The same conversion, in which what cannot be read becomes missing."""
    return code if 'errors=' in code else code[:-1] + ", errors='coerce')"


def lossy(plan, what, lost, counts):
    """The same plan, with which a few values become missing: at most 2 %, or one. None, if they are more."""
    rows, total = sum(counts[v] for v in lost), sum(counts.values())
    if rows * 50 > total and (rows > 1 or total < 10):
        return None
    if lost:
        plan.code = tolerant(plan.code)
        plan.lost = '%d of %d could not be read as %s and are missing then, such as %s' % (
            rows, total, what, clean(repr(lost[0]), 40))
    return plan


def mostly_numbers(values, counts):
    """Of a long column, of which a few are none. What is odd more than once may be a value, such as <5; and
    whole numbers may be codes, as A02 among 12 and 13 is."""
    good = [v for v in values if PLAIN.fullmatch(v.strip()) or amount(v)]
    kept = set(good)
    odd = [v for v in values if v not in kept]
    whole = all(v.strip().isdigit() for v in good)
    if whole or sum(counts.values()) < 100 or any(counts[v] > 1 for v in odd):
        return None
    found = numbers(good, True) or amounts(good, '')
    made = Plan('float', found.code or 'pd.to_numeric({})') if found and found.kind == 'float' else None
    return made and lossy(made, 'numbers', odd, counts)


def numbers(values, gaps):
    """Of cells that any reader takes for numbers."""
    cells = [v.strip() for v in values]
    if not all(map(PLAIN.fullmatch, cells)):
        return None
    whole = all(v.lstrip('+-').isdigit() for v in cells)
    longest = max(map(len, cells))
    zeros = any(re.match(r'0\d', v) for v in cells) and any(v.strip('0') for v in cells)
    if whole and (zeros or all(v[0] == '+' and len(v) > 7 for v in cells)):
        return Plan('code')
    too_long = whole and longest > 18 and not all(-2 ** 63 <= int(v) < 2 ** 64 for v in cells)
    if whole and longest > 14 and (gaps or too_long):
        return Plan('code')             # a float would round it
    return Plan('int' if whole and not gaps else 'float')


def parsed(values, format=None, **how):
    """The times of these texts; NaT for what is none in this format."""
    import pandas as pd
    try:
        made = pd.to_datetime(pd.Series(values, dtype=object), format=format, errors='coerce', **how)
        if made.dtype != object:        # as it is made of several zones
            return made
    except (ValueError, TypeError, OverflowError):
        pass
    return pd.Series([pd.NaT] * len(values))


def date_forms(value):
    """The formats that one date may be written in, in order of trust."""
    if CTIME.fullmatch(value):
        return ['%a %b %d %H:%M:%S' + '.%f' * ('.' in value) + ' %Y']
    if STAMP.fullmatch(value):
        return ['%Y%m%dT%H%M%S' + '%z' * value.endswith('Z')]
    m = DATE.fullmatch(value) if len(value) < 60 else None
    words, out = re.findall(DATE_WORD, m['day']) if m else [], []
    for order in DATE_ORDERS[m['gap']].split() if m else ():
        if len(order) == len(words) and all(re.fullmatch(DATE_PARTS[k], w) for k, w in zip(order, words)):
            letters = iter(order)
            day = re.sub(DATE_WORD, lambda _: '%' + next(letters), m['day'])
            out.append(weekday_form(m) + day + time_form(m))
    return out


def weekday_form(m):
    return ('%A' if m['long'] else '%a') + m['after'] if m['weekday'] else ''


def time_form(m):
    if not m['clock']:
        return ''
    clock = ('%I' if m['half'] else '%H') + ':%M' + ':%S' * bool(m['s'])
    fraction = m['f'][0] + '%f' if m['f'] else ''
    half = re.sub('..$', '%p', m['half'] or '')
    zone = re.sub('Z|[+-].*', '%z', m['zone'] or '')
    return m['to'] + clock + fraction + half + zone


def dates(values, counts, forms=()):
    """The way of reading that explains most of them. A few that none explains are lost, and counted."""
    cells = [v.strip() for v in values]
    if not forms:
        found = [date_forms(v) for v in cells[:50]]
        if 2 * sum(map(bool, found)) < len(found) or all(re.fullmatch(r'\d{4}-\d\d', v) and (
                int(v[:4]) + 1) % 100 == int(v[5:]) for v in cells[:50]):
            return None                 # the latter is 2007-08, 2008-09: years that begin in summer
        forms = list(dict.fromkeys(form for some in found for form in some))[:8]
    iso = all(map(ISO.fullmatch, cells))
    tried = []
    for way in ISO_WAYS if iso else [dict(format=f, **{'utc': True} if '%z' in f else {}) for f in forms]:
        tried.append((parsed(cells, **way), way))
        if iso and tried[-1][0].notna().all():
            break
    made, way = max(tried, key=lambda t: t[0].count())
    same = [(m, w) for m, w in tried if not iso and m.count() == made.count()
            and sorted(w['format']) == sorted(way['format'])]
    remark = ''
    if len(same) > 1:                   # as 03/04 and 04/03; then the order of the rows may tell
        in_order = [t for t in same if len(cells) > 5 and t[0].is_monotonic_increasing]
        made, way = (in_order or same)[0]
        if '%y' in way['format'] and len(cells) > 5:    # or the shortest time: the year changes least
            made, way = min(same, key=lambda t: t[0].max() - t[0].min())
        remark = 'day and month may be swapped' * (len(in_order) != 1)
    lost = [v for v, gone in zip(values, made.isna()) if gone]
    code = 'pd.to_datetime({}%s%s)' % ('.str.strip()' * any(v != v.strip() for v in values),
                                       ''.join(', %s=%r' % item for item in way.items()))
    found = lossy(Plan('date', code, remark), 'dates', lost, counts)
    if found or '%Y%m%d' in forms or sum(bool(date_forms(v)) for v in cells) * 10 < 9 * len(cells):
        return found
    alike = iso or len({re.sub(r'\d+', '9', v) for v in cells}) == 1
    return Plan('text', remark='dates, but some are none or outside 1678 to 2261' if alike else
                'dates in several formats')


def decimal_marks(cells):
    """The decimal marks that these numbers may have: both where they have neither."""
    zeros = any(re.match(r'0\d', c) and len(c) > 2 for c in cells)
    return [] if zeros else [mark for mark, form in (('.', ENGLISH), (',', GERMAN))
                             if all(map(form.fullmatch, cells))]


def decimal_of(columns, sep):
    """The decimal mark of a file, of which these are the cells of its columns; '' if none of them tells."""
    found = set()
    for cells in columns:
        held = [c.strip() for c in cells if c.strip() not in MISSING and c.strip().lower() not in MARKS]
        if any(',' in c or '.' in c for c in held) and all(map(NUMERAL.fullmatch, held)):
            found.add(''.join(decimal_marks([c.lstrip('+-') for c in held])))
    if '.' not in found and (',' in found or '.,' in found and sep == ';'):
        return ','
    return '.' if found & {'.', '.,'} else ''


def amount(text):
    """The parts of what may be a number, with the sign of its unit or without."""
    return AMOUNT.fullmatch(text.strip()) if len(text) <= 40 else None


def amounts(values, decimal):
    """Numbers with marks between thousands, a decimal comma, brackets, signs, or other digits."""
    found = list(map(amount, values))
    if not all(found) or all(CODE.fullmatch(v.strip()) for v in values):
        return None
    signs = {(m['before'] or '') + (m['behind'] or '') for m in found}
    cores = [m['core'].strip() for m in found]
    marks, sign = decimal_marks(cores), signs.pop()
    unsure = len(marks) > 1 and any(re.search('[.,]', c) for c in cores)
    if signs or not marks or unsure and not decimal or sign and not re.fullmatch(CURRENCY, sign):
        return None
    mark = decimal if decimal in marks else marks[0]
    bare = mark == decimal and all(NUMERAL.fullmatch(v.strip()) for v in values)
    return Plan('float', '' if bare else number_code(values, sign, mark), 'in %s' % sign if sign else '')


def number_code(values, sign, mark):
    """The expression that makes numbers of texts like these."""
    text = ''.join(values)
    off = ''.join(c for c in ('.' if mark == ',' else ',', "'", '’', '٬') if c in text)
    off += ''.join(sorted({c for c in text if c > '\x7f' and c.isspace()}))     # not in pyarrow's \s
    code = '{}'
    for old, new in ((r'^\s*\((.*)\)\s*$', r'-\1'), (r'^(.*)[-−]\s*$', r'-\1'),
                     (re.escape(sign) + '|' * bool(sign) + (r'[%s\s]' % off if off else r'\s'), ''),
                     (',' if mark == ',' else '٫', '.'), ('−', '-')):
        if any(re.search(old, v) for v in values):
            code += '.str.replace(%s, %r, regex=True)' % (raw_text(old), new)
    if not re.sub(r'\D', '', text).isascii():
        code += ".map(float, na_action='ignore')"
    return 'pd.to_numeric(%s)' % code


def durations(values):
    """Of 1:02:30 or 2m 35s; not metres ("5 m"), decades ("50s"), or times of day, such as 09:05:00."""
    cells = [v.strip() for v in values]
    clocks = [v.partition(':')[0] for v in cells if CLOCK.fullmatch(v)]
    if clocks:
        good = len(clocks) == len(cells) and any(len(h) == 1 or int(h) > 23 for h in clocks)
    else:
        units = set(re.findall('[a-z]+', ' '.join(cells)))
        good = len(''.join(units)) > 1 and all(v[:1].isdigit() and SPAN.fullmatch(v) for v in cells)
    return Plan('duration', 'pd.to_timedelta({})') if good else None
