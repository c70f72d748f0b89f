# profile_table.py - the part of file_profile.py for tables of text. It proposes arguments for a reader of
# pandas (separator, header, lines to skip), runs it, and keeps the first reading that makes a good frame.

import collections
import csv
import io
import itertools
import os
import re

UNIT = '\x1f'                   # stands for a longer separator
HEAD = 65536                    # characters from which a table's form is proposed
LINES = 100000                  # of a text that is looked at row by row for what is no row
NEAR, FAR = 4 << 20, 1 << 20    # bytes at the beginning, and in the middle and at the end, of a large file


def rows_of(text, sep, stop=60, **more):
    """[(row, rows before it)] of the beginning of a text, with which a form is proposed."""
    csv.field_size_limit(1 << 20)
    out = []
    try:
        for n, row in enumerate(csv.reader(io.StringIO(text, newline=''), delimiter=sep, **more)):
            out += [(row, n)] * bool(row)
            if len(out) >= stop:
                break
    except csv.Error:
        pass
    return out


def beginning(text):
    """Enough of a table to recognise its form: 64 KiB, or three lines if these are longer."""
    end = 0
    for _ in range(3):
        end = text.find('\n', end) + 1 or len(text)
    return text[:max(HEAD, end)]


def ways_to_quote(head, sep):
    """[arguments for the reader]: what marks a quote, or a separator that is none."""
    yield {}
    if re.search(r'[^\\]\\["%s]' % sep, head):
        yield {'escapechar': '\\'}
    if re.search(r"[,;\t|]'[^'\n]*[,;\t|][^'\n]*'[,;\t|\n]", head) and '"' not in head:
        yield {'quotechar': "'"}


class Form:
    """One proposal: how a text is split into rows and cells."""

    def __init__(self, head, sep, args, named):
        self.sep, self.args, self.score = sep, dict(args), 0
        names = head.lstrip('\n').split('\n', 1)[0].split(sep)[1:]
        padded = sep != '\t' and (
            bool(names) and all(n[:1] == ' ' for n in names)
            or head.count(sep + ' ') * 10 >= 9 * head.count(sep) > 0
            or re.search(re.escape(sep) + ' +"(?!")', head))
        if padded or re.search(r'%s +(NA|N/A|NaN|NULL|\?)?[%s\n]' % (re.escape(sep), sep), head, re.I):
            self.args['skipinitialspace'] = True
        self.reader = {k: v for k, v in self.args.items() if k not in ('sep', 'engine')}
        self.reader['doublequote'] = 'escapechar' not in args
        self.rows = rows_of(head, sep, **self.reader)
        if len(self.rows) > 2 and len(head) >= HEAD:
            self.rows.pop()
        table = [r for r, _ in self.rows if not is_remark(r)]
        table = table if len(table) > 1 else [r for r, _ in self.rows]
        widths = [len(r) for r in table]
        self.width = max((w for w in widths if w > 1), key=lambda w: (widths.count(w), w), default=0)
        if len(widths) < 2 or not self.width:
            return
        if widths[0] > self.width and all(table[0][:-1]) and has_header(table):
            self.width = widths[0]      # rows without the empty cells at their end
            least = 1 if named else self.width // 2
            widths = [self.width if self.width > w > least else w for w in widths]
        skip = widths.index(self.width)
        share = widths.count(self.width) / (len(widths) - skip)
        if share < (0.5 if named and not skip else 0.7) or skip and widths.count(self.width) < 3:
            return
        spaced = 10 * head.count(sep + ' ') > 6 * head.count(sep) and '"' not in head
        if sep == ',' and self.width == 2 and spaced and not (named and set(widths) == {2}):
            if not all(number_like(r[1]) for r in table[1:] if len(r) > 1):
                return                  # prose
        # "1,5;2,5" agrees for both: where another separator fits too, the comma is a decimal mark
        self.score = share + 0.1 * (sep == UNIT) + (0.001 * min(self.width, 50) if sep != ',' else 0)
        self.score += head.count('"%s"' % sep) >= len(widths)
        self.score += 0.01 * ('escapechar' in args) + 0.01 * ('quotechar' in args)


def forms(path, text):
    """The proposals for a text, the best first."""
    head = beginning(text)
    named = bool(re.search(r'\.[ct]sv(\.|$)', path, re.I))
    first = re.match(r'sep=(.)\r?\n', head)
    found = [Form(head, sep, args, named) for sep in ('\t;,|' if not first else first[1])
             for args in ways_to_quote(head, sep)]
    found += [Form(re.sub(sep, UNIT, head), UNIT, {'sep': sep, 'engine': 'python'}, named)
              for sep in longer_separators(head)]
    return sorted((f for f in found if f.score), key=lambda f: -f.score) or one_column(path, text, named)


