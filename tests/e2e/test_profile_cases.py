"""Files that are easily misread: the frame that a profile's lines make is what a careful reader would make of the file. SANDPIPER_PROFILE_CASES names
folders (with ":" between them) of more: cases.jsonl has a file, what it shows, and an expression over df (the first frame), said and code; the files are beside it or
in files/."""
import datetime
import json
import os
import pathlib
import re
import shutil
import zipfile

import pytest

from file_profiles import code_of, first_frame, make, pandas_here, prof

pytestmark = [pytest.mark.no_asan, pytest.mark.skipif(not pandas_here, reason='pandas')]


def more():
    for folder in filter(None, os.environ.get('SANDPIPER_PROFILE_CASES', '').split(':')):
        for line in (pathlib.Path(folder) / 'cases.jsonl').read_text().splitlines():
            case = json.loads(line)
            path = pathlib.Path(folder) / 'files' / case['file']
            yield pytest.param(path if path.exists() else pathlib.Path(folder) / case['file'], case['expect'], id=case['file'])


def above(path):
    """The words above the table of a workbook."""
    import openpyxl
    rows = list(openpyxl.load_workbook(path).worksheets[0].iter_rows(values_only=True))[:8] if str(path).endswith('.xlsx') else []
    return [row[0] for row in rows if row[0] is not None and sum(v is not None for v in row) == 1][:2]


@pytest.mark.parametrize('path, expect', list(more()))
def test_more_cases(tmp_path, path, expect):
    shutil.copy(path, tmp_path / path.name)
    text = prof.profile(str(tmp_path / path.name)).partition(prof.MARK)[0]
    assert eval(expect, {'df': first_frame(text), 'said': text, 'code': code_of(text), 'above': above(path)}), text


def rows(form, n=20):
    return ''.join(form % {'i': i, 'two': '%02d' % (i % 28 + 1), 'dot': i / 4} for i in range(n))


