# profile_frame.py - the part of file_profile.py that runs the lines which read a file, and describes the
# frame that they made. Whatever is said of a table's rows, columns, types and values is read from this frame.

import collections
import contextlib
import io
import itertools
import re
import warnings

VALUES_MOST = 100000            # different values of a column that are looked at one by one
COLUMNS_SEEN = 400              # columns of a frame that are looked at
RUN = 6                         # as many columns of consecutive numbers are one entry
# What pandas.api.types.infer_dtype() says, and what is told
KINDS = {'integer': 'int', 'floating': 'float', 'mixed-integer-float': 'float', 'boolean': 'bool',
         'mixed-integer': 'numbers and text', 'string': 'text', 'empty': 'empty', 'datetime64': 'datetime',
         'datetime': 'dates', 'date': 'dates', 'time': 'times of day', 'timedelta64': 'timedelta',
         'timedelta': 'timedelta', 'decimal': 'decimal', 'bytes': 'bytes'}


def run(lines, given=None):
    """What these lines of code make. given: [(text in them, value that stands for it)]. Raises what they
    raise."""
    space, code = {}, '\n'.join(lines)
    for i, (text, value) in enumerate(given or ()):
        code = code.replace(text, '_given%d' % i)
        space['_given%d' % i] = value
    for parts in ALL_PARTS:
        space['_parts'] = parts
        code = parts.reading(code, '_parts.paths[f]', '_parts.seen', '_parts.concat')
    with contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter('ignore')
        exec(compile(code, '<lines>', 'exec'), space)
    return space


class Column:
    """What one column of a frame holds."""

    def __init__(self, name, cells):
        cells = cells.astype(object) if cells.dtype == 'category' else cells
        self.name, self.n, self.cells = name, len(cells), cells
        self.missing = int(cells.isna().sum())
        self.held = cells[cells.notna()] if self.missing else cells
        self.kind = self.kind_of()
        self.counted = None

    def kind_of(self):
        import pandas as pd
        if not len(self.held):
            return 'empty'
        lists = type(self.held.iloc[0]).__name__ in ('list', 'ndarray', 'tuple')
        kind = KINDS.get(pd.api.types.infer_dtype(self.held), 'lists' if lists else 'objects')
        if kind == 'objects' and set(self.held.map(type)) <= {int, float, str}:
            return 'numbers and text'
        return kind

    def counts(self):
        """{value: how often}; empty where there are too many, or where they cannot be compared."""
        if self.counted is None:
            try:
                found = self.held.value_counts(sort=False)
                self.different = len(found)
                self.counted = {} if len(found) > VALUES_MOST else dict(zip(found.index, found.tolist()))
            except (TypeError, ValueError, OverflowError):
                self.counted, self.different = {}, 0
        return self.counted

    @property
    def values(self):
        """{text of a value: how often}"""
        return {str(v): n for v, n in self.counts().items()}

    def once(self):
        """Is every value different, so that rows of another table may refer to it?"""
        self.counts()
        return self.n > 2 and self.different == self.n

    def few(self, most=12, length=110, unique=6):
        """The values of a column that has few, so that a filter is right the first time. unique: how many,
        if they do not repeat."""
        counts = self.counts()
        repeated = sum(counts.values()) >= 2 * len(counts)
        if not counts or len(counts) > (most if repeated else unique):
            return ''
        shown = [repr(v) if isinstance(v, str) and v != v.strip() else clean(v, 24) for v in sorted(counts)]
        text = ', '.join(shown)
        return text if len(text) <= length else ''

    def ends(self):
        """'0.5 to 90.0'; '' if there are none."""
        text = number_text if self.kind in ('int', 'float') else cell_text
        held = self.held[self.held.abs() < float('inf')] if self.kind == 'float' else self.held
        if not len(held):
            return ''
        low, high = text(held.min()), text(held.max())
        return 'all ' + low if low == high else '%s to %s' % (low, high)