def longer_separators(head):
    """What splits all lines into as many cells, beside the usual characters: '::', '||', runs of tabs."""
    lines = [s for s in head.split('\n')[:60] if s.strip() and s[0] != '#']
    lines = lines[:-1] if len(lines) > 2 else lines
    marks = set(re.findall(r'[^\w\s"\'.,;+()*/=<>{}\[\]-]{2,4}|[\^~\xa6\x01\x1e\x1f]', ''.join(lines[:1])))
    found = [re.escape(m) for m in marks if {s.count(m) for s in lines} == {lines[0].count(m)} != {1}
             and (m != '||' or ''.join(lines).count('|') == 2 * ''.join(lines).count(m))]
    runs = {len(re.findall('\t+', s.strip())) for s in lines}
    return found + ['\t+'] * (len(runs) == 1 and runs != {0} and '\t\t' in head)


def one_column(path, text, named):
    """The form of a CSV that has one column, or a header and no rows, or of a text of numbers."""
    lines = text[:HEAD].strip('\r\n').splitlines()
    sep = max('\t;,|', key=lines[0].count) if lines else ','
    alone = len(lines) > 2 and not any(re.search(r'[\s,;|<{\[]', s) for s in lines)
    header = len(lines) == 1 and sep in lines[0] and not re.search('[<>{]|, ', lines[0])
    form = Form(text[:HEAD], sep, {}, True)
    form.width = lines[0].count(sep) + 1 if lines else 0
    return [form] * (named and (alone or header) or len(lines) > 5 and all(map(number_like, lines[1:])))


def is_remark(row):
    return row[0].lstrip()[:1] == '#'


def filled_cells(row):
    return sum(bool(c.strip()) for c in row)


def is_title(row, after):
    """Does this row say one thing or nothing, in front of rows that say more? Excel pads it."""
    wide = len(row) > 2 or len(row) == 2 and any(filled_cells(r) == 2 and has_header(after[i:])
                                                 for i, r in enumerate(after[:2]))
    return wide and filled_cells(row) < 2 and any(filled_cells(r) > min(2, len(row) / 2) for r in after)


TYPE = re.compile(r'\d*[sdnfi]|str(ing)?|text|(var)?char|(u|big)?int(eger)?\d*|float\d*|double|real|'
                  r'num(eric|ber)?|date(time)?|timestamp|bool(ean)?|object|factor|nominal', re.I)
HEADERS = 5                     # most rows of a header


def cells_below(rows, width):
    """The cells of each column that say something, and which columns hold nothing but numbers or dates."""
    cells = [[r[i].strip() for r in rows if i < len(r) and r[i].strip() not in MISSING
              and r[i].strip().lower() not in MARKS] for i in range(width)]
    return cells, [i for i, column in enumerate(cells) if column and all(map(typed, column))]


def header_depth(rows):
    """How many of these rows are the header: the last of them has words, or years, above columns of numbers
    or dates, and no row of them is one of the table."""
    width = len(rows[0])
    ids = [i for i, row in enumerate(rows[:HEADERS]) if row[0].startswith('{"ImportId"')]
    if ids or len(rows) > 3 and fills_gaps(rows[0], rows[1]) and rows[2][0].strip():
        return ids[0] + 1 if ids else 2     # the former is of a survey by Qualtrics
    for depth in range(min(HEADERS, len(rows) - 1), 1, -1):
        below, data = cells_below(rows[depth:depth + 20], width)
        least = 1 if len(rows) > depth + 2 else 3
        data = [i for i in data if len(below[i]) > 1 or least > 1]
        inner, _ = cells_below(rows[1:depth], width)
        last = [c for i in data for c in cells_below(rows[depth - 1:depth], width)[0][i]]
        over = [i for i in data if inner[i]]
        years = len(over) > 1 and all(map(is_year, last)) and not all(map(is_year, below[data[0]]))
        words = [c for row in rows[1:depth - years] for c in row if c.strip()]
        told = all(map(filled_cells, rows[:depth])) and 2 * len(over) >= len(data)
        if last and len(over) > least and told and not any(map(typed, words)):
            return depth
    return 1


def fills_gaps(first, second):
    """Has the second row the cells that the first has not, and none where it begins?"""
    gaps = [i for i, c in enumerate(first) if not c.strip()]
    there = len(gaps) > 1 and len(second) == len(first) and all(second[i].strip() for i in gaps)
    return there and first[0].strip() and not second[0].strip() and not any(map(typed, second))


def cell_kind(cell):
    """'n' for a number or a date, 'w' for words, '' for what says nothing or stands for what is missing."""
    cell = cell.strip()
    if cell in MISSING or cell.lower() in MARKS or not re.search(r'\w|[%‰#]|' + CURRENCY, cell):
        return ''
    return 'n' if typed(cell) or cell in ('True', 'False') else 'w'


def is_axis(cells, below, named):
    """Are the numbers above columns of numbers their names: years, dates, or 0, 1, 2? named: there are words
    above them."""
    if len(set(cells)) < max(2, len(cells)):
        return False
    if all(map(is_year, cells)):
        return not all(map(is_year, below))
    counted = [str(int(cells[0]) + i) if cells[0].isdigit() else '' for i in range(len(cells))]
    return not named and len(cells) > 2 and cells == counted or not any(map(number_like, cells)) and all(
        map(number_like, below))


