"""Profiles of files that are damaged or not what they seem (src/data/file_profile/*.py): the line that they give must read the file, and what is
wrong is said."""

import bz2
import gzip
import io
import json
import lzma
import sqlite3
import tarfile
import zipfile

import pytest

from file_profiles import frame, make, prof

pytestmark = pytest.mark.no_asan       # Python alone, called directly

ROWS = 'name,city,n\n' + ''.join('a%d,K\xf6ln,%d\n' % (i, i) for i in range(200))


def both(tmp_path, name, content):
    """(the profile, what is wrong for the user)"""
    text, _, wrong = prof.profile(make(tmp_path, name, content)).partition(prof.MARK)
    assert len(text) <= 1500
    return text, wrong


@pytest.mark.parametrize('name, content, rows, wrong', [
    ('long.csv', 'a,b\n' + '1,2\n' * 50 + '1,2,3\n' + '1,2\n' * 50, 100, '1 row has more cells than the header'),
    ('longer.csv', 'a,b,n\n' + '1,2,3\n4,5,6\n7,8,9,note\n' * 10, 30, '10 rows have more cells than the header'),
    ('shorter.csv', 'a,b,n\n' + '1,2,3\n4,5,6\n7,8\n' * 10, 30, ''),
    ('quote.csv', 'a,b\n1,"open\n2,x\n3,y\n', 3, 'a quote in it is never closed'),
    ('excel.csv', 'sep=;\na;b\n1;2\n3;4\n', 2, ''),
    ('head.csv', 'a,b,c\n', 0, 'it has a header and no rows'),
    ('one.csv', 'value\n' + ''.join('%d\n' % i for i in range(20)), 20, ''),
    ('plain.csv.gz', ROWS, 200, ''),
    ('a.csv.gz', gzip.compress(ROWS.encode()), 200, ''),
    ('a.csv.bz2', bz2.compress(ROWS.encode()), 200, ''),
    ('a.csv.xz', lzma.compress(ROWS.encode()), 200, ''),
    ('packed', bz2.compress(ROWS.encode()), 200, ''),
    ('utf16.csv', ROWS.encode('utf-16-le'), 200, ''),
    ('few.csv', ROWS.encode() + b'caf\xe9,x,1\n', 201, 'some of its bytes are not UTF-8'),
], ids=lambda v: v if isinstance(v, str) and len(v) < 20 and '\n' not in v else '')
def test_tables_that_pandas_would_not_read(tmp_path, name, content, rows, wrong):
    text, said = both(tmp_path, name, content)
    assert said == wrong
    df = frame(text)['df']
    assert len(df) == rows
    assert 'city' not in df or df['city'][0] == 'K\xf6ln'


