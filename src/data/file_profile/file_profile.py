# file_profile.py - what a model should know of a data file before it writes code: how to read it, columns
# with types and missing counts, the first rows. Runs in a child of the supervisor, inside the sandbox; the
# file is hostile. Lines that read the file are proposed and run here; what is said of a table is read from
# the frame that they make. profile(path) returns at most 1,500 characters: what a careful analyst would look
# at first, and no more, since a small model pays for it with every request. The other profile_*.py are
# appended to this text (PROFILE_PARTS in the Makefile).

MOST = 1500                     # most characters of a profile
BYTES_MOST = 4000               # the program cuts at 4096
COLUMNS_MOST = 900              # how many of these characters the columns may take
SAMPLE = 6 << 20                # bytes of a file that are examined
SECONDS = 2.0                   # time for examining rows
JSON_MOST = 48 << 20            # of larger JSON only the beginning is read
CELL, ROW = 40, 120             # characters shown of one cell, one row
TROUBLE = []                    # what is wrong with the file, in words for the user; the first counts
MARK = '\x1e'                   # before these words, at the end; a profile is printable, so no file writes it
JOINERS = '\u200c\u200d'        # between letters of Persian or Hindi
SHOWN_AS = {'\t': '\\t', '\n': '\\n'}
ROWS = True                     # show the first rows of a table; the program may set it after this text


def clean(text, most):
    """One harmless line, cut to a length, without control, format or surrogate characters."""
    text = str(text)
    out = ''.join(c if c.isprintable() or c in JOINERS else SHOWN_AS.get(c, ' ' if c.isspace() else '?')
                  for c in text[:most + 1])
    return out[:most] + '...' if len(text) > most else out


def clock():
    """Seconds, two thirds of them this process's work: what is said of a file should not depend on others'
    work, and nobody waits more than three times as long as was planned."""
    import time
    return (2 * time.process_time() + time.monotonic()) / 3


def in_time(items, seconds):
    """The items, until the time is up: the clock is read once in 8 of them."""
    until = clock() + seconds
    for n, item in enumerate(items, 1):
        yield item
        if n % 8 == 0 and clock() > until:
            return


def has(name):
    import importlib.util
    try:
        return importlib.util.find_spec(name) is not None
    except Exception:
        return False


def read_start(path):
    """The first bytes, the size, and whether these bytes are all."""
    import os
    with open(path, 'rb') as f:
        size = os.fstat(f.fileno()).st_size
        return f.read(SAMPLE), size


