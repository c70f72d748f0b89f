# profile_formats.py - the part of profile.py for what is no plain table: JSON, workbooks, parquet, databases, pictures.

import time


# JSON

def shape(value, depth=0):
    """The form of a value, with short examples: {'id': 7, 'tags': ['a', ...2], 'user': {'name': 'Bo'}}."""
    if isinstance(value, dict):
        if depth >= 4:
            return '{...}'
        items = ['%s: %s' % (clean(repr(k), CELL), shape(v, depth + 1)) for k, v in list(value.items())[:24]]
        if len(value) > 24:
            items.append('...%d more keys' % (len(value) - 24))
        return '{' + ', '.join(items) + '}'
    if isinstance(value, list):
        if depth >= 4:
            return '[...]'
        return '[' + (shape(value[0], depth + 1) if value else '') + (', ... %d in all' % len(value) if len(value) > 1 else '') + ']'
    return clean(repr(value), CELL)


def as_cell(value):
    return '' if value is None else value if isinstance(value, str) else str(value)


def records(items, reader, what):
    """A list of flat records, said as the table it is. None when it is none."""
    if not items or not all(isinstance(r, dict) for r in items[:1000]):
        return None
    names = []
    for r in items[:200]:
        for k, v in r.items():
            if isinstance(v, (dict, list)):
                return None
            if k not in names:
                names.append(k)
    if not names or len(names) > 200:
        return None
    rows = [[as_cell(r.get(n)) for n in names] for r in items[:100000] if isinstance(r, dict)]
    columns = [Column(n) for n in names]
    seen = study(columns, rows)
    settled = [c.settle('.') for c in columns]
    lines = [reader] + (date_lines(columns, settled, True) if has('pandas') else [])
    total = '%d %s' % (len(items), what) + ('' if seen == len(items) else ', looked at the first %d' % seen)
    lines.append('%s, columns: %s' % (total, describe(columns, settled)))
    lines.append('first %d rows:\n%s' % (min(2, len(items)), '\n'.join(clean(shape(r), ROW) for r in items[:2])))
    return '\n'.join(lines)


def json_text(path, text, encoding, whole):
    import json
    enc = '' if encoding == 'utf-8' else ', encoding=%r' % encoding
    read = 'import json; data = json.load(open(%r%s))' % (path, enc)
    try:
        if whole:
            value = json.loads(text)
        else:
            with open(path, encoding=encoding) as f:
                value = json.loads(f.read(JSON_MOST + 1))
    except RecursionError:
        return read + '\nJSON, nested very deep'
    except ValueError:
        return json_start(read, text, whole)
    if isinstance(value, list):
        frame = 'import json, pandas as pd; df = pd.DataFrame(json.load(open(%r%s)))' % (path, enc) if has('pandas') else read
        said = records(value, frame, 'records')
        return said or '%s\na list of %d; the first: %s' % (read, len(value), clean(shape(value[0]), 1500) if value else 'none')
    if isinstance(value, dict):
        return '%s\nan object of %d keys: %s' % (read, len(value), clean(shape(value), 2500))
    return '%s\none value: %s' % (read, shape(value))


def json_start(read, text, whole):
    """JSON that is too large to load here: the first element, if it can be had. None for a whole file: it is broken then."""
    import json
    if whole:
        return None
    try:
        start = text.index('[') + 1
        value, _ = json.JSONDecoder().raw_decode(text[start:].lstrip()[:1 << 20])
        return '%s\na large list; the first element: %s' % (read, clean(shape(value), 1500))
    except (ValueError, RecursionError):
        return '%s\na large object; it begins: %s' % (read, clean(text[:600], 600))


def json_lines(path, text, encoding, whole):
    import json
    lines = text.split('\n')
    if not whole:
        lines.pop()
    lines = [s for s in lines if s.strip()]
    items, until = [], time.monotonic() + SECONDS
    try:
        for s in lines:
            items.append(json.loads(s))
            if len(items) % 256 == 0 and time.monotonic() > until:
                break
    except (ValueError, RecursionError):
        if len(items) < 2:
            return None
    enc = '' if encoding == 'utf-8' else ', encoding=%r' % encoding
    read = 'import json; data = [json.loads(s) for s in open(%r%s) if s.strip()]' % (path, enc)
    frame = read.replace('import json;', 'import json, pandas as pd;') + '; df = pd.DataFrame(data)' if has('pandas') else read
    what = 'records, one a line' if whole else 'records, one a line, in the first %d MiB' % (SAMPLE >> 20)
    return records(items, frame, what) or '%s\n%d %s; the first: %s' % (read, len(items), what, clean(shape(items[0]), 1500))


# What is no text

def zip_kind(path):
    import zipfile
    try:
        with zipfile.ZipFile(path) as z:
            infos = z.infolist()
    except Exception as e:
        return 'a ZIP archive that cannot be read: ' + clean(e, 200)
    names = [i.filename for i in infos]
    if 'xl/workbook.xml' in names:
        return workbook(path)
    shown = ', '.join('%s (%d bytes)' % (clean(i.filename, 80), i.file_size) for i in infos[:20])
    more = ' and %d more' % (len(infos) - 20) if len(infos) > 20 else ''
    return 'import zipfile; z = zipfile.ZipFile(%r)\na ZIP archive of %d: %s%s' % (path, len(infos), shown, more)


