# profile_column.py - the part of file_profile.py that says what one column holds: numbers, dates, words.

import collections
import datetime
import itertools
import re
import time

MISSING = {'', '#N/A', '#N/A N/A', '#NA', '-1.#IND', '-1.#QNAN', '-NaN', '-nan', '1.#IND', '1.#QNAN', '<NA>',
           'N/A', 'NA', 'NULL', 'NaN',
           'n/a', 'nan', 'null'}        # what pandas takes for missing by default
MARKS = {'-', '--', '?', '.', 'missing', 'unknown', 'n.a.', 'k.a.', 'na', 'none', 'nil', '#value!', '#ref!',
         '#div/0!', 'x', '*'}

INT = re.compile(r'[+-]?\d{1,19}')
FLOAT = re.compile(r'[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|Inf)')
COMMA = re.compile(r'[+-]?\d+,\d+|[+-]?\d{1,3}(\.\d{3})+(,\d+)?')
GROUPED = re.compile(r'[+-]?\d{1,3}(,\d{3})+(\.\d+)?')
CODE = re.compile(r'0\d+')
AMOUNT = re.compile(r'[-+(]?\s*([$€£¥]\s*[\d.,]+|[\d.,]+\s*([$€£¥%]|EUR|USD|GBP|CHF))\s*\)?')
CLOCK = re.compile(r'\d{1,3}:[0-5]\d:[0-5]\d(\.\d+)?')
SPAN = re.compile(r'(\d+(\.\d+)?\s*(days?|d|hours?|hr|h|minutes?|min|m|seconds?|sec|s)\s*)+')
SPAN_SECONDS = {'d': 86400, 'h': 3600, 'm': 60, 's': 1}
THOUSANDS = {',': re.compile(r'\d+(\.\d+)?|\d{1,3}(,\d{3})+(\.\d+)?'),
             '.': re.compile(r'\d+(,\d+)?|\d{1,3}(\.\d{3})+(,\d+)?')}
NUMBERS = {'int': int, 'float': float, 'grouped': lambda s: float(s.replace(',', '')),
           'comma': lambda s: float(s.replace('.', '').replace(',', '.'))}
DATES = (                       # pattern, format, name; tried in this order
    (re.compile(r'\d{4}-\d\d-\d\d'), '%Y-%m-%d'),
    (re.compile(r'\d{4}-\d\d-\d\d \d\d:\d\d'), '%Y-%m-%d %H:%M'),
    (re.compile(r'\d{4}-\d\d-\d\d \d\d:\d\d:\d\d'), '%Y-%m-%d %H:%M:%S'),
    (re.compile(r'\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?'), 'iso'),
    (re.compile(r'\d{4}/\d\d?/\d\d?'), '%Y/%m/%d'),
    (re.compile(r'\d\d?\.\d\d?\.\d{4}'), '%d.%m.%Y'),
    (re.compile(r'\d\d?\.\d\d?\.\d{4} \d\d:\d\d'), '%d.%m.%Y %H:%M'),
    (re.compile(r'\d\d?\.\d\d?\.\d{4} \d\d:\d\d:\d\d'), '%d.%m.%Y %H:%M:%S'),
    (re.compile(r'\d\d?\.\d\d?\.\d\d'), '%d.%m.%y'),
    (re.compile(r'\d\d?/\d\d?/\d{4}'), '%{0}/%{1}/%Y'),
    (re.compile(r'\d\d?/\d\d?/\d{4} \d\d?:\d\d'), '%{0}/%{1}/%Y %H:%M'),
    (re.compile(r'\d\d?/\d\d?/\d{4} \d\d?:\d\d:\d\d'), '%{0}/%{1}/%Y %H:%M:%S'),
    (re.compile(r'\d\d?/\d\d?/\d\d'), '%{0}/%{1}/%y'),
    (re.compile(r'\d\d?-\d\d?-\d{4}'), '%{0}-%{1}-%Y'),
    (re.compile(r'\d\d? [A-Z][a-z]{2} \d{4}'), '%d %b %Y'),
    (re.compile(r'\d\d?-[A-Z][a-z]{2}-\d{4}'), '%d-%b-%Y'),
    (re.compile(r'\d\d?-[A-Z][a-z]{2}-\d\d'), '%d-%b-%y'),
    (re.compile(r'\d\d? [A-Z][a-z]{3,8} \d{4}'), '%d %B %Y'),
    (re.compile(r'[A-Z][a-z]{2} \d\d?, \d{4}'), '%b %d, %Y'),
    (re.compile(r'[A-Z][a-z]{3,8} \d\d?, \d{4}'), '%B %d, %Y'),
    (re.compile(r'\d{4}-\d\d'), '%Y-%m'),
    (re.compile(r'(19|20)\d\d(0[1-9]|1[0-2])([0-2]\d|3[01])'), '%Y%m%d'),
)


