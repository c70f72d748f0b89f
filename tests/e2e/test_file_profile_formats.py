"""The profiles of JSON, packed files, databases and whatever else is no table of text, and of hostile files."""
import contextlib
import gzip
import itertools
import json
import os
import pathlib
import re
import shutil
import sqlite3
import struct
import tarfile
import time
import zipfile

import pytest

from file_profiles import first_frame, frame, make, pandas_here, prof, said

pytestmark = pytest.mark.no_asan


def test_json_records(tmp_path):
    data = [{'id': i, 'name': 'n%d' % i, 'when': '2024-01-%02d' % (i % 28 + 1), 'gone': None} for i in range(50)]
    text = said(tmp_path, 'r.json', json.dumps(data))
    assert "50 rows, columns: 'id' (int, 0 to 49, all different), 'name' (text, all different), 'when' (datetime, 2024-01-01 to 2024-01-28), " \
        "'gone' (empty, 50 missing)" in text
    assert str(frame(text)['df']['when'].dtype).startswith('datetime64')


def test_json_numbers_between_quotes_are_text(tmp_path):
    rows = [{'id': str(i), 'price': '%d.50' % i, 'n': i, 'sum': '1,%03d' % i, 'ok': 'true', 'zip': '%05d' % i, 'real': True} for i in range(9)]
    text = said(tmp_path, 'r.json', json.dumps(rows))
    df = frame(text)['df']
    for name, kind in (('id', 'numbers as text, all different'), ('price', 'float, 0.5 to 8.5'), ('n', 'int, 0 to 8, all different'), ('sum', 'text, all different'),
                       ('ok', 'text: true'), ('zip', 'text, digits with leading zeros, all different'), ('real', 'bool')):
        assert '%r (%s)' % (name, kind) in text and (df[name].dtype == object) == ('text' in kind), (name, text)


def test_records_of_records_are_a_table(tmp_path):
    """As pandas normalises them; of those with a list in them a sample is shown too."""
    rows = [{'at': '2024-05-%02dT10:00:00Z' % (i + 1), 'client': {'device': 'ab'[i % 2], 'screen': {'w': i}}, **({'paid': '%d.25' % i} if i % 2 else {})}
            for i in range(20)]
    lines = '\n'.join(map(json.dumps, rows))
    for name, content in (('r.json', json.dumps(rows)), ('r.jsonl', lines)):
        os.makedirs(tmp_path / name[2:])
        text = said(tmp_path / name[2:], name, content)
        assert "'client.device' (text: a, b), 'client.screen.w' (int, 0 to 19, all different), 'paid' (float, 1.25 to 19.25, 10 missing)" in text, text
        assert "first 3 rows:\n2024-05-01 10:00:00+00:00 | a | 0 | \n" in text, text
        df = frame(text)['df']
        assert df['paid'].sum() == 102.5 and df['client.screen.w'].sum() == 190 and df['at'].dt.day.max() == 20
    text = said(tmp_path, 'l.json', json.dumps([dict(r, tags=['x']) for r in rows]))
    assert "'tags' (lists)" in text and "'screen': {'w': 0}" in text and "'client.device' (text: a, b)" in text, text


def test_json_shape(tmp_path):
    text = said(tmp_path, 's.json', json.dumps({'users': [{'id': 1, 'tags': ['a', 'b'], 'addr': {'city': 'X'}}, {'id': 2}], 'n': 3}))
    assert "{'users': [{'id': 1, 'tags': ['a', ... 2 in all] (in 1 of 2), 'addr': {'city': 'X'} (in 1 of 2)}, ... 2 in all], 'n': 3}" in text
    text = said(tmp_path, 't.json', json.dumps([{'a': {'b': [1]}}] * 7))
    assert "a list of 7: [{'a': {'b': [1]}}, ... 7 in all]" in text


def test_json_lines(tmp_path):
    text = said(tmp_path, 'l.jsonl', '\n'.join(json.dumps({'id': i, 'v': i / 2}) for i in range(30)))
    assert "30 rows, columns: 'id' (int, 0 to 29, all different), 'v' (float, 0.0 to 14.5)" in text
    assert frame(text)['df']['v'].sum() == sum(i / 2 for i in range(30))


def test_json_lines_that_are_not_all_read_in_time(tmp_path, monkeypatch):
    monkeypatch.setattr(prof, 'SECONDS', 0)
    assert '8 rows, of about 200, columns: ' in said(tmp_path, 'l.jsonl', '{"a": 1}\n' * 200)


def test_a_busy_machine_changes_nothing(tmp_path, monkeypatch):
    """Five seconds pass, of which nearly none is this process's work."""
    passed = itertools.count(0, 0.2)
    monkeypatch.setattr(time, 'monotonic', lambda: next(passed))
    assert '200 rows, columns: ' in said(tmp_path, 'l.jsonl', '{"a": 1}\n' * 200)


def test_broken_json_is_text(tmp_path):
    assert 'text, 1 line;' in said(tmp_path, 'x.json', '{"a": [1, 2')
    said(tmp_path, 'deep.json', '[' * 100000)
    said(tmp_path, 'deep2.json', '[' * 900 + ']' * 900)


def test_text(tmp_path):
    text = said(tmp_path, 'g.txt', 'Hello, there\nthis is, prose, text\nno table\n')
    assert 'text, 3 lines' in text and 'no table' in text


def test_empty_and_tiny(tmp_path):
    assert 'empty' in said(tmp_path, 'e.csv', '')
    for content in ('a', '\n', ',', '{', '[', '"', 'a,b', '\0', '\xff'):
        said(tmp_path, 'e', content)


