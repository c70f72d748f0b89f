# profile_stores.py - the part of file_profile.py for compressed files, tar archives, databases and
# documents. What unpacks to much more than it is costs a bounded part of it.

import collections

Packed = collections.namedtuple('Packed', 'magic name module ending rest')
PACKED = (Packed(b'\x1f\x8b', 'gzip', 'gzip', '.gz', 'zlib.decompressobj(31)'),
          Packed(b'BZh', 'bzip2', 'bz2', '.bz2', 'bz2.BZ2Decompressor()'),
          Packed(b'\xfd7zXZ\0', 'xz', 'lzma', '.xz', 'lzma.LZMADecompressor()'),
          Packed(b'\x28\xb5\x2f\xfd', 'zstd', 'zstandard', '.zst',
                 'zstandard.ZstdDecompressor().decompressobj()'))
TAR_MOST = 20000                # members looked at


def unpacked(path, packed):
    """(the first bytes of what is inside, why there are no more or '')."""
    import importlib
    module, raw = importlib.import_module(packed.module), b''
    try:
        with module.open(path) as f:
            while len(raw) <= SAMPLE:
                piece = f.read1(1 << 16) if hasattr(f, 'read1') else f.read(1 << 16)
                if not piece:
                    break
                raw += piece
    except EOFError:
        return raw, 'it is cut short'
    except Exception as e:              # each module has errors of its own
        return b'', clean(e, 100)
    return raw[:SAMPLE + 1], ''


def compressed(path, packed):
    named = path.endswith(packed.ending)
    name = path[:-len(packed.ending)] if named else path
    module = packed.module
    read = 'import %s; f = %s.open(%r)\ncompressed with %s' % (module, module, path, packed.name)
    if not has(module):
        TROUBLE.append('nothing in the sandbox unpacks %s' % packed.name)
        return 'compressed with %s, which no package here unpacks: %s is missing' % (packed.name, module)
    raw, wrong = unpacked(path, packed)
    if wrong:
        TROUBLE.append('its compressed data ' + ('is cut short' if raw else 'cannot be read'))
    if wrong and not raw:
        return '%s, but it cannot be read: %s' % (read, wrong)
    whole = len(raw) <= SAMPLE
    if raw.startswith(packed.magic) or not raw:
        return read + (', twice' if raw else '; it is empty')
    if raw[257:262] == b'ustar':
        return tar_members(path)
    said, inner = inner_profile(name, raw[:SAMPLE], whole and not wrong)
    if wrong:
        rest = 'import io, bz2, lzma, zlib; raw = %s.decompress(open(%r, "rb").read())' % (packed.rest, path)
        said = said.replace('open(%r' % inner, 'io.TextIOWrapper(io.BytesIO(raw)', 1)
        return '%s\n%s\ncompressed with %s, and cut short: this is what is left' % (
            rest, said.replace(repr(inner), 'io.BytesIO(raw)')[:MOST - len(rest) - 80], packed.name)
    if not code_and_facts(said)[0]:
        read = 'import %s; raw = %s.open(%r).read()' % (module, module, path)
        more = '' if whole else ', only the first %d MiB of it were looked at' % (SAMPLE >> 20)
        return '%s\ncompressed with %s: %s%s' % (read, packed.name, said.partition(';')[0], more)
    fixed = 'pd.read_fwf(' in said      # which does not go by the name
    method = packed.name if packed.name in ('gzip', 'zstd') else packed.ending[1:]
    how = '' if named and not fixed else ', compression=%r' % method
    said = re.sub(r'(pd\.read_\w+\()%s' % re.escape(repr(inner)),
                  lambda m: m.group(1) + repr(path) + how, said)
    said = said.replace('open(%r, "rb")' % inner, '%s.open(%r)' % (packed.module, path))
    if 'open(%r' % inner in said:
        said = said.replace('open(%r' % inner, '%s.open(%r, "rt"' % (packed.module, path), 1)
    if packed.module + '.open(' in said:
        said = 'import %s; %s' % (packed.module, said)
    more = '' if whole else '\nonly the first %d MiB of what is inside were looked at' % (SAMPLE >> 20)
    return '%s\ncompressed with %s%s' % (said[:MOST - len(more) - 30], packed.name, more)