OWN = [
    ('ids.csv', 'id,n\n' + rows('12345678901234567%(two)s,%(i)d\n') + ',7\n', "df['id'][3] == '1234567890123456704' and df['id'].isna().sum() == 1"),
    ('ids.jsonl', rows('{"id": 12345678901234567%(two)s, "n": %(i)d}\n') + '{"id": null, "n": 7}\n', "df['id'][3] == '1234567890123456704'"),
    ('zip.csv', ','.join('c%d' % k for k in range(12)) + '\n' + rows(','.join(['0%(two)s'] * 12) + '\n'), "(df.iloc[0] == '001').all()"),
    ('blank.csv', 'id,total\n' + rows('%(i)d,%(dot)s\n') + '21, \n', "df['total'].dtype == 'float64' and df['total'].isna().sum() == 1"),
    ('after.csv', 'age, work\n' + rows('%(i)d, Private\n'), "set(df['work']) == {'Private'} and \"'work' (text: Private)\" in said"),
    ('iso.csv', 'land,iso\n' + rows('Namibia,NA\nNorway,NO\n'), "(df['iso'] == 'NA').sum() == 20"),
    ('swiss.csv', "a;b\n" + rows("x;1'0%(two)s.50\n"), "df['b'][0] == 1001.5"),
    ('thin.csv', 'a;b\n' + rows('x;1\u202f0%(two)s,50\n'), "df['b'][0] == 1001.5"),
    ('sap.csv', 'a;b\n' + rows('x;1%(two)s,50-\n'), "df['b'][0] == -101.5"),
    ('brackets.csv', 'a,b\n' + rows('x,"(1,0%(two)s.00)"\ny,1%(two)s.00\n'), "df['b'][0] == -1001 and df['b'][1] == 101"),
    ('full.csv', 'a,b\n' + rows('x,１%(two)s\n'), "df['b'][0] == 101"),
    ('minus.csv', 'a,b\n' + rows('x,\u22121%(two)s.5\n'), "df['b'][0] == -101.5"),
    ('noon.csv', 'at,n\n' + rows('3/%(two)s/2021 3:05:00 PM,%(i)d\n'), "df['at'][12].day == 13 and df['at'][0].hour == 15"),
    ('utc.csv', 'at,n\n' + rows('2021-03-%(two)s 10:00:00 UTC,%(i)d\n'), "str(df['at'].dtype).startswith('datetime64') and df['at'][12].day == 13"),
    ('jan.csv', 'at,n\n' + rows('Jan-%(two)s,%(i)d\n'), "df['at'][12].year == 2013"),
    ('sas.csv', 'at,n\n' + rows('%(two)sJAN2013,%(i)d\n'), "df['at'][12].day == 13"),
    ('short.csv', 'at,n\n' + rows('14-01-%(two)s,%(i)d\n'), "df['at'][12].day == 13 and df['at'][12].year == 2014"),
    ('late.csv', 'at,n\n' + rows('2021-03-%(two)s,%(i)d\n', 99) + 'Total,9\n', "str(df['at'].dtype).startswith('datetime64') and \"1 of 100 could not be read as dates\" in said and \"such as 'Total'\" in said"),
    ('slash.csv', 'id,t\n' + rows('%(i)d,"he said \\"hi, you\\""\n'), "df['t'][0] == 'he said \"hi, you\"' and df.shape == (20, 2)"),
    ('years.csv', ',2023,,2024,\nRegion,Q1,Q2,Q1,Q2\n' + rows('r%(i)d,1,2,3,4\n'), "list(df) == ['Region', '2023 Q1', '2023 Q2', '2024 Q1', '2024 Q2'] and df['2024 Q2'].sum() == 80"),
    ('mac.csv', ('a,b\n' + rows('%(i)d,2\n')).replace('\n', '\r'), "df.shape == (20, 2)"),
    ('nul.csv', 'a,b\n' + rows('%(i)d,x\n') + '20,y\0\n', "df.shape == (21, 2)"),
    ('r.txt', 'maker\tdispl\n' + rows('%(i)d\taudi\t1.%(i)d\n'), "(df['maker'] == 'audi').all() and 'is the index' in said"),
    ('comma.csv', 'x,y\n' + rows('%(dot)s,%(i)d,\n'), "list(df) == ['x', 'y'] and df['x'][1] == .25"),
    ('sep.csv', 'sep=;\na;b\n' + rows('x;1,5\n'), "df['b'].sum() == 30"),
    ('null.tsv', 'v\tat\n' + rows('%(i)d\t2025-01-%(two)s\n') + '\\N\t\\N\n', "df['v'].isna().sum() == 1 and str(df['at'].dtype).startswith('datetime64')"),
    ('cs.csv', ('m;n\n' + rows('Plzeň;1\nHradec Králové;2\nŽďár;3\n')).encode('cp1250'), "'Plzeň' in set(df['m'])"),
    ('tr.csv', ('m;n\n' + rows('Eskişehir;1\nAğrı;2\n')).encode('cp1254'), "'Eskişehir' in set(df['m'])"),
    ('dos.csv', ('m;n\n' + rows('Müller;1\nJosé;2\n')).encode('cp437'), "'Müller' in set(df['m'])"),
    ('micro.csv', ('Conc. [pg/\xb5l],n\n' + rows('%(i)d,2\n')).encode('cp1252'), "list(df) == ['Conc. [pg/\xb5l]', 'n']"),
    ('odd.csv', b'm,n\n' + b'caf\xe9 \x9d,1\n' * 9, "len(df) == 9"),
    ('hdfs.log', rows('0811%(two)s 203615 148 INFO dfs.DataNode$PacketResponder: block %(i)d terminating\n'), "len(df) == 20 and df['time'][0].year == 2008"),
    ('colour.log', rows('\x1b[32m2025-01-%(two)s 10:00:00\x1b[0m \x1b[31mERROR\x1b[0m number %(i)d\n'), "set(df['level']) == {'ERROR'} and df['time'][12].day == 13"),
    ('r.csv', '"mpg" "cyl"\n' + rows('"%(i)d" 21.5 6\n'), "df['mpg'].dtype == 'float64' and 'is the index' in said"),
    ('blank.txt', 'a b c\n' + rows('%(i)d x y\n'), "df.shape == (20, 3) and df['a'].sum() == 190"),
    ('psql.txt', ' id | name  | sum \n----+-------+-----\n' + rows(' %(two)s | n%(two)s   | %(dot)s\n') + '(20 rows)\n', "list(df) == ['id', 'name', 'sum'] and len(df) == 20 and df['sum'].dtype == 'float64'"),
    ('mysql.txt', '+----+------+\n| id | name |\n+----+------+\n' + rows('| 1%(two)s | n%(two)s |\n') + '+----+------+\n', "df.shape == (20, 2) and df['id'].dtype == 'int64'"),
    ('foot.csv', 'region,sales\n' + rows('r%(i)d,%(i)d\n') + '\nSource: Bureau, 2024\n', "'no data but a total or a remark: Source: Bureau' in said"),
    ('iis.log', '#Software: IIS\n#Date: 2024-01-01 00:00:00\n#Fields: date time cs-method sc-status\n' + rows('2024-01-%(two)s 00:00:01 GET 200\n'), "list(df) == ['date', 'time', 'cs-method', 'sc-status'] and len(df) == 20"),
    ('one.csv', 'a,b\n1,2\n', "'1 row, columns' in said and 'first row:' in said"),
    ('doubles.csv', 'a,b\n' + rows('-0.52458192906686%(two)s,0.27752437137330754\n'), "df['a'].dtype == 'float64' and df['b'].dtype == 'float64'"),
    ('escaped.csv', 'id,title,n\n' + rows('%(i)d,Run\\, %(i)d,2\n'), "df['title'][3] == 'Run, 3' and df['n'].sum() == 40"),
    ('short.csv', 'day;a;b\n' + '2024-01-01;1;\n' * 20 + '2024-02-01;2\n' * 60, "df.shape == (80, 3) and df['a'].sum() == 140"),
    ('ref.csv', 'ref,n\n' + rows('BLR3%(two)s,2\n'), "df['ref'][0] == 'BLR301'"),
    ('mac_roman.csv', ('m,n\n' + rows('Mayag\xfcez,%(i)d\nBayam\xf3n,2\n')).replace('\n', '\r').encode('mac_roman'), "set(df['m']) == {'Mayag\xfcez', 'Bayam\xf3n'}"),
    ('yen.csv', ('m,n\n' + rows('\xa5100,%(i)d\n\xa3100,2\n')).encode('cp1252'), "set(df['m']) == {'\xa5100', '\xa3100'}"),
    ('groups.csv', ',DISCLAIMER,,PARAMETERS,,\n,DOY,HR,ETR,Dangle,DEC\n' + rows(',%(i)d,%(i)d,1413.9,0.5,-23.1\n'), "[k.split()[-1] for k in df][1:4] == ['DOY', 'HR', 'ETR'] and len(df) == 20"),
    ('money.csv', 'sum,n\n' + rows('EUR 3%(two)s,2\n'), "df['sum'][0] == 301 and 'in EUR' in said"),
    ('weekday.csv', 'day,n\n' + rows('Sun Sep %(i)d 1996,2\n')[18:], "df['day'][12].day == 13"),
    ('season.csv', 'season,n\n' + ''.join('200%d-0%d,2\n' % (i, i + 1) for i in range(9)), "df['season'][3] == '2003-04' and 'dates' not in said"),
    ('numbering.csv', 'nr,name\n' + ''.join('2009.%d,n%d\n' % (i, i) for i in range(95, 130)), "df['nr'][5] == '2009.100' and df['nr'][15] == '2009.110'"),
    ('codes.csv', 'code,n\n' + rows('3%(two)s,2\n') + '"301,302",1\n', "df['code'][20] == '301,302'"),
    ('padded.csv', 'a, b, c\n' + rows('%(i)d,%(dot)s,x\n'), "list(df) == ['a', 'b', 'c']"),
    ('wide.csv', ','.join('column number %d' % k for k in range(60)) + ',iso\n' + rows(',,x,' * 15 + '%(i)d,,,,,,,,,,,,,,,NA\n') + ',' * 60 + 'DE\n', "(df['iso'] == 'NA').sum() == 20 and df['column number 0'].isna().all() and 'columns: ' in said"),
    ('signs.txt', rows('%(dot)s 1 2\n-1%(dot)s -%(two)s 1\n'), "df.shape == (40, 3) and all(df[c].dtype.kind in 'if' for c in df)"),
    ('model.txt', ' Year x  y\n' + rows('  19%(two)s.0   1.5   -%(dot)s\n'), "list(df) == ['Year', 'x', 'y'] and df['x'].sum() == 30"),
    ('first.txt', 'Alpha                              Alpha  10\n' + rows('Name %(two)s    %(two)s   3%(two)s   4%(two)s      Name %(two)s %(two)s\n'), "len(df) == 21 or 'before them: Alpha' in said"),
    ('ends.txt', '|obsid |  z   |  name   |\n' + rows('|%(two)s    |  0.%(two)s |  n %(i)d  |\n'), "list(df) == ['obsid', 'z', 'name'] and df['name'][3] == 'n 3'"),
    ('grid.txt', '+----+------+\n| id | name |\n+====+======+\n' + rows('|  %(i)d | n%(i)d   |\n+----+------+\n'), "df.shape == (20, 2) and df['id'].sum() == 190"),
    ('bar.txt', '(\n|\n(\n', "df is None"),
    ('ipac.tbl', '\\catalog = x\n| ra   | dec  |\n| real | real |\n' + rows('  1%(two)s    2%(two)s\n'), "df is None or 'real' not in set(df.iloc[:, 0])"),
    ('blanks.csv', 'a;b;c\n' + rows('%(i)d;x;%(i)d\n') + '   ;   ;   \n', "df['a'].isna().sum() == 1 and df['c'].isna().sum() == 1 and \"'b' (text: x, 1 missing)\" in said"),
    ('python.log', rows('2026-03-%(two)s 00:00:38,569 INFO number %(i)d\n'), "df['time'][12].day == 13 and df['time'][0].microsecond == 569000"),
    ('rails.log', rows("E, [2017-08-%(two)sT18:15:08.067497 #48598] ERROR -- Kitchen: number %(i)d\n"), "set(df['level']) == {'ERROR'} and df['time'][12].day == 13"),
    ('ratings.dat', rows('%(i)d::1%(two)s::4::9783007%(two)s\n'), "df.shape == (20, 4) and df[1].sum() == sum(100 + i % 28 + 1 for i in range(20)) - 0"),
    ('movies.dat', 'id::title::kinds\n' + rows('%(i)d::Up: %(i)d (1995)::War|Drama\n'), "list(df) == ['id', 'title', 'kinds'] and df['title'][3] == 'Up: 3 (1995)'"),
    ('bars.txt', 'id||name||score\n' + rows('%(i)d||Ann, B||%(dot)s\n'), "list(df) == ['id', 'name', 'score'] and df['score'].dtype == 'float64'"),
    ('gaps.csv', 'id|name|kind|score\n' + rows('%(i)d|||%(dot)s\n'), "list(df) == ['id', 'name', 'kind', 'score'] and df['score'][1] == .25"),
    ('tabs.txt', 'id\t\tname\t\tscore\n' + ''.join('%d\t%sAnn B\t%d\n' % (i, '\t' * (i < 10), i) for i in range(20)), "list(df) == ['id', 'name', 'score'] and df['score'].sum() == 190"),
    ('runs.dat', ' "a col\tof"  b  \t\t c\n1   "two words"  \t2\n 3   four                    5\n', "list(df) == ['a col\\tof', 'b', 'c'] and df['c'].sum() == 7"),
    ('usgs.rdb', '# US\nsite_no\tday\tflow\n15s\t10d\t14n\n' + rows('0164%(two)s\t2020-01-%(two)s\t%(dot)s\n'), "len(df) == 20 and df['site_no'][3] == '016404' and df['flow'].sum() == 47.5 and 'types: 15s, 10d, 14n' in said"),
    ('stack.csv', 'Labor of counties,,,\n,,Labor,Unemploy-\nCounty,State,Force,ment Rate\nName,Code,,(%%)\n' % () + rows('c%(i)d,s,%(i)d,%(dot)s\n'),
     "list(df) == ['County Name', 'State Code', 'Labor Force', 'Unemployment Rate (%)'] and len(df) == 20 and '3 header rows' in said and 'before them: Labor of counties' in said"),
    ('years2.csv', 'Region,Sales,,Costs,\n,2023,2024,2023,2024\n' + rows('r%(i)d,1,2,3,4\n'), "list(df) == ['Region', 'Sales 2023', 'Sales 2024', 'Costs 2023', 'Costs 2024'] and len(df) == 20"),
    ('survey.csv', 'Q1,Q2,Q3\n"%s","%s","%s"\n' % tuple(w * 40 for w in ('How old? ', 'How many? ', 'How much? ')) + rows('%(i)d,2,3\n'), "list(df) == ['Q1', 'Q2', 'Q3'] and len(df) == 20 and 'also above the rows: How old?' in said"),
    ('gap.csv', 'name,a,b\nx,,late\n' + rows('n%(i)d,%(i)d,2\n'), "len(df) == 21"),
    ('ends_of_months.csv', 'Date,Sales,Price\n2023-Dec,,\nJan,-,-\n' + rows('m%(i)d,%(i)d,2\n'), "len(df) == 22 and list(df) == ['Date', 'Sales', 'Price']"),
    ('locales.dat', '"de_DE","Deutsch"\n"en_US","English"\n"es_ES","Spanish"\n"fi_FI","Finnish"\n', "len(df) == 4"),
    ('small.csv', 'a,b\n' + rows('%(i)d,%(i)de-12\n'), "'(float, 0.0 to 1.9e-11' in said"),
    ('notes.txt', '1. Title: Plants Database\n    Updated Sept 21 by a student - added information\n2. Sources:\n   (a) Creator: R.A. Fisher\n   (b) Donor: Michael (MARSHALL at io.arc)\n3. Past Usage:\n'
     '   - Publications: too many to mention!!!  Here are a few.\n   1. Fisher "The use of multiple measurements in taxonomic problems"\n   2. Duda (1973) Pattern Classification and Scene Analysis.\n', "df is None and '1. Title: Plants' in said"),
    ('cut.json', ''.join('{"a": %d, "at": "Thu Jul 13 09:30:0%d PDT 2017"},\n' % (i, i) for i in range(9)), "df is None and '\"a\": 0' in said"),
    ('events.txt', ''.join('2014-01-04 20:00:0%d Event%d happened%s\n' % (i, i, ' to user number @@item' * (i > 3)) for i in range(6)), "list(df) == ['time', 'message'] and len(df) == 6"),
    ('pm.tsv', 'A title\n2000\n' + rows('10/%(two)s/2009 07:00:00 PM\n'), "df is None or 'time' not in df"),
    ('events.csv', 'Level,Day,Id\n' + rows('Information,2024-01-%(two)s,%(i)d,"text, of it"\n'), "list(df) == ['Level', 'Day', 'Id', 'Unnamed: 3'] and df['Id'][3] == 3"),
    ('optional.csv', 'id,name,note,more\n' + rows('%(i)d,n%(i)d\n'), "list(df) == ['id', 'name', 'note', 'more'] and len(df) == 20 and df['id'][3] == 3"),
    ('lines.csv', '"A title\nover two lines",\nplace,n\n' + rows('p%(i)d,%(i)d\n'), "list(df) == ['place', 'n'] and len(df) == 20"),
    ('decades.csv', 'who,age\n' + rows('n%(i)d,%(i)d0s\n'), "df['age'][3] == '30s'"),
    ('reais.csv', 'a;b\n' + rows('x;R$ 1.0%(two)s,50\n'), "df['b'][0] == 1001.5 and 'in R$' in said"),
    ('exponents.csv', 'a;b\n' + rows('x;2,5E+0%(i)d\n', 9), "df['b'][3] == 2500"),
    ('precincts.csv', 'p,n\n' + rows('%(i)d,1\n', 110) + 'School8,1\n', "df['p'][110] == 'School8'"),
    ('less.csv', 'v,n\n' + rows('%(dot)s,1\n', 110) + '<5,1\n<5,2\n', "df['v'][111] == '<5'"),
    ('slip.csv', 'v,n\n' + rows('%(dot)s,1\n', 110) + 'n/k,1\n', "df['v'].dtype == 'float64' and \"'v': 1 of 111 could not be read as numbers\" in said"),
    ('codes.csv', 'unit;n\n' + rows('TL%(i)d;1\n'), "df['unit'][1] == 'TL1'"),
    ('hosts.csv', 'host;n\n' + rows('10.100.200.1%(i)02d;1\n'), "df['host'][1] == '10.100.200.101'"),
    ('matrix.csv', ',0,1,2\n' + rows('%(i)d,0.5,1.5,2.5\n'), "[str(c) for c in df][1:] == ['0', '1', '2'] and len(df) == 20"),
    ('first_year.csv', 'tag;n\n' + ''.join('14-%02d-%02d;%d\n' % (i % 12 + 1, i + 1, i) for i in range(25)), "df['tag'][0].year == df['tag'][24].year == 2014"),
    ('few.rdb', '# of it\nid\tn\tday\n11S\tN\tD\na\t1\t2020-01-01\nb\t2\t2020-01-02\n', "len(df) == 2 and df['n'].sum() == 3 and 'types: 11S, N, D' in said"),
    ('dump.sql', 'INSERT INTO `t` VALUES (0,\'n0\'),\n' + rows("(%(i)d,'n'),\n"), 'df is None'),
    ('features.gff', '2\tEnsembl\tchromosome\t-31\t21\t.\n' + rows('2\thavana\tgene\t1%(two)s\t%(i)d\t0\n'), "list(df) == [0, 1, 2, 3, 4, 5] and len(df) == 21"),
    ('page.txt', '# a code page\n0x00\t0x0000\t#NULL\n' + rows('0x%(two)s\t0x00%(two)s\t#START\n'), "list(df) == [0, 1, 2] and df[0][0] == '0x00'"),
    ('domains.csv', 'www.health.gov\n' + rows('mail%(i)d.ihs.gov\n'), "df.shape == (21, 1)"),
    ('domains_named.csv', 'domain\n' + rows('mail%(i)d.ihs.gov\n'), "list(df) == ['domain'] and len(df) == 20"),
    ('tpm.dat', rows('-2.596%(two)se-17\n'), "df.shape == (20, 1) and df[0].max() < 0"),
    ('temps.txt', '"x"\n' + rows('%(dot)s\n'), "list(df) == ['x'] and df['x'].sum() == 47.5"),
    ('raman.txt', '#Time (s)=\t1\n#Range=\tOff\n' + rows('%(dot)s\t1%(i)d\n'), "df.shape == (20, 2) and list(df) == [0, 1] and 'before them: #Time (s)=' in said"),
    ('glaciers.txt', 'id\t area\t name\n' + rows('%(i)d\t NA\t Alto\n%(i)d\t%(dot)s\t Rio\n'), "df['area'].dtype == 'float64' and set(df['name']) == {'Alto', 'Rio'}"),
    ('answers.csv', 'age,job\n' + rows('%(i)d, clerk\n?, ?\n%(i)d,none\n'), "df['age'].dtype == 'float64' and (df['job'] == 'clerk').sum() == 20"),
    ('blank_column.csv', 'a;b;c\n' + rows('%(i)d;      ;x\n'), "\"'b' (empty, 20 missing)\" in said"),
    ('meetings.csv', 'Meetings,,,,,,,,\nMinister,Date,Body,Why,,,,,\n' + rows('A B,Oct-14,Body %(i)d,Talk,,,,,\n'), "list(df)[:4] == ['Minister', 'Date', 'Body', 'Why'] and 'before them: Meetings' in said"),
    ('itogo.csv', 'who,n\n' + rows('w%(i)d,%(i)d\n') + 'Итого,190\n', "'total or a remark: Итого | 190' in said"),
    ('fields.txt', rows('Field %(i)d|Integer\n') + 'Total Number of Entries|Integer\n', "'total' not in said"),
    ('addresses.csv', 'id,address,n\n' + rows('%(i)d,"Hill\nTown\n",1\n') + '20,"A\n\n\nB\n\n",1\n', "len(df) == 21 and 'total' not in said"),
    ('qualtrics.csv', 'StartDate,Q1\nStart Date,"How old, please?"\n"{""ImportId"":""startDate""}","{""ImportId"":""QID1""}"\n2022-05-01 10:00:00,30\n',
     "list(df) == ['StartDate', 'Q1'] and df['Q1'].sum() == 30 and \"How old, please? from 'Q1'\" in said"),
    ('legacy.csv', 'V1,V7,V8,V10,Q1\nResponseID,Status,StartDate,Finished,This is a question.\nR_2YP,0,2017-07-18 08:28:09,1,2\n', "list(df)[4] == 'Q1' and df['Q1'].sum() == 2"),
    ('units_one.csv', 'At,Id,Gln,Glu,Lac,Osm\n,,mmol / L,g / L,g / L,x10^6 Cells / mL\n1/1/2020 16:20,T1,1,2,3,4\n', "df['Gln'].sum() == 1 and 'units: Gln mmol / L' in said"),
    ('monkey.csv', 'Respondent ID,Which do you use?,,,Comments\n,Phone,Tablet,Laptop,Open-Ended Response\n' + rows('1380%(two)s,Phone,,Laptop,fine\n'),
     "list(df)[1:4] == ['Which do you use? ' + w for w in ('Phone', 'Tablet', 'Laptop')] and len(df) == 20"),
    ('expenses.csv', 'Date,Travel,,,Total\n,Air,Rail,Taxi,\n' + rows('%(two)s/04/2014,,£65.60,,£65.60\n'), "df['Travel Rail'].dtype == 'float64' and len(df) == 20"),
    ('election.csv', 'Station,,Electors,,,Turnout,,\nNo,Name,Male,Female,Sum,Male,Female,Sum of all that were counted by hand\n'.replace('Name', 'Name ' + 'of the place ' * 30)
     + rows('%(i)d,K,1,2,3,1,2,3\n'), "df['Male.1'].sum() == 20 and \"Turnout from 'Male.1'\" in said"),
    ('blast.tab', 2 * ('# BLASTN 2.2\n# Fields: query id, subject id, % identity\n' + rows('33%(two)s\tgi|%(i)d\t9%(two)s.5\n')),
     "list(df) == ['query id', 'subject id', '% identity'] and df.shape == (40, 3) and df['% identity'].dtype == 'float64'"),
    ('http.tsv', '#separator \\x09\n#path\thttp\n#fields\tts\tid.orig_h\turi\n#types\ttime\taddr\tstring\n' + rows('13%(two)s.5\t10.0.0.1\t/q=#%(i)d\n') + '#close\t2017\n',
     "list(df) == ['ts', 'id.orig_h', 'uri'] and df['uri'][19] == '/q=#19' and df['ts'].dtype == 'float64'"),
    ('pages.csv', 2 * ('id,n\n' + rows('%(i)d,%(dot)s\n')), "df.shape == (40, 2) and df['n'].dtype == 'float64' and 'left out: 1 repeated header' in said"),
    ('separators.csv', 'a,b\n' + rows('%(i)d,"x\ny"\n') + ',\n' * 50, "len(df) == 20 and df['a'].dtype == 'int64' and 'left out: 50 empty rows' in said and 'at its end' not in said"),
    ('scattered.csv', 'a,b\n' + rows('%(i)d,1\n,\n', 200), "len(df) == 400 and 'among the rows: 200 empty rows' in said"),
    ('short.sam', 'EAS\t69\tchr1\t100\n' + rows('EAS\t1%(two)s\tchr1\t100\tMF:i:64\tAq:i:0\n'), "df.shape == (21, 6) and df[1][0] == 69 and df[4].isna().sum() == 1"),
    ('plates.csv', 'Set up,Oct 01,,\nPosition,25-A,,\nType,PM 1,,\n,,,\nHour,A01,A02,A03\n' + rows('%(dot)s,4,46,0\n'),
     "df is None and 'several tables with empty lines between them, which begin: Set up' in said and ' / Hour,A01,A02,A03' in said"),
    ('lanes.csv', 'Lane,Tiles,Reads\n' + rows('%(i)d,1,2.5\n') + 'Read 2 (I),,\nLane,Tiles,Reads\n' + rows('%(i)d,1,2.5\n') + '\nCalled: 59,,\n', "df is None and 'several tables' in said"),
    ('keys.csv', 'Count of cells; ;\nImage;A;\nAlive;92.8;\nDead;7.2;\n; ;\nDiameter;13.2;\nBy;Dr;\n', "'several tables' in said"),
    ('two.csv', 'a,b,c\n' + rows('x%(i)d,1,2\n') + '\nday,sum,part\n' + rows('y%(i)d,3,4\n'), "'several tables' in said"),
    ('groups.csv', 'a,b,c\n' + rows('x%(i)d,1,2\n') + '\n' + rows('y%(i)d,3,4\n'), "len(df) == 40 and 'several' not in said"),
    ('zone.csv', 'at,' + ','.join('long name of a column %d b' % k for k in range(22)) + '\n' + rows('2023-05-%(two)sT10:00:00Z' + ',%(dot)s' * 22 + '\n'), "'(datetime with its zone)' in said"),
    ('joiner.csv', '\u200bname,n\n' + rows('A\u200dnn,%(i)d\n'), "'invisible characters in its cells or names: U+200B, U+200D' in said"),
]


