"""Profiles of logs and of tables of fixed width, and a row for each format that has a profile: the line of code that it gives is run and must read
what is there; hostile files cost bounded time and memory."""
import gzip
import importlib.util
import io
import json
import random
import resource
import sqlite3
import struct
import subprocess
import zipfile

import pytest

from file_profiles import SOURCES, frame, load, make, pandas_here, prof, said

pytestmark = pytest.mark.no_asan

needs_pandas = pytest.mark.skipif(not pandas_here, reason='pandas')
DICE = random.Random(7)
CSV = 'day,amount\n' + ''.join('2024-01-%02d,%d\n' % (i, i) for i in range(1, 29))


def zipped():
    f = io.BytesIO()
    with zipfile.ZipFile(f, 'w') as z:
        z.writestr('a.csv', CSV)
    return f.getvalue()


def database(tmp_path):
    con = sqlite3.connect(tmp_path / 'made')
    con.execute('create table t (a integer)')
    con.commit()
    con.close()
    return (tmp_path / 'made').read_bytes()


def parquet():
    if importlib.util.find_spec('pyarrow') is None:
        return b'PAR1' + bytes(50)
    import pyarrow
    import pyarrow.parquet
    f = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({'a': [1, 2]}), f)
    return f.getvalue()


def lines(form, n=60, **more):
    return ''.join(form % dict({k: v[i % len(v)] for k, v in more.items()}, i=i, two='%02d' % (i % 60)) for i in range(n))


LEVEL = ('INFO', 'INFO', 'ERROR')
SYSLOG = lines('Jan  2 10:00:%(two)s host %(who)s: session %(i)d opened\n', who=('sshd[12]', 'CRON[7]'))
COMBINED = lines('10.0.0.%(i)d - - [10/Oct/2023:13:55:%(two)s +0200] "GET /page/%(i)d HTTP/1.1" %(status)s 17 "-" "curl/8"\n', status=(200, 200, 404))
COMMON = lines('::1 - bob [10/Oct/2023:13:55:%(two)s +0200] "GET /p HTTP/1.1" %(status)s -\n', status=(200, 304))
PYTHON = lines('2024-01-02 10:00:%(two)s,123 - app.db - %(level)s - query took %(i)d ms\n', level=LEVEL)
BRACKETS = lines('[2024-01-02T10:00:%(two)sZ] [%(level)s] worker %(i)d done\n', level=[s.lower() for s in LEVEL])
NGINX_ERROR = lines('2024/01/02 10:00:%(two)s [%(level)s] 12#0: *%(i)d open() "/x%(i)d" failed\n', level=('error', 'warn'))
APACHE_ERROR = lines('[Wed Oct 11 14:32:%(two)s.123456 2023] [core:%(level)s] [pid 7] AH%(i)d: denied\n', level=('error', 'notice'))
LOGURU = lines('2024-01-02 10:00:%(two)s.123 | %(level)s     | app:run:%(i)d - step %(i)d\n', level=LEVEL)
SYSLOG_5424 = lines('<34>1 2024-01-02T10:00:%(two)s.003Z host app 12 ID47 - step %(i)d\n')
GLOG = lines('%(level)s0102 10:00:%(two)s.000001   77 file.go:%(i)d] step %(i)d\n', level='IIE')
KERNEL = lines('[   %(i)d.123456] usb 1-%(i)d: new device\n')
TIMED = lines('2024-01-02 10:00:%(two)s status installed p%(i)d\n')
JSONL = ''.join(json.dumps({'ts': '2024-01-02T10:00:%02dZ' % i, 'level': LEVEL[i % 3], 'msg': 'user %d in' % i, 'ms': i}) + '\n' for i in range(60))
LOGFMT = lines('time=2024-01-02T10:00:%(two)sZ level=%(level)s msg="user %(i)d in" ms=%(i)d\n', level=LEVEL)
FIXED = 'station   born       Unit price  n\n' + ''.join('%-9s 2024-01-%02d %10.2f %2d\n' % (('Oslo', 'St Gallen')[i % 2], i + 1, i * 2.5, i) for i in range(28))
RULED = 'Report\n\nid    name          amount\n----- ------------- --------\n' + ''.join('%5d %-13s %8.2f\n' % (i, 'A B'[i % 3:], i * 1.5) for i in range(20))