def header_rows(rows):
    """(first, body): where the header begins, and what follows it, found from where numbers or dates begin;
    None: nothing tells. rows: [(row, rows before it)], of one width."""
    cells = [row for row, _ in rows]
    kinds = [list(map(cell_kind, row)) for row in cells]

    def is_names(at, data):
        numbers = [i for i in data if kinds[at][i] == 'n']
        after = [r[i].strip() for r, k in zip(cells[at + 1:at + 9], kinds[at + 1:]) for i in numbers if k[i]]
        above = [cells[at - 1][i] for i in numbers if at and kinds[at - 1][i]]
        named = 2 * len(above) > len(numbers) and len(set(above)) > 1
        return after and is_axis([cells[at][i].strip() for i in numbers], after, named)
    for body in range(1, len(rows)):
        below = list(zip(*kinds[body:body + 20]))
        data = [i for i, column in enumerate(below) if column.count('n') > 2 * column.count('w')]
        held = [kinds[body][i] for i in data if kinds[body][i]]
        numbers = held.count('n')
        if not numbers or 2 * numbers < len(held) or 4 * numbers < len(data) or is_names(body, data):
            continue
        for last in reversed(range(body)):
            words = sum(kinds[last][i] == 'w' for i in data)
            alike = any(re.search(r'\d', c) and not number_like(c)
                        and {shape_of(c)} == set(map(shape_of, more))
                        for c, *more in zip(*cells[last:body + 5]))
            if words and 3 * words >= len(data) and not alike or is_names(last, data):
                return header_above(cells, kinds, rows, last, body, data)
    return None


def header_above(cells, kinds, rows, last, body, data):
    """header_rows(), of which a row of names and the first row of numbers are known, and the columns of
    numbers."""
    first, names = last, cells[last]
    labels = [i for i, k in enumerate(kinds[last + 1]) if k] if last + 1 < body else []
    if len(labels) > 1 and not set(labels) & set(data) and not any(names[i].strip() for i in labels):
        last += 1                       # which names the columns in front of those
        names = [' '.join(filter(None, pair)) for pair in zip(names, cells[last])]
    while first and len({*map(tuple, cells[first:last + 1])}) < 2 * HEADERS and names_more(
            cells[first - 1], kinds[first - 1], names, data, rows[first][1] - rows[first - 1][1] > 1):
        first -= 1
        names = [' '.join(filter(None, pair)) for pair in zip(cells[first], names)]
    if any(2 * sum(k[i] == 'n' for i in data) > len(data) for k in kinds[:first]):
        return None                     # a header of rows in the middle
    return first, last + 1


def names_more(row, kinds, names, data, apart):
    """Does this row above some of a header say more of its columns, rather than of the whole table?"""
    held = [i for i, c in enumerate(row) if c.strip()]
    named = [i for i, name in enumerate(names) if name.strip()]
    if not held or any(k == 'n' and not is_year(c) for k, c in zip(kinds, row)):
        return False
    start, after = named[0], row[named[0] + 1:named[0] + 2]
    if held[0] == start and start not in data and after == [row[start]] and names[start + 1] != names[start]:
        return False                    # a title above the first columns
    remark = any(re.match(r'.*[:：]|\(', row[i]) for i in held)
    if len({row[i] for i in held}) == 1:        # a group, or a remark such as a unit
        wide = held[0] > start or held[0] == start in data and after == [row[start]]
        wide = wide and 1 < sum(i >= held[0] for i in named) and not set(named) <= set(held)
        return wide and not apart and not remark
    said = [name for name, _ in itertools.groupby(names[i] for i in named)]
    needed = len(set(said)) < len(said) or not apart and (
        2 * len(held) >= len(named) or held[0] > start and not remark)
    return not set(held) <= set(named) or needed and not held[-1] < 2 < len(named)


def is_year(cell):
    return bool(re.fullmatch(r'(19|20)\d\d', cell.strip()))


def joined_names(header, merged=False):
    """The names of columns that several rows give together ("2023" above "Q1" and "Q2"). merged: each cell is
    in all columns that it names."""
    width = max(map(len, header))
    plain = [[c.strip() for c in row] + [''] * (width - len(row)) for row in header]
    filled = [row[:] for row in plain]
    for r, row in enumerate(filled[:-1] if not merged else ()):
        group = ''                      # a cell names what is right of it, if columns have names below it
        for i, cell in enumerate(row):
            inner = next(filter(None, [below[i] for below in plain[r + 1:]]), '')
            if cell or any(above[i] for above in plain[:r]):
                group = cell if inner not in ('', cell) else ''
            row[i] = cell or group * bool(inner)
    # "State" above "Code" may name that alone, but "2023" above "Q1", or "Rate" above years, does not
    digits = [sum(bool(re.search(r'\d', c)) for c in row) for row in (plain[0], plain[-1])]
    period = digits[0] or 2 * digits[1] > width
    for rows in (filled, plain) if period or fills_gaps(header[0], header[-1]) else (plain, filled, plain):
        names = [' '.join(' '.join(dict.fromkeys(filter(None, cells))).split()) for cells in zip(*rows)]
        names = [re.sub(r'(\w)- (?=[a-z])', r'\1', name) or 'Unnamed: %d' % i for i, name in enumerate(names)]
        if len(set(names)) == width:
            break
    return unique(names)