def test_zip_and_images(tmp_path):
    with zipfile.ZipFile(tmp_path / 'z.zip', 'w') as z:
        for i in range(30):
            z.writestr('f%d.txt' % i, 'x' * i)
    text = prof.profile(str(tmp_path / 'z.zip'))
    assert 'ZIP archive of 30: f0.txt (0 bytes)' in text and 'and 10 more' in text
    said(tmp_path, 'bad.zip', b'PK\x03\x04' + os.urandom(500))
    said(tmp_path, 'bad.jpg', b'\xff\xd8\xff\xc0')
    said(tmp_path, 'bad.bin', os.urandom(5000))
    said(tmp_path, 'bad.pdf', b'%PDF-1.4 ...')


def stored(tmp_path, script, **rows):
    con = sqlite3.connect(tmp_path / 's.db')
    con.executescript(script)
    for name, values in rows.items():
        con.executemany('insert into %s values (%s)' % (name, ', '.join('?' * len(values[0]))), values)
    con.commit()
    con.close()
    text = prof.profile(str(tmp_path / 's.db'))
    assert len(text) <= 1500, text
    return text


def test_a_database_without_pandas_has_its_tables_and_their_columns(tmp_path, monkeypatch):
    monkeypatch.setattr(prof, 'has', lambda name: False)
    text = stored(tmp_path, 'create table t (a integer, "b c" text); create view v as select * from missing', t=[(1, 'x')])
    assert text.endswith("s.db')\nt (1 row): a, b c\nview v: "), text


def test_a_database_is_looked_at_like_any_table(tmp_path):
    """First and last, the few values, what is missing, and which column refers to which."""
    pytest.importorskip('pandas')
    text = stored(tmp_path, 'create table customers (id integer primary key, country text, note text);'
                  'create table orders (id integer primary key, customer_id integer, total real, placed text, paid text);'
                  'create table unused (x); create view dear as select * from orders where total > 90',
                  customers=[(i, 'DF'[i % 2] + 'E', None) for i in range(20)],
                  orders=[(i, i % 25, i * 1.5, '2025-%02d-01' % (i % 12 + 1), '%02d.03.2025' % (i % 28 + 1) if i % 4 else None) for i in range(100)])
    assert "customers: 20 rows, columns: 'id' (int, 0 to 19, all different), 'country' (text: DE, FE), 'note' (empty, 20 missing)\n" in text
    assert "'total' (float, 0.0 to 148.5), 'placed' (datetime, 2025-01-01 to 2025-12-01), 'paid' (datetime, 2025-03-02 to 2025-03-28, 25 missing)" in text, text
    assert 'both = orders.merge(customers, left_on=\'customer_id\', right_on=\'id\', suffixes=("", "_customers"))  # 80 rows, 20 of orders are not in customers' in text, text
    assert "unused: 0 rows, columns: 'x' (empty)\n" in text and text.endswith('\nview dear: id, customer_id, total, placed, paid'), text


def test_a_small_database_is_read_into_frames(tmp_path):
    """As the sheets of a workbook are: types as pandas has them, and the tables joined."""
    pytest.importorskip('pandas')
    text = stored(tmp_path, 'create table members (id integer primary key, zip text, joined text, photo blob);'
                  'create table bookings (id integer primary key, member_id integer, hours real); create table "odd table" (x);'
                  'create view long as select * from bookings where hours > 1',
                  members=[(i, '%d' % (100 + i), '2024-0%d-01' % (i % 9 + 1), b'x') for i in range(12)],
                  bookings=[(i, i % 10, i / 2) for i in range(50)])
    assert "odd_table = pd.read_sql('SELECT * FROM \"odd table\"', con)\nboth = bookings.merge(members, left_on='member_id', right_on='id', " in text, text
    assert "members: 12 rows, columns: 'id' (int, 0 to 11, all different), 'zip' (numbers as text, all different), 'joined' (datetime, 2024-01-01 to 2024-09-01), " \
        "'photo' (bytes)\n" in text and 'odd_table: 0 rows' in text and text.endswith('\nview long: id, member_id, hours'), text
    space = frame(text)
    assert len(space['both']) == 50 and space['members']['joined'].dt.month.max() == 9 and space['members']['zip'][3] == '103'


def test_databases_side_by_side_have_variables_of_their_own(tmp_path):
    """The lines that read one leave what the other's have made."""
    pytest.importorskip('pandas')
    made, names = {}, ['a.db', 'b.sqlite']
    for k, name in enumerate(names):
        with contextlib.closing(sqlite3.connect(tmp_path / name)) as con, con:
            con.execute('create table sales (x integer)')
            con.execute('insert into sales values (?)', (k,))
    for name in names:
        code = prof.code_and_facts(prof.profile(str(tmp_path / name)))[0]
        exec(code, made)
    assert [list(made[name].x) for name in ('a_sales', 'b_sales')] == [[0], [1]] and 'con' not in made, sorted(made)
    assert [made[name].execute('select x from sales').fetchone()[0] for name in ('a_con', 'b_con')] == [0, 1]


def test_a_table_of_many_rows_is_asked_in_sql_beside_those_that_are_frames(tmp_path):
    pytest.importorskip('pandas')
    text = stored(tmp_path, 'create table readings (n integer, day text); create table places (id integer)',
                  readings=[(i, '2024-01-%02d' % (i % 28 + 1)) for i in range(20001)], places=[(1,)])
    assert "readings: 20001 rows, looked at the first 20000, columns: 'n' (int, 0 to 19999, all different), 'day' (text, 28 different)\n" in text, text
    assert 'in SQL, FROM "readings"\n' in text and 'readings = ' not in text and len(frame(text)['places']) == 1, text


