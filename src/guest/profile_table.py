# profile_table.py - the part of profile.py for tables: separator, header, what each column holds, and the line that reads it all.

import re
import time

MISSING = {'', '#N/A', '#N/A N/A', '#NA', '-1.#IND', '-1.#QNAN', '-NaN', '-nan', '1.#IND', '1.#QNAN', '<NA>', 'N/A', 'NA', 'NULL', 'NaN',
           'n/a', 'nan', 'null'}        # what pandas takes for missing by itself
MARKS = {'-', '--', '?', '.', 'missing', 'unknown', 'n.a.', 'k.a.', 'na', 'none', 'nil', '#value!', '#ref!', '#div/0!', 'x', '*'}

INT = re.compile(r'[+-]?\d{1,18}')
FLOAT = re.compile(r'[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|Inf)')
COMMA = re.compile(r'[+-]?\d+,\d+|[+-]?\d{1,3}(\.\d{3})+(,\d+)?')
GROUPED = re.compile(r'[+-]?\d{1,3}(,\d{3})+(\.\d+)?')
CODE = re.compile(r'0\d+')
AMOUNT = re.compile(r'[-+(]?\s*([$€£¥]\s*[\d.,]+|[\d.,]+\s*([$€£¥%]|EUR|USD|GBP|CHF))\s*\)?')
DATES = (                       # pattern, format, and what to call it; the order is the order of trying
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


class Column:
    """Counts what the cells of one column look like, and says what it is."""

    def __init__(self, name):           # name: a number where the file has no header
        self.name, self.n, self.missing, self.marks = name, 0, 0, {}
        self.kinds, self.formats, self.values = {}, {}, {}
        self.high = [0, 0]              # the largest first and second part of a date written with slashes

    def feed(self, cell):
        cell = cell.strip()
        self.n += 1
        if cell in MISSING:
            self.missing += 1
            return
        if cell in self.values:         # most columns repeat themselves: what was looked at once is only counted
            seen = self.values[cell]
            seen[0] += 1
            self.kinds[seen[1]] += 1
            return
        kind = self.kind(cell)
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        if len(self.values) < 5000:
            self.values[cell] = [1, kind]

    def kind(self, cell):
        if len(cell) > 40:
            return 'text'
        if CODE.fullmatch(cell):
            return 'code'
        if INT.fullmatch(cell):
            return 'date' if len(cell) == 8 and 'da' in str(self.name).lower() and self.date(cell) else 'int'
        if FLOAT.fullmatch(cell):
            return 'float'
        if GROUPED.fullmatch(cell):
            return 'grouped'
        if COMMA.fullmatch(cell):
            return 'comma'
        if cell.lower() in ('true', 'false'):
            return 'bool'
        if self.date(cell):
            return 'date'
        if cell.lower() in MARKS:
            self.marks[cell] = self.marks.get(cell, 0) + 1
            return 'mark'
        return 'amount' if AMOUNT.fullmatch(cell) else 'text'

    def date(self, cell):
        if not cell[-1:].isalnum() or not any(c.isdigit() for c in cell):
            return False
        for pattern, form in DATES:
            if pattern.fullmatch(cell):
                self.formats[form] = self.formats.get(form, 0) + 1
                if '{' in form:
                    parts = re.split(r'\D', cell)
                    self.high = [max(self.high[0], int(parts[0])), max(self.high[1], int(parts[1]))]
                return True
        return False

    def settle(self, decimal):
        """(type, format of dates). decimal: the mark of the file, so that 1,5 and 1,500 can be told apart."""
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
        if len(self.formats) > 1:
            return 'iso' if all(f == 'iso' or f.startswith('%Y-%m-%d') for f in self.formats) else 'mixed'
        form = next(iter(self.formats))
        if '{' not in form:
            return form
        first, second = self.high
        if first > 12 and second > 12:
            return 'mixed'
        return form.format('m', 'd') if second > 12 else form.format('d', 'm') if first > 12 or '-' in form else form.format('m', 'd')

    def ambiguous(self, form):
        return form not in ('iso', 'mixed') and form[:2] in ('%d', '%m') and form[2:3] in '/-' and max(self.high) <= 12 and max(self.high) > 0

    def examples(self):
        """The values of a column that has few: a filter is then written right the first time."""
        if len(self.values) > 6 or sum(v[0] for v in self.values.values()) < 2 * len(self.values):
            return ''
        return ': ' + ', '.join(clean(v, 16) for v in sorted(self.values))


def describe(columns, settled):
    parts, length, parsed = [], 0, has('pandas')
    for i, c in enumerate(columns):
        kind, form = settled[i]
        name = {'int': 'int', 'float': 'float', 'bool': 'bool', 'empty': 'empty', 'code': 'text, digits with leading zeros',
                'amount': 'text, amounts with a sign', 'date': 'date', 'text': 'text'}[kind]
        if kind == 'date':
            name = 'text, dates in several formats' if form == 'mixed' else 'datetime' if parsed else 'date ' + form
            if c.ambiguous(form):
                name += ', day and month may be swapped'
        if kind == 'text':
            name += c.examples()
        if c.missing:
            name += ', %d missing' % c.missing
        part = '%s (%s)' % (clean(repr(c.name), 60), name)
        if length + len(part) > COLUMNS_MOST:
            parts.append('and %d more' % (len(columns) - i))
            break
        parts.append(part)
        length += len(part) + 2
    return ', '.join(parts)


def first_rows(rows, sep):
    out = []
    for row in rows[:3]:
        out.append(clean(sep.join(clean(cell, CELL) for cell in row), ROW))
    return 'first %d rows:\n%s' % (len(out), '\n'.join(out)) if out else 'no rows'


def date_lines(columns, settled, text_dates):
    """Statements that make dates of the columns that hold them. text_dates: nothing was parsed by the reader."""
    out = []
    for c, (kind, form) in zip(columns, settled):
        if kind == 'date' and form != 'mixed' and (text_dates or not form.startswith('%Y-%m-%d') and form != 'iso'):
            how = '' if form == 'iso' else ', format=%r' % form
            out.append('df[%r] = pd.to_datetime(df[%r]%s)' % (c.name, c.name, how))
    return out[:6]


# Tables of text

def split(text, sep, whole, stop):
    """Rows of the sample. The last may be cut and is left out then."""
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


def find_separator(text):
    """(separator, columns): the separator whose rows agree best, or None."""
    best = None
    for sep in '\t;,|':
        rows = split(text[:65536], sep, len(text) <= 65536, 60)[0]
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
            continue                    # prose with one comma a line
        # "1,5;2,5" agrees for both: a comma between digits alone is a decimal comma when another separator fits too.
        score = share + (0.001 * min(width, 50) if sep != ',' else 0)
        if best is None or score > best[0]:
            best = (score, sep, width)
    return best and best[1:]


def lines_before(text, sep, width):
    """(records, lines) before the first record of the table: titles, remarks. pandas counts lines, also the empty ones."""
    import csv
    import io
    reader, records, lines = csv.reader(io.StringIO(text[:65536], newline=''), delimiter=sep), 0, 0
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
    first, rest = rows[0], rows[1:20]
    if not rest:
        return not any(number_like(c) for c in first)
    numeric = [i for i in range(len(first)) if all(number_like(r[i]) for r in rest if i < len(r) and r[i].strip())
               and any(i < len(r) and r[i].strip() for r in rest)]
    if not numeric:
        return len(set(first)) == len(first)
    if not number_like(first[0]) and 0 not in numeric and all(re.fullmatch(r'(19|20)\d\d', first[i].strip()) for i in numeric):
        return True                     # one column a year
    return not all(number_like(first[i]) for i in numeric)


def unique(names):
    """As pandas names them: a second 'x' is 'x.1', an empty one 'Unnamed: 2'."""
    seen, out = {}, []
    for i, name in enumerate(names):
        name = name if name.strip() else 'Unnamed: %d' % i
        n = seen.get(name, 0)
        seen[name] = n + 1
        out.append(name if not n else '%s.%d' % (name, n))
    return out


def study(columns, rows):
    """Feed rows to columns until the time is over; how many were seen."""
    until = time.monotonic() + SECONDS
    for n, row in enumerate(rows):
        if n % 256 == 255 and time.monotonic() > until:
            return n
        for c, cell in zip(columns, row):
            c.feed(cell)
        for c in columns[len(row):]:
            c.feed('')
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


def table(path, text, encoding, whole):
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
    names = unique(rows[0]) if header else list(range(width))
    body = rows[1:] if header else rows
    columns = [Column(n) for n in names[:400]]
    seen = study(columns, body)
    decimal = decimal_mark(columns, sep)
    grouped = any(c.kinds.get('grouped') for c in columns) if decimal == '.' else any(
        re.fullmatch(COMMA, v) and '.' in v for c in columns for v in c.values if c.values[v][1] == 'comma')
    settled = [c.settle(decimal) for c in columns]
    lines = [read_line(path, sep, encoding, skip_lines if skip else 0, header, decimal, grouped, columns, settled, comment)]
    if has('pandas'):
        lines += date_lines(columns, settled, False)
    total = '%d rows' % len(body) if all_rows else 'about %d rows' % max(count_rows(path) - skip - header, len(body))
    if seen < len(body) or not all_rows:
        total += ', looked at the first %d' % seen
    lines.append('%s, columns: %s' % (total, describe(columns, settled)))
    lines.append(first_rows(body, sep))
    return '\n'.join(lines)


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
    if not header:
        args.append('header=None')
    if decimal == ',':
        args.append("decimal=','")
    if grouped:
        args.append("thousands='%s'" % ('.' if decimal == ',' else ','))
    marks = sorted({m for c, s in zip(columns, settled) if s[0] in ('int', 'float', 'date') for m in c.marks})
    if marks:
        args.append('na_values=%r' % marks[:8])
    # thousands= would take the points out of 01.02.2024 as well (seen with pandas 1.5), so such columns stay text until to_datetime.
    text = [c.name for c, (kind, form) in zip(columns, settled)
            if kind == 'code' or (grouped and kind == 'date' and ('.' if decimal == ',' else ',') in form)]
    if text:
        args.append('dtype={%s}' % ', '.join('%r: str' % n for n in text[:8]))
    dates = [c.name for c, (kind, form) in zip(columns, settled)
             if kind == 'date' and (form == 'iso' or form.startswith('%Y-%m-%d'))]
    if dates:
        args.append('parse_dates=%r' % dates[:8])
    return 'import pandas as pd; df = pd.read_csv(%s)' % ', '.join(args)
