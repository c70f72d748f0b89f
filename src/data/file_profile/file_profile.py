# file_profile.py - what a model should know of a data file before it writes code: how to read it, columns
# with types and missing counts, the first rows. Runs in a child of the supervisor, inside the sandbox; the
# file is hostile. Lines that read the file are proposed and run here; what is said of a table is read from
# the frame that they make. profile(path) returns at most 1,500 characters: what a careful analyst would look
# at first, and no more, since a small model pays for it with every request. The other profile_*.py are
# appended to this text (PROFILE_PARTS in the Makefile).

import codecs
import contextlib
import os
import re

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


def count(n, what):
    return '%d %s%s' % (n, what, '' if n == 1 else 's')


def first_of(lines):
    """The line "first 3 rows:" and these."""
    return '\n'.join(['first row:' if len(lines) == 1 else 'first %d rows:' % len(lines), *lines])


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
        text = raw.decode('utf-8')
        japanese = '\x1b$B' in text[:65536]
        return (raw.decode('iso2022_jp', 'replace'), 'iso2022_jp') if japanese else (text, 'utf-8')
    except UnicodeDecodeError as e:
        if not whole and e.start >= len(raw) - 4:
            return raw[:e.start].decode('utf-8'), 'utf-8'
        text = raw.decode('utf-8', 'replace')
        if text.count('\ufffd') * 10 < sum(map(len, re.findall(r'[\x80-\ufffc]+', text))):
            TROUBLE.append('some of its bytes are not UTF-8')
            return text, 'utf-8'        # one wrong byte does not make the other words cp1252
    declared = re.search(rb'<[^>]*(?:charset|encoding)=["\']?([\w-]+)', raw[:2000])
    with contextlib.suppress(LookupError):          # a page or XML may say it
        named = codecs.lookup(declared[1].decode() if declared else '').name
        text = raw.decode(WIDER.get(named, named), 'replace')
        if text.count('\ufffd') * 1000 < len(raw):
            return text, WIDER.get(named, named)
    odd = sum(c < 32 and c not in b'\t\n\r\f\x1b' for c in raw[:65536])
    if odd * 50 > min(len(raw), 65536):
        return None, ''
    encoding = guessed(raw)
    return raw.decode(encoding, 'replace'), encoding


# Code pages of Windows, the Mac, DOS and Unix in order of trust, and the letters of languages in each
WEST = 'äöüß éèêëàâçùûüîïôœæ áéíóúüñçàèòï ãõáéíóúâêôçàü åäöæøéü àèéìíòóù'
EAST = 'ąćęłńóśźż áčďéěíňóřšťúůýžľĺŕôä áéíóöőúüű čćđšž ăâîşţ'
TURKISH, BALTIC = 'çğıiöşüâîû', 'āčēģīķļņšūžõ ąčęėįšųūž'
LETTERS = (('cp1252', WEST), ('cp1250', EAST), ('cp1254', TURKISH), ('cp1252', 'áðéíóúýþæö'),
           ('cp1257', BALTIC), ('mac_roman', WEST), ('cp850', WEST), ('iso8859-2', EAST), ('cp852', EAST),
           ('cp857', TURKISH))
QUOTES = set('€°’‘“”„–—…«»§¹²³·\xa0£¥©™ºªµ')


# What an old chardet names, and the codec that reads it and more
WIDER = {'shift_jis': 'cp932', 'gb2312': 'gb18030', 'euc_kr': 'cp949', 'tis-620': 'cp874',
         'iso8859-1': 'cp1252', 'iso8859-9': 'cp1254'}