@pytest.mark.slow(20)
def test_a_database_of_many_tables_names_them_all(tmp_path):
    columns = ', '.join('column_%d text' % i for i in range(12))
    text = stored(tmp_path, ''.join('create table t_%02d (%s);' % (i, columns) for i in range(40)) + 'create table last (secret_key integer)')
    assert all(re.search(r'\b%s\b' % name, text) for name in ['last', *('t_%02d' % i for i in range(40))]), text


def test_a_table_with_large_cells_is_not_read_whole(tmp_path, monkeypatch):
    pytest.importorskip('pandas')
    monkeypatch.setattr(prof, 'STORED_BYTES', 1 << 20)
    text = stored(tmp_path, 'create table b (id integer, raw blob, body text)', b=[(i, b'x' * 10000, 'y' * 5000) for i in range(200)])
    assert "b: 200 rows, looked at the first 100, columns: 'id' (int, 0 to 99, all different), 'raw' (bytes), 'body' (text: yyy" in text, text


def test_text_in_a_database_that_is_not_utf8(tmp_path):
    pytest.importorskip('pandas')
    text = stored(tmp_path, 'create table "transaction" (name text)', **{'"transaction"': [(1,)]})
    con = sqlite3.connect(tmp_path / 's.db')
    con.execute('insert into "transaction" values (cast(? as text))', ('Käse'.encode('latin-1'),))
    con.commit()
    con.close()
    text = prof.profile(str(tmp_path / 's.db'))
    assert frame(text)['transaction']['name'][1] == 'K\ufffdse', text


def run(text):
    """The first line of a profile, run as a model would; returns its names."""
    names = {}
    exec(text.split('\n', 1)[0], names)
    return names


CSV = 'day;amount\n' + ''.join('2024-01-%02d;%d,5\n' % (i, i) for i in range(1, 30))


@pytest.mark.skipif(not pandas_here, reason='pandas')
@pytest.mark.parametrize('name', ['a.csv.gz', 'a.gz', 'a.bin'])
def test_gzip_has_the_profile_of_what_is_inside(tmp_path, name):
    text = said(tmp_path, name, gzip.compress(CSV.encode()))
    assert "'amount' (float" in text and text.endswith('compressed with gzip'), text
    frame = next(v for k, v in run(text).items() if type(v).__name__ == 'DataFrame')
    assert list(frame.columns) == ['day', 'amount'] and frame.amount.sum() == 449.5


@pytest.mark.slow(20)
def test_gzip_of_other_things(tmp_path):
    text = said(tmp_path, 'a.json.gz', gzip.compress(b'{"a": [1, 2], "b": {"c": 3}}'))
    assert run(text)['data']['a'] == [1, 2], text
    assert 'it cannot be read' in said(tmp_path, 'b.gz', gzip.compress(CSV.encode())[:40])
    assert 'twice' in said(tmp_path, 'c.gz', gzip.compress(gzip.compress(b'x')))
    begun = time.monotonic()
    text = said(tmp_path, 'bomb.gz', gzip.compress(bytes(300 << 20), 1))
    assert 'the first 32 MiB' in text and time.monotonic() - begun < 15, text


@pytest.mark.skipif(not pandas_here, reason='pandas')
def test_zip_has_the_profile_of_its_first_table(tmp_path):
    with zipfile.ZipFile(tmp_path / 'z.zip', 'w') as z:
        z.writestr('readme.md', 'x')
        z.writestr('sub/a.csv', CSV)
    text = prof.profile(str(tmp_path / 'z.zip'))
    line = next(s for s in text.split('\n') if 'read_csv' in s)
    names = run(text)
    exec(line, names)
    assert "'amount' (float" in text and any(type(v).__name__ == 'DataFrame' and v.amount.sum() == 449.5 for v in names.values()), text


def test_the_tables_of_a_zip_are_one(tmp_path):
    """If they have the same columns; what a Mac adds to an archive is no member."""
    pytest.importorskip('pandas')

    def archive(**members):
        with zipfile.ZipFile(tmp_path / 'z.zip', 'w') as z:
            for name, text in members.items():
                z.writestr('sold/%s.csv' % name, text)
            z.writestr('__MACOSX/sold/._Bonn.csv', b'\0\5\x16\7')
            z.writestr('README', 'words')
        return prof.profile(str(tmp_path / 'z.zip'))

    rows = ''.join('%02d.01.2024;%d,5\r\n' % (i + 1, i) for i in range(20))
    text = archive(Bonn='day;units\r\n' + rows, Ghent='day;units\r\n' + rows.rstrip())
    df = frame(text)['df']
    assert len(df) == 40 and df['units'].sum() == 400 and list(df['file'].unique()) == ['Bonn.csv', 'Ghent.csv'], text
    assert df['day'].dt.day.max() == 20 and "\n40 rows, columns: 'day' (datetime, 2024-01-01 to 2024-01-20), " in text, text
    assert "'file' (text: Bonn.csv, Ghent.csv)\n" in text and '2 files with the same columns' in text and '_MAC' not in text, text
    text = archive(Bonn='day;units\r\n' + rows, Ghent='day;sold\r\n' + rows)
    assert len(frame(text)['bonn']) == len(frame(text)['ghent']) == 20 and 'concat' not in text and 'sold/Bonn.csv:' in text, text
    many = archive(**{'town_%02d' % i: 'day;units\n' + rows for i in range(40)})
    assert len(frame(many)['df']) == 800 and "if n.endswith('.csv') and" in many and len(frame(many)['df'].columns) == 3 and len(many) < 1500, many


