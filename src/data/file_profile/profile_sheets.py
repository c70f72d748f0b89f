# profile_sheets.py - the part of file_profile.py for workbooks: where the table of each sheet begins is
# proposed from its first rows, and described is what pandas then reads.

import collections
import datetime
import itertools
import re

SHEETS, SHEET_ROWS = 6, 20000   # sheets described one by one, and rows of each that are read
SHEET_HEAD = 30                 # rows from which the form of a sheet is proposed
LEAST = 160                     # characters for each sheet beside its code
SHEETS_MOST = 60                # sheets that may be parts of one table
WORKBOOK_MOST = 3 << 20         # bytes of a workbook of which all rows are read


def sheet_cell(value):
    if value is None:
        return ''
    if isinstance(value, datetime.datetime):
        return value.strftime('%Y-%m-%d') if not (value.hour or value.minute
                                                  or value.second) else value.strftime('%Y-%m-%d %H:%M:%S')
    return str(value)


class SheetPart:
    """The first rows of a sheet, and what they propose: where its table begins, its names."""

    def __init__(self, sheet, merged=()):
        self.title, self.names, self.above, self.notes, self.fill = sheet.title, [], [], [], {}
        self.hidden = getattr(sheet, 'sheet_state', 'visible') != 'visible'
        if hasattr(sheet, 'reset_dimensions'):
            sheet.reset_dimensions()    # a sheet may declare a wrong size
        heads = [row[:200] for row in itertools.islice(sheet.iter_rows(values_only=True), SHEET_HEAD)]
        rows = [[sheet_cell(v) for v in row] for row in heads]
        rows = [(row, i) for i, row in enumerate(rows) if filled_cells(row)]
        width = max((filled_cells(r) for r, _ in rows), default=0)
        if not width:
            return
        skip = next(i for i, (r, _) in enumerate(rows)
                    if filled_cells(r) * 2 >= width and (filled_cells(r) > 1 or width == 1))
        wide = max(i + 1 for r, _ in rows[skip:] for i, c in enumerate(r) if c)
        rows = [([*r, *[''] * wide][:wide], i) for r, i in rows]
        depth = header_depth([r for r, _ in rows[skip:]])
        while skip and filled_cells(rows[skip - 1][0]) > 1 and rows[skip - 1][1] == rows[skip][1] - 1 and (
                depth > 1 or len(set(filter(None, rows[skip][0]))) < filled_cells(rows[skip][0])):
            skip, depth = skip - 1, depth + 1
        head = Header(rows[skip:], depth)
        self.args, self.names, self.notes = head.args, head.names, head.notes
        self.above = [' '.join(filter(None, r)) for r, _ in rows[:skip]]
        self.other = False
        if 'names' not in self.args:
            # pandas keeps years and dates in a header as they are, so their names are made text
            at = next(i for r, i in rows[skip:] if r is self.names)
            gap = range(at + 1, next((i for _, i in rows if i > at), 0)) if head.depth else ()
            if gap:
                before = self.args.get('skiprows', 0)
                self.args['skiprows'] = sorted({*gap, *(before if type(before) is list else range(before))})
            self.other = any(not isinstance(v, (str, type(None))) for v in heads[at])
            self.names = [str(v) if v is not None else '' for v in [*heads[at], *[None] * wide][:wide]]
        self.fill = collections.Counter()       # rows below the first of merged cells, by column
        last = rows[skip + max(head.depth, 1) - 1][1]
        for c, top, bottom in merged:
            if c < len(self.names) and self.names[c] and top > last:
                self.fill[self.names[c]] += bottom - top

    def form(self):
        return None if self.hidden or not self.names else table_form(self.title, self.names) and (
            self.names, self.args)


ENGINES = {'calamine': 'python_calamine'}       # names of modules, where they are not the engine's


def sheets_or_why(path, what, *engines):
    """The profile of a workbook by the first of these engines of pandas that reads it, or what is wrong."""
    engines = engines if has('pandas') else ('pandas',)
    there = [e for e in engines if has(ENGINES.get(e, e))]
    wrong = ''
    for engine in there:
        try:
            made = workbook(path, engine)
            if made:                    # openpyxl finds no sheet in a workbook of ISO's strict form
                return made
        except Exception as e:
            wrong = wrong or clean(e, 200)
    if not there:
        missing = 'no package here reads it: %s is missing' % ' or '.join(engines)
        TROUBLE.append(missing + '; save it as .xlsx or CSV')
        return what + '; ' + missing
    TROUBLE.append('the workbook cannot be read')
    return '%s that %s cannot read: %s%s' % (what, ' and '.join(there), wrong,
                                             '; zipfile and xml can' if path.endswith('.xlsx') else '')


class Head:
    """The first rows of a sheet, from any engine."""

    def __init__(self, title, frame):
        self.title, self.rows = title, frame.astype(object).where(frame.notna(), None).to_numpy().tolist()

    def iter_rows(self, **how):
        return iter(self.rows)