@pytest.mark.parametrize('name, content, expect', OWN, ids=[case[0] for case in OWN])
def test_own_cases(tmp_path, name, content, expect):
    text = prof.profile(make(tmp_path, name, content)).partition(prof.MARK)[0]
    assert len(text) <= 1500 and eval(expect, {'df': first_frame(text), 'said': text}), text


@pytest.mark.parametrize('name, content, expect', [
    ('a.toml', '[a]\nx = 1\n[b]\ny = "z"\n', "data['b']['y'] == 'z' and \"{'a': {'x': 1}\" in said"),
    ('a.ini', '[a]\nx = 1\n[b]\ny = 50%\n', "data['b']['y'] == '50%' and \"'b': {'y': '50%'}\" in said"),
    ('a.eml', 'From: a@b.c\nSubject: Hi\nDate: Mon, 1 Jan 2024 10:00:00 +0000\n\nHello\n', "data['Subject'] == 'Hi' and 'text/plain' in said"),
    ('a.arff', '@relation r\n@attribute n numeric\n@attribute "a b" {x,y}\n@data\n' + rows('%(i)d,x\n'), "list(df) == ['n', 'a b'] and len(df) == 20"),
    ('rows.xml', '<?xml version="1.0"?><posts>' + rows('<row Id="%(i)d" Score="2" />') + '</posts>', "df.shape == (20, 2) and df['Id'].sum() == 190"),
    ('walk.gpx', '<?xml version="1.0"?><gpx xmlns="http://www.topografix.com/GPX/1/1"><trk>' + rows('<trkpt lat="48.%(i)d" lon="9"><ele>3</ele></trkpt>') + '</trk></gpx>',
     "list(df) == ['lat', 'lon', 'ele'] and len(df) == 20"),
    ('notes.md', '# Report\n\nText.\n\n| id | name |\n|----|:----:|\n' + rows('| %(i)d | n%(i)d |\n') + '\nThe end.\n', "list(df) == ['id', 'name'] and df['id'].sum() == 190 and df['name'][1] == 'n1'"),
    ('dates.ics', 'BEGIN:VCALENDAR\r\n' + rows('BEGIN:VEVENT\r\nDTSTART;TZID=Europe/Berlin:202401%(two)sT100000\r\nSUMMARY:Meeting\r\n  %(i)d\r\nEND:VEVENT\r\n') + 'END:VCALENDAR\r\n',
     "len(df) == 20 and df['DTSTART'][12].day == 13 and df['SUMMARY'][1] == 'Meeting 1'"),
    ('style.xml', '<?xml version="1.0"?><W>' + rows('<S ID="%(i)d"><A x="1"/><B x="1"/><C x="1"/></S>') + '<S Name="x"/></W>', "'df' not in globals() and '... 21 in all' in said"),
    ('guests.ics', rows('BEGIN:VEVENT\nSUMMARY:%(i)d\nATTENDEE:a%(i)d\nATTENDEE:b%(i)d\nEND:VEVENT\n'), "df['ATTENDEE'][3] == 'a3 | b3' and 'joined with \" | \": ATTENDEE (up to 2 times)' in said"),
    ('authors.xml', '<?xml version="1.0"?><books>' + rows('<book><t>T%(i)d</t><by>A</by><by>B</by></book>') + '</books>', "len(df) == 20 and 'only the last is kept: by' in said"),
    ('a.cfg', '[a]\nx = 1\n', "data['a']['x'] == '1'"),
    ('page.html', '<!-- saved --><html><body><table><tr><th>ort</th></tr>' + rows('<tr><td>Köln %(i)d</td></tr>') + '</table></body></html>', "df['ort'][1] == 'Köln 1'"),
    ('first.html', '<html><table><tr><td>id</td><td>name</td></tr>' + rows('<tr><td>%(i)d</td><td>n</td></tr>') + '</table></html>', "list(df) == ['id', 'name'] and df['id'].sum() == 190"),
    ('none.html', '<!DOCTYPE html>\n<html><head><meta charset="utf-8"><p>No table</html>\n', "'No table' in text and 'ET.' not in said"),
    ('broken.xml', '<?xml version="1.0"?><a><b>1</b><c></a>', "'<b>1' in text and 'ET.' not in said"),
    ('bare.geojson', '{"type": "FeatureCollection", "features": [{"type": "Feature", "geometry": {"type": "Point", "coordinates": [9, 48]}}]}', "len(data['features']) == 1 and 'GeoJSON: 1 Point, longitude 9 to 9' in said"),
    ('some.geojson', '{"type": "FeatureCollection", "features": [{"type": "Feature", "geometry": null, "properties": {"a": 1}}, {"type": "Feature", "geometry": null}]}', "len(df) == 2 and df['a'][0] == 1"),
    ('votable.xml', '<?xml version="1.0"?><VO><TABLE>' + rows('<f a="%(i)d" b="2"/>') + '</TABLE></VO>', "df.shape == (20, 2)"),
    ('latin.xml', '<?xml version="1.0" encoding="ISO-8859-1"?><r>'.encode() + rows('<e><n>%(i)d</n><c>Köln</c></e>').encode('latin-1') + b'</r>', "df['c'][3] == 'Köln'"),
    ('words.html', '<html><table>' + rows('<tr><td>word %(i)d</td><td>other</td></tr>') + '</table></html>', "df.shape == (20, 2)"),
    ('quotes.arff', '@relation r\n@attribute n string\n@attribute m numeric\n@data\n' + rows('"O\'Neil, Tom",%(i)d\n'), "df['n'][0] == \"O'Neil, Tom\" and df['m'].sum() == 190"),
    ('alarm.ics', 'BEGIN:VEVENT\nDESCRIPTION:Ours\nBEGIN:VALARM\nDESCRIPTION:Ring\nEND:VALARM\nEND:VEVENT\n' * 3, "set(df['DESCRIPTION']) == {'Ours'} and 'TRIGGER' not in df"),
    ('page.xls', '<html><table><tr><th>id</th><th>v</th></tr>' + rows('<tr><td>%(i)d</td><td>2</td></tr>') + '</table></html>', "df.shape == (20, 2)"),
])
def test_what_is_no_table_of_text_gets_its_lines(tmp_path, name, content, expect):
    text = prof.profile(make(tmp_path, name, content)).partition(prof.MARK)[0]
    space = {}
    exec(code_of(text), space)
    assert eval(expect, {**space, 'said': text}), text