def guessed(raw):
    """The encoding of a text that is not UTF-8. Of another script than Latin: what chardet names; of Latin:
    the first code page in which its letters are those of one language, or cp1252."""
    mac = b'\r' in raw and b'\n' not in raw
    raw = b'\n'.join(s for s in re.split(rb'[\r\n]', raw) if not s.isascii())[:65536]
    # between letters of Latin those beyond ASCII stand alone
    alone = len(re.findall(rb'[A-Za-z][\x80-\xff]|[\x80-\xff][A-Za-z]', raw))
    latin = 2 * len(re.findall(rb'[\x80-\xff]{2}', raw)) <= alone
    if latin and not mac and in_letters(raw, *LETTERS[0]):
        return 'cp1252'
    named = chardet_of(raw)
    for page in () if latin else (named, 'cp1256'):     # which an old chardet does not know
        text = raw.decode(page, 'replace')[:-1]
        letters = [c for c in text if c > '\x7f' and c.isalpha()]
        if '\ufffd' not in text and 10 * sum(c > '\u024f' for c in letters) > 9 * len(letters):
            return page
    every = ' '.join(letters for _, letters in LETTERS)
    pages = [LETTERS[0], *[(named, every)] * (named != 'cp1252'), *LETTERS[1:]]
    pages.sort(key=lambda page: mac and page[0] != 'mac_roman')
    return next((page for page, letters in pages if in_letters(raw, page, letters)), 'cp1252')


def chardet_of(raw):
    """The codec that chardet names, if it is there; else that of the West."""
    try:
        import chardet
        named = codecs.lookup(chardet.detect(raw)['encoding'] or '').name
    except (ImportError, LookupError):
        return 'cp1252'
    pairs = re.findall(rb'[\xa1-\xfe]{2}', raw)
    if named.startswith('gb') and len(pairs) > 15 and max(pairs) < b'\xd0':
        return 'euc_jp'                 # a third of all Chinese characters come later in their code
    return WIDER.get(named, named)


def in_letters(raw, page, alphabets):
    """Are the letters beyond ASCII those of one of these languages, where words have them?"""
    text = raw.decode(page, 'replace')
    signs = {c for c in text if c > '\x7f'}
    own = {c.lower()[0] for c in signs - QUOTES if c.isalpha()}
    # no word has a capital behind a small letter, or a currency's sign in its middle
    odd = re.search(r'[^\W\d_][£¥³¹][^\W\d_]', text) or any(
        a.islower() and '\x7f' < b and b.isupper() for a, b in zip(text, text[1:]))
    return (own or page == 'cp1252') and not odd and {c for c in signs if not c.isalpha()} <= QUOTES and any(
        own <= set(letters) for letters in alphabets.split())


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


def binary(path, raw):
    if picture_kind(raw):
        return image(path, raw)
    if raw[:4] == b'PK\x03\x04':
        return zip_kind(path)
    table_ = binary_table(path, raw)
    if table_:
        return table_
    if raw[:16] == b'SQLite format 3\0':
        return database(path)
    if raw[:5] == b'%PDF-':
        return pdf(path)
    packed = next((p for p in PACKED if raw.startswith(p.magic)), None)
    if packed:
        return compressed(path, packed)
    if is_tar(path, raw):
        return tar_members(path)
    if raw[:8] == b'\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1':
        return old_office(path, raw)
    return next((KNOWN[begin] for begin in KNOWN if raw.startswith(begin)), None)


PICKLED = 'a pickle: to load it runs whatever code is in it, so it was not looked into'
OLD_SHEET = 'a sheet of Excel 2, 3 or 4, which no package here reads; save it as .xlsx'
# What nothing here reads, by its beginning
KNOWN = {b'7z\xbc\xaf\x27\x1c': 'a 7z archive, which no package here reads; pack it as ZIP',
         b'Rar!\x1a\x07': 'a RAR archive, which no package here reads; pack it as ZIP',
         b'RDX': 'a workspace of R, which no package here reads; save it in R with write.csv',
         b'X\n\0\0\0': 'an object of R, which no package here reads; save it in R with write.csv',
         b'\x80\x02': PICKLED, b'\x80\x03': PICKLED, b'\x80\x04': PICKLED, b'\x80\x05': PICKLED,
         b'\x09\x04\x06\0': OLD_SHEET, b'\x09\x02\x06\0': OLD_SHEET, b'\x09\0\x04\0': OLD_SHEET}


def plain(path, text, encoding, whole):
    lines = text.count('\n') + (not text.endswith('\n') and bool(text))
    total = count(lines, 'line') if whole else 'about %d lines' % count_rows(path)
    first = '\n'.join(clean(s, ROW) for s in text[:4000].split('\n')[:3])
    return 'text = open(%r, encoding=%r).read()\ntext, %s; first lines:\n%s' % (path, encoding, total, first)


