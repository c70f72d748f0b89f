# profile_binary.py - the part of file_profile.py for the binary tables that pandas reads by itself: Parquet,
# Feather, ORC, Stata, SAS, SPSS; for arrays of numpy, web pages, and what other modules read.

FRAME_MOST = 64 << 20           # bytes of a binary table that is read whole

# how the file begins or what it is called, its name, the reader, the package it needs
BINARY = (
    (b'PAR1', '', 'a Parquet file', 'read_parquet', 'pyarrow'),
    (b'ARROW1', '', 'an Arrow (Feather) file', 'read_feather', 'pyarrow'),
    (b'ORC', '.orc', 'an ORC file', 'read_orc', 'pyarrow'),
    (b'', '.dta', 'a Stata file', 'read_stata', 'pandas'),
    (b'', '.sas7bdat', 'a SAS file', 'read_sas', 'pandas'),
    (b'', '.xpt', 'a SAS transport file', 'read_sas', 'pandas'),
    (b'$FL2', '', 'an SPSS file', 'read_spss', 'pyreadstat'))


def binary_table(path, raw):
    """The profile of a table that a reader of pandas knows; None."""
    found = next((b for b in BINARY if raw.startswith(b[0]) and path.lower().endswith(b[1])), None)
    if not found:
        return None
    _, _, what, reader, package = found
    size = '%d bytes' % os.stat(path).st_size
    if not has(package):
        kind = what.split(' ', 1)[1].replace(' file', '')
        TROUBLE.append('nothing in the sandbox reads %s: use --sandbox docker after "make image"' % kind)
        return ('%s, %s. No package here reads %s: %s is missing. Tell the user: '
                'sandpiper --sandbox docker (after "make image") reads it, or bwrap once %s is '
                'installed for the Python of this machine' % (what, size, kind, package, package))
    if not has('pandas'):
        return ('import pyarrow.parquet; rows = pyarrow.parquet.read_table(%r).to_pylist()\n%s, %s' %
                (path, what, size)) if reader == 'read_parquet' else '%s, %s' % (what, size)
    try:
        return frame_of_binary(path, reader)
    except Exception as e:
        TROUBLE.append('it cannot be read as ' + what.split(' ', 1)[1].replace(' file', ''))
        return '%s, %s, that cannot be read: %s' % (what, size, clean(e, 300))


def frame_of_binary(path, reader):
    line = 'df = pd.%s(%r)' % (reader, path)
    given, rows = [], None
    if reader == 'read_parquet':
        import pyarrow.parquet
        f = pyarrow.parquet.ParquetFile(path, pre_buffer=False)
        rows = f.metadata.num_rows
        given = [('pd.read_parquet(%r)' % path, parquet_start(f))]
    elif os.stat(path).st_size > FRAME_MOST:
        return 'import pandas as pd; %s\ntoo large to be looked into here' % line
    t = table_of('df', [line], given, 'import pandas as pd')
    frame = t.frame
    for c in [c for c in t.columns if c.kind == 'decimal'][:6]:
        t.lines.append(statement('df', '{}.astype(float)', [c.name]))
    t = again(t, given) if len(t.lines) > 1 else t
    if rows is not None and rows > len(frame):
        t.total = '%d rows, looked at the first %d' % (rows, len(frame))
    if frame.index.names != [None]:
        t.notes.append('read as the index: ' + ', '.join(map(repr, frame.index.names)))
    return told(['import pandas as pd; ' + t.lines[0]] + t.lines[1:], t)


def again(t, given):
    made = Table(t.name, t.lines, run(['import pandas as pd'] + t.lines, given)[t.name])
    made.remarks, made.notes = t.remarks, t.notes
    return made


