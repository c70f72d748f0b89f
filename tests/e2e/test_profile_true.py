"""Whatever a profile says of a table is true of the frame that its lines make: rows, names, types, each value named, what is missing. Tables are made by chance;
SANDPIPER_PROFILE_TABLES says how many (2,000 for a thorough run), and a failure names the seed that makes its table again."""
import json
import os
import random
import re

import pytest

from file_profiles import code_of, first_frame, pandas_here, prof

pytestmark = [pytest.mark.no_asan, pytest.mark.skipif(not pandas_here, reason='pandas')]
TABLES = int(os.environ.get('SANDPIPER_PROFILE_TABLES', '120'))
WORDS = ['red', 'green', 'deep blue', 'NA', 'x', '-', 'Köln', "O'Neil", 'a,b', '1st', 'say "hi"', 'true', 'None', '007', '#5', 'Ωmega', ' led', 'end ', '1,5', '(2)', '5 m', 'Total']
DATES = ['%Y-%m-%d', '%d.%m.%Y', '%m/%d/%Y', '%d/%m/%Y', '%Y/%m/%d %H:%M:%S', '%d %b %Y', '%b %d %Y', '%Y-%m-%dT%H:%M:%SZ', '%d-%b-%y', '%m/%d/%Y %I:%M:%S %p',
         '%Y-%m-%d %H:%M:%S.%f', '%Y%m%d', '%b-%y', '%y-%m-%d', '%d.%m.%y %H:%M', '%a %b %d %H:%M:%S %Y']
NUMBERS = ['%d', '%.2f', '%05d', '%d%%', '€%d.50', '%d,5', "%d'500.25", '1.%03d,5', '%d-', '(%d)', '−%d', '%de3', '+49%07d', '12345678901234%05d', '%d 500', '$ %d', '%d:15:00', '%d min', '0x%d', '%d.']


def column(dice, n):
    import datetime
    kind = dice.choice(['number', 'number', 'date', 'words', 'words', 'names', 'mixed', 'empty'])
    if kind == 'number':
        form = dice.choice(NUMBERS)
        cells = [form % dice.randrange(1, dice.choice([5, 99, 999])) for _ in range(n)]
    elif kind == 'date':
        form = dice.choice(DATES)
        start = datetime.datetime(dice.randrange(1990, 2030), 1, 1)
        cells = [(start + datetime.timedelta(hours=dice.randrange(0, 20000))).strftime(form) for _ in range(n)]
    elif kind == 'words':
        few = dice.sample(WORDS, dice.randrange(1, 5))
        cells = [dice.choice(few) for _ in range(n)]
    elif kind == 'names':
        cells = ['n%d %s' % (i, dice.choice(WORDS)) for i in range(n)]
    elif kind == 'mixed':
        cells = [dice.choice([*WORDS, '1', '2.5', '2024-01-02', '']) for _ in range(n)]
    else:
        cells = [''] * n
    gap = dice.choice(['', '', 'NA', '-', ' ', '\\N', 'n/a', '?', 'None', 'Total'])
    often = dice.choice([0, 0, 0.02, 0.2])
    return [gap if dice.random() < often else cell for cell in cells]


def quoted(cell, sep, dice):
    if any(c in cell for c in (sep, '"', '\n')) or dice.random() < 0.02:
        return '"%s"' % cell.replace('"', '""')
    return cell


def text_table(dice):
    """(name, bytes) of a table of text."""
    n, width = dice.choice([3, 7, 30, 120]), dice.choice([1, 2, 3, 5, 9, 30])
    columns = [column(dice, n) for _ in range(width)]
    sep = dice.choice(',,;\t|')
    names = [dice.choice(['when', 'date', 'price', 'id', 'Name of it', 'a', 'x%d' % i, '20%02d' % i]) + dice.choice(['', '', str(i)]) for i in range(width)]
    rows = [names] * (dice.random() < 0.85) + [list(r) for r in zip(*columns)]
    for _ in range(dice.choice([0, 0, 0, 1, 2])):       # a longer, a shorter row
        row = dice.choice(rows[1:])
        row.append('more') if dice.random() < 0.5 else row[1:] and row.pop()
    glue = sep + ' ' if dice.random() < 0.1 else sep
    lines = [glue.join(quoted(c, sep, dice) for c in row) for row in rows]
    lines = dice.choice([[], [], [], ['A title'], ['# made by x', '# at y'], ['A title' + sep * (width - 1), sep * (width - 1)]]) + lines
    lines += dice.choice([[], [], [], ['Total' + sep * (width - 1)], ['# end']])
    text = dice.choice(['\n', '\n', '\r\n', '\r']).join(lines) + dice.choice(['\n', ''])
    return dice.choice(['t.csv', 't.txt', 't.tsv']), text.encode(dice.choice(['utf-8', 'utf-8', 'utf-8-sig', 'cp1252', 'cp1250', 'utf-16']), 'replace')