@pytest.mark.slow(100)
def test_what_is_cut_short_is_read_as_far_as_it_goes(tmp_path):
    import random
    rows = 'n,x\n' + ''.join('%d,%d\n' % (i, random.randrange(10 ** 9)) for i in range(100000))
    for name, module in (('a.csv.gz', gzip), ('a.csv.bz2', bz2), ('a.csv.xz', lzma)):
        packed = module.compress(rows.encode())
        text, wrong = both(tmp_path, name, packed[:len(packed) * 3 // 4])
        assert wrong == 'its compressed data is cut short' and 'this is what is left' in text
        assert 1000 < len(frame(text)['df']) < 100000


def test_the_trouble_of_another_file_is_not_this_ones(tmp_path):
    make(tmp_path, 'other.csv', ROWS.encode() + b'caf\xe9,x,1\n')
    text, wrong = both(tmp_path, 'max.csv', 'name,v\na1,2\na2,3\n')
    assert not wrong and 'df_max = pd.read_csv' in text       # not max = ..., which hides Python's own


def test_json_lines_of_which_one_is_cut(tmp_path):
    lines = ''.join(json.dumps({'id': i}) + '\n' for i in range(50))
    text, wrong = both(tmp_path, 'a.jsonl', lines + '{"id": 5')
    assert wrong == '1 line is not JSON' and '50 rows; 1 line is not JSON, left out' in text
    assert len(frame(text)['data']) == 50


def test_times_across_a_change_of_the_clock(tmp_path):
    text, _ = both(tmp_path, 't.csv', 't,v\n2024-03-30T12:00:00+01:00,1\n2024-03-31T12:00:00+02:00,2\n2024-04-01T12:00:00+02:00,2\n')
    assert 'datetime64' in str(frame(text)['df']['t'].dtype)
    text, _ = both(tmp_path, 'u.csv', 't,w\n2024-03-30T12:00:00+01:00,1\n2024-03-31T12:00:00+01:00,2\n')
    assert 'utc=True' not in text


def test_a_row_of_units_is_seen(tmp_path):
    """And left out, so that what stands below it is read as numbers. One with anything else in it is a row."""
    numbers = ''.join('a,%d,%d\n' % (i, i) for i in range(20))
    text, _ = both(tmp_path, 'u.csv', 'name,time,speed\n,[s],[m/s]\n' + numbers)
    assert "'speed' (int, 0 to 19, all different)" in text and '\nunits: time [s], speed [m/s]\n' in text, text
    assert frame(text)['df']['speed'].sum() == 190
    for row in (',s,7', ',,', 'b,s,7'):
        text, _ = both(tmp_path, 'u.csv', 'name,time,speed\n%s\n' % row + numbers)
        assert '\nunits: ' not in text and len(frame(text)['df']) == (20 if row == ',,' else 21), (row, text)


@pytest.mark.parametrize('before, units', [('Air 2024;;;\nOf 3.4.2024;;;\n\n', ';;µg;°C\n'), ('Air 2024;;;\n', ''), ('', ';;µg;°C\n'),
                                           ('Air 2024\n', ';-;µg;\n')])
def test_what_excel_writes_around_a_header_is_left_out(tmp_path, before, units):
    """A title that is padded with separators, and a row of units below the header."""
    text, _ = both(tmp_path, 'air.csv', before + 'Ort;Tag;PM10;Temp\n' + units + ''.join('O%d;%02d.01.2024;%d,5;-%d,1\n' % (i % 3, i + 1, i, i) for i in range(20)))
    df = frame(text)['df']
    assert list(df) == ['Ort', 'Tag', 'PM10', 'Temp'] and len(df) == 20 and df['PM10'].sum() == 200 and df['Tag'].dt.day.max() == 20, text
    assert ('before them: Air 2024' in text) == bool(before) and ('units: PM10 µg' in text) == bool(units), text


def test_the_same_in_a_workbook(tmp_path):
    openpyxl = pytest.importorskip('openpyxl')
    book = openpyxl.Workbook()
    for row in [['Air'], [], ['Place', 'PM10'], [None, 'ug'], *([['P%d' % i, i / 2] for i in range(20)])]:
        book.active.append(row)
    book.save(tmp_path / 'w.xlsx')
    text, _ = both(tmp_path, 'w.xlsx', (tmp_path / 'w.xlsx').read_bytes())
    df = frame(text)['df']
    assert list(df) == ['Place', 'PM10'] and df['PM10'].sum() == 95 and 'units: PM10 ug' in text, text


def test_tar_archives(tmp_path):
    for name, mode in (('a.tar', 'w'), ('a.tar.gz', 'w:gz'), ('a.tar.xz', 'w:xz')):
        with tarfile.open(tmp_path / name, mode) as t:
            member = tarfile.TarInfo('../d/x.csv')
            member.size = len(ROWS.encode())
            t.addfile(member, io.BytesIO(ROWS.encode()))
        text = prof.profile(str(tmp_path / name))
        assert 'a tar archive of 1 file: ../d/x.csv (' in text and "t.extractfile('../d/x.csv')" in text
        space = {}
        exec('\n'.join(s for s in text.split('\n') if s.startswith('import ')), space)
        assert len(space['df']) == 200
    raw = (tmp_path / 'a.tar').read_bytes()
    text, wrong = both(tmp_path, 'cut.tar', raw[:1200])
    assert wrong == 'the archive cannot be read to its end' and 'a tar archive of ' in text


def test_databases(tmp_path):
    path = tmp_path / 'a.db'
    con = sqlite3.connect(path)
    con.execute('create table t (a, b)')
    con.executemany('insert into t values (?, ?)', [(i, 'x' * 50) for i in range(5000)])
    con.commit()
    con.close()
    raw = path.read_bytes()
    for content in (raw[:100] + b'\xff' * 4000 + raw[4100:], b'SQLite format 3\0' + bytes(500), raw[:len(raw) // 2]):
        text, wrong = both(tmp_path, 'bad.db', content)
        assert wrong in ('the database cannot be read', 'the database is damaged')


def test_a_database_in_use(tmp_path):
    """What was written last is only in the file beside it."""
    con = sqlite3.connect(tmp_path / 'used.db')
    con.execute('pragma journal_mode = wal')
    con.execute('create table t (a)')
    con.execute('insert into t values (1)')
    con.commit()
    raw, wal = (tmp_path / 'used.db').read_bytes(), (tmp_path / 'used.db-wal').read_bytes()
    con.close()
    text, wrong = both(tmp_path, 'copy.db', raw)
    assert wrong == 'the database has no tables' and 'in its -wal file, which is not here' in text
    make(tmp_path, 'copy.db-wal', wal)
    text, wrong = both(tmp_path, 'copy.db', raw)
    assert not wrong and ("t: 1 row," in text or "table 't' (1 row)" in text)


def test_workbooks_with_what_does_not_show(tmp_path):
    openpyxl = pytest.importorskip('openpyxl')
    book = openpyxl.Workbook()
    book.active.append(['a', 'b'])
    for i in range(2, 12):
        book.active.append([i, '=A%d*2' % i])
    secret = book.create_sheet('Secret')
    secret.sheet_state = 'hidden'
    for row in (['k', 'v'], [1, 2], [3, 4]):
        secret.append(row)
    book.save(tmp_path / 'w.xlsx')
    text = prof.profile(str(tmp_path / 'w.xlsx'))
    assert '10 formulas in it have no saved value' in text and 'secret: (a hidden sheet) 2 rows' in text


def test_workbooks_that_cannot_be_read(tmp_path):
    magic = b'\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1' + bytes(600)
    assert both(tmp_path, 'a.xlsx', magic + 'EncryptedPackage'.encode('utf-16-le') + bytes(90))[1] == 'it is encrypted; save it without a password'
    assert 'before 2007' in both(tmp_path, 'a.doc', magic + 'WordDocument'.encode('utf-16-le') + bytes(90))[1]
    with zipfile.ZipFile(tmp_path / 'b.xlsx', 'w') as z:
        z.writestr('xl/workbook.xml', '<x/>')
    assert 'an Excel workbook' in prof.profile(str(tmp_path / 'b.xlsx'))


def test_a_document_of_word(tmp_path):
    space = 'http://schemas.openxmlformats.org/wordprocessingml/2006/main'
    with zipfile.ZipFile(tmp_path / 'a.docx', 'w') as z:
        z.writestr('word/document.xml', '<w:document xmlns:w="%s"><w:body><w:p><w:r><w:t>Dear </w:t></w:r><w:r><w:t>Sir</w:t></w:r></w:p>'
                   '<w:p><w:r><w:t>Bye</w:t></w:r></w:p></w:body></w:document>' % space)
    text = prof.profile(str(tmp_path / 'a.docx'))
    assert 'a Word document, 2 paragraphs, 0 tables; it begins:\nDear Sir\nBye' in text
    found = {}
    exec(text.split('\n', 1)[0], found)
    assert found['text'] == 'Dear Sir\nBye'
