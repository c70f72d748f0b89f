# profile_binary.py - the part of file_profile.py for the binary tables that pandas reads by itself: Parquet,
# Feather, ORC, Stata, SAS, SPSS; for arrays of numpy, web pages, and what other modules read.

import contextlib
import io
import itertools
import os
import re

FRAME_MOST = 64 << 20           # bytes of a binary table that is read whole

# how the file begins, the end of its name, what it is, the line that reads it, and the package that it needs
BINARY = (
    (b'PAR1', '', 'a Parquet file', 'df = pd.read_parquet(%r)', 'pyarrow'),
    (b'ARROW1', '', 'an Arrow (Feather) file', 'df = pd.read_feather(%r)', 'pyarrow'),
    (b'\xff\xff\xff\xff', '', 'an Arrow stream',
     'import pyarrow; df = pyarrow.ipc.open_stream(%r).read_pandas()', 'pyarrow'),
    (b'ORC', '', 'an ORC file', 'df = pd.read_orc(%r)', 'pyarrow'),
    (b'ORC', '', 'an ORC file, of which not every column can be read',
     'import pyarrow.orc; f = pyarrow.orc.ORCFile(%r); df = f.read(columns=[c.name for c in f.schema '
     "if 'union' not in str(c.type)]).to_pandas()", 'pyarrow'),
    (b'', '.dta', 'a Stata file', 'df = pd.read_stata(%r)', 'pandas'),
    (b'', '.sas7bdat', 'a SAS file',
     'import pyreadstat; df = pyreadstat.read_sas7bdat(%r)[0]', 'pyreadstat'),
    (b'', '.sas7bdat', 'a SAS file', "df = pd.read_sas(%r, encoding='infer')", 'pandas'),
    (b'HEADER RECORD', '', 'a SAS transport file',
     'import pyreadstat; df = pyreadstat.read_xport(%r)[0]', 'pyreadstat'),
    (b'HEADER RECORD', '', 'a SAS transport file',
     "df = pd.read_sas(%r, format='xport', encoding='cp1252')", 'pandas'),
    (b'$FL', '', 'an SPSS file', 'df = pd.read_spss(%r)', 'pyreadstat'),
    (b'$FL', '', 'an SPSS file, with dates that Python has not, as numbers', 'import pyreadstat; '
     'df = pyreadstat.read_sav(%r, disable_datetime_conversion=True)[0]', 'pyreadstat'),
    (b'', '.por', 'an SPSS portable file',
     'import pyreadstat; df = pyreadstat.read_por(%r)[0]', 'pyreadstat'),
    (b'', '.dbf', 'a dBase file', 'import dbfread; df = pd.DataFrame(iter(dbfread.DBF(%r)))', 'dbfread'),
    (b'', '.dbf', 'a dBase file', 'import dbfread; df = pd.DataFrame(iter(dbfread.DBF(%r, encoding=ENCODING, '
     "char_decode_errors='replace', ignore_missing_memofile=True)))", 'dbfread'),
    (b'\0\0\x27\x0a', '', 'a shapefile', 'import shapefile; data = shapefile.Reader(%r); '
     'df = pd.DataFrame([r.as_dict() for r in data.records()])', 'shapefile'),
    (b'\0\0\x27\x0a', '', 'a shapefile', 'import shapefile; data = shapefile.Reader(%r, encoding=ENCODING, '
     "encodingErrors='replace'); df = pd.DataFrame([r.as_dict() for r in data.records()])", 'shapefile'),
    (b'\0\0\x27\x0a', '', 'a shapefile, whose .dbf is not here', "import shapefile; data = "
     "shapefile.Reader(shp=open(%r, 'rb')); df = pd.DataFrame([{'shape': s.shapeTypeName, 'points': "
     'len(s.points)} for s in data.shapes()])', 'shapefile'),
    (b'\x93NUMPY', '', 'an array of numpy', 'import numpy as np; data = np.load(%r)', 'numpy'),
    (b'MATLAB 5', '', 'a MATLAB file', 'import scipy.io; data = scipy.io.loadmat(%r)', 'scipy'),
    (b'MATLAB 7', '', 'a MATLAB 7.3 (HDF5) file', 'import h5py; data = h5py.File(%r)', 'h5py'),
    (b'\x89HDF', '.nc', 'a netCDF file', 'import netCDF4; data = netCDF4.Dataset(%r)', 'netCDF4'),
    (b'CDF', '', 'a netCDF file', 'import netCDF4; data = netCDF4.Dataset(%r)', 'netCDF4'),
    (b'\x89HDF', '', 'an HDF5 file', 'import h5py; data = h5py.File(%r)', 'h5py'))