# A format, and what its profile says
FORMATS = [
    ('a.csv', CSV, "'amount' (int, 1 to 28"), ('a.csv.gz', gzip.compress(CSV.encode()), 'compressed with gzip'), ('a.zip', zipped, 'a ZIP archive of 1: a.csv'),
    ('a.json', '{"a": [1, 2]}', 'an object of 1 key:'), ('a.jsonl', '{"a": 1}\n{"a": 2}\n', '2 rows, columns' if pandas_here else '2 values, one a line'),
    ('a.db', database, "0 rows, columns: 'a' (empty)" if pandas_here else "table 't' (0 rows): a INTEGER"), ('a.geojson', json.dumps({'type': 'FeatureCollection', 'features': [
        {'type': 'Feature', 'geometry': {'type': 'Point', 'coordinates': [8, 47]}, 'properties': {'n': 1}}] * 2}), 'GeoJSON: 2 Point'),
    ('a.xml', '<?xml version="1.0"?><a><b>1</b></a>', "{'a': {'b': '1'}}"), ('a.parquet', parquet, 'arquet'),
    ('a.png', b'\x89PNG\r\n\x1a\n\0\0\0\rIHDR' + struct.pack('>II', 12, 7) + b'\x08\x06\0\0\0', 'an image, PNG'), ('a.pdf', b'%PDF-1.4', 'a PDF'),
    ('fixed.txt', FIXED, "fixed width, 28 rows, columns: 'station' (text: Oslo, St Gallen), 'born' (datetime, 2024-01-01 to 2024-01-28), "
                         "'Unit price' (float, 0.0 to 67.5), 'n' (int, 0 to 27, all different)"),
    ('ruled.out', RULED, "fixed width, 20 rows, columns: 'id' (int, 0 to 19, all different), 'name' (text: A B, B)"),
    ('syslog', SYSLOG, "a log, syslog's form, 60 rows, columns: 'time' (datetime, without a year: pandas takes 1900, 1900-01-02 10:00:00 to "
                       "1900-01-02 10:00:59), 'host' (text: host), 'program' (text: CRON, sshd), 'pid' (numbers as text, 2 different), "
                       "'message' (text, all different)\nprogram: sshd 30, CRON 30\nmost frequent messages (# differs):\n     60  session # opened"),
    ('access.log', COMBINED, "'time' (datetime, 2023-10-10 13:55:00+02:00 to 2023-10-10 13:55:59+02:00), 'method' (text: GET), 'path' (text, "
                               "all different), 'status' (int: 200, 404), 'size' (int: 17)"),
    ('access2.log', COMMON, "common form, 60 rows, columns: 'ip' (text: ::1), 'user' (text: bob)"), ('app.log', PYTHON, 'level: INFO 40, ERROR 20\nmost frequent messages (# differs):\n     60  query took # ms'),
    ('brackets.log', BRACKETS, 'level: info 40, error 20'), ('error.log', NGINX_ERROR, 'level: error 30, warn 30'), ('error_log', APACHE_ERROR, 'level: error 30, notice 30'),
    ('loguru.log', LOGURU, 'level: INFO 40, ERROR 20'), ('rfc.log', SYSLOG_5424, "RFC 5424), 60 rows, columns: 'pri'"), ('go.INFO', GLOG, 'level: I 40, E 20'),
    ('dmesg', KERNEL, "the kernel's form, 60 rows, columns: 'time' (float, 0.123456 to 59.123456)"), ('dpkg.log', TIMED, "a log, a time in each line, 60 rows, columns: 'time' (datetime, 2024-01-02 10:00:00 to 2024-01-02 10:00:59)"),
    ('log.jsonl', JSONL, "'ts' (datetime, 2024-01-02 10:00:00+00:00 to 2024-01-02 10:00:59+00:00), 'level' (text: ERROR, INFO), 'msg' (text, all different), "
                         "'ms' (int, 0 to 59, all different)\nlevel: INFO 40, ERROR 20\nmost frequent messages (# differs):\n     60  user # in"),
    ('fmt.log', LOGFMT, "a log, logfmt, 60 rows, columns: 'time' (datetime, 2024-01-02 10:00:00+00:00 to 2024-01-02 10:00:59+00:00), 'level' (text: ERROR, INFO), "
                        "'msg' (text, all different), 'ms' (numbers as text, all different)\nlevel: INFO 40, ERROR 20\nmost frequent messages (# differs):\n     60  user"),
]
LOGS = [f for f in FORMATS if f[1] in (SYSLOG, COMBINED, COMMON, PYTHON, BRACKETS, NGINX_ERROR, APACHE_ERROR, LOGURU, SYSLOG_5424, GLOG, KERNEL, TIMED, JSONL, LOGFMT)]