def units_row(header, rows):
    """'units: ...' of the row below a header, if it has nothing else: no number, and words only in columns of
    numbers. Or 'types: ...'."""
    first, rest = rows[0], rows[1:20]
    if 2 * filled_cells(header) < len(header) or len(first) != len(header) or any(map(typed, first)):
        return ''
    cells, data = cells_below(rest, len(first))
    if len(first) > 1 and all(TYPE.fullmatch(c.strip()) and c not in below for c, below in zip(first, cells)):
        return 'types: ' + ', '.join(first)
    named = [i for i, c in enumerate(first) if c.strip(' -')]
    if not named or len(rest) < 3 > len(named) or not all(i in data and len(first[i]) < 20 for i in named):
        return ''
    return 'units: ' + ', '.join('%s %s' % (header[i], first[i]) for i in named)


def groups_of(rows):
    """Rows, in groups with empty lines between them. rows: [(row, rows before it)]"""
    groups = []
    for i, (row, n) in enumerate(rows):
        if not i or n != rows[i - 1][1] + 1:
            groups.append([])
        groups[-1].append(row)
    return groups


def several_tables(groups, header):
    """Are these groups several tables, because one has a header of its own, or most columns both numbers and
    words?"""
    groups = [[row for row in g if not is_remark(row)] for g in groups if len(g) > 1]
    for k, group in enumerate(groups):
        for i, row in enumerate(group):
            if row == header and (filled_cells(group[i - 1]) < 2 if i else k):
                return True
        for i, row in enumerate(group[:2] if k else ()):
            words = filled_cells(row) > 1 and not any(map(typed, row))
            if words and len(group) > i + 2 and cells_below(group[i + 1:i + 21], len(row))[1]:
                return True
    cells = [c for c in cells_below([r for g in groups for r in g[:20]], len(header))[0][1:] if c]
    mixed = [c for c in cells if len(c) < 5 * sum(map(typed, c)) < 4 * len(c)]
    return len(groups) > 1 and 2 * len(mixed) > len(cells)


class Header:
    """What the first rows of a table say of its columns. rows: [(row, rows before it)]; args: for the
    reader; depth: how many are no rows of the table; notes: what is told."""

    def __init__(self, rows, depth=0, merged=False):
        cells, before = [r for r, _ in rows], rows[0][1]
        self.names, self.notes, self.args = cells[0], [], {'skiprows': before} if before else {}
        self.depth, self.merged, self.joined = depth or header_depth(cells), merged, []
        units = units_row(cells[0], cells[1:]) if self.depth < 3 and len(cells) > 2 else ''
        units = units if units and has_header(cells) else ''
        self.depth = 2 if units else self.depth
        if self.depth > 1:
            self.name_columns(rows, cells[:self.depth], units)
        elif not has_header(cells):
            self.args['header'], self.depth = None, 0

    def name_columns(self, rows, header, units):
        """Of several rows: the first, if it names each column, or the one that names most, if the names of
        all together are long."""
        end = rows[self.depth][1] if len(rows) > self.depth else rows[-1][1] + 1
        joined = joined_names(header, self.merged)
        apart = units or self.names_all(header[1:])
        self.joined = [] if apart else joined
        if not apart and len(repr(joined)) <= 400:
            self.names = joined
            self.args.update(skiprows=end, header=None, names=joined)
            self.notes = ['%d header rows, joined into names' % self.depth]
            return
        k = 0 if apart else max(range(self.depth), key=lambda k: (len(set(filter(None, header[k]))), -k))
        self.names = header[k]
        self.args = {'skiprows': [i for i in range(end) if i != rows[k][1]]}
        other = ['%s from %r' % (c.strip(), name) for row in header[:k] + header[k + 1:]
                 for c, name in zip(row, unique(self.names)) if c.strip(' -') and c[:2] != '{"']
        self.notes = [units or 'also above the rows: ' + ', '.join(other)]

    def names_all(self, below):
        """Has every column below which these rows say something a name of its own?"""
        names = [c for c in map(str.strip, self.names) if c]
        gaps = any(c.strip() and not name.strip() for row in below for c, name in zip(row, self.names))
        return len(set(names)) == len(names) > 1 and not gaps and not any(map(typed, names))


def number_like(cell):
    cell = cell.strip().lstrip('+-')
    return bool(PLAIN.fullmatch(cell) or ENGLISH.fullmatch(cell) or GERMAN.fullmatch(cell)
                or re.fullmatch('0x[0-9A-Fa-f]+', cell))


def typed(cell):
    cell = cell.strip()
    return number_like(cell) or cell[:1].isalnum() and bool(date_forms(cell)) or bool(CLOCK.fullmatch(cell))