DEBIAN = {'shapefile': 'pyshp', 'netCDF4': 'netcdf4'}    # names of packages, where they are not the module's


def missing(what, package):
    """The end of what is said of a file that nothing here reads."""
    TROUBLE.append('nothing in the sandbox reads %s: use --sandbox docker after "make image"' % what)
    return ('. No package here reads %s: %s is missing. Tell the user: sandpiper --sandbox docker (after '
            '"make image") reads it, or bwrap once %s (python3-%s) is installed for the Python of this '
            'machine'
            % (what, package, package, DEBIAN.get(package, package)))


def binary_table(path, raw):
    """The profile of what a reader of pandas or of another package knows; None."""
    found = [b for b in BINARY if raw.startswith(b[0]) and path.lower().endswith(b[1])]
    if not found:
        return None
    _, _, what, line, package = next((b for b in found if has(b[4])), found[0])
    kind, said = what.split(' ', 1)[1].replace(' file', ''), '%s, %d bytes' % (what, os.stat(path).st_size)
    package = package if 'df = ' not in line or has('pandas') else 'pandas'
    if not has(package):
        return said + missing(kind, package)
    wrong = None
    for _, _, what, line, package in found:
        try:
            if wrong and 'ENCODING' in line:
                line = line.replace('ENCODING', repr(stored_encoding(path)))
            if has(package) and 'ENCODING' not in line:
                reader = frame_of_binary if 'df = ' in line else array
                return reader(path, line % path, what)
        except Exception as e:
            wrong = wrong or e
    TROUBLE.append('it cannot be read as ' + kind)
    return '%s, that cannot be read: %s' % (said, clean(wrong, 300))


def stored_encoding(path):
    """That of the text in a dBase file, or in the one beside a shapefile, which says none."""
    with open(re.sub(r'(?i)shp$', 'dbf', path), 'rb') as f:
        raw = f.read(SAMPLE)
    raw = raw[int.from_bytes(raw[8:10], 'little'):].replace(b'\0', b' ')
    return decode_text(raw, False)[1] or guessed(raw)


def frame_of_binary(path, line, what):
    import pandas as pd
    given, rows = [], 0
    if 'pd.read_parquet' in line:
        rows, frame = parquet_start(path)
        given = [('pd.read_parquet(%r)' % path, frame)]
    elif os.stat(path).st_size > FRAME_MOST:
        return 'import pandas as pd; %s\ntoo large to be looked into here' % line
    t = table_of('df', [line], given, 'import pandas as pd')
    if rows > len(t.frame):
        t.total = '%d rows, looked at the first %d' % (rows, len(t.frame))
    if t.frame.index.names != [None]:
        t.notes.append('read as the index: ' + ', '.join(map(repr, t.frame.index.names)))
    categories = [k for k, c in t.frame.items() if c.dtype == 'category' and c.notna().any()]
    numeric = [k for k in categories if pd.api.types.is_numeric_dtype(t.frame[k].cat.categories)]
    if numeric and 'pd.read_s' in line:
        t = table_of('df', [line, 'for c in %r: df[c] = df[c].astype(float)' % numeric], given,
                     'import pandas as pd')
    t.notes += labels(path, line)
    kept = ', '.join(repr(k) for k in categories if k not in numeric)
    t.notes += ['of dtype category: ' + kept] * bool(kept)
    t.notes += [what] * (', ' in what)
    t.notes += ['encoding guessed: ' + e for e in re.findall("encoding='(.*?)'", line) if 'rrors=' in line]
    return told(import_first(t.lines), t)


def import_first(lines):
    """The lines, with pandas imported in the first."""
    if not lines[0].startswith('import '):
        return ['import pandas as pd; ' + lines[0]] + lines[1:]
    return [lines[0].replace('; ', ', pandas as pd; ', 1)] + lines[1:]