def tar_members(path):
    import tarfile
    held, cut, more, until, t = {}, '', False, clock() + SECONDS, None
    try:
        t = tarfile.open(path)
        for m in itertools.islice(t, TAR_MOST):
            if m.isfile():
                held[m.name] = m
            if clock() > until:
                break
        more = t.next() is not None
    except Exception as e:              # one that is cut short ends where it ends
        TROUBLE.append('the archive cannot be read to its end')
        cut = '; it cannot be read further: ' + clean(e, 80)
    files = [(name, m.size) for name, m in held.items()]
    opened = 'import io, tarfile; t = tarfile.open(%r)' % path
    shown = ', '.join('%s (%d bytes)' % (clean(name, 80), size) for name, size in files[:20])
    number = 'over ' * more + count(len(files), 'file')
    facts = ['a tar archive of %s: %s%s' % (number, clean(shown, 500), cut)]
    try:
        return members(opened, 't.extractfile(%r)', tarfile.TarFile.getnames, files,
                       lambda name: t.extractfile(held[name]), facts)
    except Exception:                   # the file itself is cut short
        return '\n'.join([opened] + facts)


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
    import xml.etree.ElementTree as ET
    read = ('import zipfile, xml.etree.ElementTree as ET; root = ET.fromstring(zipfile.ZipFile(%r).read('
            "'word/document.xml')); "
            "text = '\\n'.join(''.join(t.text or '' for t in p.iter() if t.tag.endswith('}t'))"
            " for p in root.iter() if p.tag.endswith('}p'))" % path)
    with z.open('word/document.xml') as f:
        raw = f.read(SAMPLE + 1)
    if len(raw) > SAMPLE or b'<!ENTITY' in raw:
        return read + '\na Word document'
    root = ET.fromstring(raw)
    paragraphs = [''.join(t.text or '' for t in p.iter() if t.tag.endswith('}t'))
                  for p in root.iter() if p.tag.endswith('}p')]
    tables = sum(e.tag.endswith('}tbl') for e in root.iter())
    return '%s\na Word document, %d paragraphs, %d tables; it begins:\n%s' % (
        read, len(paragraphs), tables, '\n'.join(clean(p, ROW) for p in [p for p in paragraphs if p][:5]))


TABLES = 200                    # of a database; those after it are not even named
FRAMES, FRAMES_BYTES = 8, 32 << 20      # tables of a database that are read as frames, and its size
STORED_ROWS, STORED_BYTES = 20000, 8 << 20      # of a table, looked at


def stored_frame(con, quoted, declared):
    """The first rows of a table, as a frame."""
    import pandas as pd
    rows, taken = [], 0
    for row in con.execute('select * from %s limit %d' % (quoted, STORED_ROWS)):
        rows.append(row[:40])
        taken += sum(len(v) for v in row if isinstance(v, (str, bytes)))
        if taken > STORED_BYTES:
            break
    return pd.DataFrame.from_records(rows, columns=unique([c[1] for c in declared]), coerce_float=True)


def unique(names):
    return [n if n not in names[:i] else '%s.%d' % (n, i) for i, n in enumerate(names)]


def stored_table(con, name, quoted, number):
    """(a Table, the columns as they are declared), of the first rows if there are very many."""
    declared = con.execute('pragma table_info(%s)' % quoted).fetchall()[:40]
    plain = [('%s %s' % (clean(c[1], 40), clean(c[2], 20))).rstrip() for c in declared]
    if not has('pandas'):
        return None, plain
    t = Table(name, [], stored_frame(con, quoted, declared))
    t.whole = len(t.frame) == number
    return t, plain


def stored_columns(t, declared):
    """'total REAL (0.5 to 90.0, 3 missing)': columns as the table declares them, and what they hold."""
    out, dates = [], statements_for_text(t.frame)[0]
    dated = {name: code for code, names in dates if 'to_datetime' in code for name in names}
    for c, said in zip(t.columns, declared):
        held = column_text(c, True)[len(clean(repr(c.name), 60)) + 2:-1]
        held = 'empty' if c.kind == 'empty' else re.sub(r'^(int|float|text)(: |, |$)', '', held)
        if c.name in dated:
            form = re.search("format='(%.*?)'", dated[c.name])
            line = 'x = ' + dated[c.name].replace('{}', '_cells')
            ends = Column('', run(['import pandas as pd', line], [('_cells', c.cells)])['x']).ends()
            held = 'dates%s, %s' % (' ' + form[1] if form and not form[1].startswith('%Y-%m') else '', ends)
            held += ', %d missing' % c.missing if c.missing else ''
        out.append(said + (' (%s)' % held if held and c.n > 1 else ''))
    return ', '.join(out)


def stored_joins(tables):
    """Which column of a table holds the keys of another, and how many of its rows find theirs."""
    return ['%s.%s refers to %s.%s: %d of %d rows find theirs' % (
        *(clean(n, 40) for n in (many.name, key.name, one.name, unique_.name)), rows, key.n)
            for many, key, one, unique_, rows in references([t for t in tables if t.whole])[:4]]


