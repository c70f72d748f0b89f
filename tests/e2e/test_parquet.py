"""Parquet: what is said of a file before the first request, reading it in a cell, and that pandas with pyarrow keeps its snapshots. The image has
pyarrow (docker/wheels); bwrap has what this machine has."""
import importlib.util
import os

import pytest

from conftest import IMAGE, make_sandpiper, need_engine, quiet
from probes import session

MADE = """
import datetime, decimal, numpy as np, pandas as pd
n = 1000
pd.DataFrame({
    'id': range(n), 'region': ['north', 'south', 'NA', None] * (n // 4), 'price': np.where(np.arange(n) % 50 == 0, np.nan, np.arange(n) / 8),
    'when': pd.date_range('2024-01-01', periods=n, freq='h'), 'day': [datetime.date(2024, 1, 1) + datetime.timedelta(i) for i in range(n)],
    'amount': [decimal.Decimal(i) / 4 for i in range(n)], 'tags': [[1, 2]] * n, 'zip': ['%05d' % i for i in range(n)],
}).to_parquet('made.parquet')
big = pd.DataFrame({'k': np.arange(1_200_000), 'note': [None] * 600000 + ['x'] * 600000})
big.to_parquet('big.parquet', row_group_size=100_000)
big.head(9).set_index('k').to_parquet('index.parquet')
"""
SAID = ["import pandas as pd; df = pd.read_parquet('/mnt/data/made.parquet')\ndf['day'] = pd.to_datetime(df['day'])\ndf['amount'] = df['amount'].astype(float)\n",
        "1000 rows, columns: 'id' (int, 0 to 999, all different), 'region' (text: NA, north, south, 250 missing), "
        "'price' (float, 0.125 to 124.875, 20 missing), 'when' (datetime, 2024-01-01 to 2024-02-11 15:00:00), "
        "'day' (datetime, 2024-01-01 to 2026-09-26), 'amount' (float, 0.0 to 249.75), 'tags' (lists), 'zip' (text, digits with leading zeros, all different)\n"
        "first 3 rows:\n0 | north |  | 2024-01-01 | 2024-01-01 | 0.0 | [1 2] | 00000\n"]


@pytest.fixture(params=["docker", "podman"])
def there(request):
    need_engine(request.param)
    if "-without" in quiet([request.param, "image", "inspect", "-f", "{{index .Config.Labels \"sandpiper.source\"}}", IMAGE]).stdout:
        why = "the image was made where no index of packages could be reached: make image, where there is one"
        pytest.fail(why, pytrace=False) if os.environ.get("SANDPIPER_TEST_ENGINES") == "required" else pytest.skip(why)
    yield from make_sandpiper(request.param)


def asked(program, serve, *files, code="print('none')"):
    """What the model was told of the files."""
    server = serve(program, [{"answer": {"calls": [{"code": code}]}}, {"answer": {"text": "Done."}}])
    r = program.run("What is in it?", *[word for name in files for word in ("--add", name)])
    assert r.code == 0, r
    return server.bodies()[0]["messages"][-1]["content"], server.bodies()[1]["messages"][-1]["content"]


def test_the_profile_is_true_and_its_code_runs(there, serve):
    r = there.run("exec", "--out", ".", "-c", MADE)
    assert r.code == 0, r
    told, result = asked(there, serve, "made.parquet", code=SAID[0] + "print(df.dtypes['day'], df.amount.sum(), df.shape)")
    for words in SAID:
        assert words in told, told
    assert "datetime64[ns] 124875.0 (1000, 8)" in result, result
    told, _ = asked(there, serve, "big.parquet", "index.parquet")
    assert "1200000 rows" in told and "'k' (int, 0 to 1199999" in told and "'note' (text: x, 600000 missing)" in told, told
    assert "read as the index: 'k'" in told, told