def labels(path, line):
    """What a file of Stata or SPSS says its columns are."""
    import pandas as pd
    found = {}
    if 'read_stata' in line:
        with pd.read_stata(path, iterator=True) as f:
            found = f.variable_labels()
    elif 'read_spss' in line:
        import pyreadstat
        found = pyreadstat.read_sav(path, metadataonly=True)[1].column_names_to_labels
    said = '; '.join('%s: %s' % (k, v) for k, v in found.items() if v and v != k)
    return ['labels: ' + said] * bool(said)


def parquet_start(path):
    """How many rows a file has, and as many of them as time allows, without threads, as pandas makes them."""
    import pyarrow.parquet
    f = pyarrow.parquet.ParquetFile(path, pre_buffer=False)
    size = max(16, 32768 // max(1, len(f.schema_arrow)))
    parts = in_time(f.iter_batches(batch_size=size, use_threads=False), SECONDS / 2)
    made = pyarrow.Table.from_batches(parts, schema=f.schema_arrow)
    return f.metadata.num_rows, made.to_pandas(use_threads=False)


def array(path, line, what):
    """What a package reads into arrays with names, or into one. Pickled objects are code, so not loaded."""
    import numpy as np
    data, named = run([line])['data'], {}
    if isinstance(data, np.ndarray):
        return '%s\n%s: %s' % (line, what, array_facts(data))
    if hasattr(data, 'visititems'):
        data.visititems(lambda name, one: named.update({name: one} if hasattr(one, 'shape') else {}))
    else:
        keys = data.files if hasattr(data, 'files') else getattr(data, 'variables', data)
        named = {k: data[k] for k in itertools.islice(keys, 60) if not k.startswith('__')}
    said, records = [], []
    own = sorted(named, key=lambda name: '/_i_' in '/' + name)      # what finds rows for PyTables comes last
    for name in own[:30]:
        try:
            said.append('%s %s' % (clean(name, 60), array_facts(named[name])))
            records += [name] * (bool(named[name].dtype.names) and len(named[name].shape) == 1)
        except Exception as e:
            said.append('%s, which cannot be read: %s' % (clean(name, 60), clean(e, 60)))
    said = '%s of %s: %s' % (what, count(len(named), 'array'), clean('; '.join(said), 1000))
    for name in records[:3] if has('pandas') else ():
        with contextlib.suppress(Exception):        # a cell may hold an array
            return records_of(line, name, said)
    return line + '\n' + said


def records_of(line, name, what):
    """The profile of an array whose elements have fields, as a frame."""
    lines = [line, 'df = pd.DataFrame(data[%r][:])' % name]
    frame = run(['import pandas as pd'] + lines)['df']
    texts = [k for k, c in frame.items() if c.map(type).eq(bytes).all()]
    lines += ["for c in %r: df[c] = df[c].str.decode('utf-8', 'replace')" % texts] * bool(texts)
    t = table_of('df', lines, (), 'import pandas as pd')
    t.notes.append(what)
    return told(import_first(t.lines), t)


def array_facts(one):
    """'float64, shape (3, 4), 0.5 to 9.0', with its dimensions and unit where it says them."""
    import numpy as np
    names, shape = getattr(getattr(one, 'dtype', None), 'names', None), tuple(getattr(one, 'shape', ()))
    said = 'records of %s' % ', '.join(names) if names else str(getattr(one, 'dtype', ''))
    said += ', shape %s' % (shape,)
    said += ' %s' % (one.dimensions,) if getattr(one, 'dimensions', None) else ''
    said += ' in %s' % one.units if isinstance(getattr(one, 'units', None), str) else ''
    if one.dtype != object and np.dtype(one.dtype).kind in 'iuf' and 0 < one.size <= FRAME_MOST // 8:
        held = np.ma.masked_invalid(one[...])
        said += ', %s to %s' % (number_text(held.min()), number_text(held.max())) if held.count() else ''
    return said


# Text that a module of the standard library reads, by the end of its name, and what it then is
NAMED_READERS = {
    'toml': "import tomllib; data = tomllib.load(open(%r, 'rb'))",
    'ini': 'import configparser; data = configparser.ConfigParser(interpolation=None, '
           'allow_no_value=True, strict=False); _ = data.read(%r)',
    'eml': "import email, email.policy; data = email.message_from_binary_file(open(%r, 'rb'), "
           'policy=email.policy.default)',
    'yaml': 'import yaml; data = yaml.safe_load(open(%r))'}


def settings(path, text, encoding, whole):
    """What a module other than pandas reads, if it does."""
    end = path.rsplit('.', 1)[-1].lower()
    end = {'yml': 'yaml', 'cfg': 'ini'}.get(end, end if end in NAMED_READERS else 'eml')
    line = NAMED_READERS[end] % path
    if not whole or len(text) > 1 << 20 or '&' in text and end == 'yaml':
        return None                     # references in YAML can grow without end
    try:
        data = run([line])['data']
        if end == 'eml':
            parts = ['%s %s' % (p.get_content_type(), clean(p.get_filename() or '', 60)) for p in data.walk()]
            heads = ['%s: %s' % (k, clean(data[k] or '', ROW)) for k in ('From', 'To', 'Date', 'Subject')]
            return '\n'.join([line, 'a message; its parts: ' + clean(', '.join(parts), 300)] + heads)
        held = {k: dict(data[k]) for k in data.sections()} if end == 'ini' else data
        named = isinstance(held, dict) and held
        return '%s\nan object of %d keys: %s' % (line, len(held), Shape(held).text) if named else None
    except Exception:
        return None


class OwnProposal:
    """The arguments of a reader, for a form that says itself how it is to be read."""

    def __init__(self, args, encoding, sep, width):
        self.args = dict(args, encoding=encoding) if encoding != 'utf-8' else dict(args)
        self.wrong, self.notes, self.sep, self.width, self.tail = '', [], sep, width, 0


def arff(path, text, encoding, whole):
    """Weka's form: the names of the columns, then a CSV."""
    parts = re.split(r'(?im)^@data\s*$', text, maxsplit=1)
    names = [a or b or c for a, b, c in
             re.findall(r'(?im)^@attribute\s+(?:\'([^\']+)\'|"([^"]+)"|(\S+))', parts[0])]
    args = {'skiprows': parts[0].count('\n') + 1, 'header': None, 'names': names, 'comment': '%',
            'skipinitialspace': True, 'quotechar': max('\'"', key=parts[-1].count)}
    return own_form(path, OwnProposal(args, encoding, ',', len(names))) if whole and len(parts) > 1 else None


def own_form(path, proposal):
    try:
        t = read_as(variable(path, 'df'), 'read_csv', path, proposal, lambda: [])
    except Exception:
        return None
    return told(import_first(t.lines), t)


RULE = re.compile(r'[|+]?:?[-=]+:?([|+]:?[-=]+:?)*[|+]?')      # below a header or each row


def is_rule(line):
    return bool(RULE.fullmatch(re.sub(r'\s', '', line[:2000])))


def ruled(path, text, encoding, whole):
    """The largest table with bars and a rule below its header, or with bars at both ends of its rows, as
    Markdown and databases write it."""
    start = re.search(r'(?m)^[^\S\n]*[|+-]', text[:HEAD])
    lines, found = text.split('\n'), []
    for inside, group in itertools.groupby(range(len(lines) if whole and start and has('pandas') else 0),
                                           lambda i: '|' in lines[i] or is_rule(lines[i])):
        group = list(group)
        rows = [i for i in group if not is_rule(lines[i])] if inside else []
        below = len(rows) > 1 and rows[1] > rows[0] + 1 and re.search('[|+]', lines[rows[0] + 1])
        if len(rows) > 1 and len({lines[i].count('|') for i in rows}) == 1 and (below or all(
                re.fullmatch(r'\|.*\|', lines[i].strip()) for i in rows)):
            found.append((len(rows) - 1, -rows[0], bool(below), rows))
    other = sum(bool(s.strip()) and '|' not in s and not is_rule(s) for s in lines) if found else 0
    n, _, below, rows = max(found, default=(0, 0, False, []))
    if not rows or not below and other > n // 10:   # a heading of other lines
        return None
    rules = [i for i in range(rows[1], rows[-1]) if i not in rows[1:]]
    names = [c.strip() for c in lines[rows[0]].strip().strip('|').split('|')]
    args = {'sep': r'\s*\|\s*', 'engine': 'python', 'header': None, 'names': names, 'nrows': n, 'quoting': 3,
            'skiprows': list(range(rows[1])) + rules if rules else rows[1]}
    if lines[rows[1]].lstrip().startswith('|'):
        args['usecols'] = list(range(1, len(names) + 1))
    p = OwnProposal(args, encoding, ' | ', len(names))
    p.notes += ['left out: %s around the table' % count(other, 'line')] * (other > 0)
    p.notes += ['%d tables are in it; this is the largest' % len(found)] * (len(found) > 1)
    return own_form(path, p) if len(rules) < 100 else None


def blank_separated(path, text, encoding, whole):
    """A table with blanks between its cells, if all rows have as many and a column has numbers."""
    head = re.sub(r'("[^"\n]*")|[ \t\r]+', lambda m: m[1] or ' ', beginning(text))
    head = re.sub('(?m)^ | $', '', head)
    form = Form(head, ' ', {'skipinitialspace': True}, False)
    widths = {len(r) for r, _ in form.rows[1:]}
    cells = zip(*(r for r, _ in form.rows[1:]))
    numbers_in = any(all(map(number_like, c)) for c in cells)
    if not whole or len(form.rows) < 3 or widths != {form.width} or not numbers_in:
        return None
    form.args = {'sep': r'\s+'}
    try:
        return own_form(path, Proposal(form, encoding))
    except IndexError:
        return None


def web_server(path, text, encoding, whole):
    """The W3C's form, in which IIS writes its logs."""
    names = re.search(r'(?m)^#Fields: (.*)', text[:4000])
    if not whole or not names or not has('pandas'):
        return None
    names = names[1].split()
    args = {'sep': ' ', 'comment': '#', 'header': None, 'names': names, 'na_values': ['-']}
    return own_form(path, OwnProposal(args, encoding, ' ', len(names)))


def calendar(path, text, encoding, whole):
    """The events of a calendar, or the cards of an address book."""
    kind = next((k for k in ('VEVENT', 'VCARD', 'VTODO') if 'BEGIN:' + k in text), None)
    if not kind or not whole or not has('pandas'):
        return None
    lines = [r"import re; text = re.sub(r'\n[ \t]|(?s:BEGIN:VALARM.*?END:VALARM\n)', '', "
             'open(%r, encoding=%r).read())' % (path, encoding),
             r"df = pd.DataFrame([(i, *field) "
             r"for i, s in enumerate(re.findall(r'(?s)BEGIN:%s\n(.*?)END:%s', text)) "
             r"for field in re.findall(r'(?m)^([\w-]+)[^:\n]*:(.*)', s)])" % (kind, kind)]
    each = "df = df.groupby([0, 1], sort=False)[2].agg(' | '.join).unstack().rename_axis(None, axis=1)"
    try:
        fields = run(['import pandas as pd'] + lines)['df'].groupby([0, 1]).size().groupby(level=1).max()
        t = table_of('df', lines + [each], (), 'import pandas as pd')
    except Exception:
        return None
    often = ['%s (up to %d times)' % item for item in fields[fields > 1].items()]
    t.notes += ['repeated in one %s, joined with " | ": %s' % (kind, ', '.join(often))] * bool(often)
    return told(import_first(t.lines), t)


def web_page(path, text, encoding, whole):
    """The first large table of a page; None if it has none, or nothing here reads it."""
    if not re.search('<table', text, re.I) or not has('pandas') or not has('lxml'):
        return None
    import pandas as pd
    code = 'pd.read_html(%r, encoding=%r)' % (path, encoding)

    def tables(**how):
        return pd.read_html(io.BytesIO(text.encode('utf-8', 'replace')), encoding='utf-8', **how)
    try:
        found = tables()
        largest = max(range(len(found)), key=lambda i: found[i].size)
        frame = found[largest]
        rows = [[cell_text(v) for v in row] for row in frame.head(20).itertuples(index=False)]
        data = any(len(cells) > 2 and all(map(typed, cells[1:])) for cells in zip(*rows))
        if frame.columns[0] == 0 and data and has_header(rows):     # a first row of <td>
            code, frame = code[:-1] + ', header=0)', tables(header=0)[largest]
        code += '[%d]' % largest
        t = table_of('df', ['df = ' + code], [(code, frame)], 'import pandas as pd')
    except Exception:
        return None
    if len(found) > 1:
        t.notes.append('%d tables are in the page; this is the largest' % len(found))
    return told(import_first(t.lines), t)


# Readers by the end of the file's name
OWN_FORMS = {**dict.fromkeys(('toml', 'ini', 'cfg', 'eml', 'yml', 'yaml'), settings),
             'arff': arff, 'md': ruled, 'ics': calendar, 'vcf': calendar}