def sheet_cell(value):
    import datetime
    if value is None:
        return ''
    if isinstance(value, datetime.datetime):
        return value.strftime('%Y-%m-%d') if not (value.hour or value.minute or value.second) else value.strftime('%Y-%m-%d %H:%M:%S')
    return str(value)


def workbook(path):
    if not has('openpyxl'):
        return 'an Excel workbook; openpyxl is not installed here, so only zipfile and xml can read it: %r' % path
    import openpyxl
    book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    out = []
    for i, sheet in enumerate(book.worksheets[:4]):
        out.append(sheet_text(path, sheet, i, len(book.worksheets)))
    if len(book.sheetnames) > 4:
        out.append('more sheets: ' + ', '.join(clean(repr(n), 40) for n in book.sheetnames[4:20]))
    return '\n'.join(out)


def sheet_text(path, sheet, index, sheets):
    rows, until, all_rows = [], time.monotonic() + SECONDS, True
    for row in sheet.iter_rows(values_only=True, max_col=200):
        rows.append([sheet_cell(v) for v in row])
        if len(rows) >= 20000 or time.monotonic() > until:
            all_rows = False
            break
    while rows and not any(rows[-1]):
        rows.pop()
    filled = [sum(1 for c in r if c) for r in rows[:30]]
    width = max(filled, default=0)
    if not width:
        return 'sheet %s is empty' % clean(repr(sheet.title), 60)
    skip = next(i for i, n in enumerate(filled) if n * 2 >= width and (n > 1 or width == 1))
    names, body = unique(rows[skip]), rows[skip + 1:]
    columns = [Column(n) for n in names]
    study(columns, body)
    settled = [c.settle('.') for c in columns]
    args = repr(path) + (', sheet_name=%r' % sheet.title if index or sheets > 1 else '') + (', skiprows=%d' % skip if skip else '')
    read = 'import pandas as pd; df = pd.read_excel(%s)' % args if has('pandas') else \
        'import openpyxl; rows = list(openpyxl.load_workbook(%r, data_only=True)[%r].iter_rows(values_only=True))' % (path, sheet.title)
    total = '%d rows' % len(body) if all_rows else 'over %d rows' % len(body)
    return '%s\n%s, columns: %s\n%s' % (read, total, describe(columns, settled)[:1200], first_rows(body, ' | '))


def parquet(path):
    if not has('pyarrow'):
        return 'a Parquet file; pyarrow is not installed here, so it cannot be read'
    import pyarrow.parquet
    f = pyarrow.parquet.ParquetFile(path)
    columns = ', '.join('%s (%s)' % (clean(repr(c.name), 60), clean(c.type, 30)) for c in list(f.schema_arrow)[:60])
    head = next(f.iter_batches(batch_size=3)).to_pylist() if f.metadata.num_rows else []
    return 'import pandas as pd; df = pd.read_parquet(%r)\n%d rows, columns: %s\n%s' % (
        path, f.metadata.num_rows, columns, first_rows([[as_cell(v) for v in r.values()] for r in head], ' | '))


def database(path):
    import sqlite3
    con = sqlite3.connect('file:%s?mode=ro&immutable=1' % path.replace('%', '%25').replace('?', '%3f').replace('#', '%23'), uri=True)
    con.text_factory = lambda b: b.decode('utf-8', 'replace')
    out = ['import sqlite3; con = sqlite3.connect(%r)' % path]
    for (name,) in con.execute("select name from sqlite_master where type in ('table', 'view') limit 20").fetchall():
        quoted = '"%s"' % name.replace('"', '""')
        columns = con.execute('pragma table_info(%s)' % quoted).fetchall()
        out.append('table %s: %s' % (clean(repr(name), 60), ', '.join('%s %s' % (clean(c[1], 40), clean(c[2], 20)) for c in columns[:40])))
    return '\n'.join(out)


def image(path, raw):
    if raw[:4] == b'\x89PNG':
        size = '%d x %d' % (int.from_bytes(raw[16:20], 'big'), int.from_bytes(raw[20:24], 'big'))
    else:
        size, i = 'unknown size', 2
        while i + 9 < len(raw) and raw[i] == 0xff:
            if 0xc0 <= raw[i + 1] <= 0xcf and raw[i + 1] not in (0xc4, 0xc8, 0xcc):
                size = '%d x %d' % (int.from_bytes(raw[i + 7:i + 9], 'big'), int.from_bytes(raw[i + 5:i + 7], 'big'))
                break
            i += 2 + int.from_bytes(raw[i + 2:i + 4], 'big')
    read = 'from PIL import Image; im = Image.open(%r)\n' % path if has('PIL') else ''
    return '%san image, %s pixels' % (read, size)