def has_header(rows):
    """Does the first row differ from those below it in what its cells are?"""
    first, rest = rows[0][:400], rows[1:20]
    if not rest:
        return not any(number_like(c) for c in first)
    below, data = cells_below(rest, len(first))
    if any(not typed(c) and c not in MISSING and (c not in MARKS or c.isalnum())
           for c in (first[i].strip() for i in data)):
        return True
    cells = [first[i].strip() for i in data if first[i].strip()]
    if cells and not typed(first[0]) and (0 not in data or not first[0].strip()) and (
            all(map(is_year, cells)) or len(cells) > 1 and cells == [str(k) for k in range(len(cells))]):
        return True                     # one column per year, or per place
    alike = [c for c, column in zip(first, below) if {shape_of(c)} == set(map(shape_of, column))]
    if len(first) == 1:                 # "www.a.org" above "b.org"
        alike = [set(first[0]).intersection(*below[0])]
    if len(rest) > 2 and re.search(r'[\W\d_]', ''.join(itertools.chain(*alike))):
        return False                    # "de_DE" above "en_US"
    unlike = len(rest) > 2 and all(c not in column for c, column in zip(first, below))
    return not data and (len(set(first)) == len(first) or unlike) and not any(map(typed, first))


def shape_of(cell):
    return re.sub(r'\d', '9', re.sub('[A-Z]', 'A', re.sub('[a-z]', 'a', cell.strip())))


class Proposal:
    """The arguments of a reader for one form, and what stands before the table."""

    def __init__(self, form, encoding, text=''):
        self.width, self.sep = form.width, form.sep if form.sep != UNIT else ' | '
        self.args = {'sep': form.sep} if form.sep != ',' else {}
        self.args.update({'encoding': encoding} if encoding != 'utf-8' else {})
        self.args.update(form.args)
        skip = self.place([r for r, _ in form.rows])
        rows = form.rows[skip:]
        longer = [r for r in rows if len(r[0]) == self.width or not is_remark(r[0])]
        rows = longer if rows[1:] else rows
        head = Header(rows)
        self.args.update(head.args)
        named = self.named_above(form, skip) if not head.depth else []
        self.args.update({'names': named} if named else {})
        self.notes, self.wrong, self.tail, self.several = head.notes, '', 0, []
        first, body = rows[0][0], [r for r, _ in rows[1:]]
        if head.depth == 1 and len(first) < self.width:
            self.short_header(first, body)
        elif not head.depth and not named and len(first) < self.width:
            self.args['names'] = range(self.width)
        if rows[1:]:
            self.leave_out(form, text, rows[max(0, head.depth - 1)])
        said = ' / '.join(form.sep.join(r).rstrip(form.sep) for r, _ in form.rows[:skip] if filled_cells(r))
        self.notes += ['before them: ' + clean(said, ROW)] * bool(said)

    def short_header(self, first, rows):
        """The rows have more cells than the header: a separator at the end of each, R's names of rows, or a
        column without a name behind the others."""
        if rows and not any(c.strip() for r in rows for c in r[len(first):]):
            self.args['index_col'] = False
            self.width = len(first)
        elif len({r[0] for r in rows}) < len(rows):
            self.args.update(header=0, names=[*first, 'Unnamed: %d' % len(first)])

    def named_above(self, form, skip):
        """The names of the columns that a remark above gives: "#fields" of Zeek, "# Fields:" of BLAST."""
        for row, _ in form.rows[:skip]:
            m = re.match(r'#\s*(fields|columns)\b[:=]?\s*(.*)', form.sep.join(row), re.I | re.S)
            for sep in (form.sep, ', ', ' ') if m else ():
                if m[2].count(sep) == self.width - 1:
                    return unique(m[2].split(sep))
        return []

    def leave_out(self, form, text, header):
        """Has the reader pass over what is no row of the table below this header: the header again, rows of
        separators, and comments. Large files are looked at in part, so there only comments are."""
        first, at = header
        again = r'|"?%s"?%s' % tuple(map(re.escape, (first[0], form.sep))) * bool(first[0].strip())
        short = len(form.sep) == 1 and text.count('\n') <= LINES
        whole = short and re.search(r'\n(#|[\s"%s]*\n%s)' % (form.sep, again), text.rstrip())
        rows = rows_of(text, form.sep, float('inf'), **form.reader) if whole else form.rows
        rows = [(row, n) for row, n in rows if n >= at]
        kinds = {n: 'comment' if is_remark(row) and len(row) != self.width else
                 'empty row' if not ''.join(row).strip() else
                 'repeated header' * (row == first and 'header' not in self.args) for row, n in rows[1:]}
        if 'comment' in kinds.values() and not any(
                '#' in c for row, n in rows if kinds.get(n) != 'comment' for c in row):
            self.args['comment'] = '#'
            kinds = {n: kind for n, kind in kinds.items() if kind != 'comment'}
        groups = groups_of([(row, n) for row, n in rows[1:] if kinds.get(n) != 'empty row']) if whole else []
        self.several = [first, *(g[0] for g in groups[1:20])] if several_tables(groups, first) else []
        if not whole or not any(kinds.values()):
            return
        before = self.args.get('skiprows', 0)
        before = before if type(before) is list else range(before)
        places = sorted({*before, *(n for n, kind in kinds.items() if kind)})
        fits = len(listed(places)) < 300
        self.args.update({'skiprows': places} if fits else {})
        said = collections.Counter(filter(None, kinds.values())).items()
        self.notes.append(('left out: ' if fits else 'among the rows: ') + ', '.join(
            count(n, kind) for kind, n in said))

    def place(self, rows):
        """The rows before the first row of the table, such as titles and remarks. The last remark may be
        the header ("#id,name")."""
        remarks = len(list(itertools.takewhile(is_remark, rows)))
        if remarks == len(rows):
            remarks = 0                 # these are its cells
        elif [len(r) == self.width for r in rows[:remarks]][-2:] in ([True], [False, True]):
            remarks -= bool(re.match(r'#\w', rows[remarks - 1][0])) or not has_header(rows[remarks:])
        for n, row in enumerate(rows[remarks:remarks + 11], remarks):
            good = len(row) == self.width or n == remarks and (
                self.names_rows(row, rows[n + 1:]) or self.is_short(row, rows[n + 1:]))
            if good and row[0] != 'sep=' and not is_title(row, rows[n + 1:n + 6]):
                return n
        return 0

    def is_short(self, row, rows):
        """Is this a row of the table that ends early, since it has numbers where those below have?"""
        data = cells_below([r for r in rows if len(r) == self.width][:20], self.width)[1]
        cells = [row[i] for i in data if i < len(row)]
        return len(row) > 2 and len(cells) > 1 and all(map(typed, cells))

    def names_rows(self, header, rows):
        """Is a header one name short, as R writes it, whose names of rows have no name?"""
        full = [r for r in rows if len(r) == self.width]
        cut = any(all(c[:1] == ' ' for c in cells) for cells in zip(*full))     # "Jan 05, 2024" at its comma
        return 1 < len(header) == self.width - 1 and has_header([header] + rows) and not cut