PROSE = ('py', 'html', 'htm', 'xml', 'c', 'h', 'js', 'sql', 'md', 'toml', 'ini', 'cfg', 'eml', 'yml', 'yaml',
         'arff', 'ics')              # which are no tables
MAIL = re.compile(r'(?:From .*\n)?(?:(?:Return-Path|Received|Delivered-To|Message-ID|From|To|Date|Subject|'
                  r'MIME-Version|X-[\w-]+): .*\n(?:[ \t].*\n)*){3}', re.I)
JSON_START = re.compile(r'\s*(\{\s*["}]|\[\s*(["{\[\]tfn]|-?[\d.]+\s*[],]))')


def kinds_of(path, text):
    """Which readers to try: that of the file's name, those of its beginning, and then those of any text."""
    end, first = path.rsplit('.', 1)[-1].lower(), text.lstrip()[:1]
    found = [OWN_FORMS[end]] if end in OWN_FORMS else [settings] if MAIL.match(text) else []
    named = end in ('json', 'jsonl', 'ndjson')
    if named or JSON_START.match(text) and not found and end not in ('csv', 'tsv'):
        one = text.lstrip().split('\n', 1)[0].rstrip()
        lines = first == '{' and one.endswith('}') and '\n' in text.strip()
        lines = lines or named and (end != 'json' or first not in ('{', '['))
        found += [json_lines, json_text] if lines else [json_text, json_lines]
    if first == '<' and not found:
        page = re.search(r'<(!doctype )?html', text[:4000], re.I)
        found += [web_page] if page or re.search('<table', text[:4000], re.I) else []
        is_xml = text.lstrip()[:5] == '<?xml' or end in ('xml', 'svg', 'gpx', 'kml', 'rss')
        found += [sheet_of_xml] if 'progid="Excel.Sheet"' in text[:1000] else []
        found += [xml_text] if not page and (found or is_xml) else []
        if found:
            return found
    if named or end in PROSE:
        return found
    return found + [web_server, log_text, ruled, log_timed, table, fixed_width, blank_separated]


def wants_pandas(path):
    """Is it likely that profile(path) needs pandas? It costs less to import it before, for all files."""
    if os.path.isdir(path) or kinds_of(path, '') == []:
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
    said = binary(path, raw)
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
        guess = '' if encoding.startswith('utf') else '\nencoding guessed: ' + encoding
        said = said[:MOST - len(guess)] + guess
    elif not said:
        said = 'unknown binary data; read it with open(%r, "rb")' % path
    return said


# What files with these names begin with. A download that failed is often a page of HTML under such a name.
FIRST_BYTES = {'zip': (b'PK', 'it is not a zip archive'), 'gz': (b'\x1f\x8b', 'it is not gzip'),
              'pdf': (b'%PDF-', 'it is not a PDF'), 'parquet': (b'PAR1', 'it is not Parquet')}


def not_as_named(path, said):
    """What the name promises and the content is not; None. A list of single words may be a column."""
    end = path.rsplit('.', 1)[-1].lower()
    if said == 'it is empty':
        return said
    with open(path, 'rb') as f:
        start = f.read(4000)
    begins, told = FIRST_BYTES.get(end, (b'', None))
    if begins not in start[:1024] and ', columns: ' not in said:
        return told
    text = said.startswith('text = open(')
    if end in ('csv', 'tsv') and ', columns: ' not in said:
        return None if text and not re.search(rb'[ ,;|\t<{]', start.strip()) else 'no table was found in it'
    return 'it is not JSON' if end == 'json' and (text or said.startswith('unknown binary')) else None


def profile(path):
    is_folder = os.path.isdir(path)
    TROUBLE.clear()
    data_files.cache_clear()
    said = folder(path) if is_folder else own_names(path, file_profile(path))
    wrong = None if is_folder else TROUBLE[0] if TROUBLE else not_as_named(path, said)
    said = ''.join(c if c == '\n' or c.isprintable() or c in JOINERS else '?' for c in said)
    said = said if len(said) <= MOST else said[:MOST - 4] + ' ...'
    while len(said.encode('utf-8', 'replace')) > BYTES_MOST:
        said = said[:max(0, len(said) - 64)]
    return said + (MARK + clean(wrong, 80) if wrong else '')
