# profile_sheets.py - the part of file_profile.py for workbooks.

import datetime
import itertools
import re


def sheet_cell(value):
    if value is None:
        return ''
    if isinstance(value, datetime.datetime):
        return value.strftime('%Y-%m-%d') if not (value.hour or value.minute
                                                  or value.second) else value.strftime('%Y-%m-%d %H:%M:%S')
    return str(value)


SHEETS, SHEET_ROWS = 6, 20000   # sheets examined, and rows of each
SHEETS_MOST = 60                # of those after them only the header is looked at


def workbook(path):
    if not has('openpyxl'):
        return ('an Excel workbook; openpyxl is not installed here, so only zipfile and xml can read it: %r'
                % path)
    import openpyxl
    book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    sheets, used = [], {'df', 'pd', 'together'}
    parts = [SheetPart(sheet, i) for i, sheet in enumerate(book.worksheets[:SHEETS])]
    alike = sheets_alike(parts, book.worksheets)
    for i, part in enumerate(parts):
        if part in alike[1:]:
            continue
        name = identifier(part.title, 'sheet%d' % (i + 1)) if len(book.worksheets) > 1 else 'df'
        while name in used and name != 'df':
            name += '_'
        used.add(name)
        if part in alike:
            name = 'df' if len(alike) == len(book.worksheets) else 'together'
        t = part.table(path, name, alike if part in alike else [part], len(book.worksheets))
        if isinstance(t, Table):
            t.total = '(a hidden sheet) ' + t.total if part.hidden else t.total
        sheets.append(t)
    tables = [t for t in sheets if isinstance(t, Table)]
    lines = [code for t in tables for code in t.code()]
    if lines and has('pandas'):
        lines[0] = 'import pandas as pd; ' + lines[0]
    if has('pandas'):
        lines += join_all(tables)[1]
    share = (MOST - sum(len(s) + 1 for s in lines) - 60) // max(1, len(tables))
    empty = unsaved(path)
    if empty:
        TROUBLE.append('%s in it without a saved value' % empty)
        lines.append('%s in it %s no saved value, so pandas reads nothing there: openpyxl has the formulas'
                     % (empty, 'has' if empty == '1 formula' else 'have'))
    lines += [sheet_text(t, share) if isinstance(t, Table) else t for t in sheets]
    others = [n for n in book.sheetnames[SHEETS:] if n not in [p.title for p in alike]]
    if others:
        lines.append('more sheets: ' + clean(', '.join(clean(repr(n), 40) for n in others[:14]), 200))
    return '\n'.join(lines)


def unsaved(path):
    """"20 formulas": those whose results are not in the file, because a program wrote it and no spreadsheet
    program has saved it since."""
    import zipfile
    count = 0
    with zipfile.ZipFile(path) as z:
        for name in [n for n in z.namelist() if re.match(r'xl/worksheets/[^/]+\.xml$', n)][:SHEETS]:
            with z.open(name) as f:
                count += len(re.findall(rb'</f>\s*(?:<v\s*/>|<v>\s*</v>)?\s*</c>', f.read(SAMPLE)))
    return '' if not count else '%d formula%s' % (count, '' if count == 1 else 's')


def sheet_rows(sheet, most):
    """(the first rows, the first of them as openpyxl has them, the columns that contain dates, whether these
    are all rows). A sheet may declare a wrong size, which is ignored."""
    if hasattr(sheet, 'reset_dimensions'):
        sheet.reset_dimensions()
    rows, heads, dates, left = [], [], set(), sheet.iter_rows(values_only=True)
    for row in in_time(itertools.islice(left, most), SECONDS / 2):
        dates.update(i for i, v in enumerate(row[:200]) if isinstance(v, datetime.date))
        if len(rows) < 30:
            heads.append(row[:200])
        rows.append([sheet_cell(v) for v in row[:200]])
    return rows, heads, dates, next(left, None) is None


