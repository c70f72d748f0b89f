# profile_sheets.py - the part of file_profile.py for workbooks.

import datetime
import itertools


def sheet_cell(value):
    if value is None:
        return ''
    if isinstance(value, datetime.datetime):
        return value.strftime('%Y-%m-%d') if not (value.hour or value.minute
                                                  or value.second) else value.strftime('%Y-%m-%d %H:%M:%S')
    return str(value)


SHEETS, SHEET_ROWS = 6, 20000   # sheets examined, and rows of each


def workbook(path):
    if not has('openpyxl'):
        return ('an Excel workbook; openpyxl is not installed here, so only zipfile and xml can read it: %r'
                % path)
    import openpyxl
    book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    sheets, used = [], {'df', 'pd'}
    for i, sheet in enumerate(book.worksheets[:SHEETS]):
        name = identifier(sheet.title, 'sheet%d' % (i + 1)) if len(book.worksheets) > 1 else 'df'
        while name in used and name != 'df':
            name += '_'
        used.add(name)
        t = sheet_table(path, sheet, name, len(book.worksheets))
        hidden = getattr(sheet, 'sheet_state', 'visible') != 'visible'
        if isinstance(t, Table):
            t.total = '(a hidden sheet) ' + t.total if hidden else t.total
        sheets.append(t)
    tables = [t for t in sheets if isinstance(t, Table)]
    lines = [code for t in tables for code in t.code()]
    if lines and has('pandas'):
        lines[0] = 'import pandas as pd; ' + lines[0]
    pairs = [(a, b) for i, a in enumerate(tables) for b in tables[i + 1:] if a.whole and b.whole]
    joined = [join_text(a, b, *found) for a, b in pairs for found in joins(a, b)[:1]][:2]
    if has('pandas'):
        lines += [code + '  # ' + facts for code, facts in joined]
    share = (MOST - sum(len(s) + 1 for s in lines) - 60) // max(1, len(tables))
    empty = unsaved(path)
    if empty:
        TROUBLE.append('%s in it without a saved value' % empty)
        lines.append('%s in it %s no saved value, so pandas reads nothing there: openpyxl has the formulas'
                     % (empty, 'has' if empty == '1 formula' else 'have'))
    lines += [sheet_text(t, share) if isinstance(t, Table) else t for t in sheets]
    if len(book.sheetnames) > SHEETS:
        lines.append('more sheets: '
                     + clean(', '.join(clean(repr(n), 40) for n in book.sheetnames[SHEETS:20]), 200))
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


def sheet_rows(sheet):
    """(rows, the first of them as openpyxl has them, the columns that contain dates, whether these are all
    rows). A sheet may declare a wrong size, which is ignored."""
    if hasattr(sheet, 'reset_dimensions'):
        sheet.reset_dimensions()
    rows, heads, dates, left = [], [], set(), sheet.iter_rows(values_only=True)
    for row in in_time(itertools.islice(left, SHEET_ROWS), SECONDS / 2):
        dates.update(i for i, v in enumerate(row[:200]) if isinstance(v, datetime.date))
        if len(rows) < 30:
            heads.append(row[:200])
        rows.append([sheet_cell(v) for v in row[:200]])
    return rows, heads, dates, next(left, None) is None


def sheet_table(path, sheet, name, sheets):
    rows, heads, dates, all_rows = sheet_rows(sheet)
    while rows and not any(rows[-1]):
        rows.pop()
    filled = [sum(1 for c in r if c) for r in rows[:30]]
    width = max(filled, default=0)
    if not width:
        return 'sheet %s is empty' % clean(repr(sheet.title), 60)
    skip = next(i for i, n in enumerate(filled) if n * 2 >= width and (n > 1 or width == 1))
    while rows[skip] and not rows[skip][-1]:
        rows[skip].pop()
    # pandas keeps years and dates in a header as they are, so their names are made text
    other = any(not isinstance(v, (str, type(None))) for v in heads[skip])
    names, body = unique([str(v) if c else '' for v, c in zip(heads[skip], rows[skip])]), rows[skip + 1:]
    columns = [Column(n) for n in names]
    seen = study(columns, body, SECONDS / 2)
    settled = [c.settle('') for c in columns]
    args = repr(path) + (', sheet_name=%r' % sheet.title if sheets > 1 else '') + (', skiprows=%d' % skip
                                                                                   if skip else '')
    codes = [c.name for c, (kind, _) in zip(columns, settled) if kind == 'code']
    if codes:
        args += ', dtype={%s}' % ', '.join('%r: str' % n for n in codes[:8])
    read = 'pd.read_excel(%s)' % args
    if not has('pandas'):
        read = ('import openpyxl; rows = list(openpyxl.load_workbook(%r, data_only=True)[%r]'
                '.iter_rows(values_only=True))' % (path, sheet.title))
    t = Table(name, read, columns, settled, body)
    if has('pandas'):
        t.dates = ['%s = %s.rename(columns=str)' % (name, name)] * other
        t.dates += type_lines(columns, [('text', '') if i in dates else s for i, s in enumerate(settled)],
                              True, name)
    t.whole = all_rows and seen == len(body)
    t.total = '%d rows' % len(body) if all_rows else 'over %d rows' % len(body)
    return t


def sheet_text(t, share):
    """The description of a sheet, in at most share characters."""
    text = '%s%s, columns: %s' % (t.called(), t.total,
                                  describe(t.columns, t.settled, '.', share - 60))
    rows = first_rows(t.body, ' | ', 2)
    return text + '\n' + rows if len(text) + len(rows) < share else text