@pytest.mark.slow(3)
def test_a_zip_bomb_is_told(tmp_path):
    """Its directory says so: nothing is unpacked but the beginning of the first member."""
    with zipfile.ZipFile(tmp_path / 'z.zip', 'w', zipfile.ZIP_DEFLATED) as z:
        z.writestr('a.txt', bytes(20 << 20))
    data = bytearray((tmp_path / 'z.zip').read_bytes())
    at = data.rindex(b'PK\x01\x02')
    data[at + 24:at + 28] = struct.pack('<I', 0xfffffff0)
    text = said(tmp_path, 'bomb.zip', bytes(data))
    assert 'ZIP archive' in text and len(text) <= 1500, text


def test_geojson(tmp_path):
    features = [{'type': 'Feature', 'geometry': {'type': 'Point', 'coordinates': [8.5 + i, 47.25]}, 'properties': {'name': 'n%d' % i, 'pop': i * 10}}
                for i in range(5)]
    text = said(tmp_path, 'a.geojson', json.dumps({'type': 'FeatureCollection', 'features': features}))
    assert "'pop' (int" in text and 'GeoJSON: 5 Point, longitude 8.5 to 12.5, latitude 47.25 to 47.25' in text, text
    assert not pandas_here or list(frame(text)['df'].columns) == ['name', 'pop']
    for broken in ({'features': 3}, {'features': [1, None, {'geometry': 4}]}, {'features': []}):
        said(tmp_path, 'b.geojson', json.dumps(dict(broken, type='FeatureCollection')))


def test_xml(tmp_path):
    text = said(tmp_path, 'a.xml', '<?xml version="1.0"?><shop><item id="7"><name>pen</name></item><item id="8"><name>ink</name></item></shop>')
    assert "{'shop': {'item': [{'@id': '7', 'name': 'pen'}, ... 2 in all]}}" in text, text
    assert not pandas_here or frame(text)['root'].tag == 'shop' and list(frame(text)['df']['name']) == ['pen', 'ink']
    bomb = '<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "' + 'x' * 1000 + '">]><l>&a;</l>'
    assert 'declares entities' in said(tmp_path, 'b.xml', bomb)
    said(tmp_path, 'c.xml', '<?xml version="1.0"?><a><b>')
    said(tmp_path, 'd.xml', '<' * 1000)
    said(tmp_path, 'e.xml', '<a>' * 5000)


@pytest.mark.parametrize('kind, mode', [('PNG', 'RGBA'), ('JPEG', 'CMYK'), ('GIF', ''), ('BMP', 'RGB'), ('TIFF', '1'), ('WebP', 'RGB')])
def test_pictures(tmp_path, kind, mode):
    image = pytest.importorskip('PIL.Image')
    image.new(mode or 'L', (12, 7)).save(tmp_path / 'p', kind)
    raw = (tmp_path / 'p').read_bytes()
    assert 'an image, %s, 12 x 7 pixels, %s' % (kind, mode) in said(tmp_path, 'p', raw)
    assert 'an image, %s, that Pillow cannot read: ' % kind in said(tmp_path, 'p', raw[:16])


TABLE = b'a,b\n1,2\n'
WRONG = [('a.zip', b'<html><body>no such page</body></html>', 'it is not a zip archive'), ('a.gz', b'<html>no such page</html>', 'it is not gzip'),
         ('a.pdf', b'<html><body>no such page</body></html>', 'it is not a PDF'), ('a.pdf', b'\n%PDF-1.4\n', ''), ('a.parquet', b'<html>no such page</html>', 'it is not Parquet'),
         ('a.csv', bytes(range(256)) * 12, 'no table was found in it'), ('a.csv', b'<html><body>no such page</body></html>', 'no table was found in it'),
         ('a.csv', b'Dear Sir, this is\nno table, and\nwill not be, one,\n', 'no table was found in it'), ('a.csv', b'{"a": 1}', 'no table was found in it'),
         ('a.csv', b'', 'it is empty'), ('a.csv', TABLE, ''), ('a.csv', b'a;b\n1,5;2\n2;3\n', ''), ('a.csv', b'name\nx\ny\n', ''), ('a.txt', b'Dear Sir\n', ''),
         ('a.csv', b'My report\n\na,b,c\n1,2,3\n4,5,6\n7,8,9\n', ''), ('a.json', b'{a: 1}', 'it is not JSON'), ('a.json', b'5\n', ''), ('a.json', b'[]', ''), ('a.json', b'{"a": 1}', ''),
         ('a.zip', b'PK\x03\x04' + bytes(50), 'the archive cannot be read'), ('a.csv.gz', b'\x1f\x8b' + bytes(90), 'its compressed data cannot be read'),
         ('a.csv.gz', gzip.compress(TABLE, mtime=0), ''), ('a\x1eit is mine.csv', b'x\x1ey,1\n\x1ez,2\n', '')]


@pytest.mark.parametrize('name, content, words', WRONG)
def test_what_is_wrong_with_a_file(tmp_path, name, content, words):
    """For the user's line; no file can say it itself, and the next file begins anew."""
    assert prof.profile(make(tmp_path, name, content)).partition(prof.MARK)[2] == words
    assert prof.MARK not in prof.profile(make(tmp_path, 'fine.csv', TABLE))


def test_hostile_content(tmp_path):
    said(tmp_path, 'h.csv', 'a\x1b[31m,b\u202e\n\x07,\x9b1m\n1,2\n')
    said(tmp_path, 'h.json', json.dumps({'\x1b]52;c;x\x07': '\u2028\u202e\ud800'}))
    said(tmp_path, 'h.csv', b'a,b\n\xff\xfe,\xc3\x28\n1,2\n')
    said(tmp_path, 'tags.txt', 'x \U000e0041 y')


