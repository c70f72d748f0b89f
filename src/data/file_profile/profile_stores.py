# profile_stores.py - the part of file_profile.py for databases and documents, and for pictures.


def old_office(path, raw):
    """A file that begins as Office files did before 2007, and as encrypted ones do now."""
    if 'EncryptedPackage'.encode('utf-16-le') in raw:
        TROUBLE.append('it is encrypted; save it without a password')
        return 'an Office document, encrypted with a password'
    if 'WordDocument'.encode('utf-16-le') in raw:
        TROUBLE.append('no package here reads what Word wrote before 2007; save it in a newer format')
        return 'a document of Word from before 2007, which no package here reads'
    return sheets_or_why(path, 'an Excel workbook from before 2007', 'calamine', 'xlrd')


def document(path, z):
    """The words of a document of Word."""
    read = ('import zipfile, xml.etree.ElementTree as ET; root = ET.fromstring(zipfile.ZipFile(%r).read('
            "'word/document.xml')); "
            "text = '\\n'.join(''.join(t.text or '' for t in p.iter() if t.tag.endswith('}t'))"
            " for p in root.iter() if p.tag.endswith('}p'))" % path)
    with z.open('word/document.xml') as f:
        raw = f.read(SAMPLE + 1)
    if len(raw) > SAMPLE or b'<!ENTITY' in raw:
        return read + '\na Word document'
    made = run([read])
    paragraphs = made['text'].split('\n')
    tables = sum(e.tag.endswith('}tbl') for e in made['root'].iter())
    return '%s\na Word document, %d paragraphs, %d tables; it begins:\n%s' % (
        read, len(paragraphs), tables, '\n'.join(clean(p, ROW) for p in [p for p in paragraphs if p][:5]))


def unique(names):
    return [n if n not in names[:i] else '%s.%d' % (n, i) for i, n in enumerate(names)]


# how the file begins, and what it is called
PICTURES = ((b'\x89PNG\r\n\x1a\n', 'PNG'), (b'\xff\xd8\xff', 'JPEG'), (b'GIF8', 'GIF'), (b'BM', 'BMP'),
            (b'II*\0', 'TIFF'), (b'MM\0*', 'TIFF'))


def picture_kind(raw):
    if raw[:4] == b'RIFF' and raw[8:12] == b'WEBP':
        return 'WebP'
    kind = next((name for magic, name in PICTURES if raw.startswith(magic)), None)
    return None if kind == 'BMP' and raw[6:10] != bytes(4) else kind


def image(path, raw):
    """Size and mode as Pillow says them, which decodes nothing for that."""
    if not has('PIL'):
        return 'an image, ' + picture_kind(raw)
    read = 'from PIL import Image; im = Image.open(%r)' % path
    try:
        im = run([read])['im']
        return '%s\nan image, %s, %d x %d pixels, %s' % (read, picture_kind(raw), *im.size, im.mode)
    except Exception as e:
        TROUBLE.append('the image cannot be read')
        return 'an image, %s, that Pillow cannot read: %s' % (picture_kind(raw), clean(e, 100))


TABLES, FRAMES = 200, 8         # of a database, that are named, and that are described
STORED_ROWS, STORED_BYTES = 20000, 32 << 20     # of a table, that are read
COUNT_SECONDS = 1.0             # for counting the rows of all tables, and for reading some of one


def stored_name(name):
    return '"%s"' % name.replace('"', '""')


