# profile_sheets.py - the part of file_profile.py for workbooks: where the table of each sheet begins is
# proposed from its first rows, and described is what pandas then reads.

import collections
import contextlib
import datetime
import itertools
import re

SHEETS, SHEET_ROWS = 6, 20000   # sheets described one by one, and rows of each that are read
SHEET_HEAD = 30                 # rows from which the form of a sheet is proposed
LEAST = 160                     # characters for each sheet beside its code
NAMES_LISTED = 900              # characters of a list of names in code
SHEETS_MOST = 60                # sheets that may be parts of one table
WORKBOOK_MOST = 3 << 20         # bytes of a workbook of which all rows are read


def sheet_cell(value):
    if value is None:
        return ''
    if isinstance(value, datetime.datetime):
        return value.strftime('%Y-%m-%d') if not (value.hour or value.minute
                                                  or value.second) else value.strftime('%Y-%m-%d %H:%M:%S')
    return str(value)


# Make one name of the names in several rows, and those that are the same different, as pandas does
LEVELS = ("c = pd.Series([' '.join(' '.join(dict.fromkeys(str(s) for s in c if str(s)[:9] != 'Unnamed: "
          "')).split()) for c in {}.columns]); ")
COUNTED = "n = c.groupby(c).cumcount(); {}.columns = c.where(n == 0, c + '.' + n.astype(str))"


class SheetPart:
    """The first rows of a sheet, and what they propose: where its table begins, its names."""

    def __init__(self, book, title):
        self.title, self.hidden, self.other = title, title in book.hidden, False
        self.names, self.above, self.notes, self.fill, self.levels = [], [], [], collections.Counter(), []
        heads, merged = book.head(title), book.merged(title)
        rows = [[sheet_cell(v) for v in row] for row in heads]
        for top, left, bottom, right in merged:
            for row in rows[top:bottom + 1] if top < len(rows) and left < len(rows[top]) else ():
                row[left:right + 1] = [rows[top][left]] * len(row[left:right + 1])
        for row in rows:
            if len({*map(str.strip, row)} - {''}) == 1 and row[0].strip():
                row[1:] = [''] * len(row[1:])       # a title, or the heading of some rows
        rows = [(row, i) for i, row in enumerate(rows) if filled_cells(row)]
        width = max((filled_cells(r) for r, _ in rows), default=0)
        if not width:
            return
        first, body = header_rows(rows) or self.first_of_words(rows, width, merged)
        spans = [top for top, left, _, right in merged if left < right]
        head = Header(rows[first:], body - first, any(i in spans for _, i in rows[first:body]))
        self.args, self.names, self.notes = head.args, head.names, head.notes
        above = [' '.join(dict.fromkeys(filter(None, map(str.strip, r)))) for r, _ in rows[:first]]
        self.above = list(filter(None, above))
        self.joined = head.joined
        self.levels = [i for _, i in rows[first:body]] if head.joined and 'names' not in self.args else []
        if 'names' not in self.args:
            # pandas keeps years and dates in a header as they are, so their names are made text
            at = next(i for r, i in rows[first:] if r is self.names)
            gap = range(at + 1, next((i for _, i in rows if i > at), 0)) if head.depth else ()
            if gap:
                before = self.args.get('skiprows', 0)
                self.args['skiprows'] = sorted({*gap, *(before if type(before) is list else range(before))})
            self.other = bool(head.depth) and any(not isinstance(v, str) for v in heads[at])
            self.names = [str(v) for v in heads[at]]
        last, self.end = rows[body - 1][1], rows[min(body, len(rows) - 1)][1]
        for top, left, bottom, right in merged:     # rows below the first of merged cells, by column
            if left == right < len(self.names) and self.names[left] and top > last:
                self.fill[self.names[left]] += bottom - top

    @staticmethod
    def first_of_words(rows, width, merged):
        """The same as header_rows(), of a table that has no numbers: by how many cells say something, and by
        cells that are merged."""
        first = next((i for i, (r, _) in enumerate(rows)
                      if filled_cells(r) * 2 >= width and (len({*r} - {''}) > 1 or width == 1)), 0)
        top = rows[first][1]
        last = max([bottom for t, left, bottom, right in merged if t == top < bottom < top + HEADERS],
                   default=top)
        last = last if last < rows[-1][1] else top      # else these are the table
        return first, first + sum(top <= i <= last for _, i in rows[first:])

    def by_levels(self):
        """Arguments for a header of several rows that has too many names for a list of them."""
        gap = sorted({*range(self.levels[0], self.end)} - {*self.levels})
        return dict({'header': self.levels}, **({'skiprows': gap} if gap else {}))

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