def fitting(heads, rows, links, names):
    """As much of a database as there is room for: each table with what it holds, or with its columns, or some
    of them, and the names of the others."""
    room, said = MOST - 120, {}
    for full, shown in ((True, True), (True, False), (False, False)):
        out = []
        for i, (plain, facts) in enumerate(heads):
            columns = facts if full else plain
            if not full and len(columns) > 60 and said.setdefault(columns, i) != i:
                columns = 'the columns of %s' % clean(repr(names[said[columns]]), 60)
            out += [columns_line(names, rows, i, columns)] + [rows[i][1]] * bool(shown and rows[i][1])
        if sum(len(s) + 1 for s in out + links) <= room:
            return out + links
    ends = itertools.accumulate(len(s) + 1 for s in out)
    fit = sum(1 for n in ends if n <= room * 2 // 3 - sum(map(len, links)))
    rest = clean(', '.join(names[fit:]), room // 3)
    return out[:fit] + ['%d more tables: %s' % (len(out) - fit, rest)] + links


def columns_line(names, rows, i, columns):
    return '%s %s%s: %s' % (rows[i][2], clean(repr(names[i]), 60), rows[i][0], columns)


def database(path):
    import sqlite3
    log = os.path.exists(path + '-wal')         # what was written last may be only there
    con = sqlite3.connect('file:%s?mode=ro%s'
                          % (path.replace('%', '%25').replace('?', '%3f').replace('#', '%23'),
                             '' if log else '&immutable=1'), uri=True)
    con.text_factory = lambda b: b.decode('utf-8', 'replace')
    until = clock() + COUNT_SECONDS
    con.set_progress_handler(lambda: clock() > until, 20000)
    read = 'import sqlite3; con = sqlite3.connect(%r)' % path
    stored = "select name, type from sqlite_master where type in ('table', 'view') limit %d" % TABLES
    try:
        found = con.execute(stored).fetchall()
    except sqlite3.Error as e:
        TROUBLE.append('the database cannot be read')
        return read + '\na SQLite database that cannot be read: ' + clean(e, 100)
    if not found:
        TROUBLE.append('the database has no tables')
        with open(path, 'rb') as f:
            wal = f.read(20)[18:] == b'\2\2' and not log
        why = ': they may be in its -wal file, which is not here' if wal else ''
        return read + '\nit has no tables' + why
    tables, heads, rows = [], [], []
    for name, kind in found:
        quoted = '"%s"' % name.replace('"', '""')
        plain, facts, counted, first = '', '', '', None
        try:
            number = con.execute('select count(*) from ' + quoted).fetchone()[0]
            counted = ' (%s)' % count(number, 'row')
            first = con.execute('select * from %s limit 1' % quoted).fetchone()
            t, declared = stored_table(con, name, quoted, number)
            plain = ', '.join(declared)
            facts = plain if t is None else stored_columns(t, declared) + (
                '' if t.whole else '; of the first %d' % len(t.frame))
            tables += [t] if kind == 'table' and t is not None else []
        except sqlite3.Error as e:              # it would take too long, or a view is broken
            if 'malformed' in str(e):
                TROUBLE.append('the database is damaged')
                counted = counted or ' (damaged)'
            if not plain:
                plain = facts = declared_only(con, quoted)
        heads.append((plain, facts))
        rows.append((counted, '  first row: ' + clean(repr(first), ROW) if first and ROWS else '', kind))
    views = [n for n, kind in found if kind == 'view']
    small = len(tables) <= FRAMES and os.path.getsize(path) <= FRAMES_BYTES and all(t.whole for t in tables)
    if small and len(tables) == len(found) - len(views) > 0 and not TROUBLE:
        try:
            return as_frames(path, tables, views)
        except Exception:
            pass                                # what pandas cannot read is asked in SQL
    return '\n'.join([read] + fitting(heads, rows, stored_joins(tables), [n for n, _ in found]))


def query_of(t):
    """The query that reads a table whole; whole numbers that a float would round are read as text."""
    plain = re.fullmatch('[a-z_]+', t.name) and t.name not in ('group', 'index', 'order', 'table')
    called = t.name if plain else '"%s"' % t.name.replace('"', '""')
    long = [c.name for c in t.columns if c.kind == 'float' and c.missing and len(c.held)
            and (c.held % 1 == 0).all() and c.held.abs().max() > 1e15]
    names = [(c.name in long, '"%s"' % c.name.replace('"', '""')) for c in t.columns]
    columns = ', '.join('CAST(%s AS TEXT) AS %s' % (n, n) if is_long else n for is_long, n in names)
    return 'SELECT %s FROM %s' % (columns if long else '*', called)


def as_frames(path, tables, views):
    """A database of a few tables, none of them large, is read like a workbook."""
    first, made = 'import sqlite3, pandas as pd; con = sqlite3.connect(%r)' % path, []
    lines = [first]
    for i, t in enumerate(tables):
        name = identifier(t.name, 'table%d' % (i + 1))
        made.append(table_of(name, ['%s = pd.read_sql(%r, con)' % (name, query_of(t))], (), first))
        lines += made[-1].code()
    lines += join_all(made)[1]
    last = ['views: ' + clean(', '.join(clean(v, 40) for v in views), 200)] * bool(views)
    share = (MOST - sum(len(s) + 1 for s in lines + last) - 60) // len(tables)
    return '\n'.join(lines + [sheet_text(t, share) for t in made] + last)


def declared_only(con, quoted):
    try:
        columns = con.execute('pragma table_info(%s)' % quoted).fetchall()
    except Exception:                           # it would take too long here too
        return ''
    return ', '.join(('%s %s' % (clean(c[1], 40), clean(c[2], 20))).rstrip() for c in columns[:40])