class Stored:
    """A database of SQLite, opened so that nothing in it changes."""

    def __init__(self, path):
        import sqlite3
        from urllib.parse import quote
        self.size, self.wal = os.path.getsize(path), os.path.exists(path + '-wal')
        self.opened = 'con = sqlite3.connect(%r)' % path
        self.con = sqlite3.connect('file:%s?mode=ro%s' % (
            quote(os.fsencode(path)), '' if self.wal else '&immutable=1'), uri=True)
        self.until = clock() + COUNT_SECONDS
        self.con.set_progress_handler(lambda: clock() > self.until, 20000)

    def ask(self, question):
        """The answer; what takes too long, or is damaged, has none."""
        try:
            return self.con.execute(question).fetchall()
        except Exception as e:
            self.damaged(e)
            return []

    def damaged(self, error):
        if 'malformed' in str(error):
            TROUBLE.append('the database is damaged')

    def rows(self, name):
        """How many a table has; None: they cannot be counted in time."""
        return next((row[0] for row in self.ask('select count(*) from ' + stored_name(name))), None)

    def columns(self, name):
        return [c[1] for c in self.ask('pragma table_info(%s)' % stored_name(name))]

    def read(self, query, most):
        """What pandas makes of the first rows, also of text that is not UTF-8."""
        import pandas as pd
        query += ' LIMIT %d' % most
        self.until = clock() + COUNT_SECONDS
        try:
            return pd.read_sql(query, self.con)
        except Exception as e:
            if 'decode' not in str(e):
                raise
        lenient = "con.text_factory = lambda b: b.decode('utf-8', 'replace')"
        self.opened += '; ' + lenient
        exec(lenient, {'con': self.con})
        return pd.read_sql(query, self.con)

    def table(self, variable, name, rows):
        """A Table, of the first rows if there are many. Whole numbers that a float would round are text."""
        most = 1000 if rows is None else min(STORED_ROWS, max(100, STORED_BYTES * rows // self.size))
        query = 'SELECT * FROM ' + stored_name(name)
        frame = self.read(query, most)
        long = [k for k, c in frame.items() if c.dtype == 'float64' and c.isna().any()
                and (c.dropna() % 1 == 0).all() and c.abs().max() > 1e15]
        if long:
            forms = (('CAST({0} AS TEXT) AS {0}' if k in long else '{0}', stored_name(k)) for k in frame)
            query = query.replace('*', ', '.join(form.format(k) for form, k in forms), 1)
            frame = self.read(query, most)
        code = 'pd.read_sql(%r, con)' % query
        if len(frame) == rows or len(frame) < most:
            return table_of(variable, ['%s = %s' % (variable, code)], [(code, frame)], 'import pandas as pd')
        t = Table(variable, [], frame)
        t.whole, t.total = False, '%s, looked at the first %d' % (
            count(rows, 'row') if rows else 'rows not counted', len(frame))
        t.notes.append('too many rows for a frame: ask for what is needed in SQL, FROM ' + stored_name(name))
        return t

    def others(self, found, rows, tables):
        """The names of what is not described, with their columns if there is room."""
        names, said = [n for n, _ in found if n not in tables], []
        for n in names:
            said.append(('' if n in rows else 'view ') + clean(n, 60))
            said[-1] += ' (%s)' % count(rows[n], 'row') if rows.get(n) else ''
        columns = (', '.join(clean(c, CELL) for c in self.columns(n)) for n in names)
        full = '\n'.join('%s: %s' % both for both in zip(said, columns))
        return full if len(full) < MOST // 2 else clean('more tables: ' + ', '.join(said), MOST // 3)


def least(t):
    """The characters that a table needs: for its code and the names of its columns."""
    return sum(map(len, t.code())) + min(LEAST + len(repr([*t.frame])), COLUMNS_MOST // 2)


def database(path):
    """The profile of a database: tables of few rows are read like the sheets of a workbook, of others
    the first rows are looked at, and the rest are named."""
    stored = Stored(path)
    read = 'import sqlite3; ' + stored.opened
    try:
        found = stored.con.execute("select name, type from sqlite_master where type in ('table', 'view') "
                                   "and name not like 'sqlite_%%' limit %d" % TABLES).fetchall()
    except Exception as e:
        TROUBLE.append('the database cannot be read')
        return '%s\na SQLite database that cannot be read: %s' % (read, clean(e, 100))
    if not found:
        TROUBLE.append('the database has no tables')
        with open(path, 'rb') as f:
            wal = f.read(20)[18:] == b'\2\2' and not stored.wal
        why = ': they may be in its -wal file, which is not here' if wal else ''
        return read + '\nit has no tables' + why
    rows = {name: stored.rows(name) for name, kind in found if kind == 'table'}
    alone = not any(other.lower().endswith(DATABASE_ENDS) for _, other in siblings(path))
    tables, before = {}, '' if alone else variable(path, 'data') + '_'
    for name in sorted(rows, key=lambda name: rows[name] == 0) if has('pandas') else ():
        try:
            own = before + identifier(name, 'table%d' % (len(tables) + 1))
            own += '_' * (own in [t.name for t in tables.values()])
            tables[name] = stored.table(own, name, rows[name])
        except Exception as e:
            stored.damaged(e)
        if len(tables) == FRAMES:
            break
    last = stored.others(found, rows, tables)
    while len(tables) > 1 and len(last) + sum(map(least, tables.values())) > MOST:
        tables.popitem()
        last = stored.others(found, rows, tables)
    lines = ['import sqlite3%s; %s' % (', pandas as pd' * bool(tables), stored.opened)]
    lines += [code for t in tables.values() for code in t.code()] + join_all([*tables.values()])[1]
    left = MOST - len(last) - sum(len(s) + 1 for s in lines) - 60
    for n, t in enumerate(tables.values()):         # what one does not need is left to the next
        lines.append(sheet_text(t, left // (len(tables) - n)))
        left -= len(lines[-1]) + 1
    return '\n'.join(lines + [last] * bool(last))