VALUES_MOST = 5000              # different values kept per column


class Column:
    """Counts what the cells of one column look like, and says what it is."""

    def __init__(self, name):           # name: a number where the file has no header
        self.name, self.n, self.missing, self.marks = name, 0, 0, {}
        self.kinds, self.formats, self.values, self.more = {}, {}, {}, []
        self.high = [0, 0]              # the largest first and second part of dates with slashes
        self.last = ''                  # kind of the previous cell
        self.ends = {}                  # kind of number -> minimum and maximum
        self.absent = MISSING

    def feed_all(self, cells):
        for cell, n in collections.Counter(cells).items():
            self.feed(cell, n)

    def feed(self, cell, n=1):
        cell = cell.strip()
        self.n += n
        if cell in self.absent:
            self.missing += n
            return
        # most columns repeat values: one that was examined before is only counted
        seen = self.values.get(cell)
        if seen:
            seen[0] += n
            self.kinds[seen[1]] += n
            return
        kind = self.last = self.as_last(cell) or self.kind(cell, n)
        self.kinds[kind] = self.kinds.get(kind, 0) + n
        if kind in NUMBERS:
            self.extend(kind, NUMBERS[kind](cell))
        if len(self.values) < VALUES_MOST:
            self.values[cell] = [n, kind]
        elif len(self.more) < 10 * VALUES_MOST:
            self.more.append(cell)

    def extend(self, kind, value):
        ends = self.ends.get(kind)
        if not ends:
            if abs(value) < float('inf'):
                self.ends[kind] = [value, value]
        elif abs(value) == float('inf'):
            return
        elif value < ends[0]:
            ends[0] = value
        elif value > ends[1]:
            ends[1] = value

    def as_last(self, cell):
        """The kind of the previous cell, if a quick look shows that kind() would say the same; otherwise
        ''."""
        last = self.last
        if last == 'int':
            good = cell.isdigit() and cell.isascii() and cell[0] != '0' and len(cell) < 19 and len(cell) != 8
        elif last == 'float':
            good = '.' in cell and FLOAT.fullmatch(cell)
        elif last == 'comma':
            good = '.' not in cell and cell[-4:-3] != ',' and COMMA.fullmatch(cell)
        else:
            good = False
        return last if good else ''

    def kind(self, cell, n):
        if len(cell) > 40:
            return 'text'
        if CODE.fullmatch(cell):
            return 'code'
        if INT.fullmatch(cell):
            return 'date' if len(cell) == 8 and 'da' in str(self.name).lower() and self.date(cell,
                                                                                             n) else 'int'
        if FLOAT.fullmatch(cell):
            return 'text' if cell.isdigit() else 'float'    # of over 64 bits, which pandas leaves as text
        if GROUPED.fullmatch(cell):
            return 'grouped'
        if COMMA.fullmatch(cell):
            return 'comma'
        if cell.lower() in ('true', 'false'):
            return 'bool'
        # a column of words is not examined for ever
        if (self.formats or self.kinds.get('text', 0) < 500) and self.date(cell, n):
            return 'date'
        if cell.lower() in MARKS:
            self.marks[cell] = self.marks.get(cell, 0) + n
            return 'mark'
        if CLOCK.fullmatch(cell) or cell[0].isdigit() and SPAN.fullmatch(cell):
            return 'duration'
        return 'amount' if AMOUNT.fullmatch(cell) else 'text'

    def date(self, cell, n):
        if not cell[-1:].isalnum() or not any(c.isdigit() for c in cell):
            return False
        for pattern, form in DATES:
            if pattern.fullmatch(cell):
                self.formats[form] = self.formats.get(form, 0) + n
                if '{' in form:
                    parts = re.split(r'\D', cell)
                    self.high = [max(self.high[0], int(parts[0])), max(self.high[1], int(parts[1]))]
                return True
        return False

    def settle(self, decimal):
        """(type, format of dates). decimal: the file's decimal mark, which tells 1,5 from 1,500; '': the
        reader takes both for text."""
        k = dict(self.kinds)
        for merged in ('grouped', 'comma'):
            if merged in k:
                good = decimal and ((merged == 'comma') == (decimal == ',')
                                    or (decimal == ',' and merged == 'grouped'))
                k['float' if good else 'text'] = k.get('float' if good else 'text', 0) + k.pop(merged)
        marks = k.pop('mark', 0)
        if not k:
            return ('empty' if not marks else 'text'), ''
        if marks and set(k) <= {'int', 'float', 'date'}:
            self.missing += marks
        elif marks:
            k['text'] = k.get('text', 0) + marks
            self.marks = {}
        if set(k) == {'int'}:
            return 'int', ''
        if set(k) <= {'int', 'float'}:
            return 'float', ''
        if 'code' in k and set(k) <= {'int', 'code'}:
            return ('int', '') if k['code'] == self.values.get('00', [0])[0] else ('code', '')
        if 'code' in k and set(k) <= {'int', 'float', 'code'}:
            return 'float', ''
        if set(k) == {'bool'}:
            return 'bool', ''
        if set(k) == {'date'}:
            return 'date', self.date_format()
        if set(k) == {'duration'} and self.durations():
            return 'duration', ''
        if set(k) == {'amount'}:
            return 'amount', self.amount_form() if has('pandas') else ''
        return 'text', ''

    def durations(self):
        """Are these durations, rather than metres ("5 m"), or times of day, which are written 09:05:00?"""
        clocks = [v.partition(':')[0] for v in self.values if ':' in v]
        units = ''.join(self.values) if len(clocks) < len(self.values) else ''
        return not self.more and (bool(re.search('[^m\\d.\\s]', units)) if not clocks else not units
                                  and any(len(h) == 1 or int(h) > 23 for h in clocks))

    def amount_form(self):
        """The mark between thousands and the sign of amounts such as "1,234.50 EUR"; '': they are not
        clear."""
        signs = {re.sub(r'[-+\d.,\s]', '', v) for v in self.values}
        numbers = [re.sub(r'[^\d.,]', '', v) for v in self.values]
        marks = [mark for mark in ',.' if all(THOUSANDS[mark].fullmatch(n) for n in numbers)]
        plain = all(n.isdigit() for n in numbers)
        clear = not self.more and len(signs) == 1 and '(' not in ''.join(signs) and (len(marks) == 1 or plain)
        return marks[0] + signs.pop() if clear and marks else ''

    def amount_ends(self, form):
        plain = (v.replace(form[0], '').replace(',', '.') for v in self.values)
        numbers = [float(re.sub(r'[^-\d.]', '', v)) for v in plain]
        return '%s to %s' % (short(min(numbers)), short(max(numbers)))

    def date_format(self):
        for short_form, form in (('%d %b %Y', '%d %B %Y'), ('%b %d, %Y', '%B %d, %Y')):
            if form in self.formats and short_form in self.formats and all(
                    'May' in v or not re.search(r'\b[A-Z][a-z]{2}\b', v) for v in self.values):
                self.formats[form] += self.formats.pop(short_form)      # "4 May 2021" has the whole name too
        if len(self.formats) > 1:
            form = 'iso' if all(f == 'iso' or f.startswith('%Y-%m-%d') for f in self.formats) else 'mixed'
        else:
            form = next(iter(self.formats))
        if '{' in form:
            first, second = self.high
            day_first = second <= 12 and (first > 12 or '-' in form)
            form = form.format('d', 'm') if day_first else form.format('m', 'd')
        key = date_key(form)
        # one date such as 31.02. or 31.12.9999 would stop every reader
        return form if not key or all(map(key, self.values)) else 'mixed'

    def zones(self):
        """Do its times have several offsets from UTC, as before and after a change of the clock? pandas keeps
        such times as objects unless it is told to make all UTC."""
        ends = (re.search(r'T?\d\d:\d\d\S*?(Z|[+-]\d\d:?\d\d)$', v) for v in self.values)
        return len({m and m.group(1) for m in ends}) > 1

    def ambiguous(self, form):
        return (form not in ('iso', 'mixed') and form[:2] in ('%d', '%m') and form[2:3] in '/-'
                and 0 < max(self.high) <= 12)

    def all_seen(self):
        return not self.more and len(self.values) < VALUES_MOST

    def once(self):
        """Is every value different, so that rows of another table may refer to it?"""
        return self.all_seen() and self.n > 2 and len(self.values) == self.n

    def few(self, most=12, length=110, unique=6):
        """The values of a column that has few, so that a filter is right the first time. unique: how many,
        if they do not repeat."""
        repeated = sum(v[0] for v in self.values.values()) >= 2 * len(self.values)
        if len(self.values) > (most if repeated else unique):
            return ''
        text = ', '.join(clean(v, 24) for v in sorted(self.values))
        return text if len(text) <= length else ''

    def nearly(self):
        """'20 numbers, but [m/s]': a few cells, such as a row of units, are no numbers."""
        numbers = sum(n for kind, n in self.kinds.items() if kind in NUMBERS)
        odd = [v for v, (_, kind) in self.values.items() if kind not in NUMBERS]
        if not odd or len(odd) > 3 or numbers < 5 or 5 * numbers < 4 * (self.n - self.missing) or self.more:
            return ''
        return '%d numbers, but %s' % (numbers, ', '.join(clean(repr(v), 24) for v in odd))

    def different(self):
        if self.once():
            return ', all different'
        return ', %s different' % (len(self.values) if self.all_seen() else 'over %d' % VALUES_MOST)

    def number_ends(self, decimal):
        """'1 to 20'; '' if cells were read with a decimal mark that is not the file's."""
        ends = [e for k, e in self.ends.items() if k != 'grouped' or decimal == '.']
        if not ends or 'grouped' in self.ends and decimal == ',' or 'comma' in self.ends and decimal == '.':
            return ''
        return 'all %s' % short(ends[0][0]) if all(e[0] == e[1] == ends[0][0] for e in ends) else \
            '%s to %s' % (short(min(e[0] for e in ends)), short(max(e[1] for e in ends)))

    def date_ends(self, form):
        """First and last date, in ISO form if a reader turns them into dates."""
        key = date_key(form)
        if 'date' in self.ends:
            return '%s to %s' % tuple(self.ends['date'])
        if not key or len(self.more) >= 10 * VALUES_MOST:
            return ''
        keys = [k for k in map(key, itertools.chain(self.values, self.more)) if k]
        return '%s to %s' % (clean(min(keys), 25), clean(max(keys), 25)) if keys else ''