def call(reader, source, args):
    return 'pd.%s(%s)' % (reader, ', '.join([source] + ['%s=%s' % (k, v if k == 'dtype' else listed(v))
                                                        for k, v in args.items()]))


def listed(value):
    """A value as code; numbers that follow each other as ranges."""
    if type(value) is not list or not all(type(k) is int for k in value):
        return repr(value)
    runs = [list(run) for _, run in itertools.groupby(enumerate(value), lambda item: item[1] - item[0])]
    return '[%s]' % ', '.join('*range(%d, %d)' % (run[0][1], run[-1][1] + 1) if len(run) > 4 else
                              ', '.join(str(k) for _, k in run) for run in runs)


def raw_frame(reader, source, args, given, **more):
    """Every cell as the text that it is."""
    line = 'df = ' + call(reader, source, dict(args, dtype='str', keep_default_na=False, **more))
    return run(['import pandas as pd', line], given())['df']


def mend(reader, source, proposal, given):
    """raw_frame(), with arguments for what the reader complains of: longer rows, a quote without end."""
    args, names = proposal.args, list(range(proposal.width))
    try:
        return raw_frame(reader, source, args, given)
    except Exception as e:
        if 'inside string' in str(e) or 'quote' in str(e):
            args['quoting'] = 3
            proposal.wrong = 'a quote in it is never closed'
            return raw_frame(reader, source, args, given)
        if not re.search(r'Expected \d+ fields', str(e)) or 'usecols' in args:
            raise
    wide = raw_frame(reader, source, args, given, usecols=names)
    some = raw_frame(reader, source, args, given, on_bad_lines='skip')
    more = dict(args, header=None, names=range(proposal.width + 8), on_bad_lines='skip')
    beyond = raw_frame(reader, source, more, given).iloc[:, proposal.width:]
    n = len(wide) - len(some)
    if not (beyond.fillna('') != '').any(axis=None) and len(beyond) >= len(wide) + ('header' not in args):
        args['usecols'] = names         # the cells that are too many are empty
        return wide
    proposal.wrong = '%d row%s more cells than the header' % (n, ' has' if n == 1 else 's have')
    few = 10 * n <= len(wide) and some.shape[1] == wide.shape[1]
    end = ', and these rows are left out' if few else ', which are cut off'
    proposal.notes.append(proposal.wrong + end)
    args.update({'on_bad_lines': 'warn'} if few else {'usecols': names})
    return some if few else wide


def column_plans(raw, sep):
    """[(name, its Plan, {cell: how often})] of the columns of a frame of texts, and their decimal mark."""
    columns = []
    for i, name in enumerate(raw.columns[:COLUMNS_SEEN]):
        counts = raw.iloc[:, i].value_counts(sort=False)
        columns.append((name, dict(zip(counts.index, counts.tolist()))))
    # a cell with commas may be several values of its column, as "356,064" is among 356 and 064
    lists = {name for name, cells in columns if sep == ',' and any(
        ',' in c and all(part in cells for part in c.split(',')) for c in cells)}
    # as the numbers of a device are, 253,0 and 0,18
    lists |= {name for name, cells in columns if sep == ' | ' and all(
        re.fullmatch(r'(\d+,\d+)?', c) for c in cells) and len({c[::-1].find(',') for c in cells if c}) > 1}
    decimal = decimal_of([cells for name, cells in columns if name not in lists], sep)
    return [(name, Plan('text') if name in lists else column_plan(name, cells, decimal), cells)
            for name, cells in columns], decimal


