# profile_table.py - the part of file_profile.py for tables of text: separator, header, and the line that
# reads the file.

import itertools
import os
import re


def padded(text, sep):
    """Do quotes stand behind blanks ('1, "a, b"'), which a reader must be told to skip?"""
    return bool(re.search(re.escape(sep) + ' +"(?!")', text[:65536]))


def split(text, sep, whole, stop, quoting=0):
    """Rows of the sample. The last one may be incomplete and is then left out."""
    import csv
    import io
    csv.field_size_limit(1 << 20)
    rows = []
    try:
        for row in csv.reader(io.StringIO(text, newline=''), delimiter=sep, quoting=quoting,
                              skipinitialspace=padded(text, sep)):
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


def column_or_header(path, text):
    """(separator, columns) of a CSV that has one column, or a header and no rows; None for any other."""
    if path.rsplit('.', 1)[-1].lower() not in ('csv', 'tsv') or text.lstrip()[:1] in ('{', '['):
        return None
    head = text[:65536]
    lines = head.split()
    if len(lines) > 2 and len(lines) == len(head.splitlines()) and not re.search(r'[,;|\t<]', head):
        return ',', 1
    counts = {sep: text.count(sep) + 1 for sep in '\t;,|'}
    sep = max(counts, key=counts.get)
    first = text.strip('\r\n')
    return (sep, counts[sep]) if counts[sep] > 1 and not re.search(r'[\r\n<>]|, ', first) else None


def find_separator(text, named=False):
    """(separator, columns): the separator whose rows agree best, or None. named: as its name says, it is a
    table, so half of its rows may be ragged if its first one is not."""
    best, head = None, beginning(text)
    whole = len(text) <= len(head)
    bare = re.sub(r'\A(#[^\n]*\n)+', '', head)
    head = bare if bare.count('\n') > 1 else head
    for sep in '\t;,|':
        rows = split(head, sep, whole, 60)[0]
        widths = [len(r) for r in rows]
        if len(widths) < 2:
            continue
        width = max((w for w in widths if w > 1), key=lambda w: (widths.count(w), w), default=0)
        if not width:
            continue
        skip = widths.index(width)
        share = widths.count(width) / (len(widths) - skip)
        if share < (0.5 if named and not skip else 0.7) or skip > 10 or (skip and widths.count(width) < 3):
            continue
        if width == 2 and all(len(r) != 2 or r[1][:1] == ' ' for r in rows):
            continue                    # prose with one comma per line
        # "1,5;2,5" agrees for both: a comma between digits alone is a decimal comma when another separator
        # fits too.
        score = share + (0.001 * min(width, 50) if sep != ',' else 0)
        if best is None or score > best[0]:
            best = (score, sep, width)
    return best and best[1:]


def is_remark(row):
    return row[0][:1] == '#'


def is_title(row, after):
    """Does this row say one thing, in front of rows that say more? Excel pads it with separators."""
    return len(row) > 2 and sum(map(bool, row)) == 1 and any(2 * sum(map(bool, r)) > len(row) for r in after)


def units_row(header, rows):
    """The units below a header, if its first row has nothing else: no number, and words only in columns of
    numbers."""
    first, rest = rows[0], rows[1:20]
    if len(rest) < 3 or any(map(number_like, first)) or not any(first) or len(first) != len(header):
        return ''
    for i, cell in enumerate(first):
        cells = [r[i] for r in rest if i < len(r) and r[i].strip()]
        if cell.strip(' -') and (len(cell) > 12 or not cells or not all(map(number_like, cells))):
            return ''
    return ', '.join('%s %s' % (name, cell) for name, cell in zip(header, first) if cell.strip(' -'))