def duration_seconds(duration):
    """Of a text such as 1:02:30 or 2m 35s."""
    if ':' in duration:
        hours, minutes, rest = duration.split(':')
        return int(hours) * 3600 + int(minutes) * 60 + float(rest)
    return sum(float(n) * SPAN_SECONDS[unit[0]] for n, unit in re.findall(r'([\d.]+)\s*([a-z])', duration))


MONTHS = ('jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec')


def is_day(year, month, day):
    """A day that there is, and that pandas can hold: it counts nanoseconds in 64 bits."""
    try:
        datetime.date(year, month, day)
    except ValueError:
        return False
    return 1677 < year < 2262


def date_key(form):
    """A function that turns a date of this format into sortable text, or None."""
    if form == 'mixed':
        return None
    if form == 'iso' or form.startswith('%Y-%m'):
        return lambda s: s if is_day(int(s[:4]), int(s[5:7]), int(s[8:10] or 1)) else None
    if form == '%Y%m%d':
        return lambda s: '%s-%s-%s' % (s[:4], s[4:6], s[6:8]) if is_day(int(s[:4]), int(s[4:6]),
                                                                        int(s[6:8])) else None
    order = re.findall('%([a-zA-Z])', form)
    day, month, year = (next((i for i, c in enumerate(order) if c in which), None)
                        for which in ('d', 'mbB', 'yY'))
    if None in (day, month, year):
        return None

    def key(text):
        parts = re.split(r'[^A-Za-z0-9]+', text)
        m, y = parts[month][:3].lower(), int(parts[year])
        m, d = MONTHS.index(m) + 1 if m in MONTHS else int(m) if m.isdigit() else 0, int(parts[day])
        if order[year] == 'y':
            y += 1900 if y > 68 else 2000
        if not is_day(y, m, d):
            return None
        return '%04d-%02d-%02d' % (y, m, d) + (' ' + ':'.join('%02d' % int(p) for p in parts[3:])
                                               if parts[3:] else '')
    return key