MANY = {'pl': 'nazwa;miasto\nŻółć Łukasz;Gdańsk\nŚwięty Józef;Łódź\nMałgorzata;Poznań\n', 'cs': 'jméno;město\nJiří;Plzeň\nŽofie;Hradec Králové\nŘehoř;Žďár nad Sázavou\n',
        'hu': 'név;város\nGyőző;Győr\nÁrvíztűrő;Hódmezővásárhely\nÜllői út;Székesfehérvár\n', 'tr': 'ad;şehir\nŞükrü;Eskişehir\nAyşe;Ağrı\nİbrahim;Iğdır\n',
        'de': 'Name;Ort\nMüller;München\nGroß;Köln\nJäger;Düsseldorf\n', 'fr': 'nom;ville\nRené;Orléans\nFrançois;Besançon\nHélène;Nîmes\n', 'es': 'nombre;ciudad\nJosé;Málaga\nIñigo;Cádiz\n',
        'ar': 'الاسم;المدينة\nمحمد;القاهرة\nفاطمة;بغداد\nأحمد;دمشق\n', 'th': 'ชื่อ;เมือง\nสมชาย;กรุงเทพ\nมาลี;เชียงใหม่\n', 'ja': '名前;都市\n田中太郎;東京都\n鈴木花子;大阪市\n佐藤さくら;カナガワ\n',
        'ru': 'имя;город\nИван;Москва\nОльга;Екатеринбург\n', 'zh': '姓名;城市\n王小明;北京市\n李华;上海市\n张伟;广州市\n', 'ko': '이름;도시\n김철수;서울\n이영희;부산\n'}