def sheets_of(path, engine):
    if engine == 'openpyxl':
        import openpyxl
        return openpyxl.load_workbook(path, read_only=True, data_only=True).worksheets
    import pandas as pd
    heads = pd.read_excel(path, sheet_name=None, header=None, nrows=30, engine=engine)
    return [Head(title, frame) for title, frame in heads.items()]


def workbook(path, engine):
    worksheets = sheets_of(path, engine)
    merged = merged_down(path) if engine == 'openpyxl' else {}
    parts = [SheetPart(s, merged.get(i, ())) for i, s in enumerate(worksheets[:SHEETS])]
    alike = sheets_alike(parts, worksheets)
    opened = OpenBook(path, engine)
    sheets, used = [], {'df', 'pd', 'together'}
    for i, part in enumerate(parts):
        if part in alike[1:]:
            continue
        name = identifier(part.title, 'sheet%d' % (i + 1)) if len(worksheets) > 1 else 'df'
        while name in used and name != 'df':
            name += '_'
        used.add(name)
        if part in alike:
            name = 'df' if len(alike) == len(worksheets) else 'together'
        sheets.append(opened.table(name, part, alike if part in alike else [part], len(worksheets)))
    tables = [t for t in sheets if isinstance(t, Table)]
    others = [s.title for s in worksheets[SHEETS:] if s.title not in [p.title for p in alike]]
    while len(tables) > 1 and sum(LEAST + sum(map(len, t.code())) for t in tables) > MOST:
        others.insert(0, tables[-1].title)          # what is told of a few is more than the names of many
        sheets.remove(tables.pop())
    lines = [code for t in tables for code in t.code()]
    if lines:
        lines[0] = 'import pandas as pd; ' + lines[0]
    lines += join_all(tables)[1]
    share = (MOST - sum(len(s) + 1 for s in lines) - 60) // max(1, len(tables))
    lines += [sheet_text(t, share) if isinstance(t, Table) else t for t in sheets]
    empty = unsaved(path) if engine == 'openpyxl' else ''
    if empty:
        TROUBLE.append('%s in it without a saved value' % empty)
        lines.append('%s in it %s no saved value, so pandas reads nothing there: openpyxl has the formulas'
                     % (empty, 'has' if empty == '1 formula' else 'have'))
    if others:
        lines.append('more sheets: ' + clean(', '.join(clean(repr(n), 40) for n in others[:14]), 200))
    return '\n'.join(lines)


def keep_cells(reader):
    """A sheet is read several times, which costs far more than all that is done with its cells: have the
    reader of pandas keep those that it has parsed."""
    parse, kept = getattr(reader, 'get_sheet_data', None), {}

    def get_sheet_data(sheet, *rest, **more):
        name = getattr(sheet, 'title', None) or getattr(sheet, 'name', None)    # by engine
        if not isinstance(name, str):
            return parse(sheet, *rest, **more)
        key = name, repr((rest, more))
        if key not in kept:
            kept[key] = parse(sheet, *rest, **more)
        return [row[:] for row in kept[key]]
    if parse:
        reader.get_sheet_data = get_sheet_data


class OpenBook:
    """A workbook that pandas has opened once, for all readings of its sheets."""

    def __init__(self, path, engine):
        import functools
        import pandas as pd
        self.path, self.large = path, os.path.getsize(path) > WORKBOOK_MOST
        self.engine = ', engine=%r' % engine if engine != 'openpyxl' else ''
        book = pd.ExcelFile(path, engine=engine)
        keep_cells(getattr(book, '_reader', None))
        reader = functools.partial(pd.read_excel, nrows=SHEET_ROWS) if self.large else pd.read_excel
        self.given = [('pd.read_excel', reader), (repr(path), book)]

    def table(self, name, part, parts, sheets):
        """The table of these parts, of which this is the first; for one without cells, words."""
        if not part.names:
            return 'sheet %s is empty' % clean(repr(part.title), 60)
        labelled = len(parts) > 1 and 'sheet' not in part.names
        after = ['%s = %s.rename(columns=str)' % (name, name)] * part.other
        raw = run(['import pandas as pd', self.reader(name, parts, sheets, labelled,
                  dict(part.args, dtype='object'))] + after, self.given)[name]
        codes, hours = [], []
        for i, k in enumerate(raw.columns[:COLUMNS_SEEN]):
            c = Column(k, raw.iloc[:, i])
            dated = c.kind in ('datetime', 'dates')
            if dated and '1899' <= str(c.held.min())[:4] <= str(c.held.max()) < '1900-03':
                hours.append(k)         # [h]:mm, which openpyxl takes for days of 1900
            if c.kind in ('text', 'numbers and text') and k in part.names and any(
                    isinstance(v, str) and re.fullmatch(r'0\d+', v) for v in c.counts()):
                codes.append(k)
        args = dict(part.args, **({'dtype': dtypes(codes)} if codes else {}))
        lines = [self.reader(name, parts, sheets, labelled, args)] + after
        fill = sorted(k for k, n in part.fill.items() if k in raw.columns and raw[k].isna().sum() == n)
        lines += [statement(name, '{}.ffill()', fill)] * bool(fill)
        lines += [statement(name, "{} - pd.Timestamp('1899-12-31')", hours)] * bool(hours)
        t = table_of(name, lines, self.given, 'import pandas as pd')
        if len(parts) == 1 and is_loose(t):
            lines = [self.reader(name, parts, sheets, labelled, {'header': None})]
            t = Table(name, lines, run(['import pandas as pd'] + lines, self.given)[name])
            t.loose, part.notes, part.above = True, [], []
        t.title = part.title
        limited = self.large and len(t.frame) >= SHEET_ROWS
        t.whole = not limited
        t.total = ('over ' if limited else '') + count(len(t.frame), 'row')
        t.total = '(a hidden sheet) ' * part.hidden + t.total
        t.total += ' of %d sheets' % len(parts) if len(parts) > 1 else ''
        if not t.loose:
            ending(t)
        gaps = t.frame.isna().all(axis=1).to_numpy().nonzero()[0][:1]
        if len(gaps) and not t.loose:
            before = count(int(gaps[0]), 'row')
            t.notes.append('an empty row after %s: what follows may be another table' % before)
        before = ['above it: ' + ' / '.join(part.above)] * bool(part.above)
        filled_down = ['merged cells are filled down: ' + ', '.join(map(repr, fill))] * bool(fill)
        t.notes = before + part.notes + t.notes + filled_down
        return t

    def reader(self, name, parts, sheets, labelled, args):
        args = ''.join(', %s=%s' % (k, v if k == 'dtype' else listed(v)) for k, v in args.items())
        args += self.engine
        if len(parts) == 1:
            sheet = ', sheet_name=%r' % parts[0].title if sheets > 1 else ''
            return '%s = pd.read_excel(%r%s%s)' % (name, self.path, sheet, args)
        names = None if len(parts) == sheets else [p.title for p in parts]
        each = '[s%s for n, s in pd.read_excel(%r, sheet_name=%r%s).items()]' % (
            '.assign(sheet=n)' * labelled, self.path, names, args)
        return '%s = pd.concat(%s, ignore_index=True)' % (name, each)