def workbook(path, engine):
    opened = OpenBook(path, engine)
    worksheets = opened.titles
    parts = [SheetPart(opened, title) for title in worksheets[:SHEETS]]
    alike = sheets_alike(parts, opened)
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
    others = [title for title in worksheets[SHEETS:] if title not in [p.title for p in alike]]
    while len(tables) > 1 and sum(LEAST + sum(map(len, t.code())) for t in tables) > MOST:
        others.insert(0, tables[-1].title)          # what is told of a few is more than the names of many
        sheets.remove(tables.pop())
    lines = [code for t in tables for code in t.code()]
    if lines:
        lines[0] = 'import pandas as pd; ' + lines[0]
    lines += join_all(tables)[1]
    share = (MOST - sum(len(s) + 1 for s in lines) - 60) // max(1, len(tables))
    lines += [sheet_text(t, share) if isinstance(t, Table) else t for t in sheets]
    empty = unsaved(path, opened.members) if engine == 'openpyxl' else ''
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
        self.book = book = pd.ExcelFile(path, engine=engine)
        keep_cells(getattr(book, '_reader', None))
        self.titles = book.sheet_names
        sheets = getattr(book.book, 'worksheets', ())       # of openpyxl; those of calamine:
        states = [(s.title, s.sheet_state) for s in sheets] if engine == 'openpyxl' else [
            (s.name, str(s.visible)) for s in getattr(book.book, 'sheets_metadata', ())]
        self.hidden = {title for title, state in states if 'hidden' in state.lower()}
        self.members = {s.title: s._worksheet_path for s in sheets} if engine == 'openpyxl' else {}
        self.joined = merged_cells(path, self.members)
        reader = functools.partial(pd.read_excel, nrows=SHEET_ROWS) if self.large else pd.read_excel
        self.given = [('pd.read_excel', reader), (repr(path), book)]

    def head(self, title):
        """The values of the first rows of a sheet; '' for none."""
        part = self.large or title in self.titles[SHEETS:]      # the others are read whole anyhow
        frame = self.book.parse(title, header=None, dtype=object, na_filter=False,
                                nrows=SHEET_HEAD if part else None)
        return frame.iloc[:SHEET_HEAD, :200].to_numpy().tolist()

    def merged(self, title):
        """[(first row, first column, last row, last column)] of the merged cells of a sheet."""
        if 'calamine' in self.engine:
            found = self.book.book.get_sheet_by_name(title).merged_cell_ranges or ()
            return [(*first, *last) for first, last in found[:2000]]
        return self.joined.get(title, ())

    def table(self, name, part, parts, sheets):
        """The table of these parts, of which this is the first; for one without cells, words."""
        if not part.names:
            return 'sheet %s is empty' % clean(repr(part.title), 60)
        labelled = len(parts) > 1 and 'sheet' not in part.names
        after = ['%s = %s.rename(columns=str)' % (name, name)] * part.other

        def read(args, after):
            lines = [self.reader(name, parts, sheets, labelled, dict(args, dtype='object'))] + after
            return run(['import pandas as pd'] + lines, self.given)[name]
        raw = read(part.args, after)
        for way in (LEVELS + '{}.columns = c', LEVELS + COUNTED) if part.levels else ():
            levels = part.by_levels(), [way.replace('{}', name)]
            with contextlib.suppress(Exception):
                made = read(*levels)
                if all(k in (v, '') or made.iloc[:, i].isna().all()
                       for i, (k, v) in enumerate(zip(made, part.joined))):
                    raw, (part.args, after), part.notes = made, levels, []
                    break
        else:
            if part.levels and len(repr(part.joined)) < NAMES_LISTED:
                part.args, part.notes = {'skiprows': part.end, 'header': None, 'names': part.joined}, []
                raw, part.names = read(part.args, after), part.joined
        columns, codes, hours = Table(name, [], raw).columns, [], []
        for c in columns:
            k = c.name
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
        if len(parts) > 1 or not is_loose(columns):
            t = table_of(name, lines, self.given, 'import pandas as pd')
        else:
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


def is_loose(columns):
    """Is a sheet no one table, because most columns have no name, or no name and cells of several kinds?"""
    held = [c for c in columns if c.kind != 'empty']
    odd = [c for c in held if str(c.name).startswith('Unnamed: ')
           or isinstance(c.name, int) and c.kind in ('objects', 'numbers and text')]
    return 2 * len(odd) > len(held)


def sheets_alike(parts, book):
    """The sheets that are parts of one table, such as one for each month: those that are visible and have the
    columns of the first such."""
    def same(first, others):
        return [p for p in others if p.form() == first.form() is not None]

    alike = max([same(p, parts) for p in parts], key=len, default=[])
    if len(alike) < 2:
        return []
    until = clock() + SECONDS
    later = itertools.takewhile(lambda _: clock() < until, book.titles[SHEETS:SHEETS_MOST])
    return alike + same(alike[0], [SheetPart(book, title) for title in later])


def worksheet_parts(path, members):
    """[the XML of a worksheet], of the first few, as far as it is looked at."""
    import zipfile
    with zipfile.ZipFile(path) as z:
        for name in list(members.values())[:SHEETS]:
            with z.open(name) as f:
                yield f.read(SAMPLE)


def unsaved(path, members):
    """"20 formulas": those whose results are not in the file, because a program wrote it and no spreadsheet
    program has saved it since."""
    n = sum(len(re.findall(rb'</f>\s*(?:<v\s*/>|<v>\s*</v>)?\s*</c>', xml))
            for xml in worksheet_parts(path, members))
    return count(n, 'formula') if n else ''


def column_place(letters):
    """0 for A, 26 for AA."""
    return sum((c - 64) * 26 ** i for i, c in enumerate(reversed(letters))) - 1


def merged_cells(path, members):
    """{name of a sheet: [(first row, first column, last row, last column)]}. members: {name of a sheet: name
    of its file in the workbook}"""
    out = {}
    for title, xml in zip(members, worksheet_parts(path, members)):
        found = re.findall(rb'<mergeCell ref="([A-Z]{1,2})(\d+):([A-Z]{1,2})(\d+)"', xml)[:2000]
        out[title] = [(int(top) - 1, column_place(a), int(bottom) - 1, column_place(b))
                      for a, top, b, bottom in found]
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