PAGES = {'pl': 'cp1250 iso8859-2 cp852', 'cs': 'cp1250 iso8859-2 cp852', 'hu': 'cp1250 iso8859-2 cp852', 'tr': 'cp1254 iso8859-9 cp857', 'de': 'cp1252 mac_roman cp437 cp850', 'fr': 'cp1252 mac_roman cp850',
         'es': 'cp1252 mac_roman cp850', 'ar': 'cp1256', 'th': 'cp874', 'ja': 'cp932 euc-jp iso2022-jp', 'ru': 'cp1251 koi8-r cp866', 'zh': 'gb18030', 'ko': 'cp949'}


@pytest.mark.parametrize('language, page', [(language, page) for language, pages in PAGES.items() for page in pages.split()])
def test_a_guessed_encoding_reads_the_text_and_is_told_as_guessed(tmp_path, language, page):
    text = MANY[language]
    told = prof.profile(make(tmp_path, 'a.csv', text.encode(page))).partition(prof.MARK)[0]
    df = first_frame(told)
    assert [';'.join(df.columns), *df.apply(';'.join, axis=1)] == text.splitlines() and '\nencoding guessed: ' in told, told


@pytest.mark.parametrize('name, content, expect', [
    ('app.log', rows('{"ts": "2024-01-%(two)sT10:00:00Z", "level": "info", "n": %(i)d}\n'), "list(df) == ['ts', 'level', 'n'] and len(df) == 20"),
    ('dated.log', rows('[2024-01-%(two)s 10:00:00] [info] worker %(i)d done\n'), "df['time'][12].day == 13"),
    ('genes.vcf', '##fileformat=VCFv4.0\n##source=x\n#CHROM\tPOS\tID\n' + rows('20\t1%(two)s\trs%(i)d\n'), "df['POS'].sum() > 2000 and len(df) == 20"),
])
def test_a_name_does_not_hide_what_is_in_a_file(tmp_path, name, content, expect):
    said = prof.profile(make(tmp_path, name, content)).partition(prof.MARK)[0]
    assert eval(expect, {'df': first_frame(said)}), said


