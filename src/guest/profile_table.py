# profile_table.py - the part of data_profile.py for tables: separator, header, what each column holds, and
# the line that reads the file.

import collections
import itertools
import keyword
import os
import re
import stat
import time

MISSING = {'', '#N/A', '#N/A N/A', '#NA', '-1.#IND', '-1.#QNAN', '-NaN', '-nan', '1.#IND', '1.#QNAN', '<NA>',
           'N/A', 'NA', 'NULL', 'NaN',
           'n/a', 'nan', 'null'}        # what pandas takes for missing by default
MARKS = {'-', '--', '?', '.', 'missing', 'unknown', 'n.a.', 'k.a.', 'na', 'none', 'nil', '#value!', '#ref!',
         '#div/0!', 'x', '*'}

INT = re.compile(r'[+-]?\d{1,18}')
FLOAT = re.compile(r'[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|Inf)')
COMMA = re.compile(r'[+-]?\d+,\d+|[+-]?\d{1,3}(\.\d{3})+(,\d+)?')
GROUPED = re.compile(r'[+-]?\d{1,3}(,\d{3})+(\.\d+)?')
CODE = re.compile(r'0\d+')
AMOUNT = re.compile(r'[-+(]?\s*([$€£¥]\s*[\d.,]+|[\d.,]+\s*([$€£¥%]|EUR|USD|GBP|CHF))\s*\)?')
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
            return 'float'
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
        """(type, format of dates). decimal: the file's decimal mark, which tells 1,5 from 1,500."""
        k = dict(self.kinds)
        for merged in ('grouped', 'comma'):
            if merged in k:
                good = (merged == 'comma') == (decimal == ',') or (decimal == ',' and merged == 'grouped')
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
        if set(k) == {'amount'}:
            return 'amount', ''
        return 'text', ''

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
        # one impossible date such as 31.13. would stop every reader
        return form if not key or all(map(key, self.values)) else 'mixed'

    def ambiguous(self, form):
        return (form not in ('iso', 'mixed') and form[:2] in ('%d', '%m') and form[2:3] in '/-'
                and 0 < max(self.high) <= 12)

    def all_seen(self):
        return not self.more and len(self.values) < VALUES_MOST

    def once(self):
        """Is every value different, so that rows of another table may refer to it?"""
        return self.all_seen() and self.n > 2 and len(self.values) == self.n

    def few(self, most=12, length=110):
        """The values of a column that has few, so that a filter is right the first time."""
        if len(self.values) > most or sum(v[0] for v in self.values.values()) < 2 * len(self.values):
            return ''
        text = ', '.join(clean(v, 24) for v in sorted(self.values))
        return text if len(text) <= length else ''

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


MONTHS = ('jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec')


def date_key(form):
    """A function that turns a date of this format into sortable text, or None."""
    if form == 'mixed':
        return None
    if form == 'iso' or form.startswith('%Y-%m'):
        return lambda s: s if '00' < s[5:7] < '13' and (len(s) < 8 or '00' < s[8:10] < '32') else None
    if form == '%Y%m%d':
        return lambda s: '%s-%s-%s' % (s[:4], s[4:6], s[6:8])
    order = re.findall('%([a-zA-Z])', form)
    day, month, year = (next((i for i, c in enumerate(order) if c in which), None)
                        for which in ('d', 'mbB', 'yY'))
    if None in (day, month, year):
        return None

    def key(text):
        parts = re.split(r'[^A-Za-z0-9]+', text)
        m, y = parts[month][:3].lower(), int(parts[year])
        m, d = MONTHS.index(m) + 1 if m in MONTHS else int(m) if m.isdigit() else 0, int(parts[day])
        if not 0 < m < 13 or not 0 < d < 32:
            return None
        if order[year] == 'y':
            y += 1900 if y > 68 else 2000
        return '%04d-%02d-%02d' % (y, m, d) + (' ' + ':'.join('%02d' % int(p) for p in parts[3:])
                                               if parts[3:] else '')
    return key


def short(number):
    if isinstance(number, float) and abs(number) < 1e15:
        return repr(round(number, 6))
    return clean(repr(number), 24)


KINDS = {'int': 'int', 'float': 'float', 'bool': 'bool', 'empty': 'empty',
         'code': 'text, digits with leading zeros',
         'amount': 'text, amounts with a sign', 'date': 'date', 'text': 'text'}