def number_text(number):
    number = number.item() if hasattr(number, 'item') else number
    if isinstance(number, float) and abs(number) < 1e15:
        return repr(round(number, 6)) if not 0 < abs(number) < .001 else '%.4g' % number
    return clean(repr(number), 24)


def cell_text(value):
    """A value as it would stand in a table of text."""
    kind = type(value).__name__
    if value is None or kind in ('NaTType', 'NAType') or kind.startswith('float') and value != value:
        return ''
    if kind in ('Timestamp', 'datetime'):
        text = str(value)
        return text[:10] if text[10:19] in ('', ' 00:00:00') and not text[19:] else text[:32]
    if kind in ('Timedelta', 'timedelta'):
        seconds = value.total_seconds()
        whole = int(abs(seconds))
        part = ('%.6f' % (abs(seconds) - whole))[1:].rstrip('0').rstrip('.')
        return '%s%d:%02d:%02d%s' % ('-' * (seconds < 0), whole // 3600, whole // 60 % 60, whole % 60, part)
    return number_text(value) if kind.startswith('float') else str(value)


def nearly(c):
    """'20 numbers, but [m/s]': a few cells, such as a row of units, are no numbers."""
    odd = [v for v in c.values if not PLAIN.fullmatch(v.strip())]
    numbers = sum(n for v, n in c.values.items() if PLAIN.fullmatch(v.strip())) if odd else 0
    if not odd or len(odd) > 3 or numbers < 5 or 5 * numbers < 4 * (c.n - c.missing):
        return ''
    return '%d numbers, but %s' % (numbers, ', '.join(clean(repr(v), 24) for v in odd))


def text_kind(c):
    """'text', and what it is besides."""
    values = c.counts()
    if values and all(v.isdigit() for v in values) and any(v[0] == '0' < v[1:] for v in values):
        return 'text, digits with leading zeros'
    if values and all(PLAIN.fullmatch(v) or v.isdigit() for v in values):
        return 'numbers as text'
    signs = values and all(amount(v) and re.search(CURRENCY, v) for v in values)
    return 'text, amounts with a sign' if signs else 'text'


def column_text(c, facts, remark=''):
    """'price' (float, 0.5 to 90.0, 3 missing): a column's type, and with facts what it holds."""
    name = text_kind(c) if c.kind == 'text' and facts else c.kind
    name += remark and ', ' + remark
    if not facts and getattr(c.cells.dtype, 'tz', None):    # which is told of the first and the last
        name += ' with its zone'
    if facts and c.kind in ('int', 'float', 'datetime', 'timedelta'):
        few = c.few(6, 30, 0) if c.kind == 'int' else ''
        ends = '' if few else c.ends()
        name += ': ' + few if few else ', ' + ends if ends else ''
        name += ', all different' if c.kind == 'int' and c.once() else ''
    elif facts and c.kind == 'text':
        few = (c.few() or nearly(c)) if name == 'text' else ''
        if few:
            name += ': ' + few
        elif not remark and (c.counts() or c.different):
            name += ', all different' if c.once() else ', %d different' % c.different
            name += ', some with blanks round them' * any(v != v.strip() for v in c.counts())
    elif facts and c.kind == 'numbers and text':
        few = nearly(c)
        name += ': ' + few if few else ''
    elif facts and c.kind == 'objects':
        name += ': ' + ', '.join(sorted({type(v).__name__ for v in c.held}))
    if c.missing:
        name += ', %d missing' % c.missing
    return '%s (%s)' % (clean(repr(c.name), 60), name)


def runs(columns):
    """The columns in groups: 'Q1' to 'Q120' of one type are one group, any other is one alone."""
    def place(item):                    # the same for columns whose numbers follow each other
        i, c = item
        m = re.fullmatch(r'(.*?)([0-9]{1,9})', str(c.name))
        return (m[1], int(m[2]) - i, c.kind) if m else i
    groups = [[c for _, c in group] for _, group in itertools.groupby(enumerate(columns), place)]
    return [g for group in groups for g in ([group] if len(group) >= RUN else [[c] for c in group])]


def run_text(columns, facts):
    """'Q1' to 'Q120' (120 columns, int, 1 to 5)."""
    said = '%d columns, %s' % (len(columns), columns[0].kind)
    if facts and columns[0].kind in ('int', 'float'):
        low, high = (number_text(of([of(c.held) for c in columns])) for of in (min, max))
        said += ', all %s' % low if low == high else ', %s to %s' % (low, high)
    missing = sum(c.missing for c in columns)
    said += ', %d missing' % missing if missing else ''
    return '%s to %s (%s)' % (clean(repr(columns[0].name), 60), clean(repr(columns[-1].name), 60), said)


def describe(columns, remarks=None, most=COLUMNS_MOST):
    """All columns in at most that many characters: with their contents if there is room, else with their
    types, else only the first of them."""
    groups, remarks = runs(columns), remarks or {}
    for facts in (True, False, None):   # the last: names alone
        parts = [run_text(g, facts) if len(g) > 1 else clean(repr(g[0].name), 60) if facts is None
                 else column_text(g[0], facts, remarks.get(g[0].name, '')) for g in groups[:200]]
        if len(groups) <= 200 and sum(len(p) + 2 for p in parts) <= most:
            return ', '.join(parts)
    fit = len(list(itertools.takewhile(lambda n: n <= most, itertools.accumulate(len(p) + 2 for p in parts))))
    return ', '.join(parts[:fit] + ['and %d more' % sum(map(len, groups[fit:]))])


def first_rows(frame, sep, count=3):
    if not ROWS:        # noqa: file_profile.py has it
        return ''
    out = []
    for i in range(min(count, len(frame))):
        row = (cell_text(frame.iat[i, k]) for k in range(min(40, frame.shape[1])))
        out.append(clean(sep.join(clean(cell, CELL) for cell in row), ROW))
    return first_of(out) if out else 'no rows'


class Table:
    """A file, sheet or query that was read: the lines of code, and the frame that they made."""

    def __init__(self, name, lines, frame):
        self.name, self.lines, self.frame = name, lines, frame
        self.title = name               # the file's own name
        self.columns = [Column(k, frame.iloc[:, i]) for i, k in enumerate(frame.columns[:COLUMNS_SEEN])]
        self.whole = True               # the frame has every row
        self.total = count(len(frame), 'row')
        self.remarks, self.notes = {}, []       # of columns by their names; lines for the reader
        self.sep, self.wrong = ' | ', ''
        self.loose = False              # a sheet of text or of several tables
        self.held = False               # another frame has all its values

    def code(self):
        return list(self.lines)

    def called(self):
        """What its description begins with, where it is one of several."""
        return '' if self.name == 'df' else self.name + ': '

    def said(self, most=COLUMNS_MOST):
        wide = self.frame.shape[1] - len(self.columns)
        if self.loose:
            return '%s%s, %s: no one table with a header, but text or several tables' % (
                self.called(), self.total, count(self.frame.shape[1], 'column'))
        return '%s%s, columns: %s%s' % (self.called(), self.total, describe(self.columns, self.remarks, most),
                                        ', and %d more' % wide if wide > 0 else '')


def told(lines, t, before=''):
    """A whole profile: lines of code, the description of a table, its notes, and as many rows as fit."""
    room = MOST - 300 - sum(len(s) + 1 for s in lines)
    lines = lines + [before + t.said(min(COLUMNS_MOST, max(200, room)))]
    lines += [clean(note, 2 * ROW) for note in t.notes if note]
    left = MOST - sum(len(s) + 1 for s in lines)
    rows = first_rows(t.frame, t.sep)
    lines.append(rows if len(rows) <= left else first_rows(t.frame, t.sep, 1))
    return '\n'.join(lines)