LOGS = [('hpc.log', '13%(two)s node-246 unix.hw state_change.unavailable 10778047%(two)s 1 Component State Change\n', "df['time'][0].year == 2004"),
        ('health.log', '201712%(two)s-22:15:29:606|Step_LSC|30002312|onStandStepChanged %(i)d\n', "df['time'][12].day == 13 and df['program'][0] == 'Step_LSC'"),
        ('tbird.log', '- 11315664%(two)s 2005.11.09 dn228 Nov 9 12:01:01 dn228/dn228 crond(pam_unix)[29%(two)s]: session closed\n', "df['time'][0].year == 2005 and df['host'][0] == 'dn228'"),
        ('cbs.log', '2016-09-%(two)s 04:30:30, Info                  CBS    Loaded Servicing Stack v%(i)d, and more\n', "df['time'][12].day == 13 and df['level'][0] == 'Info'"),
        ('german.log', '%(two)s.11.2026 10:00:00 INFO main: number %(i)d\n', "df['time'][12].day == 13 and df['level'][0] == 'INFO'"),
        ('euro.log', '%(two)s/03/24 10:00:00 INFO storage.Block: number %(i)d\n', "df['time'][12].day == 13 and df['time'][0].month == 3"),
        ('day.log', '17/06/09 20:10:%(two)s INFO storage.Block: number %(i)d\n', "df['time'][12].year == 2017 and df['time'][12].second == 13"),
        ('postgres.log', '2021-02-%(two)s 01:34:02 CET [302%(two)s]: db=a,user=b LOG:  statement: select (\n\t  %(i)d)\n',
         "df['zone'][0] == 'CET' and df['pid'][12] == '30213' and df['level'][0] == 'LOG' and df['message'][12] == 'statement: select (\\n\t  12)'"),
        ('slow.log', '# Time: 2021-01-%(two)sT23:45:57.678222Z\n# Query_time: 0.0%(i)d  Rows_sent: %(i)d\nSET timestamp=1611704757;\nSELECT 1;\n',
         "df['time'][12].day == 13 and 'Query_time: 0.012 ' in df['message'][12] and df['message'][12].endswith('SELECT 1;')"),
        ('general.log', '2021-01-%(two)sT23:45:57.678222Z\t   12 Query\tSELECT %(i)d\n', "df['time'][12].day == 13 and df['message'][12] == '12 Query\tSELECT 12'"),
        ('tomcat.log', '%(two)s-Mar-2021 10:00:00.123 INFO [main] org.apache.X.start Server startup in [%(i)d] ms\n', "df['time'][12].day == 13 and df['level'][0] == 'INFO'"),
        ('laravel.log', '[2021-03-%(two)s 10:00:00] local.ERROR: failed {"n": %(i)d}\n[stacktrace]\n#0 /var/x.php(1): f()\n', "df['message'][12].count('\\n') == 2"),
        ('uwsgi.log', '[pid: 88|app: 0|req: %(i)d/1] 127.0.0.1 () {38 vars in 696 bytes} [Sun Mar %(two)s 22:49:12 2016] GET /x => generated 47 bytes\n',
         "df['time'][12].day == 13 and df['message'][12].startswith('GET /x')"),
        ('strace.log', '478760 12:21:%(two)s.284771 brk(NULL)        = 0x5584b006b000 <0.0%(i)d>\n', "df['pid'][0] == '478760' and df['message'][0].startswith('brk')"),
        ('celery.log', '[2021-03-%(two)s 10:00:00,123: INFO/MainProcess] number %(i)d\n', "df['time'][12].day == 13 and df['level'][0] == 'INFO'"),
        ('serilog.log', '2021-03-%(two)s 10:00:00.123 +01:00 [WRN] number %(i)d\n', "df['time'][12].day == 13 and df['level'][0] == 'WRN'"),
        ('compose.log', 'web_1  | {"level": "info", "time": "2021-03-%(two)sT10:00:00Z", "msg": "number %(i)d"}\n', "df['time'][12].day == 13 and df['prefix'][0] == 'web_1'"),
        ('pod.log', '2021-03-%(two)sT10:00:00.123456789Z stderr F number %(i)d is done\n', "df['time'][12].day == 13 and df['stream'][0] == 'stderr'"),
        ('maven.log', '[WARNING] number %(i)d, or more\n', "df['level'][0] == 'WARNING' and df['message'][3] == 'number 3, or more'")]


@pytest.mark.parametrize('name, line, expect', LOGS, ids=[log[0] for log in LOGS])
def test_forms_of_logs(tmp_path, name, line, expect):
    said = prof.profile(make(tmp_path, name, rows(line))).partition(prof.MARK)[0]
    df = first_frame(said)
    assert len(df) == 20 and eval(expect, {'df': df}), said


def test_a_bad_time_and_a_table_of_times(tmp_path):
    """One time of many that is none is missing, and the others are read; rows of a time and a number are no log."""
    line = '<34>1 2003-10-%(two)sT22:14:15.003Z host app 12 ID47 - number %(i)d\n'
    df = first_frame(prof.profile(make(tmp_path, 'a.log', rows(line, 3) + line.replace('2003', '203') % {'two': '01', 'i': 3} +
                                       line.replace('Z', '-07:00') % {'two': '09', 'i': 4})))
    assert df['time'].isna().sum() == 1 and df['time'][2].day == 3 and df['time'][4].hour == 5
    said = prof.profile(make(tmp_path, 'n.log', rows('2016-06-%(two)sT01:00:04.650000  -%(i)d.5\n')))
    assert 'a log' not in said and first_frame(said).iloc[3, 1] == -3.5, said


def sheet(tmp_path, rows, *merged):
    import openpyxl
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for cells in merged:
        book.active.merge_cells(cells)
    book.save(tmp_path / 'a.xlsx')
    said = prof.profile(str(tmp_path / 'a.xlsx')).partition(prof.MARK)[0]
    return said, first_frame(said)