def parquet_start(f):
    """As many rows as time allows, without threads, as pandas makes them."""
    import pyarrow
    until, parts = clock() + SECONDS / 2, []
    for batch in f.iter_batches(batch_size=max(16, 262144 // max(1, len(f.schema_arrow))), use_threads=False):
        parts.append(batch)
        if clock() > until:
            break
    made = pyarrow.Table.from_batches(parts, schema=f.schema_arrow)
    return made.to_pandas(use_threads=False)


def parquet_header(path):
    """What tells whether two files are alike; None without pyarrow."""
    if not has('pyarrow'):
        return None
    import pyarrow.parquet
    try:
        return ','.join('%s %s' % (clean(x.name, CELL), x.type) for x in pyarrow.parquet.read_schema(path))
    except (OSError, ValueError):
        return 'not readable'


def array(path):
    """An array of numpy. Pickled objects in it are code, and are not loaded."""
    if not has('numpy'):
        return 'an array of numpy, which is not installed here'
    import numpy as np
    line = 'import numpy as np; data = np.load(%r)' % path
    try:
        made = np.load(path, mmap_mode='r')
        if isinstance(made, np.ndarray):
            ends = ''
            if made.size and made.dtype.kind in 'iuf' and made.nbytes < FRAME_MOST:
                ends = ', %s to %s' % (number_text(np.nanmin(made)), number_text(np.nanmax(made)))
            return '%s\nan array of %s, shape %s%s' % (line, made.dtype, made.shape, ends)
        return '%s\nan archive of arrays: %s' % (line, ', '.join('%s %s %s' % (
            clean(k, 40), made[k].dtype, made[k].shape) for k in made.files[:20]))
    except Exception as e:
        return '%s\nan array of numpy that cannot be read: %s' % (line, clean(e, 100))


# Text that a module of the standard library reads, by the end of its name, and what it then is
NAMED_READERS = {
    'toml': "import tomllib; data = tomllib.load(open(%r, 'rb'))",
    'ini': 'import configparser; data = configparser.ConfigParser(interpolation=None); _ = data.read(%r)',
    'eml': "import email, email.policy; data = email.message_from_binary_file(open(%r, 'rb'), "
           'policy=email.policy.default)',
    'yaml': 'import yaml; data = yaml.safe_load(open(%r))'}


def settings(path, text, encoding, whole):
    """What a module other than pandas reads, if it does."""
    end = path.rsplit('.', 1)[-1].lower()
    line = NAMED_READERS['yaml' if end == 'yml' else end] % path
    if not whole or len(text) > 1 << 20 or '&' in text and end in ('yml', 'yaml'):
        return None                     # references in YAML can grow without end
    try:
        data = run([line])['data']
        if end == 'eml':
            parts = ['%s %s' % (p.get_content_type(), clean(p.get_filename() or '', 60)) for p in data.walk()]
            heads = ['%s: %s' % (k, clean(data[k] or '', ROW)) for k in ('From', 'To', 'Date', 'Subject')]
            return '\n'.join([line, 'a message; its parts: ' + clean(', '.join(parts), 300)] + heads)
        held = {k: dict(data[k]) for k in data.sections()} if end == 'ini' else data
        if isinstance(held, dict) and held:
            return '%s\nan object of %d keys: %s' % (line, len(held), shape_text(held))
    except Exception:
        return None
    return None


class ArffProposal:
    def __init__(self, path, text, encoding):
        head = re.split(r'(?im)^@data\s*$', text, 1)[0]
        found = re.findall(r'(?im)^@attribute\s+(?:\'([^\']+)\'|"([^"]+)"|(\S+))', head)
        names = [a or b or c for a, b, c in found]
        self.args = {'skiprows': head.count('\n') + 1, 'header': None, 'names': names, 'comment': '%',
                     'skipinitialspace': True, 'quotechar': "'"}
        if encoding != 'utf-8':
            self.args['encoding'] = encoding
        self.wrong, self.notes, self.sep, self.width = '', [], ',', len(names)


def arff(path, text, encoding, whole):
    """Weka's form: the names of the columns, then a CSV."""
    if not whole or not has('pandas') or not re.search(r'(?im)^@data\s*$', text):
        return None
    try:
        t = read_as(variable(path, 'df'), 'read_csv', path, ArffProposal(path, text, encoding), lambda: [])
    except Exception:
        return None
    return told(['import pandas as pd; ' + t.lines[0]] + t.lines[1:], t)


def web_page(path, text, encoding, whole):
    """The first large table of a page; None if it has none, or nothing here reads it."""
    if not re.search('<table', text, re.I) or not has('pandas') or not has('lxml'):
        return None
    given = [(repr(path), io.BytesIO(text.encode('utf-8', 'replace')))]
    code = 'tables = pd.read_html(%r%s)' % (path, '' if encoding == 'utf-8' else ', encoding=%r' % encoding)
    try:
        found = run(['import pandas as pd', code.replace(", encoding=%r" %
                    encoding, ", encoding='utf-8'")], given)['tables']
        largest = max(range(len(found)), key=lambda i: found[i].size)
        line = code.replace('tables = ', 'df = ') + '[%d]' % largest
        t = table_of('df', [line], [(line[5:], found[largest])], 'import pandas as pd')
    except Exception:
        return None
    if len(found) > 1:
        t.notes.append('%d tables are in the page; this is the largest' % len(found))
    return told(['import pandas as pd; ' + t.lines[0]] + t.lines[1:], t)
