"""The profile of a data file (src/guest/profile.py): what it says must be true, and the code it gives must run.

It is called directly here, with Debian's python3 and its pandas; through the sandbox it is the same function.
"""

import importlib.util
import json
import os
import pathlib
import random
import sqlite3
import struct
import subprocess
import time
import types
import zipfile

import pytest

GUEST = pathlib.Path(__file__).resolve().parents[2] / 'src' / 'guest'
SOURCES = [str(GUEST / name) for name in ('profile.py', 'profile_table.py', 'profile_formats.py')]     # one text for the sandbox
pandas_here = importlib.util.find_spec('pandas') is not None


def load():
    module = types.ModuleType('profile_under_test')
    for path in SOURCES:
        exec(compile(pathlib.Path(path).read_text(), path, 'exec'), module.__dict__)
    return module


prof = load()


def make(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def said(tmp_path, name, content):
    text = prof.profile(make(tmp_path, name, content))
    assert len(text.encode()) <= 4096
    assert all(c == '\n' or c.isprintable() for c in text)
    return text


def frame(text):
    """Run the lines a profile gives for reading, as a model would."""
    pytest.importorskip('pandas')
    code = []
    for line in text.split('\n'):
        if not line.startswith(('import ', 'df[', 'text =')):
            break
        code.append(line)
    space = {}
    exec('\n'.join(code), space)
    return space


def test_plain_csv(tmp_path):
    rows = ''.join('2023-%02d-01,%s,%d.5\n' % (i % 12 + 1, ('North', 'South')[i % 2], i) for i in range(40))
    text = said(tmp_path, 'a.csv', 'date,region,amount\n' + rows)
    assert "40 rows, columns: 'date' (datetime), 'region' (text: North, South), 'amount' (float)" in text
    assert 'first 3 rows:\n2023-01-01,North,0.5\n' in text
    assert len(text) < 300 + len(str(tmp_path))
    df = frame(text)['df']
    assert str(df['date'].dtype).startswith('datetime64') and df['amount'].sum() == sum(i + .5 for i in range(40))


def test_german_csv(tmp_path):
    rows = ''.join('%02d.%02d.2023;Köln;1.2%02d,5;0%04d\n' % (i + 1, i % 12 + 1, i, i) for i in range(25))
    text = said(tmp_path, 'b.csv', ('Datum;Ort;Preis;PLZ\n' + rows).encode('cp1252'))
    assert "sep=';'" in text and "decimal=','" in text and "thousands='.'" in text and "encoding='cp1252'" in text
    assert "format='%d.%m.%Y'" in text
    df = frame(text)['df']
    assert df['Preis'][1] == 1201.5 and df['PLZ'][3] == '00003' and df['Ort'][0] == 'Köln'
    assert df['Datum'][24].day == 25 and df['Datum'][24].month == 1


@pytest.mark.parametrize('rows, form', [
    (['13/02/2024', '01/03/2024'], '%d/%m/%Y'),
    (['02/13/2024', '03/01/2024'], '%m/%d/%Y'),
    (['5 Mar 2024', '17 Apr 2024'], '%d %b %Y'),
    (['March 5, 2024', 'April 17, 2024'], '%B %d, %Y'),
    (['2024/03/05', '2024/12/31'], '%Y/%m/%d'),
    (['05.03.24', '31.12.24'], '%d.%m.%y'),
])
def test_date_formats(tmp_path, rows, form):
    text = said(tmp_path, 'd.csv', 'when;n\n' + ''.join('%s;%d\n' % (r, i) for i, r in enumerate(rows)))
    assert 'format=%r' % form in text
    df = frame(text)['df']
    assert str(df['when'].dtype).startswith('datetime64') and df['when'][0].year == 2024


def test_dates_that_may_be_swapped_are_said(tmp_path):
    assert 'may be swapped' in said(tmp_path, 'd.csv', 'when,n\n01/02/2024,1\n03/04/2024,2\n')


def test_missing_values_and_marks(tmp_path):
    text = said(tmp_path, 'm.csv', 'a,b,c\n1,-,x\n,2.5,y\nNA,3,z\n4,none,\n')
    assert "'a' (int, 2 missing)" in text and "'b' (float, 2 missing)" in text and "'c' (text, 1 missing)" in text
    df = frame(text)['df']
    assert df['b'].sum() == 5.5 and df['b'].isna().sum() == 2


def test_no_header(tmp_path):
    text = said(tmp_path, 'n.csv', '1,2,3\n4,5,6\n7,8,9\n')
    assert 'header=None' in text and '0 (int), 1 (int), 2 (int)' in text
    assert frame(text)['df'][1].sum() == 15


def test_header_of_years(tmp_path):
    text = said(tmp_path, 'y.csv', 'country,2019,2020\nA,1,2\nB,3,4\n')
    assert "'2019' (int)" in text and 'header=None' not in text


def test_title_above_the_table(tmp_path):
    text = said(tmp_path, 't.csv', 'Report of 2023\n\nfor all\n\nname,price\na,"1,200.50"\nb,3\n')
    df = frame(text)['df']
    assert list(df.columns) == ['name', 'price'] and df['price'].sum() == 1203.5


def test_comment_lines(tmp_path):
    df = frame(said(tmp_path, 'c.csv', '# made by x\n# at y\na,b\n1,2\n3,4\n'))['df']
    assert df['b'].sum() == 6


def test_double_and_odd_names(tmp_path):
    text = said(tmp_path, 'o.csv', 'a,a, b ,\n1,2,3,4\n5,6,7,8\n')
    df = frame(text)['df']
    for name in df.columns:
        assert repr(name) in text


def test_quoted_newlines(tmp_path):
    text = said(tmp_path, 'q.csv', 'a,b\n"x\ny",1\n"z, w",2\n')
    assert '2 rows' in text and 'x\\ny' in text
    assert frame(text)['df']['b'].sum() == 3


def test_tsv_with_bom(tmp_path):
    df = frame(said(tmp_path, 'u.tsv', b'\xef\xbb\xbf' + 'naïve\tb\nä\t1\nö\t2\n'.encode()))['df']
    assert list(df.columns) == ['naïve', 'b']


def test_utf16(tmp_path):
    df = frame(said(tmp_path, 'u.csv', 'a;b\nä;1\nö;2\n'.encode('utf-16')))['df']
    assert df['b'].sum() == 3


def test_without_pandas(tmp_path, monkeypatch):
    module = load()
    monkeypatch.setattr(module, 'has', lambda name: False)
    text = module.profile(make(tmp_path, 's.csv', 'a;b\n1,5;02.03.2024\n2,5;29.04.2024\n'))
    assert 'import pandas' not in text and 'date %d.%m.%Y' in text
    space = {}
    exec(text.split('\n')[0], space)
    assert space['rows'][0] == {'a': '1,5', 'b': '02.03.2024'}


def test_json_records(tmp_path):
    data = [{'id': i, 'name': 'n%d' % i, 'when': '2024-01-%02d' % (i % 28 + 1), 'gone': None} for i in range(50)]
    text = said(tmp_path, 'r.json', json.dumps(data))
    assert "50 records, columns: 'id' (int), 'name' (text), 'when' (datetime), 'gone' (empty, 50 missing)" in text
    assert str(frame(text)['df']['when'].dtype).startswith('datetime64')


def test_json_shape(tmp_path):
    text = said(tmp_path, 's.json', json.dumps({'users': [{'id': 1, 'tags': ['a', 'b'], 'addr': {'city': 'X'}}, {'id': 2}], 'n': 3}))
    assert "{'users': [{'id': 1, 'tags': ['a', ... 2 in all], 'addr': {'city': 'X'}}, ... 2 in all], 'n': 3}" in text
    text = said(tmp_path, 't.json', json.dumps([{'a': {'b': [1]}}] * 7))
    assert "a list of 7; the first: {'a': {'b': [1]}}" in text


def test_json_lines(tmp_path):
    text = said(tmp_path, 'l.jsonl', '\n'.join(json.dumps({'id': i, 'v': i / 2}) for i in range(30)))
    assert "30 records, one a line, columns: 'id' (int), 'v' (float)" in text
    assert frame(text)['df']['v'].sum() == sum(i / 2 for i in range(30))


def test_broken_json_is_text(tmp_path):
    assert 'text, 1 lines' in said(tmp_path, 'x.json', '{"a": [1, 2')
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
    assert '12 x 7 pixels' in said(tmp_path, 'p.png', b'\x89PNG\r\n\x1a\n\0\0\0\rIHDR' + struct.pack('>II', 12, 7) + b'\x08\x06\0\0\0')
    said(tmp_path, 'bad.zip', b'PK\x03\x04' + os.urandom(500))
    said(tmp_path, 'bad.jpg', b'\xff\xd8\xff\xc0')
    said(tmp_path, 'bad.bin', os.urandom(5000))
    said(tmp_path, 'bad.pdf', b'%PDF-1.4 ...')


def test_database(tmp_path):
    con = sqlite3.connect(tmp_path / 'd.db')
    con.execute('create table t (a integer, "b c" text)')
    con.commit()
    con.close()
    assert "table 't': 'a' INTEGER" in prof.profile(str(tmp_path / 'd.db')).replace('a INTEGER', "'a' INTEGER")


def test_workbook(tmp_path):
    openpyxl = pytest.importorskip('openpyxl')
    import datetime
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = 'Sales'
    sheet.append(['day', 'amount'])
    for i in range(20):
        sheet.append([datetime.datetime(2024, 1, i + 1), i * 1.5])
    book.create_sheet('Other').append(['only'])
    book.save(tmp_path / 'w.xlsx')
    text = prof.profile(str(tmp_path / 'w.xlsx'))
    assert "sheet_name='Sales'" in text and "20 rows, columns: 'day' (datetime), 'amount' (float)" in text
    assert frame(text)['df']['amount'].sum() == sum(i * 1.5 for i in range(20))


def test_wide_and_long_cells_have_an_end(tmp_path):
    names = ','.join('a_rather_long_column_name_%d' % i for i in range(1000))
    row = ','.join('1' for _ in range(1000))
    text = said(tmp_path, 'w.csv', '\n'.join([names, row, row]))
    assert 'more' in text and 'first 2 rows' in text
    said(tmp_path, 'l.csv', 'a,b\n' + 'x' * 3000000 + ',1\n2,3\n')
    said(tmp_path, 'k.json', json.dumps({'k%d' % i * 50: i for i in range(3000)}))


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


def test_large_is_quick_and_honest(tmp_path):
    rng = random.Random(1)
    line = ''.join('%d,%f,word%d,2024-01-01 10:00:00\n' % (i, rng.random(), i % 1000) for i in range(100000))
    path = make(tmp_path, 'big.csv', 'id,a,c,t\n' + line * 12)
    began = time.monotonic()
    text = prof.profile(path)
    assert time.monotonic() - began < 8
    assert 'about 1200000 rows, looked at the first ' in text


def test_csv_does_not_import_pandas(tmp_path):
    path = make(tmp_path, 'a.csv', 'a,b\n1,2\n3,4\n')
    code = 'import sys; [exec(open(p).read(), globals()) for p in %r]; profile(%r); print("pandas" in sys.modules)' % (SOURCES, path)
    assert subprocess.check_output(['/usr/bin/python3', '-I', '-c', code]).strip() == b'False'