def test_what_is_no_parquet(there, serve):
    there.write("cut.parquet", b"PAR1" + bytes(300))
    told, _ = asked(there, serve, "cut.parquet")
    assert "a Parquet file, 304 bytes, that cannot be read: Parquet magic bytes not found" in told and "like this" not in told, told


def test_pandas_with_pyarrow_keeps_its_snapshots(there):
    """pyarrow's allocator would start a thread, beside which no copy can be made."""
    cells, r, _ = session.play(there, ["import os, pandas as pd\nimport pyarrow.parquet\ndf = pd.DataFrame({'a': [1]})", "os._exit(1)", "len(df)"], "--timeout", "60")
    assert cells[1].state_restored and cells[2].value == "1", (cells, r)


READ = """
import os, numpy as np, pandas as pd
pd.DataFrame({'k': np.arange(50000), 'a': ['x', None] * 25000, 'b': pd.Categorical(['p', 'q'] * 25000), 'day': pd.date_range('2024-01-01', periods=50000, freq='min')}) \\
    .set_index('k').to_parquet('a.parquet', row_group_size=10000)
df = pd.read_parquet('a.parquet')
some = pd.read_parquet('a.parquet', columns=['a'])
with open('a.parquet', 'rb') as f: again = pd.read_parquet(f)
print(len(os.listdir('/proc/self/task')))
"""
SAME = """
import pyarrow.dataset
whole = pyarrow.dataset.dataset('a.parquet').to_table().to_pandas()
print(df.equals(whole), again.equals(whole), some.equals(whole[['a']]), list(df.dtypes) == list(whole.dtypes), df.index.name, len(pd.read_parquet('a.parquet', filters=[('k', '<', 9)])))
os.makedirs('d/year=2024'); df.to_parquet('d/year=2024/x.parquet')
print(pd.read_parquet('d/year=2024/x.parquet').shape, pd.read_parquet('d').shape)
"""


def test_reading_keeps_the_snapshots(there):
    """Arrow's threads never end, and beside one no copy can be made: with one processor pandas reads without them, and reads the same."""
    cells, r, _ = session.play(there, [READ, "os._exit(1)", "print(len(df), df.index.name)", SAME], "--timeout", "60")
    assert cells[0].out == "1\n" and cells[1].state_restored and cells[2].out == "50000 k\n", (cells, r)
    first, second = cells[3].out.splitlines()
    assert first == "True True True True k 9", cells[3].out
    assert second == "(50000, 4) (50000, 4)" or second == "(50000, 3) (50000, 4)", second


READ_BY_ARROW = """
import os, pyarrow.parquet as pq
df = pq.read_table('a.parquet').to_pandas()
f = pq.ParquetFile('a.parquet')
rows = [f.read().num_rows, f.read_row_group(0).to_pandas().shape[0], sum(b.num_rows for b in f.iter_batches()), pq.read_table('a.parquet', columns=['a']).num_rows]
print(len(os.listdir('/proc/self/task')), rows)
"""


def test_reading_with_pyarrow_keeps_the_snapshots(there):
    """Not only what pandas reads: a table of pyarrow's, and its conversion."""
    cells, r, _ = session.play(there, [READ, "os._exit(1)", READ_BY_ARROW, "os._exit(1)", "print(len(df), df.index.name)", SAME], "--timeout", "60")
    assert cells[2].out == "1 [50000, 10000, 50000, 50000]\n" and cells[3].state_restored and cells[4].out == "50000 k\n", (cells, r)
    assert cells[5].out.startswith("True True True True k 9"), cells[5].out


@pytest.mark.skipif(importlib.util.find_spec("pyarrow") is not None, reason="this machine has pyarrow")
def test_without_pyarrow_the_remedy_is_told(sandpiper, serve):
    sandpiper.write("a.parquet", b"PAR1" + bytes(300))
    told, _ = asked(sandpiper, serve, "a.parquet")
    assert "a Parquet file, 304 bytes. No package here reads Parquet: pyarrow is missing. Tell the user: sandpiper --sandbox docker" in told, told
    assert "must first read it" not in told, told