def test_cut_anywhere(tmp_path):
    """Every beginning of a file has a profile."""
    whole = 'Datum;Preis\n01.02.2024;1,5\n"x;\n";2,5\n'.encode() + '{"a": [1, {"b": "ä"}]}\n'.encode()
    for i in range(len(whole)):
        said(tmp_path, 'c', whole[:i])
        said(tmp_path, 'c', whole[-i:])


# -- what a careful analyst would look at first

READINGS = {'place': {'name': 'Hill'}, 'readings': [
    {'day': '2023-01-%02d' % (i % 31 + 1), 'temp_c': i / 10, 'wind': {'dir': 'NESW'[i % 4], 'kmh': i}} for i in range(365)]}


def test_json_down_to_the_leaves(tmp_path):
    text = said(tmp_path, 'r.json', json.dumps(READINGS))
    assert "'readings': [{'day': '2023-01-01', 'temp_c': 0.0, 'wind': {'dir': 'N', 'kmh': 0}}, ... 365 in all]" in text
    assert "365 rows, columns: 'day' (datetime, 2023-01-01 to 2023-01-31), 'temp_c' (float, 0.0 to 36.4), 'wind.dir' (text: E, N, S, W), 'wind.kmh' (int, 0 to 364" in text
    assert frame(text)['df']['wind.kmh'].sum() == 365 * 182
    deep = {'a': {'b': [{'c': {'d': [{'e': {'leaf_name': 1}}]}}]}}
    assert "'leaf_name': 1" in said(tmp_path, 'd.json', json.dumps(deep))


@pytest.mark.parametrize('name, content', [('r.json', json.dumps(READINGS)), ('r.jsonl', json.dumps(READINGS['readings'][0]) + '\n' + json.dumps({'day': 'x'})),
                                           ('r.xml', '<?xml version="1.0"?><a>' + '<r day="2023-01-01"><wind><dir>N</dir></wind></r>' * 3 + '</a>')])
def test_without_pandas_there_is_a_sample(tmp_path, monkeypatch, name, content):
    monkeypatch.setattr(prof, 'has', lambda module: False)
    text = said(tmp_path, name, content)
    assert "day': '2023-01-01'" in text and "'wind': {'dir': 'N'" in text and 'pd' not in text, text


@pytest.mark.skipif(not pandas_here, reason='pandas')
def test_json_whose_columns_are_lists(tmp_path):
    data = {'hourly': {'time': ['2024-01-01T%02d:00' % i for i in range(24)], 'temp': list(range(24))}, 'units': {'temp': 'C'}}
    df = first_frame(said(tmp_path, 'c.json', json.dumps(data)))
    assert df['temp'].sum() == 276 and df['time'].dt.hour.max() == 23
    df = first_frame(said(tmp_path, 'p.json', json.dumps({c: {str(i): i * k for i in range(300)} for k, c in enumerate('abcd')})))
    assert df['d'].sum() == 3 * 44850 and list(df) == list('abcd')


def test_json_shapes_are_written_once(tmp_path):
    address = {'street': 'a', 'city': 'b', 'country': 'c', 'zip': 'd'}
    text = said(tmp_path, 'a.json', json.dumps({'billing': address, 'shipping': address, 'n': 1}))
    assert text.count('street') == 1 and "'shipping': {the same keys as in 'billing'}" in text
    clubs = {n: {'coach': 'C', 'games': [{'for': 1, 'against': k}] * 5} for k, n in enumerate(('Reds', 'Blues', 'Greens', 'Whites'))}
    text = said(tmp_path, 'c.json', json.dumps({'clubs': clubs}))
    assert text.partition('\n20 rows')[0].count("'coach'") == 1 and "4 keys: 'Reds', 'Blues', 'Greens', 'Whites'" in text


def test_json_lists_of_unlike_things(tmp_path):
    text = said(tmp_path, 'u.json', json.dumps({'x': [1, 'a', {'k': 1}, {'k': 2, 'extra': True}, None]}))
    assert 'unlike things: 1 numbers, 1 texts, 2 objects, 1 null' in text and "'extra': True (in 1 of 2)" in text


def test_json_says_which_list_names_the_other(tmp_path):
    data = {'customers': [{'id': 7 + i, 'country': 'XY'[i % 2]} for i in range(9)],
            'orders': [{'no': i, 'customer_id': 7 + i % 8, 'lines': [{'q': 1}]} for i in range(40)]}
    text = said(tmp_path, 'j.json', json.dumps(data))
    assert "both = lines.merge(customers, left_on='customer_id', right_on='id')  # 40 rows, 1 of customers is not in lines" in text
    assert frame(text)['both']['country'].value_counts().to_dict() == {'X': 20, 'Y': 20}


@pytest.mark.skipif(not pandas_here, reason='pandas')
def test_json_records_are_told_with_the_record_they_are_in(tmp_path):
    clubs = {n: {'coach': 'C', 'of': {'town': n[:1]}, 'games': [{'for': 1, 'against': k}] * 5} for k, n in enumerate(('Reds', 'Blues', 'Greens', 'Whites'))}
    text = said(tmp_path, 'c.json', json.dumps({'clubs': clubs}))
    assert "20 rows, columns: 'coach' (text: C), 'for' (int: 1), 'against' (int: 0, 1, 2, 3), 'clubs' (text: Blues, Greens, Reds, Whites), 'of.town' (text: B" in text
    assert 'each of the 4 clubs is repeated for each of its games' in text and list(frame(text)['df']['clubs'][:6]) == ['Reds'] * 5 + ['Blues']
    deep = [{'id': i, 'at': {'rooms': [{'room': r, 'doors': [{'door': d, 'open': d > 0} for d in range(3)]} for r in range(2)]}} for i in range(4)]
    text = said(tmp_path, 'd.json', json.dumps({'houses': deep}))
    df = first_frame(text)
    assert 'merge' not in text and len(df) == 24 and list(df) == ['id', 'room', 'door', 'open'] and df[df['id'] == 3]['open'].sum() == 4, df