@pytest.mark.parametrize('name, content, words', FORMATS, ids=[f[0] for f in FORMATS])
def test_a_row_for_each_format(tmp_path, name, content, words):
    if callable(content):
        content = content(tmp_path) if content is database else content()
    text = said(tmp_path, name, content)
    assert words in text, text


@needs_pandas
@pytest.mark.parametrize('name, content, words', LOGS, ids=[f[0] for f in LOGS])
def test_the_code_for_a_log_reads_all_of_it(tmp_path, name, content, words):
    df = frame(said(tmp_path, name, content))['df']
    assert len(df) == 60 and (str(df['time' if 'time' in df else 'ts'].dtype).startswith('datetime64') or content is KERNEL), df.dtypes


@pytest.mark.slow(3)
@pytest.mark.parametrize('name, content, words', LOGS, ids=[f[0] for f in LOGS])
def test_the_code_for_a_log_without_pandas(tmp_path, monkeypatch, name, content, words):
    module = load()
    monkeypatch.setattr(module, 'has', lambda name: False)
    text = module.profile(make(tmp_path, name, content))
    space = {}
    exec(text.split('\n')[0], space)
    assert 'pandas' not in text.split('\n')[0] and len(space.get('rows', space.get('data'))) == 60, text


@needs_pandas
def test_the_code_for_fixed_width(tmp_path):
    df = frame(said(tmp_path, 'f.txt', FIXED))['df']
    assert list(df.columns) == ['station', 'born', 'Unit price', 'n'] and df['Unit price'].sum() == sum(i * 2.5 for i in range(28))
    assert set(df['station']) == {'Oslo', 'St Gallen'} and df['born'][27].day == 28
    df = frame(said(tmp_path, 'r.txt', RULED))['r']
    assert list(df.columns) == ['id', 'name', 'amount'] and df['amount'].sum() == sum(i * 1.5 for i in range(20))
    # no header: a day and its time are one column, and what has leading zeros stays text
    df = frame(said(tmp_path, 'n.dat', ''.join('%04d 2024-01-%02d 10:00 %8.3f\n' % (i, i + 1, i / 8) for i in range(20))))['n']
    assert df[0][3] == '0003' and df[1][3].hour == 10 and df[2].sum() == sum(i / 8 for i in range(20))


@needs_pandas
def test_fixed_width_with_odd_lines(tmp_path):
    """A title above and a total below are no rows of the table, and the model is told."""
    text = said(tmp_path, 'f.txt', FIXED + 'sum of all the stations here, which are twenty-eight\n')
    assert '28 rows' in text and '1 lines do not fit into the columns, the first: sum of all' in text and 'colspecs=[(0, 9), (10, 20), ' in text, text
    listing = 'total 12\n' + ''.join('-rw-r--r-- %2d root %6d Nov %2d name%d\n' % (i, i * 999, i + 1, i) for i in range(20))
    df = frame(said(tmp_path, 'ls.txt', listing))['ls']
    assert df.shape == (20, 6 + 1) and df[3].sum() == sum(i * 999 for i in range(20))