def is_loose(t):
    """Is a sheet no one table, because most columns have no name, or no name and cells of several kinds?"""
    held = [c for c in t.columns if c.kind != 'empty']
    odd = [c for c in held if str(c.name).startswith('Unnamed: ')
           or str(c.name).isdigit() and c.kind in ('objects', 'numbers and text')]
    return 2 * len(odd) > len(held)


def sheets_alike(parts, sheets):
    """The sheets that are parts of one table, such as one for each month: those that are visible and have the
    columns of the first such."""
    def same(first, others):
        return [p for p in others if p.form() == first.form() is not None]

    alike = max([same(p, parts) for p in parts], key=len, default=[])
    if len(alike) < 2:
        return []
    until = clock() + SECONDS
    later = itertools.takewhile(lambda sheet: clock() < until, sheets[SHEETS:SHEETS_MOST])
    return alike + same(alike[0], [SheetPart(sheet) for sheet in later])


def worksheet_parts(path):
    """[the XML of a worksheet], of the first few, as far as it is looked at."""
    import zipfile
    with zipfile.ZipFile(path) as z:
        names = [n for n in z.namelist() if re.match(r'xl/worksheets/[^/]+\.xml$', n)]
        for name in sorted(names, key=lambda n: (len(n), n))[:SHEETS]:
            with z.open(name) as f:
                yield f.read(SAMPLE)


def unsaved(path):
    """"20 formulas": those whose results are not in the file, because a program wrote it and no spreadsheet
    program has saved it since."""
    n = sum(len(re.findall(rb'</f>\s*(?:<v\s*/>|<v>\s*</v>)?\s*</c>', xml))
            for xml in worksheet_parts(path))
    return count(n, 'formula') if n else ''


def merged_down(path):
    """{place of a sheet: [(column, first row, last row)]} of cells merged over several rows of one column."""
    out = {}
    for i, xml in enumerate(worksheet_parts(path)):
        for a, top, b, bottom in re.findall(rb'<mergeCell ref="([A-Z]+)(\d+):([A-Z]+)(\d+)"', xml)[:2000]:
            if a == b and bottom != top and len(a) < 3:
                column = (ord(a[:1]) - 64) * 26 + ord(a[1:]) - 65 if len(a) == 2 else ord(a) - 65
                out.setdefault(i, []).append((column, int(top) - 1, int(bottom) - 1))
    return out


def sheet_text(t, share):
    """The description of a sheet, in at most share characters."""
    notes = [clean(n, ROW) for n in t.notes]
    text = t.said(share - 60 - min(share // 3, sum(map(len, notes))))
    for note in notes:
        text += '\n' + note if len(text) + len(note) < share else ''
    rows = first_rows(t.frame, ' | ', 2)
    if t.loose:
        held = t.frame.dropna(how='all').head(8).iloc[:, :COLUMNS_SEEN]
        held = [' | '.join(filter(None, map(cell_text, row))) for row in held.itertuples()]
        rows = first_of([clean(row, ROW) for row in held])
    return text + '\n' + rows if len(text) + len(rows) < share else text