def column_text(c, kind, form, decimal, facts):
    """'price' (float, 0.5 to 90.0, 3 missing): a column's type, and with facts what it holds."""
    name = KINDS.get(kind, kind)
    if kind == 'date':
        name = ('text, dates in several formats' if form == 'mixed' else 'datetime' if has('pandas')
                else 'date ' + form)
        if facts:
            ends = c.date_ends(form)
            name += ', ' + ends if ends else ''
        if c.ambiguous(form):
            name += ', day and month may be swapped'
    elif facts and kind in ('int', 'float'):
        few = c.few(6, 30) if kind == 'int' else ''
        ends = '' if few else c.number_ends(decimal)
        name += ': ' + few if few else ', ' + ends if ends else ''
        name += ', all different' if kind == 'int' and c.once() else ''
    elif facts and kind in ('text', 'code'):
        few = c.few() if kind == 'text' else ''
        name += ': ' + few if few else c.different() if c.n > len(c.values) or c.once() else ''
    if c.missing:
        name += ', %d missing' % c.missing
    return '%s (%s)' % (clean(repr(c.name), 60), name)


def describe(columns, settled, decimal='.', most=COLUMNS_MOST):
    """All columns in at most that many characters: with their contents if there is room, else with their
    types, else only the first of them."""
    for facts in (True, False):
        parts = []
        for c, (kind, form) in zip(columns[:200], settled):
            parts.append(column_text(c, kind, form, decimal, facts))
        if len(columns) <= 200 and sum(len(p) + 2 for p in parts) <= most:
            return ', '.join(parts)
    fit = len(list(itertools.takewhile(lambda n: n <= most, itertools.accumulate(len(p) + 2 for p in parts))))
    return ', '.join(parts[:fit] + ['and %d more' % (len(columns) - fit)])


def first_rows(rows, sep, count=3):
    if not ROWS:        # noqa: data_profile.py has it
        return ''
    out = []
    for row in rows[:count]:
        out.append(clean(sep.join(clean(cell, CELL) for cell in row[:40]), ROW))
    return 'first %d rows:\n%s' % (len(out), '\n'.join(out)) if out else 'no rows'


def date_lines(columns, settled, text_dates, df='df'):
    """Statements that convert columns of dates. text_dates: the reader has parsed no dates."""
    out = []
    for c, (kind, form) in zip(columns, settled):
        if kind == 'date' and form != 'mixed' and (text_dates or not form.startswith('%Y-%m-%d')
                                                   and form != 'iso'):
            how = '' if form == 'iso' else ', format=%r' % form
            out.append('%s[%r] = pd.to_datetime(%s[%r]%s)' % (df, c.name, df, c.name, how))
    return out[:6]


# Tables of text

def split(text, sep, whole, stop):
    """Rows of the sample. The last one may be incomplete and is then left out."""
    import csv
    import io
    csv.field_size_limit(1 << 20)
    rows = []
    try:
        for row in csv.reader(io.StringIO(text, newline=''), delimiter=sep):
            if row:
                rows.append(row)
            if len(rows) >= stop:
                return rows, False
    except csv.Error:
        pass
    if not whole and len(rows) > 1:
        rows.pop()
    return rows, whole


def beginning(text):
    """Enough of a table to recognise its form: 64 KiB, or three lines if these are longer."""
    end = 0
    for _ in range(3):
        end = text.find('\n', end) + 1 or len(text)
    return text[:max(65536, end)]


def find_separator(text):
    """(separator, columns): the separator whose rows agree best, or None."""
    best, head = None, beginning(text)
    for sep in '\t;,|':
        rows = split(head, sep, len(text) <= len(head), 60)[0]
        widths = [len(r) for r in rows]
        if len(widths) < 2:
            continue
        width = max((w for w in widths if w > 1), key=lambda w: (widths.count(w), w), default=0)
        if not width:
            continue
        skip = widths.index(width)
        share = widths.count(width) / (len(widths) - skip)
        if share < 0.7 or skip > 10 or (skip and widths.count(width) < 3):
            continue
        if width == 2 and all(len(r) != 2 or r[1][:1] == ' ' for r in rows):
            continue                    # prose with one comma per line
        # "1,5;2,5" agrees for both: a comma between digits alone is a decimal comma when another separator
        # fits too.
        score = share + (0.001 * min(width, 50) if sep != ',' else 0)
        if best is None or score > best[0]:
            best = (score, sep, width)
    return best and best[1:]