@pytest.mark.skipif(not pandas_here, reason='pandas')
def test_json_records_of_the_whole_list_are_counted_in_their_own_frame(tmp_path):
    orders = [{'order': i, 'paid': i % 2 == 0, 'items': [{'article': 'pen', 'n': k} for k in range(1 + i % 3)]} for i in range(30)]
    text = said(tmp_path, 'o.json', json.dumps(orders))
    made = frame(text)
    assert len(made['df']) == 30 and list(made['items']) == ['order', 'paid', 'article', 'n'] and len(made['items']) == 60, text
    assert 'merge' not in text and 'each of the 30 objects is repeated for each of its items' in text


@pytest.mark.skipif(not pandas_here, reason='pandas')
@pytest.mark.parametrize('change', [lambda d: d[2].update(games=[]), lambda d: d[2].pop('games'), lambda d: [e['games'][0].update(coach='D') for e in d],
                                    lambda d: [e.update(goals=[{'at': 1}, {'at': 2}]) for e in d]])
def test_json_records_that_would_lose_something_have_a_frame_of_their_own(tmp_path, change):
    """One holds no list, both have the same name, or there are two lists."""
    data = [{'club': 'C%d' % i, 'coach': 'C', 'games': [{'for': i, 'against': 2}, {'for': 0, 'against': k}]} for i, k in enumerate((3, 4, 5))]
    change(data)
    text = said(tmp_path, 'c.json', json.dumps(data))
    made = frame(text)
    assert 'is repeated' not in text and len(made['games']) == sum(len(e.get('games', ())) for e in data), text
    assert any(list(made[name])[:2] == ['club', 'coach'] and len(made[name]) == 3 for name in made if name in ('df', 'table1')), text


def test_hostile_json(tmp_path):
    said(tmp_path, 'k.json', json.dumps({'k' * 1000000: 1, 'b': [{'x' * 1000000: 2}] * 3}))
    assert 'nested very deep' in said(tmp_path, 'd.json', '[' * 10000 + ']' * 10000)
    text = said(tmp_path, 'n.json', '{"a": [NaN, 1, Infinity, {"b": NaN}], "c": [{"v": NaN}, {"v": 1.5}, {"v": "x"}, {"v": null}, '
                '{"v": [1]}, {"v": {"z": 1}}]}')
    assert "unlike things: 3 numbers, 1 objects" in text
    text = said(tmp_path, 'b.json', json.dumps({'\u202eabc': [{'\u2066k': '\u202ev\u200b', 'n': i} for i in range(5)]}, ensure_ascii=False))
    assert "'\\u202eabc'" in text
    assert 'up to 7 keys' in said(tmp_path, 'o.json', json.dumps([{'k%d' % (i * 7 + k): k for k in range(7)} for i in range(3000)]))
    assert '30000 keys' in said(tmp_path, 'm.json', json.dumps({'k%d' % i: {'v': i} for i in range(30000)}))


@pytest.mark.skipif(not pandas_here, reason='pandas')
def test_a_large_member_is_read_to_its_end(tmp_path):
    """What of a member was not looked at may have dates and numbers that are none: its lines do not raise."""
    rows = ['2024-01-%02d,%d,%s' % (i % 28 + 1, i, 'x' * 40) for i in range(130000)]
    with zipfile.ZipFile(tmp_path / 'days.zip', 'w', zipfile.ZIP_DEFLATED) as z:
        z.writestr('days.csv', 'day,n,text\n' + '\n'.join(rows) + '\n2020-13-45,none,y\n')
    text = prof.profile(str(tmp_path / 'days.zip'))
    df = frame(text)['df']
    assert len(df) == 130001 and df['day'].isna().sum() == df['n'].isna().sum() == 1 and 'datetime64' in str(df['day'].dtype), text
    assert 'about 130' in text and "such as '2020-13-45'" in text, text


@pytest.mark.skipif(not pandas_here, reason='pandas')
def test_a_compressed_database_is_unpacked(tmp_path):
    unpacked = pathlib.Path('/tmp/.shop-%d.db' % os.getpid())
    with contextlib.closing(sqlite3.connect(tmp_path / unpacked.name)) as con, con:
        con.execute('create table goods (name text, price real)')
        con.executemany('insert into goods values (?, ?)', [('tea', 2.5), ('jam', 4.0)])
    text = said(tmp_path, unpacked.name + '.gz', gzip.compress((tmp_path / unpacked.name).read_bytes()))
    try:
        assert list(frame(text)['df' if 'df = ' in text else 'goods']['price']) == [2.5, 4.0], text
    finally:
        unpacked.unlink(missing_ok=True)


PACKED = 'packed-%d.zip' % os.getpid()      # and so is the folder below /tmp to which the code unpacks it


def archived(tmp_path, **members):
    """The profile of a ZIP with these members, __ standing for the dot of a name."""
    with zipfile.ZipFile(tmp_path / PACKED, 'w') as z:
        for name, content in members.items():
            z.writestr('in/' + name.replace('__', '.'), content)
    text = prof.profile(str(tmp_path / PACKED))
    return text.partition(prof.MARK)[0]


