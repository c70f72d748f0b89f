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


ROWS_AS_FRAME = ('df = pd.read_csv(io.StringIO(pd.DataFrame(rows[1:], columns=rows[0]).to_csv(index=False)))')


def table_of_rows(lines, note):
    """The profile of a table in a document, of which these lines make rows of text, the first with names."""
    found = run(lines)['rows']
    wide = {len(row) for row in found}              # others where a cell spans several columns
    if len(found) < 2 or len(wide) > 1 or wide == {1} or not all(found[0]):
        return None
    t = table_of('df', lines + [ROWS_AS_FRAME], (), 'import io, pandas as pd')
    t.notes.append(note)
    t.lines[0] = t.lines[0].replace('import ', 'import io, pandas as pd, ', 1)
    return told(t.lines, t)


def document(path, z):
    """The words of a document of Word, or its largest table."""
    read = ('import zipfile, xml.etree.ElementTree as ET; root = ET.fromstring(zipfile.ZipFile(%r).read('
            "'word/document.xml')); "
            "text = '\\n'.join(''.join(t.text or '' for t in p.iter() if t.tag.endswith('}t'))"
            " for p in root.iter() if p.tag.endswith('}p'))" % path)
    with z.open('word/document.xml') as f:
        raw = f.read(SAMPLE + 1)
    if len(raw) > SAMPLE or b'<!ENTITY' in raw:
        return read + '\na Word document'
    made = run([read])
    paragraphs = [p for p in made['text'].split('\n') if p]
    tables = sum(e.tag.endswith('}tbl') for e in made['root'].iter())
    what = 'a Word document, %d paragraphs, %d tables; it begins:' % (made['text'].count('\n') + 1, tables)
    with contextlib.suppress(Exception):            # without what reads them, or no table has names
        rows = ("rows = [[''.join(t.text or '' for t in c.iter() if t.tag.endswith('}t')) for c in r if "
                "c.tag.endswith('}tc')] for r in [t for t in root.iter() if t.tag.endswith('}tbl')][%d]"
                " if r.tag.endswith('}tr')]")
        found = [e for e in made['root'].iter() if e.tag.endswith('}tbl')]
        largest = max(range(len(found)), key=lambda i: len(found[i]))
        said = table_of_rows([read, rows % largest], '%s %s; table %d of them is df' % (
            what, clean(' '.join(paragraphs), ROW), largest + 1))
        if said:
            return said
    return '\n'.join([read, what, *[clean(p, ROW) for p in paragraphs[:5]]])


def sheet_of_xml(path, text, encoding, whole):
    """A workbook as Excel wrote it in XML; None where its cells have places of their own."""
    if not whole or '<!ENTITY' in text or 'ss:Index' in text:
        return None
    name = '{urn:schemas-microsoft-com:office:spreadsheet}'
    line = ("import xml.etree.ElementTree as ET; n = %r; rows = [[c.findtext(n + 'Data') for c in "
            "r.iter(n + 'Cell')] for r in ET.parse(%r).find(n + 'Worksheet').iter(n + 'Row')]" % (name, path))
    with contextlib.suppress(Exception):
        return table_of_rows([line], 'a workbook of Excel in XML, %s' % count(
            text.count('<Worksheet '), 'sheet'))
    return None


def pdf(path):
    """Pages and first words of a PDF, and the first table that is found on its first pages."""
    if not has('pypdf'):
        reader = next((m for m in ('PyPDF2', 'fitz', 'pdfminer') if has(m)), None)
        return 'a PDF; %s' % ('read it with %s' % reader if reader else 'no package here reads PDF')
    opened, until = 'import pypdf; pages = pypdf.PdfReader(%r).pages' % path, clock() + SECONDS
    read = opened + "; text = '\\n'.join(p.extract_text() for p in pages)"
    texts = []
    try:
        pages = run([opened])['pages']
        number = len(pages)
        while len(texts) < min(number, 5) and clock() < until - SECONDS / 2:
            texts.append(pages[len(texts)].extract_text())
    except Exception as e:
        locked = 'decrypt' in str(e) or 'password' in str(e)
        TROUBLE.append('it is encrypted with a password' if locked else 'the PDF cannot be read')
        return 'a PDF, that cannot be read: %s' % ('it is encrypted' if locked else clean(e, 200))
    what = 'a PDF of %s' % count(number, 'page')
    written = [i for i, text in enumerate(texts) if text.strip()]
    if not written:
        TROUBLE.append('its first %s no text' % (
            'page holds' if len(texts) == 1 else '%d pages hold' % len(texts)))
        return '%s\n%s; %s, but pictures' % (read, what, TROUBLE[-1])
    words = [clean(line, ROW) for line in texts[written[0]].split('\n') if line.strip()]
    for page in written[:3] if has('pdfplumber') and has('pandas') else ():
        with contextlib.suppress(Exception):
            if clock() < until:
                line = 'import pdfplumber; rows = pdfplumber.open(%r).pages[%d].extract_table()'
                note = '%s; the table of page %d is df; page %d begins: %s' % (
                    what, page + 1, written[0] + 1, ' / '.join(words[:3]))
                said = table_of_rows([line % (path, page)], note)
                if said:
                    return said
    return '\n'.join([read, '%s; page %d begins:' % (what, written[0] + 1), *words[:8]])


def unique(names):
    return [n + '.%d' % names[:i].count(n) * (n in names[:i]) for i, n in enumerate(names)]


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
        found = stored.con.execute("select name, type, sql from sqlite_master where type in ('table', "
                                   "'view') and name not like 'sqlite_%%' limit %d" % TABLES).fetchall()
        # a virtual table, such as one for searching text, keeps its data in tables of its own; an R-tree has
        # no other data than the table that it finds places of
        virtual = tuple(n + '_' for n, _, sql in found if re.match('create virtual', sql or '', re.I))
        found = [(n, kind) for n, kind, sql in found if not n.startswith(virtual)
                 and not re.search(r'using\s+rtree', sql or '', re.I)]
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
    # what a database keeps of itself has few rows: of its places, of its own tables
    order = sorted(rows, key=lambda name: -min(20 if rows[name] is None else rows[name], 20))
    for name in order if has('pandas') else ():
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