@needs_pandas
def test_the_output_of_commands(tmp_path):
    """Blanks in the last column alone, a title above, numbers wider than their column; no words of a text as columns."""
    ps = 'PID   RSS COMMAND\n' + ''.join('%3d %5d /bin/x -a %d\n' % (i, 9 ** i, i) for i in range(8))
    df = frame(said(tmp_path, 'ps.txt', ps))['df']
    assert df.shape == (8, 3) and df['RSS'].max() == 9 ** 7 and df['COMMAND'][7] == '/bin/x -a 7'
    vmstat = 'procs --memory-- -----timestamp-----\n r  b   free                 PDT\n' + ''.join(
        ' %d  0 279471%d 2021-09-16 20:33:1%d\n' % (i, i, i) for i in range(5))
    df = frame(said(tmp_path, 'vm.txt', vmstat))['vm']
    assert list(df) == ['r', 'b', 'free', 'PDT'] and len(df) == 5 and df['PDT'][4].second == 14
    devices = 'COMMAND DEVICE NODE\n' + ''.join('name%d    %5s %4d\n' % (i, ('253,0', '0,18', '')[i % 3], i) for i in range(9))
    assert "'DEVICE' (text" in said(tmp_path, 'lsof.txt', devices)
    teams = 'Rank Team       Conf\n' + ''.join('%4d %-10s B%d\n' % (i, ('Ohio St', 'Oregon')[i % 2], i) for i in range(12))
    df = frame(said(tmp_path, 'teams.txt', teams))['teams']
    assert df['Team'][0] == 'Ohio St' and df['Conf'][0] == 'B0'
    last = ''.join('reboot   system boot  3.10.0 Fri 2%d\nuser%d    ttyS0              Fri 2%d\n' % (i, i, i) for i in range(5))
    assert '\ntext, 10 lines' in said(tmp_path, 'last.txt', last)


@pytest.mark.parametrize('content', [
    'Hello there,\nthis is  prose with a gap,\nand it goes on.\n\nNo table here at all.\n', 'a b\nc d\ne f\n', 'def f(x):\n    return x\n\nprint(f(1))\n',
    'one\ntwo\nthree\n', '- item one\n- item two\n- item three\n- item four\n', 'Dear Sir,\n\n    I write to you\n    about 2 things\n    and 3 more\n'])
def test_prose_is_no_table_and_no_log(tmp_path, content):
    assert 'text, ' in said(tmp_path, 'p.txt', content)


def test_a_table_with_times_and_levels_stays_a_table(tmp_path):
    for sep in ',\t;':
        text = said(tmp_path, 't.csv', 'when%slevel%sn\n' % (sep, sep) + ''.join('2024-01-02 10:00:%02d%sINFO%s%d\n' % (i, sep, sep, i) for i in range(30)))
        assert "columns: 'when' (datetime" in text, text
    sensor = ''.join('2024-01-02 10:00:%02d %6.2f %6.2f\n' % (i, i / 7, i * 3) for i in range(30))
    assert 'read_fwf' in said(tmp_path, 'sensor.dat', sensor) or not pandas_here


@needs_pandas
def test_what_continues_a_line_of_a_log_belongs_to_it(tmp_path):
    trace = PYTHON.replace('query took 9 ms\n', 'failed\nTraceback (most recent call last):\n  File "x.py", line 1\nValueError: 1\n')
    text = said(tmp_path, 't.log', trace)
    df = frame(text)['df']
    assert '60 rows' in text and '3 lines with the rest of a message' in text and len(df) == 60
    assert df['message'][9] == 'failed\nTraceback (most recent call last):\n  File "x.py", line 1\nValueError: 1'
    text = said(tmp_path, 'nul.log', PYTHON.encode() + bytes(70000) + PYTHON.encode())
    assert 'level: INFO 80, ERROR 40' in text, text
    text = said(tmp_path, 'mixed.log', PYTHON.encode() + '2024-01-02 10:01:00,000 - ä - ERROR - ö\n'.encode('cp1252') + '2024-01-02 10:01:00,000 - ä - ERROR - ö\n'.encode())
    assert 'level: INFO 40, ERROR 22' in text, text