def settle(plans, decimal, large=False):
    """Arguments for the reader that the plans ask for; [(statement's expression, names)]. The reader itself
    makes plain numbers, each other conversion is a statement."""
    group = '.' if decimal == ',' else ','
    plain = [(name, cells) for name, p, cells in plans if p.kind in ('int', 'float') and not p.code]
    args = {'decimal': ','} if decimal == ',' else {}
    if any(group in c for _, cells in plain for c in cells):
        args['thousands'] = group
    number = NUMERAL if 'thousands' in args else PLAIN
    text, statements = [], {}
    for name, p, cells in plans:
        held = [c.strip() for c in cells if c.strip() not in MISSING and c not in p.marks]
        taken = [bool(number.fullmatch(c)) for c in held]
        numeric = p.kind in ('int', 'float', 'empty')
        if '.str' in p.code and any(taken) or all(taken) and not numeric or large and p.code:
            text.append(name)
        if p.code:
            statements.setdefault(tolerant(p.code) if large else p.code, []).append(name)
    if large and 0 < len(plain) <= 20:
        statements.setdefault(tolerant('pd.to_numeric({})'), []).extend(name for name, _ in plain)
    keep = any(p.kind == 'codes' for _, p, _ in plans)
    marks = {}
    for name, p, cells in plans:
        missing = [c for c in cells if keep and c.strip() in (MISSING if p.kind != 'codes' else ('',))]
        if p.marks or missing:
            marks[name] = sorted({*p.marks, *missing})
    every = sorted({m for own in marks.values() for m in own})
    if keep:
        args['keep_default_na'] = False
    if marks:
        # a list of marks is shorter, if no column has one of them that means something
        same = len(marks) > 1 and not any(m in cells and m not in marks.get(name, ())
                                          for name, _, cells in plans for m in every if m.strip())
        args['na_values'] = every if same else marks
    if text:
        args['dtype'] = 'str' if len(text) == len(plans) else dtypes(text)
    return args, list(statements.items())


def dtypes(names):
    if len(names) > 4:
        return 'dict.fromkeys(%r, str)' % names
    return '{%s}' % ', '.join('%r: str' % n for n in names)


def statement(df, code, names):
    if len(names) == 1:
        return '%s[%r] = %s' % (df, names[0], code.replace('{}', '%s[%r]' % (df, names[0])))
    return 'for c in %r: %s[c] = %s' % (names, df, code.replace('{}', '%s[c]' % df))


def read_as(name, reader, path, proposal, given, large=False):
    """The Table that a proposal makes. Raises what pandas raises."""
    source, args = repr(path), proposal.args
    if path.endswith(('.gz', '.bz2', '.xz', '.zip', '.zst')) and reader == 'read_csv':
        args['compression'] = None      # by its name pandas would take it for compressed
    raw = mend(reader, source, proposal, given)
    plans, decimal = column_plans(raw, proposal.sep)
    if large:                           # what turns up later becomes missing
        args = dict({'on_bad_lines': 'warn'}, **args, **{} if 'engine' in args else {'low_memory': False})

    def reading(more, statements):
        lines = ['%s = %s' % (name, call(reader, source, dict(args, **more)))]
        lines += [statement(name, *s) for s in statements]
        return Table(name, lines, run(['import pandas as pd'] + lines, given())[name])
    try:
        t = reading(*settle(plans, decimal, large))
    except Exception:
        t, plans = reading({}, []), []
    t.notes, t.wrong, t.sep = proposal.notes, proposal.wrong, proposal.sep
    t.remarks = {k: p.remark for k, p, _ in plans if p.remark}
    t.notes += ['%r: %s' % (k, p.lost) for k, p, _ in plans if p.lost]
    if t.frame.shape[1] == proposal.width - 1 and not {'usecols', 'index_col'} & set(args):
        t.notes.append('the first column has no name and is the index')
    ending(t, proposal.tail)
    return t


TOTAL = re.compile(r'(grand |sub)?(total|sum|summe|gesamt|insgesamt|totale|suma|ukupno|celkem)\b', re.I)


def adds_up(column, i):
    """Is the value of a column in this row the sum of those above it, within one in a thousand?"""
    if column.kind not in ('int', 'float'):
        return False
    cells = column.cells.astype(float)
    above, here = cells.iloc[:i], cells.iloc[i]
    return (above > 0).sum() > 2 and not (above < 0).any() and abs(above.sum() - here) * 1000 <= here