class SheetPart:
    """A sheet, or only its header if it is one of those after the first few."""

    def __init__(self, sheet, place):
        self.title, self.body, self.names, self.all_rows = sheet.title, [], [], place < SHEETS
        self.hidden = getattr(sheet, 'sheet_state', 'visible') != 'visible'
        rows, heads, self.dates, all_rows = sheet_rows(sheet, SHEET_ROWS if place < SHEETS else 30)
        self.all_rows = all_rows and place < SHEETS
        while rows and not any(rows[-1]):
            rows.pop()
        filled = [sum(1 for c in r if c) for r in rows[:30]]
        width = max(filled, default=0)
        if not width:
            return
        self.skip = skip = next(i for i, n in enumerate(filled) if n * 2 >= width and (n > 1 or width == 1))
        while rows[skip] and not rows[skip][-1]:
            rows[skip].pop()
        # pandas keeps years and dates in a header as they are, so their names are made text
        self.other = any(not isinstance(v, (str, type(None))) for v in heads[skip])
        self.names = unique([str(v) if c else '' for v, c in zip(heads[skip], rows[skip])])
        rows = rows[skip + 1:]
        self.units = units_row(self.names, rows[:20]) if has('pandas') and rows else ''
        if self.units:
            self.skip, rows = list(range(skip)) + [skip + 1], rows[1:]
        self.body = rows if place < SHEETS else []

    def table(self, path, name, parts, sheets):
        """The table of these parts, of which this is the first; for one without cells, words."""
        if not self.names:
            return 'sheet %s is empty' % clean(repr(self.title), 60)
        labelled = len(parts) > 1 and 'sheet' not in self.names
        columns = [Column(n) for n in self.names + ['sheet'] * labelled]
        body, width = self.body, len(self.names)
        if len(parts) > 1:
            body = [(row + [''] * width)[:width] + [p.title] * labelled for p in parts for row in p.body]
        seen = study(columns, body, SECONDS / 2)
        for part in parts if labelled else ():
            columns[-1].feed(part.title, 2)
        settled = [c.settle('') for c in columns]
        if labelled and settled[-1][0] != 'date':       # a year in the title is text all the same
            settled[-1] = 'text', ''
        codes = [c.name for c, (kind, _) in zip(columns, settled) if kind == 'code' and c.name in self.names]
        t = Table(name, self.reader(path, parts, sheets, codes, labelled), columns, settled, body)
        if has('pandas'):
            dates = set().union(*(p.dates for p in parts))
            t.dates = ['%s = %s.rename(columns=str)' % (name, name)] * self.other
            t.dates += type_lines(columns, [('text', '') if i in dates else s for i, s in enumerate(settled)],
                                  True, name)
        t.whole = all(p.all_rows for p in parts) and seen == len(body)
        t.total = ('' if t.whole else 'over ') + '%d rows' % len(body)
        if len(parts) > 1:
            t.total += ' of %d sheets' % len(parts)
        t.units = clean(self.units, ROW)
        return t

    def reader(self, path, parts, sheets, codes, labelled):
        if not has('pandas'):
            return ('import openpyxl; rows = list(openpyxl.load_workbook(%r, data_only=True)[%r]'
                    '.iter_rows(values_only=True))' % (path, self.title))
        args = ', skiprows=%r' % self.skip if self.skip else ''
        if codes:
            args += ', dtype={%s}' % ', '.join('%r: str' % n for n in codes[:8])
        if len(parts) == 1:
            name = ', sheet_name=%r' % self.title if sheets > 1 else ''
            return 'pd.read_excel(%r%s%s)' % (path, name, args)
        names = None if len(parts) == sheets else [p.title for p in parts]
        each = '[s%s for n, s in pd.read_excel(%r, sheet_name=%r%s).items()]' % (
            '.assign(sheet=n)' * labelled, path, names, args)
        return 'pd.concat(%s, ignore_index=True)' % each


def sheets_alike(parts, sheets):
    """The sheets that are parts of one table, such as one for each month: those that are visible and have the
    columns of the first such."""
    def form_of(part):
        return None if part.hidden else table_form(part.title, part.names) and (part.names, part.skip)

    def same(first, others):
        return [p for p in others if form_of(p) == form_of(first) is not None]

    groups = [same(p, parts) for p in parts] if has('pandas') else []
    alike = max(groups, key=len, default=[])
    if len(alike) < 2:
        return []
    until = clock() + SECONDS
    later = itertools.takewhile(lambda sheet: clock() < until, sheets[SHEETS:SHEETS_MOST])
    return alike + same(alike[0], (SheetPart(sheet, SHEETS) for sheet in later))


def sheet_text(t, share):
    """The description of a sheet, in at most share characters."""
    text = '%s%s, columns: %s' % (t.called(), t.total,
                                  describe(t.columns, t.settled, '.', share - 60 - len(t.units)))
    text += '\nunits: ' + t.units if t.units else ''
    rows = first_rows(t.body, ' | ', 2)
    return text + '\n' + rows if len(text) + len(rows) < share else text