def lines_before(text, sep, width):
    """(records, lines) before the first record of the table, such as titles and remarks. pandas counts lines,
    including empty ones."""
    import csv
    import io
    reader, records, lines = csv.reader(io.StringIO(beginning(text), newline=''), delimiter=sep), 0, 0
    for row in reader:
        if len(row) == width:
            break
        records += bool(row)
        lines = reader.line_num
    return (records, lines) if records <= 10 else (0, 0)


def number_like(cell):
    cell = cell.strip()
    return bool(FLOAT.fullmatch(cell) or COMMA.fullmatch(cell) or GROUPED.fullmatch(cell))


def has_header(rows):
    first, rest = rows[0][:400], rows[1:20]
    if not rest:
        return not any(number_like(c) for c in first)
    numeric = [i for i in range(len(first))
               if all(number_like(r[i]) for r in rest if i < len(r) and r[i].strip())
               and any(i < len(r) and r[i].strip() for r in rest)]
    if not numeric:
        dated = any(re.match(r'\d{4}-\d\d-\d\d', c.strip()) for c in first)
        return len(set(first)) == len(first) and not dated
    if not number_like(first[0]) and 0 not in numeric and all(re.fullmatch(r'(19|20)\d\d', first[i].strip())
                                                              for i in numeric):
        return True                     # one column per year
    return not all(number_like(first[i]) for i in numeric)


def unique(names):
    """Names as pandas makes them: a second 'x' is 'x.1', an empty one 'Unnamed: 2'."""
    seen, out = {}, []
    for i, name in enumerate(names):
        name = name if name.strip() else 'Unnamed: %d' % i
        n = seen.get(name, 0)
        seen[name] = n + 1
        out.append(name if not n else '%s.%d' % (name, n))
    return out