def ending(t, tail=0):
    """Tells of rows at the end that are no rows of the table: a total, or remarks. tail: rows behind an empty
    line."""
    if len(t.frame) <= 5 or t.frame.shape[1] < 2:
        return
    held, rows = t.frame.iloc[:, :40], []
    for i, row in enumerate(held.tail(3).itertuples(index=False), len(held) - 3):
        cells = list(map(cell_text, row))
        alone = filled_cells(cells) == 1 and cells[0] and held.iloc[:, 1].notna().mean() > .9
        behind = i >= len(held) - tail and filled_cells(cells)
        named = TOTAL.match(cells[0].strip()) and any(map(amount, filter(None, cells)))
        sums = not number_like(cells[0]) and any(adds_up(c, i) for c in t.columns[:40])
        if alone or behind or named or sums:
            rows.append(' | '.join(cells).strip(' |'))
    if rows:
        t.notes.append('at its end, no data but a total or a remark: ' + ' / '.join(rows))


def sampled(path, encoding):
    """Whole lines of a large file: its beginning, some of its middle, and its end."""
    size, parts = os.path.getsize(path), []
    with open(path, 'rb') as f:
        for at, most in (0, NEAR), (max(NEAR, size // 2), FAR), (max(NEAR, size - FAR), FAR):
            f.seek(at)
            part = f.read(most)
            parts.append(part[part.find(b'\n') + 1 if at else 0:part.rfind(b'\n') + 1])
    return b''.join(parts[:1] if encoding.startswith('utf-16') else parts)


def read_table(path, text, encoding, whole, name='df'):
    """A Table, or None if the text is none. What is large is read in part."""
    if not has('pandas'):
        return None
    text = text if '\n' in text else text.replace('\r', '\n')
    given = [] if whole else [(repr(path), sampled(path, encoding))]
    odd = not whole or '\ufffd' in text and encoding.startswith(('utf-8', 'cp', 'mac'))
    end = text[-4000:].rstrip('\r\n\t ,;') + '\n' if whole else ''
    last, lines = re.split(r'\n(?:[ \t,;]*\r?\n)+', end), end.count('\n')
    hidden = re.findall('[\u200b\u2060\ufeff]|(?<=[ -~])[\u200c\u200d]', text)
    hidden = ', '.join(sorted({'U+%04X' % ord(c) for c in hidden}))
    for form in forms(path, text)[:3]:
        try:
            proposal = Proposal(form, encoding, text if whole else '')
            if 3 < 3 * len(last) < lines and last[-1].count('\n') < 4 and last[-1].count('"') % 2 == 0:
                proposal.tail = last[-1].count('\n')   # not lines of a cell, nor behind one such of many
            proposal.args.update({'encoding_errors': 'replace'} if odd else {})
            t = read_as(name, 'read_csv', path, proposal,
                        lambda: [(code, io.BytesIO(part)) for code, part in given], not whole)
        except Exception:
            continue
        if len(t.frame) or len(form.rows) < 2:
            break
    else:
        return None
    t.title, t.several = os.path.basename(path).split('.', 1)[0], proposal.several
    t.notes += ['invisible characters in its cells or names: ' + hidden] * bool(hidden)
    if given:
        t.whole, n = False, len(t.frame)
        t.total = 'about %d rows, looked at %d at the beginning, in the middle and at the end' % (
            max(n, n * count_rows(path) // max(1, given[0][1].count(b'\n'))), n)
        t.notes.append('not read whole: what turns out to be no number or date becomes missing')
    if not len(t.frame):
        t.wrong = t.wrong or 'it has a header and no rows'
        t.notes.append(t.wrong)
    return t


def count_rows(path):
    with open(path, 'rb') as f:
        return sum(piece.count(b'\n') for piece in iter(lambda: f.read(1 << 20), b''))


def table(path, text, encoding, whole):
    t = read_table(path, text, encoding, whole, variable(path, 'df'))
    if not t:
        return rows_without_pandas(path, text, encoding)
    if t.several:
        TROUBLE.append('several tables in it')
        begin = ' / '.join(clean(t.sep.join(filter(None, row)), ROW // 2) for row in t.several)
        return '%s\nseveral tables with empty lines between them, which begin: %s' % (
            plain(path, text, encoding, whole), clean(begin, 5 * ROW))
    lines = t.code() + joins_with_files(t, path)
    lines[0] = 'import pandas as pd; ' + lines[0]
    if t.wrong:
        TROUBLE.append(t.wrong.partition(',')[0])
    return told(lines, t)


def rows_without_pandas(path, text, encoding):
    """The standard library's reader, whose values are all text."""
    found = [] if has('pandas') else forms(path, text)
    if not found:
        return None
    sep, args = found[0].sep, Proposal(found[0], encoding).args
    if 'header' in args:
        return None
    skip = '[next(f) for _ in range(%d)]; ' % args['skiprows'] if type(args.get('skiprows')) is int else ''
    more = ', skipinitialspace=True' if 'skipinitialspace' in args else ''
    read = 'import csv; f = open(%r, newline="", encoding=%r); ' % (path, encoding) + skip
    read += 'rows = list(csv.DictReader(f, delimiter=%r%s))' % (sep, more)
    rows = run([read])['rows']
    names = clean(', '.join(map(repr, rows[0] if rows else ())), COLUMNS_MOST)
    shown = [clean(sep.join(map(str, r.values())), ROW) for r in rows[:3]]
    total = count(len(rows), 'row')
    return '%s\n%s, all values text, columns: %s\n%s' % (read, total, names, first_of(shown))