def test_a_member_that_is_no_text_is_unpacked(tmp_path):
    """And then read and described as a file of its kind is, also from a ZIP in a ZIP, or from gzip."""
    pandas = pytest.importorskip('pandas')
    pandas.DataFrame({'n': range(30), 'kind': ['ab'[i % 2] for i in range(30)]}).to_stata(tmp_path / 's.dta', write_index=False)
    stata = (tmp_path / 's.dta').read_bytes()
    (tmp_path / 's.dta').unlink()
    text = archived(tmp_path, README='words ' * 2000, s__dta=stata)
    assert "\nin/s.dta:\n30 rows, columns: 'n' (int, 0 to 29, all different), 'kind' (text: a, b)" in text and frame(text)['df']['n'].sum() == 435, text
    text = archived(tmp_path, **{PACKED.replace('.', '__'): (tmp_path / PACKED).read_bytes()})
    assert 'in/s.dta:\n30 rows' in text and frame(text)['df']['n'].sum() == 435 and '/tmp/tmp' not in text, text
    text = said(tmp_path, 'stata-%d.dta.gz' % os.getpid(), gzip.compress(stata))
    assert "30 rows, columns: 'n'" in text and frame(text)['df']['n'].sum() == 435, text
    pathlib.Path('/tmp/.stata-%d.dta' % os.getpid()).unlink(missing_ok=True)
    shutil.rmtree('/tmp/.' + PACKED[:-4], True)


def test_the_tables_of_an_archive_are_told_before_its_texts(tmp_path):
    """Two that are no parts of one are joined, as two files are."""
    pytest.importorskip('pandas')
    text = archived(tmp_path, README__txt='About it\n' * 500, customers__csv='id,name\n' + ''.join('%d,n%d\n' % (i, i) for i in range(20)),
                    orders__csv='no,customer_id,paid\n' + ''.join('%d,%d,%d.5\n' % (i + 500, i % 20, i) for i in range(60)))
    made = frame(text)
    assert len(made['customers']) == 20 and len(made['both']) == 60 and 'About it' not in text and text.count("orders = pd.read_csv(z.open('in/orders.csv'))") == 1, text


def test_an_archive_without_end(tmp_path):
    """One within one within one is looked into twice, and no further."""
    text = archived(tmp_path, a__csv='n,x\n1,2\n3,4\n')
    for _ in range(4):
        text = archived(tmp_path, next__zip=(tmp_path / PACKED).read_bytes())
    assert text.count('a ZIP archive of 1: ') == 3 and 'columns' not in text, text


def test_members_that_need_a_password_are_counted(tmp_path):
    archived(tmp_path, a__csv='n,x\n1,2\n3,4\n', b__csv='n,x\n1,2\n3,4\n')
    raw = bytearray((tmp_path / PACKED).read_bytes())
    raw[raw.rindex(b'PK\x01\x02') + 8] |= 1
    text, _, wrong = prof.profile(make(tmp_path, 'locked.zip', bytes(raw))).partition(prof.MARK)
    assert wrong == '1 of its 2 files need a password' and 'z.setpassword(' in text and 'in/a.csv:\n' in text, text


def test_a_tar_of_the_oldest_kind(tmp_path):
    """It begins with no mark, but has a checksum; a file of NULs is no tar."""
    member = tarfile.TarInfo('rows.csv')
    member.size = len(CSV)
    head = bytearray(member.tobuf(tarfile.USTAR_FORMAT))
    head[257:512] = bytes(255)
    head[148:156] = b' ' * 8
    head[148:156] = b'%06o\0 ' % sum(head)
    text = said(tmp_path, 'old.tar', bytes(head) + CSV.encode().ljust(1024, b'\0') + bytes(1024))
    assert 'a tar archive of 1 file: rows.csv' in text and "'amount' (float" in text, text
    assert 'a tar' not in said(tmp_path, 'nothing', bytes(20480))


def dbf(names, rows, width=12):
    """A dBase file that names no code page."""
    head = struct.pack('<B3xIHH20x', 3, len(rows), 33 + 32 * len(names), 1 + width * len(names))
    fields = b''.join(name.encode().ljust(11, b'\0') + b'C' + bytes(4) + bytes([width]) + bytes(15) for name in names)
    return head + fields + b'\r' + b''.join(b' ' + b''.join(cell.ljust(width) for cell in row) for row in rows) + b'\x1a'


def test_a_dbase_file_without_a_code_page(tmp_path):
    pytest.importorskip('dbfread')
    rows = [(('Köln', 'Düsseldorf', 'Kiel')[i % 3].encode('cp1252'), b'%d' % i) for i in range(9)]
    text = said(tmp_path, 'towns.dbf', dbf(['town', 'id'], rows))
    assert "'town' (text: Düsseldorf, Kiel, Köln)" in text and list(frame(text)['df']['town'][:2]) == ['Köln', 'Düsseldorf'], text
    assert '\nencoding guessed: cp1252\n' in text, text


def test_arrays_with_fields_are_frames_and_one_that_cannot_be_read_spares_the_others(tmp_path):
    h5py = pytest.importorskip('h5py')
    numpy = pytest.importorskip('numpy')
    with h5py.File(tmp_path / 'a.h5', 'w') as f:
        f['_i_rows/sorted'] = numpy.arange(5)
        f['rows'] = numpy.array([(b'a', 1.5), (b'b', 2.5)], [('name', 'S4'), ('x', 'f8')])
        f['plain'] = numpy.arange(7)
    text = prof.profile(str(tmp_path / 'a.h5'))
    assert "2 rows, columns: 'name' (text: a, b), 'x' (float, 1.5 to 2.5)" in text and frame(text)['df']['x'].sum() == 4, text
    assert 'of 3 arrays: plain int64, shape (7,), 0 to 6; rows records of name, x' in text, text