def test_two_header_rows_of_which_one_cell_stands_over_both(tmp_path):
    df = sheet(tmp_path, [['Region', 2023, None, 2024, None], [None, 'Q1', 'Q2', 'Q1', 'Q2'], *(['r%d' % i, i, i, i, i] for i in range(8))], 'B1:C1', 'D1:E1', 'A1:A2')[1]
    assert list(df) == ['Region', '2023 Q1', '2023 Q2', '2024 Q1', '2024 Q2'] and len(df) == 8


def test_three_header_rows_and_an_empty_one_below_a_title(tmp_path):
    df = sheet(tmp_path, [['Labor Force by County'], [], [None, 'State', None, None, 'Unemploy-'], ['LAUS', 'FIPS', None, 'Labor', 'ment Rate'], ['Code', 'Code', 'Year', 'Force', '(%)'], [],
                          *(['CN%d' % i, '0%d' % i, 2001, i * 100, i / 4] for i in range(9))])[1]
    assert list(df) == ['LAUS Code', 'State FIPS Code', 'Year', 'Labor Force', 'Unemployment Rate (%)'] and len(df) == 9 and df['State FIPS Code'][3] == '03'


def test_a_sheet_that_is_no_table_is_told_as_it_is(tmp_path):
    said, df = sheet(tmp_path, [[None, 'Report of the year'], [], *([None, 'Text that explains %d' % i] for i in range(40)), [None, 'x', 3, 'd'], [], [None, 'y', 'z', 'w']])
    assert 'no one table with a header' in said and 'Text that explains 3' in said and df.iloc[2, 1] == 'Text that explains 0'


def test_gaps_that_no_merged_cells_made_are_not_filled(tmp_path):
    df = sheet(tmp_path, [['a', 'b'], *([i if i % 2 else None, i] for i in range(8)), [9, 9], [None, 10]], 'A10:A11')[1]
    assert df['a'].isna().sum() == 5


def test_cells_that_are_merged_in_the_header_fill_nothing(tmp_path):
    rows = [[i if i != 4 else None, i + .5, i + .5] for i in range(8)]
    df = sheet(tmp_path, [['Town', 'Sales', None], ['Name', 'Net', 'Net'], [None, '2023', '2024'], *rows], 'A2:A3')[1]
    assert len(df) == 8 and df.iloc[:, 0].isna().sum() == 1


def test_files_of_one_form_are_never_joined(tmp_path):
    """Where no line reads them all, since one is in another encoding, they are not joined on what they have in common."""
    for i, year in enumerate((2004, 2009, 2014)):
        text = 'Sno,Ort,Menge\n' + ''.join('%d,Köln,%d\n' % (k, k * 7) for k in range(20))
        path = tmp_path / ('list.%d.csv' % year)
        path.write_bytes(text.encode('cp1252' if i == 1 else 'utf-8'))
        os.utime(path, (1e9 + i, 1e9 + i))
    said = prof.profile(str(path))
    assert '.merge(' not in said and 'list_2014 = pd.read_csv(' in said and 'Köln' in said, said


def test_amounts_and_dates_that_a_workbook_has_as_text(tmp_path):
    df = sheet(tmp_path, [['zip', 'when', 'sum'], *(['0%04d' % i, '%02d.01.2024' % (i + 1), '1.234,%02d' % i] for i in range(15))])[1]
    assert df['zip'][1] == '00001' and df['when'][12].day == 13 and df['sum'][1] == 1234.01


def test_a_second_table_in_a_sheet_is_told(tmp_path):
    assert 'an empty row after 6 rows: what follows may be another table' in sheet(tmp_path, [['a', 'b'], *([i, i] for i in range(6)), [], ['x', 'y'], ['k', 1]])[0]


def test_a_file_with_other_columns_among_those_of_a_year_is_told(tmp_path):
    for month in range(1, 6):
        name = 'sales_2024_%02d.csv' % month
        make(tmp_path, name, 'day,amount\n2024-01-01,2\n2024-01-02,3\n' if month != 3 else 'day,amount,tax\n2024-01-01,2,3\n')
        os.utime(tmp_path / name, (1e9 + month, 1e9 + month))
    said = prof.profile(str(tmp_path / name))
    assert '# 8 rows, without those with other columns: sales_2024_03.csv' in said, said


def test_the_null_marks_of_a_web_page_keep_no_column_from_its_type(tmp_path):
    pytest.importorskip('lxml')
    cells = '<tr>%s</tr>' % ('<td>%s</td>' * 3)
    page = '<table>%s</table>' % ''.join(cells % row for row in [('a', 'share', 'day'), *((i, '%d %%' % i, '2024-01-%02d' % (i + 1)) for i in range(9)), (9, 'none', '-')])
    df = first_frame(prof.profile(make(tmp_path, 'a.html', page)))
    assert df['share'].sum() == 36 and df['share'].isna().sum() == 1 and df['day'][8].day == 9


@pytest.mark.parametrize('form', ['tar', 'tar.gz', 'zip'])
def test_the_tables_of_an_archive_that_are_alike_are_one(tmp_path, form):
    os.makedirs(tmp_path / 'in')
    for k in range(3):
        make(tmp_path, 'in/m%d.csv' % k, 'day,n\n' + rows('2024-01-%(two)s,%(i)d\n'))
        make(tmp_path, 'in/._m%d.csv' % k, b'\0\5\26\7')
    path = shutil.make_archive(str(tmp_path / 'a'), {'tar.gz': 'gztar'}.get(form, form), tmp_path / 'in')
    said = prof.profile(path)
    df = first_frame(said)
    assert len(df) == 60 and df['day'][12].day == 13 and '60 rows' in said and '3 files with the same columns' in said, said


def test_a_tar_of_many_members_has_their_number(tmp_path):
    import io
    import tarfile
    with tarfile.open(tmp_path / 't.tar', 'w') as t:
        for i in range(2000):
            member = tarfile.TarInfo('f%d.bin' % i)
            member.size = 1
            t.addfile(member, io.BytesIO(b'x'))
    assert 'a tar archive of 2000 files: ' in prof.profile(str(tmp_path / 't.tar'))


def test_a_table_that_was_not_unpacked_whole_has_more_rows_than_were_seen(tmp_path, monkeypatch):
    import gzip
    monkeypatch.setattr(prof, 'UNPACKED', 10000)
    said = prof.profile(make(tmp_path, 'a.csv.gz', gzip.compress(('a,b\n' + '1,2\n' * 9000).encode())))
    assert re.search(r'^over 2\d{3} rows, columns', said, re.M), said


def test_a_key_that_an_object_has_twice_is_told(tmp_path):
    for name, text in ('a.json', '[{"a": 1, "b": 2, "a": 3}]'), ('a.jsonl', '{"a": 1}\n{"a": 1, "a": 3}\n'):
        assert "the key 'a' twice" in prof.profile(make(tmp_path, name, text)).partition(prof.MARK)[2]


def test_of_a_workbook_with_many_wide_sheets_the_first_are_told_and_each_is_parsed_once(tmp_path, monkeypatch):
    import openpyxl
    import pandas.io.excel._openpyxl as engine
    parsed, parse = [], engine.OpenpyxlReader.get_sheet_data
    monkeypatch.setattr(engine.OpenpyxlReader, 'get_sheet_data', lambda self, sheet, *rest: parsed.append(sheet.title) or parse(self, sheet, *rest))
    book = openpyxl.Workbook()
    for k in range(6):
        sheet = book.create_sheet('A name of sheet %d, long' % k)
        for i in range(9):
            sheet.append(['column %d of it %d' % (c, k) if not i else i * c for c in range(15 + k)])
    book.remove(book.worksheets[0])
    book.save(tmp_path / 'wide.xlsx')
    said = prof.profile(str(tmp_path / 'wide.xlsx'))
    told = re.findall(r"columns: 'column 0 of it (\d)'", said)
    assert 1 < len(told) < 6 and "more sheets: " in said and "sheet 5, long'" in said.split('more sheets: ')[1], said
    assert len(parsed) == len(set(parsed)) == 6, parsed