def decode_text(raw, whole):
    """Text of the sample and the name of its encoding, or (None, '') if it is not text."""
    if raw[:3] == b'\xef\xbb\xbf':
        return raw[3:].decode('utf-8', 'replace'), 'utf-8-sig'
    if raw[:2] in (b'\xff\xfe', b'\xfe\xff'):
        return raw[:len(raw) // 2 * 2].decode('utf-16', 'replace'), 'utf-16'
    if b'\0' in raw[:65536]:
        text, encoding = without_mark(raw)
        nuls = raw.count(b'\0')
        if text is None and nuls <= max(3, len(raw) // 1000):
            TROUBLE.append('%d NUL byte%s in it' % (nuls, 's' * (nuls > 1)))
            return decode_text(raw.replace(b'\0', b' '), whole)
        return text, encoding
    try:
        return raw.decode('utf-8'), 'utf-8'
    except UnicodeDecodeError as e:
        if not whole and e.start >= len(raw) - 4:
            return raw[:e.start].decode('utf-8'), 'utf-8'
        text = raw.decode('utf-8', 'replace')
        if text.count('\ufffd') * 10 < sum(map(len, re.findall(r'[\x80-\ufffc]+', text))):
            TROUBLE.append('some of its bytes are not UTF-8')
            return text, 'utf-8'        # one wrong byte does not make the other words cp1252
    odd = sum(c < 32 and c not in b'\t\n\r\f\x1b' for c in raw[:65536])
    if odd * 50 > min(len(raw), 65536):
        return None, ''
    encoding = other_script(raw[:65536]) or latin(raw[:65536])
    return raw.decode(encoding, 'replace'), encoding


# What chardet calls the encodings of other scripts than Latin, and the codec to read each with.
SCRIPTS = {'windows-1251': 'cp1251', 'koi8-r': 'koi8-r', 'iso-8859-5': 'iso8859-5', 'ibm866': 'cp866',
           'shift_jis': 'cp932', 'cp932': 'cp932', 'euc-jp': 'euc-jp', 'gb2312': 'gb18030',
           'gb18030': 'gb18030', 'big5': 'big5', 'euc-kr': 'cp949', 'cp949': 'cp949',
           'windows-1253': 'cp1253', 'iso-8859-7': 'iso8859-7', 'windows-1255': 'cp1255',
           'iso-8859-8': 'cp1255', 'windows-1256': 'cp1256', 'windows-874': 'cp874', 'tis-620': 'cp874'}
# Code pages of scripts that are seldom named, and the letters that texts in them have
RANGES = (('cp1256', '\u0621', '\u064a'), ('cp874', '\u0e01', '\u0e4d'), ('cp932', '\u3041', '\u9fff'))
# Languages in order of trust: the code page that Windows, DOS or a Mac has for each, and its letters
LETTERS = (
    ('cp1252', 'äöüß éèêëàâçùûüîïôœæ áéíóúüñçàèòï ãõáéíóúâêôçàü åäöæøéü àèéìíòóù'),
    ('cp1250', 'ąćęłńóśźż áčďéěíňóřšťúůýžľĺŕôä áéíóöőúüű čćđšž ăâîşţ'),
    ('cp1254', 'çğıöşüâîû'), ('cp1252', 'áðéíóúýþæö'), ('cp1257', 'āčēģīķļņšūžõ ąčęėįšųūž'),
    ('mac_roman', 'äöüßéèêëàâçñáíóúùûîïôœåøæ'), ('cp437', 'äöüßéèêëàâçñáíóúùûîïôåæ'),
    ('cp852', 'ąćęłńóśźżáčďéěíňřšťúůýž'))


def latin(raw):
    """The code page of the first language whose letters are all that there are beyond ASCII."""
    for page, alphabets in LETTERS:
        text = raw.decode(page, 'replace')
        seen = {c for c in text if c > '\x7f'}
        own = {c for c in seen if c.isalpha()}
        marks = seen - own
        # no word has a capital in its middle, or small letters all round one
        odd = re.search(r'[^\W\d_][^\W\d_]', text) and any(
            b in own and b.isupper() and a.isalpha() and (a.islower() or c.islower())
            for a, b, c in zip(text, text[1:], text[2:] + ' '))
        if (own or page == 'cp1252') and not odd and any(
                all(c.lower()[0] in letters or c == 'İ' for c in own) for letters in alphabets.split()) and \
                marks <= set('€°’‘“”„–—…«»§²³·\xa0£©®™º'):
            return page
    return 'cp1252'


def other_script(raw):
    """The encoding of a text whose words are not Latin, or None. In a Latin one the letters beyond ASCII
    stand beside others."""
    beside = len(re.findall(rb'[A-Za-z][\x80-\xff]|[\x80-\xff][A-Za-z]', raw))
    if 2 * len(re.findall(rb'[\x80-\xff]{2}', raw)) <= beside:
        return None
    name = None
    if has('chardet'):
        import chardet
        name = SCRIPTS.get((chardet.detect(raw)['encoding'] or '').lower())
    for page, first, last in ((name, '\x80', '\uffff'), *(RANGES if not beside else ())):
        text = raw.decode(page, 'replace') if page else ''
        high = [c for c in text[:-1] if c > '\x7f']
        if high and '\ufffd' not in high and 10 * sum(first <= c <= last for c in high) > 9 * len(high):
            return page
    return None


def without_mark(raw):
    """UTF-16 without a byte order mark has a NUL in every other place; other data with NULs is not text."""
    head = raw[:4096]
    for odd, name in ((1, 'utf-16-le'), (0, 'utf-16-be')):
        nuls = head[odd::2].count(0)
        if len(head) > 15 and 10 * nuls > 9 * len(head[odd::2]) and 0 not in head[1 - odd::2]:
            return raw[:len(raw) // 2 * 2].decode(name, 'replace'), name
    return None, ''


def lenient(said, path):
    """The reading line of a text with bytes that are not of its encoding."""
    start = 'open(%r' % path
    return said if 'errors=' in said else said.replace(start, start + ', errors="replace"', 1)


def binary(path, raw, size):
    if picture_kind(raw):
        return image(path, raw)
    if raw[:4] == b'PK\x03\x04':
        return zip_kind(path)
    if raw[:6] == b'\x93NUMPY':
        return array(path)
    table_ = binary_table(path, raw)
    if table_:
        return table_
    if raw[:16] == b'SQLite format 3\0':
        return database(path)
    if raw[:5] == b'%PDF-':
        reader = next((m for m in ('pypdf', 'PyPDF2', 'fitz', 'pdfminer') if has(m)), None)
        return 'a PDF; %s' % ('read it with %s' % reader if reader else 'no package here reads PDF')
    packed = next((p for p in PACKED if raw.startswith(p.magic)), None)
    if packed:
        return compressed(path, packed)
    if raw[257:262] == b'ustar':
        return tar_members(path)
    if raw[:8] == b'\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1':
        return old_office(path, raw)
    if re.match(rb'__CURSOR=|__REALTIME_TIMESTAMP=', raw):
        return journal(path, raw, size)
    return None


def plain(path, text, encoding, whole):
    lines = text.count('\n') + (not text.endswith('\n') and bool(text))
    total = '%d lines' % lines if whole else 'about %d lines' % count_rows(path)
    first = '\n'.join(clean(s, ROW) for s in text[:4000].split('\n')[:3])
    return 'text = open(%r, encoding=%r).read()\ntext, %s; first lines:\n%s' % (path, encoding, total, first)


def kinds_of(path, text):
    """Which readers to try: by the file's name if it tells, otherwise by the first character."""
    end = path.rsplit('.', 1)[-1].lower()
    first = text.lstrip()[:1]
    if end in ('toml', 'ini', 'eml', 'yml', 'yaml'):
        return (settings,)
    if end == 'arff':
        return (arff,)
    if end in ('jsonl', 'ndjson'):
        return (json_lines, json_text)
    if first and first in '{[' and end not in ('csv', 'tsv', 'log', 'md'):
        one = text.lstrip().split('\n', 1)[0].rstrip()
        lines = first == '{' and one.endswith('}') and '\n' in text.strip()
        return (json_lines, json_text) if lines else (json_text, json_lines, log_text)
    if text.lstrip()[:5] == '<?xml' or first == '<' and end in ('xml', 'svg', 'gpx', 'kml', 'rss'):
        return (xml_text,)
    if re.match(r'\s*(<!doctype html|<html|<table)', text[:200], re.I):
        return (web_page,)
    prose = ('py', 'md', 'html', 'xml', 'c', 'h', 'js', 'sql', 'arff')
    if end in prose:
        return ()
    last = (log_timed, fixed_width) if 'log' in os.path.basename(path).lower() else (fixed_width, log_timed)
    return (log_text, table) + last


def wants_pandas(path):
    """Is it likely that profile(path) needs pandas? It costs less to import it before, for all files."""
    if os.path.isdir(path) or kinds_of(path, '') == ():
        return False
    with open(path, 'rb') as f:
        start = f.read(64)
    return bool(start) and not picture_kind(start) and start[:5] != b'%PDF-'


def file_profile(path):
    raw, size = read_start(path)
    whole = len(raw) == size
    said = None
    if not size:
        return 'it is empty'
    said = binary(path, raw, size)
    text, encoding = (None, '') if said else decode_text(raw, whole)
    if text is None and not said:       # a log that was cut by a crash has NULs in it
        said = log_text(path, raw.replace(b'\0', b'').decode('utf-8', 'replace'), 'utf-8', whole)
    del raw
    if text is not None:
        for reader in kinds_of(path, text):
            said = reader(path, text, encoding, whole)
            if said:
                break
        else:
            said = plain(path, text, encoding, whole)
        said = lenient(said, path) if '\ufffd' in text and encoding == 'utf-8' else said
    elif not said:
        said = 'unknown binary data; read it with open(%r, "rb")' % path
    return said


def not_as_named(path, said):
    """What the name promises and the content is not; None. A list of single words may be a column."""
    end = path.rsplit('.', 1)[-1].lower()
    if said == 'it is empty':
        return said
    text = said.startswith('text = open(')
    if end in ('csv', 'tsv') and ', columns: ' not in said:
        with open(path, 'rb') as f:
            start = f.read(4000)
        return None if text and not re.search(rb'[ ,;|\t<{]', start.strip()) else 'no table was found in it'
    broken = end == 'json' and (text or said.startswith('unknown binary')) and not is_json(path)
    return 'it is not JSON' if broken else None


def is_json(path):
    """A number or a word is JSON too."""
    import json
    try:
        with open(path, 'rb') as f:
            return json.loads(f.read(SAMPLE)) is not Ellipsis
    except (ValueError, RecursionError):
        return False


def profile(path):
    is_folder = os.path.isdir(path)
    TROUBLE.clear()
    said = folder(path) if is_folder else own_names(path, file_profile(path))
    wrong = None if is_folder else TROUBLE[0] if TROUBLE else not_as_named(path, said)
    said = ''.join(c if c == '\n' or c.isprintable() or c in JOINERS else '?' for c in said)
    said = said if len(said) <= MOST else said[:MOST - 4] + ' ...'
    while len(said.encode('utf-8', 'replace')) > BYTES_MOST:
        said = said[:max(0, len(said) - 64)]
    return said + (MARK + clean(wrong, 80) if wrong else '')