def study(columns, rows, seconds=SECONDS):
    """Feed rows to columns until the time is up; returns how many were read. Works column by column, because
    equal cells are then counted at once."""
    until, width = time.monotonic() + seconds, len(columns)
    step = max(16, 65536 // max(1, width))
    for start in range(0, len(rows), step):
        if start and time.monotonic() > until:
            return start
        part = rows[start:start + step]
        fed = 0
        cut = (row if len(row) <= width else row[:width] for row in part)
        for c, cells in zip(columns, itertools.zip_longest(*cut, fillvalue='')):
            c.feed_all(cells)
            fed += 1
        for c in columns[fed:]:
            c.feed('', len(part))
    return len(rows)


def decimal_mark(columns, sep):
    commas = sum(c.kinds.get('comma', 0) for c in columns)
    grouped = sum(c.kinds.get('grouped', 0) for c in columns)
    points = sum(c.kinds.get('float', 0) for c in columns)
    return ',' if (commas or (grouped and sep == ';' and not points)) and commas + grouped > points else '.'


def count_rows(path):
    n = 0
    with open(path, 'rb') as f:
        while True:
            piece = f.read(1 << 20)
            if not piece:
                return n
            n += piece.count(b'\n')


class Table:
    """A file or sheet that was understood: the code that reads it into a name, its columns, its rows."""

    def __init__(self, name, read, columns, settled, body, decimal='.', dates=()):
        self.name, self.read, self.dates, self.decimal = name, read, list(dates), decimal
        self.columns, self.settled, self.body = columns, settled, body
        self.whole = True               # every row was examined

    def code(self):
        return ['%s = %s' % (self.name, self.read)] + self.dates if has('pandas') else [self.read]


def read_table(path, text, encoding, whole, name='df', seconds=SECONDS):
    found = find_separator(text)
    if not found:
        return None
    sep, width = found
    skip, skip_lines = lines_before(text, sep, width)
    comment = text.startswith('#')
    rows, all_rows = split(text, sep, whole, 1 << 30)
    rows = rows[skip:]
    if not rows:
        return None
    header = has_header(rows)
    names = unique(rows[0][:400]) if header else list(range(min(width, 400)))
    body = rows[1:] if header else rows
    columns = [Column(n) for n in names]
    seen = study(columns, body, seconds)
    decimal = decimal_mark(columns, sep)
    grouped = any(c.kinds.get('grouped') for c in columns) if decimal == '.' else any(
        re.fullmatch(COMMA, v) and '.' in v for c in columns for v in c.values if c.values[v][1] == 'comma')
    settled = [c.settle(decimal) for c in columns]
    read = read_line(path, sep, encoding, skip_lines if skip else 0, header, decimal, grouped, columns,
                     settled, comment)
    t = Table(name, read, columns, settled, body, decimal, date_lines(columns, settled, False, name)
              if has('pandas') else ())
    t.sep, t.width, t.whole = sep, width, all_rows and seen == len(body)
    t.total = '%d rows' % len(body) if all_rows else 'about %d rows' % max(count_rows(path) - skip - header,
                                                                           len(body))
    if not t.whole:
        t.total += ', looked at the first %d' % seen
    return t


def table(path, text, encoding, whole):
    others = siblings(path)
    t = read_table(path, text, encoding, whole, identifier(os.path.basename(path).rsplit('.', 1)[0], 'df2')
                   if others else 'df')
    if not t:
        return None
    lines = t.code()
    if has('pandas'):
        lines[0] = 'import pandas as pd; ' + lines[0]
    columns = describe(t.columns, t.settled, t.decimal)
    more = '' if t.width <= len(t.columns) else ', and %d more' % (t.width - len(t.columns))
    lines.append('%s, columns: %s%s' % (t.total, columns, more))
    lines += joins_with_files(t, others)
    left = MOST - sum(len(s) + 1 for s in lines)
    rows = first_rows(t.body, t.sep)
    lines.append(rows if len(rows) <= left else first_rows(t.body, t.sep, 1))
    return '\n'.join(lines)


# Joins: which column two tables share, and the result of joining on it

TAKEN = ('df', 'pd', 'json', 'data', 'both', 'list', 'set', 'dict', 'str', 'sum', 'max', 'min', 'len',
         'print', 'open')


def identifier(text, default):
    """A variable's name made from the name of a file or a sheet."""
    name = re.sub(r'\W+', '_', text.lower()).strip('_')[:40]
    free = name.isidentifier() and not keyword.iskeyword(name) and name not in TAKEN
    return name if free else default


def plain_name(text):
    return re.sub(r'[\W_]+', '', str(text).lower())


def related(key, owner, other):
    """May a column of this name hold the values of column key of the table owner? customer_id does for id of
    customers."""
    key, owner, other = plain_name(key), plain_name(owner), plain_name(other)
    if key == other:
        return True
    single = owner[:-3] + 'y' if owner.endswith('ies') else owner.rstrip('s')
    if len(single) < 3 or not other.startswith(single):
        return False
    return other in (single, single + key) or key in ('id', 'key', 'no', 'nr', 'code', 'number')


def joins(a, b):
    """[(column of a, column of b, rows of the join)], the best first; in one of the two each value is
    unique."""
    out = []
    for i, x in enumerate(a.columns[:60]):
        for k, y in enumerate(b.columns[:60]):
            if not (related(x.name, a.name, y.name) or related(y.name, b.name, x.name)) or isinstance(x.name,
                                                                                                      int):
                continue
            kinds = {a.settled[i][0], b.settled[k][0]}
            both = x.values.keys() & y.values.keys()
            if not (x.once() or y.once()) or not both or kinds & {'float', 'bool', 'empty'} or len(kinds) > 1:
                continue
            if plain_name(x.name) == plain_name(y.name) in ('id', 'no', 'nr', 'number',
                                                            'index') and x.once() and y.once():
                continue                # both only number their own rows
            rows = sum(x.values[v][0] * y.values[v][0] for v in both)
            out.append((len(both) / min(len(x.values), len(y.values)), x, y, rows))
    out.sort(key=lambda j: -j[0])
    return [j[1:] for j in out if j[0] > 0.5]


def join_text(a, b, x, y, rows):
    """The statement that joins two tables, and how many rows of each are left out."""
    if y.once():
        a, b, x, y = b, a, y, x         # b has many rows for each row of a
    on = 'on=%r' % x.name if x.name == y.name else 'left_on=%r, right_on=%r' % (y.name, x.name)
    also = {c.name for c in a.columns} & {c.name for c in b.columns} - {x.name}
    code = 'both = %s.merge(%s, %s%s)' % (b.name, a.name, on, ', suffixes=("", "_%s")' % a.name if also
                                          else '')
    facts = []
    if len(y.values.keys() - x.values.keys()):
        facts.append('%d of %s find none'
                     % (sum(y.values[v][0] for v in y.values.keys() - x.values.keys()), b.name))
    if len(x.values.keys() - y.values.keys()):
        facts.append('%d of %s are not in %s' % (len(x.values.keys() - y.values.keys()), a.name, b.name))
    return code, '%d rows%s' % (rows, ''.join(', ' + f for f in facts))


def siblings(path):
    """Other tables in the folder of this file, the newest first."""
    found = []
    try:
        with os.scandir(os.path.dirname(path) or '.') as entries:
            for e in itertools.islice(entries, 200):
                st = e.stat(follow_symlinks=False)
                is_table = e.name.lower().endswith(('.csv', '.tsv')) and stat.S_ISREG(st.st_mode)
                if is_table and e.name != os.path.basename(path) and 0 < st.st_size <= SAMPLE:
                    found.append((-st.st_mtime_ns, os.path.join(os.path.dirname(path), e.name)))
    except OSError:
        return []
    return [name for _, name in sorted(found)[:4]]


def joins_with_files(t, others):
    """Facts about a column that another attached file has too. Nothing else of that file is read."""
    for other in others:
        try:
            raw, size = read_start(other)
            text, encoding = decode(raw, True)
            first = [plain_name(c) for c in re.split('[\t;,|]',
                                                     text[:4000].split('\n', 1)[0])] if text else []
            if not any(related(a, t.name, b) or related(b, '', a) for a in first
                       for b in [plain_name(c.name) for c in t.columns[:60]]):
                continue
            u = read_table(other, text, encoding, True,
                           identifier(os.path.basename(other).rsplit('.', 1)[0], 'df1'), 0.5)
            found = joins(t, u) if u and u.whole and t.whole else []
        except (OSError, ValueError):
            continue
        if found and has('pandas'):
            code, facts = join_text(t, u, *found[0])
            return ['joined with %s: %s' % (clean(os.path.basename(other), 60), '; '.join(u.code()[:1])),
                    '%s; %s' % (code, facts)]
    return []


def read_line(path, sep, encoding, skip, header, decimal, grouped, columns, settled, comment):
    if not has('pandas'):
        kind = 'csv.DictReader' if header else 'csv.reader'
        return 'import csv; f = open(%r, newline="", encoding=%r)%s; rows = list(%s(f, delimiter=%r))' % (
            path, encoding, '; [next(f) for _ in range(%d)]' % skip if skip else '', kind, sep)
    args = [repr(path)]
    if sep != ',':
        args.append('sep=%r' % sep)
    if encoding != 'utf-8':
        args.append('encoding=%r' % encoding)
    if skip and not comment:
        args.append('skiprows=%d' % skip)
    if comment:
        args.append("comment='#'")
    return 'pd.read_csv(%s)' % ', '.join(args + column_arguments(header, decimal, grouped, columns, settled))


def column_arguments(header, decimal, grouped, columns, settled):
    """What any of pandas' readers of text must be told of the columns."""
    args = []
    if not header:
        args.append('header=None')
    if decimal == ',':
        args.append("decimal=','")
    if grouped:
        args.append("thousands='%s'" % ('.' if decimal == ',' else ','))
    marks = sorted({m for c, s in zip(columns, settled) if s[0] in ('int', 'float', 'date') for m in c.marks})
    if marks:
        args.append('na_values=%r' % marks[:8])
    # thousands= would also remove the points from 01.02.2024 (seen with pandas 1.5), so such columns stay
    # text until to_datetime.
    text = [c.name for c, (kind, form) in zip(columns, settled)
            if kind == 'code' or (grouped and kind == 'date' and ('.' if decimal == ',' else ',') in form)]
    if text:
        args.append('dtype={%s}' % ', '.join('%r: str' % n for n in text[:8]))
    dates = [c.name for c, (kind, form) in zip(columns, settled)
             if kind == 'date' and (form == 'iso' or form.startswith('%Y-%m-%d'))]
    if dates:
        args.append('parse_dates=%r' % dates[:8])
    return args