def test_long_ids_with_a_gap_in_a_database(tmp_path):
    import sqlite3
    con = sqlite3.connect(tmp_path / 'a.db')
    con.execute('create table t ("the ""id" integer, ref integer)')
    con.executemany('insert into t values (?, ?)', [(i, 76561198000000000 + i if i % 3 else None) for i in range(30)])
    con.commit()
    con.close()
    df = first_frame(prof.profile(str(tmp_path / 'a.db')))
    assert list(df) == ['the "id', 'ref'] and df['ref'][1] == '76561198000000001' and df['ref'].isna().sum() == 10


def test_years_as_text_above_numbers_are_a_header_also_below_lines_of_words(tmp_path):
    said, df = sheet(tmp_path, [['Data Source', 'Indicators'], ['Last Updated', '2021-12-16'], [], ['Country Name', 'Code', *map(str, range(2015, 2021))],
                                ['Aruba', 'ABW', *[None] * 6], *(['land %d' % i, 'L%02d' % i, *(i * 1.5 + k for k in range(6))] for i in range(9))])
    assert list(df) == ['Country Name', 'Code', *map(str, range(2015, 2021))] and len(df) == 10 and df['2015'].sum() == 54 and 'Data Source' in said


def test_the_group_above_merged_cells_is_in_every_name_below_it_and_a_title_in_none(tmp_path):
    groups, years = ['Measles coverage of all children', 'Polio coverage of all children'], ['2009-10', 'FOOTNOTES', 'SURVEY', 'PERCENT']
    df = sheet(tmp_path, [['Coverage of schools'], [None, groups[0], None, None, None, groups[1]], ['Names', *2 * years], *(['s%d' % i, *range(8)] for i in range(9))],
               'A1:I1', 'B2:E2', 'F2:I2')[1]
    assert list(df) == ['Names', *(g + ' ' + y for g in groups for y in years)] and len(df) == 9


def test_a_label_merged_over_an_empty_row_and_names_of_two_rows_with_one_of_blanks(tmp_path):
    df = sheet(tmp_path, [['Divorce'], [], ['State', 'Rate', None, None], [None, 2018, 2017, 2016], [], ['Alabama', 3.7, 3.6, 3.5], ['California', '---', '---', '---'],
                          *(['s%d' % i, i / 2, i, i] for i in range(9))], 'B3:D3')[1]
    assert list(df) == ['State', 'Rate 2018', 'Rate 2017', 'Rate 2016'] and len(df) == 11


def test_a_line_with_a_unit_is_told_and_is_no_name(tmp_path):
    said, df = sheet(tmp_path, [['Births'], [None, None, None, 'unit: persons'], ['Year', 'Born', None, 'Rate'], [None, 'all', 'boys', None], *([1990 + i, i * 9, i * 4, i / 7] for i in range(9))],
                     'B3:C3', 'A3:A4', 'D3:D4')
    assert list(df) == ['Year', 'Born all', 'Born boys', 'Rate'] and 'unit: persons' in said


def test_the_filters_above_a_pivot_table_are_no_names(tmp_path):
    df = sheet(tmp_path, [['Name', '(All)'], [], ['Sum of Size', 'Column Labels'], ['Row Labels', 'blue', 'yellow', 'Grand Total'], *([c, 1, 2, 3] for c in 'abcdef')])[1]
    assert list(df) == ['Row Labels', 'blue', 'yellow', 'Grand Total'] and len(df) == 6


def test_cells_merged_over_all_rows_of_a_table_are_not_all_header(tmp_path):
    df = sheet(tmp_path, [['A1', 'B1'], [None, 'B2'], [None, 'B3'], [None, 'B4']], 'A1:A4')[1]
    assert len(df) >= 3


def test_marks_among_the_numbers_of_a_sheet_become_missing_and_are_told(tmp_path):
    said, df = sheet(tmp_path, [['land', 2021, 2022, 'code', 'when'], *(
        ['land %d' % i, ':' if i == 3 else i / 4, '---' if i in (1, 5) else i * 10, 'A02' if i == 2 else i, '2026-05-01' if i == 4 else datetime.datetime(2026, 4, i + 1)] for i in range(12))])
    assert df['2021'].dtype == df['2022'].dtype == float and df['2021'].isna().sum() == 1 and df['2022'].sum() == 600, said
    assert "'2021', '2022': 3 could not be read as float and are missing then, such as ':', '---'" in said
    assert df['when'].max() == datetime.datetime(2026, 5, 1) and df['when'].notna().all() and df['code'][2] == 'A02' and "'code' (numbers and text: 11 numbers, but 'A02')" in said


def test_what_a_column_of_a_web_page_loses_is_told(tmp_path):
    (tmp_path / 'a.html').write_text('<table><tr><th>land<th>share</tr>%s</table>' % ''.join('<tr><td>l%d<td>%s</tr>' % (i, ':' if i == 2 else i / 4) for i in range(9)))
    assert "'share': 1 could not be read as float and are missing then, such as ':'" in prof.profile(str(tmp_path / 'a.html'))


def test_text_dates_in_an_order_that_a_spreadsheet_may_have_swapped_are_left_and_told(tmp_path):
    said, df = sheet(tmp_path, [['when', 'n'], *(['%d/04/2026' % (i + 1) if i > 11 else datetime.datetime(2026, i + 1, 4), i] for i in range(20))])
    assert df['when'][12] == '13/04/2026' and "'when' (objects: datetime, str)" in said


def test_blanks_round_the_texts_of_a_column_are_told(tmp_path):
    said = sheet(tmp_path, [['country', 'n'], *(['Country %d%s' % (i % 25, ' ' * (i > 20)), i] for i in range(40))])[0]
    assert "different, some with blanks round them)" in said and 'some with' not in sheet(tmp_path, [['country', 'n'], *(['Country %d' % i, i] for i in range(40))])[0]


def test_merged_cells_are_those_of_the_sheet_that_has_them_in_whatever_file(tmp_path):
    import openpyxl
    book = openpyxl.Workbook()
    book.active.title = 'Plain'
    merged = book.create_sheet('Merged')
    for row in [['region', 'n'], *(['North' if i == 0 else None if i < 4 else 'South %d' % i, i] for i in range(12))]:
        merged.append(row)
    merged.merge_cells('A2:A5')
    for row in [['name', 'n'], *(['a%d' % i, i] for i in range(12))]:
        book['Plain'].append(row)
    book.save(tmp_path / 'first.xlsx')
    swap = {'xl/worksheets/sheet1.xml': 'xl/worksheets/sheet2.xml', 'xl/worksheets/sheet2.xml': 'xl/worksheets/sheet1.xml'}
    with zipfile.ZipFile(tmp_path / 'first.xlsx') as old, zipfile.ZipFile(tmp_path / 'a.xlsx', 'w') as new:
        for name in old.namelist():
            text = old.read(name)
            if name == 'xl/_rels/workbook.xml.rels':
                text = text.replace(b'sheet1.xml', b'sheet3.xml').replace(b'sheet2.xml', b'sheet1.xml').replace(b'sheet3.xml', b'sheet2.xml')
            new.writestr(swap.get(name, name), text)
    said = prof.profile(str(tmp_path / 'a.xlsx'))
    assert "merged['region'] = merged['region'].ffill()" in said and "merged cells are filled down: 'region'" in said, said