def test_a_table_in_a_document_of_word(tmp_path):
    pytest.importorskip('pandas')
    cell = '<w:tc><w:p><w:r><w:t>%s</w:t></w:r></w:p></w:tc>'
    rows = [('town', 'sold'), ('Bonn', '3'), ('Ulm', '4')]
    with zipfile.ZipFile(tmp_path / 'a.docx', 'w') as z:
        z.writestr('word/document.xml', '<w:document xmlns:w="w"><w:body><w:p><w:r><w:t>Our sales</w:t></w:r></w:p><w:tbl>%s</w:tbl></w:body></w:document>' % ''.join(
            '<w:tr>%s</w:tr>' % ''.join(cell % c for c in row) for row in rows))
    text = prof.profile(str(tmp_path / 'a.docx'))
    assert "2 rows, columns: 'town' (text: Bonn, Ulm), 'sold' (int, 3 to 4)" in text and 'Our sales' in text and frame(text)['df']['sold'].sum() == 7, text


def test_a_workbook_that_excel_wrote_in_xml(tmp_path):
    pytest.importorskip('pandas')
    rows = ''.join('<Row>%s</Row>' % ''.join('<Cell><Data>%s</Data></Cell>' % c for c in row) for row in (('town', 'sold'), ('Bonn', 3), ('Ulm', 4)))
    book = ('<?xml version="1.0"?>\n<?mso-application progid="Excel.Sheet"?>\n<Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet">'
            '<Worksheet Name="a"><Table>%s</Table></Worksheet></Workbook>')
    text = said(tmp_path, 'a.xls', book % rows)
    assert "'sold' (int, 3 to 4)" in text and frame(text)['df']['sold'].sum() == 7, text
    assert 'df = pd.read_csv' not in said(tmp_path, 'b.xls', book % rows.replace('<Cell>', '<Cell ss:Index="3" xmlns:ss="x">', 1))


def test_a_pdf_has_pages_and_words(tmp_path):
    pypdf = pytest.importorskip('pypdf')
    words = b'BT /F1 12 Tf 20 80 Td (Sales of May) Tj ET'
    parts = [b'<</Type/Catalog/Pages 2 0 R>>', b'<</Type/Pages/Kids[3 0 R]/Count 1>>',
             b'<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 100]/Contents 4 0 R/Resources<</Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>',
             b'<</Length %d>>\nstream\n%s\nendstream' % (len(words), words)]
    raw, places = b'%PDF-1.4\n', []
    for i, part in enumerate(parts, 1):
        places.append(len(raw))
        raw += b'%d 0 obj\n%s\nendobj\n' % (i, part)
    table = b''.join(b'%010d 00000 n \n' % at for at in places)
    raw += b'xref\n0 5\n0000000000 65535 f \n%strailer\n<</Size 5/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n' % (table, len(raw))
    text = said(tmp_path, 'a.pdf', raw)
    assert text.endswith('a PDF of 1 page; page 1 begins:\nSales of May') and 'Sales of May' in frame(text)['text'], text
    writer = pypdf.PdfWriter()
    writer.add_blank_page(200, 100)
    writer.write(tmp_path / 'b.pdf')
    text, _, wrong = prof.profile(str(tmp_path / 'b.pdf')).partition(prof.MARK)
    assert wrong == 'its first page holds no text' and 'but pictures' in text, text


MAIL = b'Return-Path: <a@example.org>\nReceived: from x\n\tby y\nFrom: Ann <a@example.org>\nTo: b@example.org\nSubject: Sales\n\nDear Bob, ...\n'


@pytest.mark.parametrize('name, content, words', [
    ('letter', MAIL, 'Subject: Sales'), ('my.cnf.ini', b'[server]\nskip_locking\nport = 1\n', "{'server': {'skip_locking': None, 'port': '1'}}"),
    ('page.html', '<html><meta charset="big5"><table><tr><td>中文</td><td>資料</td></tr></table><p>科技紫微網開卡服務</p>'.encode('big5'), 'big5'),
    ('a.7z', b'7z\xbc\xaf\x27\x1c' + bytes(50), 'a 7z archive'), ('a.rar', b'Rar!\x1a\x07\1\0' + bytes(50), 'a RAR archive'),
    ('a.pkl', b'\x80\x04\x95\x0a\0\0\0', 'a pickle: to load it runs')])
def test_what_has_a_form_by_its_beginning(tmp_path, name, content, words):
    assert words in said(tmp_path, name, content)


def test_the_tables_of_a_text_index_are_none_of_a_database(tmp_path):
    pytest.importorskip('pandas')
    text = stored(tmp_path, 'create virtual table docs using fts5(title, body); create table other (n)', docs=[('a', 'b')], other=[(1,)])
    assert 'docs: 1 row' in text and 'other: 1 row' in text and 'docs_' not in text, text


def test_the_tables_with_the_rows_are_the_first_of_a_database(tmp_path):
    """What a GeoPackage keeps of itself has a row or two."""
    pytest.importorskip('pandas')
    text = stored(tmp_path, 'create table gpkg_contents (name text); create table places (id integer)', gpkg_contents=[('places',)], places=[(i,) for i in range(30)])
    assert text.index('places = ') < text.index('gpkg_contents = '), text


def test_categories_of_stata_are_told(tmp_path):
    pandas = pytest.importorskip('pandas')
    pandas.DataFrame({'kind': pandas.Categorical(['ab'[i % 2] for i in range(9)]), 'n': range(9)}).to_stata(tmp_path / 's.dta', write_index=False)
    text = prof.profile(str(tmp_path / 's.dta'))
    assert "\nof dtype category: 'kind'\n" in text and str(frame(text)['df']['kind'].dtype) == 'category', text