@needs_pandas
def test_times_with_and_without_a_fraction(tmp_path):
    text = said(tmp_path, 'f.log', '2024-01-02 10:00:00 INFO a\n2024-01-02 10:00:01.5 INFO b\n2024-01-02 10:00:02 INFO c\n')
    assert list(frame(text)['df']['time'].dt.second) == [0, 1, 2]


@needs_pandas
def test_a_compressed_log(tmp_path):
    text = said(tmp_path, 'syslog.2.gz', gzip.compress(SYSLOG.encode()))
    assert 'program: sshd 30, CRON 30' in text and len(frame(text)['df']) == 60, text


@pytest.mark.slow(5)
def test_a_long_log_is_counted_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr(prof, 'LOG_SECONDS', 60)     # on a busy machine the time for it is over before the end
    text = said(tmp_path, 'big.log', PYTHON * 2500 + '2024-03-04 05:06:07,000 - app - ERROR - the end\n')
    assert 'about 150001 rows, looked at ' in text and 'and at the end, columns: ' in text and '(datetime, 2024-01-02 10:00:00.123000 to 2024-03-04 05:06:07)' in text, text


HOSTILE = {
    'a line without end': lambda f: [f.write(b'a' * (1 << 20)) for _ in range(100)],
    'a gigabyte of NULs': lambda f: f.truncate(1 << 30),
    'noise': lambda f: f.write(DICE.randbytes(7 << 20)),
    'half a request': lambda f: f.write(b'1.1.1.1 - - [x] "GET /a HTTP" 200 1\n' * 3 + (b'1.1.1.1 - - [x] "GET ' + b'/a ' * 600 + b'\n') * 4000),
    'open quotes': lambda f: f.write((b'a="x b=c d="' * 100 + b'\n') * 5000),
    'pairs, then words': lambda f: f.write(b'a=b c=d e=f\n' * 60 + (b'a' * 1990 + b'\n') * 4000),
    'many gaps': lambda f: f.write((b'a ' * 1900 + b'\n') * 1800),
    'wide blanks': lambda f: f.write((b'a b' + b' ' * 3900 + b'\n') * 1800),
    'a level in every word': lambda f: f.write((b'2024-01-01 10:00:00 ' + b'INFO ERROR ' * 150 + b'\n') * 4000),
    'no two messages alike': lambda f: f.write(b''.join(b'2024-01-01 10:00:00 INFO %s\n' % DICE.randbytes(9).hex().translate(
        str.maketrans('0123456789', 'ghijklmnop')).encode() for _ in range(90000))),
    'elements within elements': lambda f: f.write(b'<?xml version="1.0"?>' + b'<a>x' * 1000000),
}


@pytest.mark.slow(20)
@pytest.mark.parametrize('what', HOSTILE)
def test_hostile_files_cost_little(tmp_path, what):
    """At most 12 s of processor time and 400 MB, as a child of its own: the sandbox has no more patience."""
    path = str(tmp_path / 'x.log')
    with open(path, 'wb') as f:
        HOSTILE[what](f)
    code = '[exec(open(p).read(), globals()) for p in %r]; print(profile(%r))' % (SOURCES, path)

    def limits():
        resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))
        resource.setrlimit(resource.RLIMIT_CPU, (12, 12))
    text = subprocess.run(['/usr/bin/python3', '-I', '-c', code], preexec_fn=limits, capture_output=True, check=True).stdout.decode()
    assert 20 < len(text) <= 1501, text


@pytest.mark.slow(5)
def test_cut_anywhere(tmp_path):
    """Every beginning and every end of a log has a profile."""
    for content in (SYSLOG[:200], COMBINED[:300], LOGFMT[:200], FIXED[:200], RULED[:200]):
        for i in range(0, len(content), 7):
            prof.profile(make(tmp_path, 'c', content[:i]))
            prof.profile(make(tmp_path, 'c', content[-i:]))