def short(number):
    if isinstance(number, float) and abs(number) < 1e15:
        return repr(round(number, 6))
    return clean(repr(number), 24)


KINDS = {'int': 'int', 'float': 'float', 'bool': 'bool', 'empty': 'empty',
         'code': 'text, digits with leading zeros',
         'written': 'numbers as text', 'amount': 'text, amounts with a sign', 'date': 'date', 'text': 'text',
         'duration': 'text, durations'}


def column_text(c, kind, form, decimal, facts):
    """'price' (float, 0.5 to 90.0, 3 missing): a column's type, and with facts what it holds."""
    name = KINDS.get(kind, kind)
    if kind == 'date':
        name = 'datetime' if has('pandas') else 'date ' + form
        if form == 'mixed':
            name = ('text, dates in several formats' if len(c.formats) > 1 else
                    'text, dates, but some are none or outside 1678 to 2261')
        if facts:
            ends = c.date_ends(form)
            name += ', ' + ends if ends else ''
        if c.ambiguous(form):
            name += ', day and month may be swapped'
    elif kind == 'duration' and has('pandas'):
        ends = [of_all(c.values, key=duration_seconds) for of_all in (min, max)]
        name = 'timedelta' + (', %s to %s' % tuple(ends) if facts else '')
    elif kind == 'written' and form:
        ends = c.number_ends('.') if facts else ''
        name = form + (ends and ', ' + ends)
    elif kind == 'amount' and form:
        name = 'float, in %s' % form[1:] + (', ' + c.amount_ends(form) if facts else '')
    elif facts and kind in ('int', 'float'):
        few = c.few(6, 30, 0) if kind == 'int' else ''
        ends = '' if few else c.number_ends(decimal)
        name += ': ' + few if few else ', ' + ends if ends else ''
        name += ', all different' if kind == 'int' and c.once() else ''
    elif facts and kind in ('text', 'code'):
        few = c.few() or c.nearly() if kind == 'text' else ''
        name += ': ' + few if few else c.different() if c.n > len(c.values) or c.once() else ''
    if c.missing:
        name += ', %d missing' % c.missing
    return '%s (%s)' % (clean(repr(c.name), 60), name)