def records(dice):
    n = dice.choice([3, 30])
    keys = {'k%d' % i: column(dice, n) for i in range(dice.choice([1, 3, 8]))}
    whole = {k: dice.random() < 0.3 for k in keys}
    items = [{k: int(re.sub(r'[^0-9]', '', v[i]) or 0) if whole[k] else v[i] or None for k, v in keys.items() if dice.random() < 0.95} for i in range(n)]
    if dice.random() < 0.5:
        return 't.json', json.dumps(items).encode()
    return 't.jsonl', '\n'.join(map(json.dumps, items)).encode()


def entries(said, df):
    """[(name, what is said of it)] of the columns that are described, and of the runs of columns."""
    line = next((s for s in said.split('\n') if ', columns: ' in s), None)
    told, out = line.split(', columns: ', 1)[1] if line else '', []
    while told:
        m = re.match(r"and (\d+) more", told)
        if m:
            break
        places = [told.find('), %s %s' % (prof.clean(repr(k), 60), mark)) for k in df.columns for mark in ('(', 'to ')]
        i = min((at for at in places if at > 0), default=-1)
        more = told.find('), and ')
        end = min((x for x in (i, more) if x > 0), default=len(told) - 1)
        name = next((k for k in sorted(df.columns, key=lambda k: -len(repr(k))) if told.startswith(prof.clean(repr(k), 60))), None)
        assert name is not None, told
        if told[len(prof.clean(repr(name), 60)):][:2] not in (' (', ' t'):
            break                       # names alone: there is no room for more
        out.append((name, told[len(prof.clean(repr(name), 60)) + 1:end]))
        told = told[end + 3:]
    return line, out


def check(said):
    import pandas as pd
    df = first_frame(said)
    if df is None:
        return False
    line, found = entries(said, df)
    rows = re.match(r'(?:\w+: )?(?:fixed width, )?(\d+) (row|record)s?\b', line)
    assert rows and int(rows[1]) == len(df), line
    for name, what in found:
        if what.startswith('to '):
            continue                    # a run of columns
        cells = df[name] if isinstance(df[name], pd.Series) else df[name].iloc[:, 0]
        held, what = cells.dropna(), what[1:]
        missing = re.search(r', (\d+) missing$', what)
        assert (int(missing[1]) if missing else 0) == cells.isna().sum(), (name, what)
        kind = re.match(r'[a-z]+', what)[0]
        real = {'i': 'int', 'u': 'int', 'f': 'float', 'b': 'bool', 'M': 'datetime', 'm': 'timedelta'}.get(cells.dtype.kind, 'text') if len(held) else 'empty'
        assert kind == real or real == 'text' and kind in ('text', 'numbers', 'bool', 'objects', 'int', 'float', 'dates'), (name, what, cells.dtype)
        ends = re.search(r', (-?[\d.e+-]+) to (-?[\d.e+-]+)(, all different)?(, \d+ missing)?$', what)
        if ends and kind in ('int', 'float'):
            assert [round(float(v), 6) for v in (held.min(), held.max())] == [float(ends[1]), float(ends[2])], (name, what)
        if kind == 'datetime' and ' to ' in what:
            first, last = re.search(r'(\d{4}\S*(?: [\d:.+]+)?) to (\d{4}[^,]*)', what).groups()
            assert str(held.min()).startswith(first) and str(held.max()).startswith(last), (name, what)
        different = re.search(r', (\d+) different', what)
        assert not different or int(different[1]) == held.nunique(), (name, what)
        assert 'all different' not in what or held.is_unique and len(held) == len(cells), (name, what)
        values = re.fullmatch(r'(text|int): (.*?)(, \d+ missing)?', what)
        if values and ' numbers, but ' not in what:
            shown = values[2]
            for v in sorted(map(str, held.unique()), key=len, reverse=True):
                word = repr(v) if v != v.strip() else prof.clean(v, 24)
                assert word in shown, (name, what, v)
                shown = shown.replace(word, '', 1)
            assert not shown.strip(', '), (name, what)
    return True


@pytest.mark.parametrize('part', range(4))
def test_what_is_said_is_true_of_the_frame(tmp_path, part):
    made = 0
    for seed in range(part, TABLES, 4):
        dice = random.Random(seed)
        name, content = records(dice) if seed % 5 == 4 else text_table(dice)
        (tmp_path / name).write_bytes(content)
        said = prof.profile(str(tmp_path / name)).partition(prof.MARK)[0]
        try:
            assert len(said) <= 1500
            made += check(said) if not said.endswith(' ...') and code_of(said) else 0
        except Exception as e:
            pytest.fail('seed %d: %s: %s\n%s\n%s' % (seed, type(e).__name__, e, said, content[:1500]))
        (tmp_path / name).unlink()
    assert made * 2 > TABLES // 4, made     # or nothing was looked at