def lines_before(text, sep, width):
    """(records, lines) before the first record of the table, such as titles and remarks. pandas counts lines,
    including empty ones. The last remark may be the header ("#id,name")."""
    import csv
    import io
    reader = csv.reader(io.StringIO(beginning(text), newline=''), delimiter=sep,
                        skipinitialspace=padded(text, sep))
    seen, lines = [], 0
    for row in reader:
        if row:
            seen.append((row, lines))
        if len(seen) > 200:
            break
        lines = reader.line_num
    records = [row for row, _ in seen]
    remarks = len(list(itertools.takewhile(is_remark, records)))
    if remarks == len(records):
        remarks = 0                     # these are its cells
    elif remarks and len(records[remarks - 1]) == width:
        remarks -= bool(re.match(r'#\w', records[remarks - 1][0])) or not has_header(records[remarks:])
    for n, (row, before) in enumerate(seen[remarks:remarks + 11], remarks):
        if len(row) == width and row[0] != 'sep=' and not is_title(row, records[n + 1:n + 6]):  # as in Excel
            return n, before
    return 0, 0


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
    until, width = clock() + seconds, len(columns)
    step = max(16, 65536 // max(1, width))
    for start in range(0, len(rows), step):
        if start and clock() > until:
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
        self.title = name               # the file's own name
        self.units = ''                 # of columns, where a row below the header says them
        self.columns, self.settled, self.body = columns, settled, body
        self.whole = True               # every row was examined

    def code(self):
        return ['%s = %s' % (self.name, self.read)] + self.dates if has('pandas') else [self.read]

    def called(self):
        """What its description begins with, where it is one of several."""
        return '' if self.name == 'df' else self.name + ': '


def read_table(path, text, encoding, whole, name='df', seconds=SECONDS):
    named = bool(re.search(r'\.[ct]sv(\.|$)', path, re.I))
    found = find_separator(text, named) or column_or_header(path, text)
    if not found:
        return None
    sep, width = found
    skip, skip_lines = lines_before(text, sep, width)
    rows, all_rows = split(text, sep, whole, 1 << 30)
    before = rows[:skip]
    rows = rows[skip:]
    if not rows:
        return None
    damage = damaged_rows(text, rows, width, whole)
    if damage[0] == 'quoting=3':
        rows = split(text, sep, whole, 1 << 30, 3)[0][skip:]
    table = [row for row in rows if len(row) == width or not is_remark(row)]
    if len(table) < len(rows) and not any('#' in c for row in table for c in row):
        rows = table
        damage = damage[0] or "comment='#'", damage[1]
    header = has_header(rows)
    names = unique(rows[0][:400]) if header else list(range(min(width, 400)))
    body = rows[1:] if header else rows
    units = units_row(names, body) if header and len(body) > 3 and has('pandas') else ''
    body = body[1:] if units else body
    skipped = skip_lines if skip else 0
    columns = [Column(n) for n in names]
    seen = study(columns, body, seconds)
    decimal = decimal_mark(columns, sep)
    grouped = any(c.kinds.get('grouped') for c in columns) if decimal == '.' else any(
        re.fullmatch(COMMA, v) and '.' in v for c in columns for v in c.values if c.values[v][1] == 'comma')
    settled = [c.settle(decimal) for c in columns]
    read = read_line(path, sep, encoding, list(range(skipped)) + [skipped + 1] if units else skipped, header,
                     decimal, grouped, columns, settled, damage[0], padded(text, sep))
    t = Table(name, read, columns, settled, body, decimal, type_lines(columns, settled, False, name)
              if has('pandas') else ())
    t.sep, t.width, t.whole = sep, width, all_rows and seen == len(body)
    t.title = os.path.basename(path).split('.', 1)[0]
    t.total = '%d rows' % len(body) if all_rows else 'about %d rows' % max(count_rows(path) - skip - header,
                                                                           len(body))
    if not t.whole:
        t.total += ', looked at the first %d' % seen
    t.before = clean(' / '.join(sep.join(row).rstrip(sep) for row in before), ROW)
    t.units = clean(units, 2 * ROW)
    t.wrong = damage[1] or ('' if body else 'it has a header and no rows')
    return t


def damaged_rows(text, rows, width, whole):
    """(an argument with which pandas reads the file all the same, what is wrong with it), or ('', '')."""
    if whole and '\n' in rows[-1][-1] and text.count('"') % 2:
        return 'quoting=3', 'a quote in it is never closed'
    longer = [row for row in rows[1:] if len(row) > width and any(row[width:])]
    if not longer or len(rows[0]) > width:
        return '', ''
    has_or_have = ' has' if len(longer) == 1 else 's have'
    wrong = '%d row%s more cells than the header' % (len(longer), has_or_have)
    if 10 * len(longer) <= len(rows):
        return "on_bad_lines='warn'", wrong + ', and these rows are left out'
    return "engine='python', on_bad_lines=lambda row: row[:%d]" % width, wrong + ', which are cut off'


def table(path, text, encoding, whole):
    t = read_table(path, text, encoding, whole, variable(path, 'df'))
    if not t:
        return None
    lines = t.code() + joins_with_files(t, path)
    if has('pandas'):
        lines[0] = 'import pandas as pd; ' + lines[0]
    columns = describe(t.columns, t.settled, t.decimal)
    more = '' if t.width <= len(t.columns) else ', and %d more' % (t.width - len(t.columns))
    lines.append('%s%s, columns: %s%s' % (t.called(), t.total, columns, more))
    if t.wrong:
        TROUBLE.append(t.wrong.partition(',')[0])
        lines.append(t.wrong)
    if t.before:
        lines.append('before them: ' + t.before)
    if t.units:
        lines.append('units: ' + t.units)
    left = MOST - sum(len(s) + 1 for s in lines)
    rows = first_rows(t.body, t.sep)
    lines.append(rows if len(rows) <= left else first_rows(t.body, t.sep, 1))
    return '\n'.join(lines)


def read_line(path, sep, encoding, skip, header, decimal, grouped, columns, settled, damage='',
              blanks=False):
    if not has('pandas'):
        kind = 'csv.DictReader' if header else 'csv.reader'
        return 'import csv; f = open(%r, newline="", encoding=%r)%s; rows = list(%s(f, delimiter=%r%s))' % (
            path, encoding, '; [next(f) for _ in range(%d)]' % skip if skip else '', kind, sep,
            ', skipinitialspace=True' if blanks else '')
    args = [repr(path)]
    if sep != ',':
        args.append('sep=%r' % sep)
    if encoding != 'utf-8':
        args.append('encoding=%r' % encoding)
    if path.endswith(('.gz', '.bz2', '.xz', '.zip', '.zst')):
        args.append('compression=None')     # by its name pandas would take it for compressed
    if damage:
        args.append(damage)
    if blanks:
        args.append('skipinitialspace=True')
    if skip:
        args.append('skiprows=%r' % (skip,))
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
             if kind == 'date' and (form == 'iso' and not c.zones() or form.startswith('%Y-%m-%d'))]
    if dates:
        args.append('parse_dates=%r' % dates[:8])
    return args