RUN = 6                         # as many columns of consecutive numbers are one entry


def numbered(name):
    m = re.fullmatch(r'(.*?)([0-9]{1,9})', str(name))
    return m and (m.group(1), int(m.group(2)))


def runs(columns, settled):
    """The columns in groups: 'Q1' to 'Q120' of one type are one group, any other is one alone."""
    groups, last = [], None
    for i, c in enumerate(columns):
        kind = settled[i][0]
        now = numbered(c.name) and (*numbered(c.name), 'float' if kind == 'int' else kind)
        if now and last and now[0] == last[0] and now[1] == last[1] + 1 and now[2] == last[2]:
            groups[-1].append(i)
        else:
            groups.append([i])
        last = now
    return [g for group in groups for g in ([group] if len(group) >= RUN else [[i] for i in group])]


def run_text(columns, settled, decimal, facts):
    """'Q1' to 'Q120' (120 columns, int, 1 to 5)."""
    kinds = [kind for kind, _ in settled]
    kind = 'float' if 'float' in kinds else kinds[0]
    said = '%d columns, %s' % (len(columns), KINDS.get(kind, kind))
    if facts and kind in ('int', 'float') and all(c.number_ends(decimal) for c in columns):
        ends = [e for c in columns for e in c.ends.values()]
        low, high = short(min(e[0] for e in ends)), short(max(e[1] for e in ends))
        said += ', all %s' % low if low == high else ', %s to %s' % (low, high)
    missing = sum(c.missing for c in columns)
    return '%s to %s (%s%s)' % (clean(repr(columns[0].name), 60), clean(repr(columns[-1].name), 60), said,
                                ', %d missing' % missing if missing else '')


def describe(columns, settled, decimal='.', most=COLUMNS_MOST):
    """All columns in at most that many characters: with their contents if there is room, else with their
    types, else only the first of them."""
    groups = runs(columns, settled)
    for facts in (True, False):
        parts = []
        for g in groups[:200]:
            if len(g) > 1:
                of = [columns[i] for i in g], [settled[i] for i in g]
                parts.append(run_text(*of, decimal, facts))
            else:
                parts.append(column_text(columns[g[0]], *settled[g[0]], decimal, facts))
        if len(groups) <= 200 and sum(len(p) + 2 for p in parts) <= most:
            return ', '.join(parts)
    fit = len(list(itertools.takewhile(lambda n: n <= most, itertools.accumulate(len(p) + 2 for p in parts))))
    return ', '.join(parts[:fit] + ['and %d more' % sum(map(len, groups[fit:]))])


def first_rows(rows, sep, count=3):
    if not ROWS:        # noqa: file_profile.py has it
        return ''
    out = []
    for row in rows[:count]:
        out.append(clean(sep.join(clean(cell, CELL) for cell in row[:40]), ROW))
    return 'first %d rows:\n%s' % (len(out), '\n'.join(out)) if out else 'no rows'


def type_lines(columns, settled, text_dates, df='df'):
    """Statements that make dates, durations and numbers of columns of text. text_dates: the reader has
    parsed no dates, and a duration may be an object."""
    out = []
    for c, (kind, form) in zip(columns, settled):
        zones = kind == 'date' and form == 'iso' and c.zones()
        if kind == 'date' and form != 'mixed' and (text_dates or zones or not form.startswith('%Y-%m-%d')
                                                   and form != 'iso'):
            how = ', utc=True' if zones else '' if form == 'iso' else ', format=%r' % form
            out.append('%s[%r] = pd.to_datetime(%s[%r]%s)' % (df, c.name, df, c.name, how))
        elif kind == 'written' and form:
            out.append("%s[%r] = pd.to_numeric(%s[%r], errors='coerce')" % (df, c.name, df, c.name))
        elif kind == 'duration':
            out.append('%s[%r] = pd.to_timedelta(%s[%r]%s)' % (df, c.name, df, c.name,
                                                               '.astype(str)' if text_dates else ''))
        elif kind == 'amount' and form:
            off = '[%s\\s]' % form[0] if any(form[0] in v for v in c.values) else r'\s'
            out.append("%s[%r] = %s[%r].str.replace(r'%s|%s', '', regex=True)%s.astype(float)" % (
                df, c.name, df, c.name, re.escape(form[1:]), off,
                ".str.replace(',', '.')" if form[0] == '.' else ''))
    return out[:6]
