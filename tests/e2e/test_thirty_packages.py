"""test_thirty_packages.py - the thirty packages that analysts use most, from the outside index: fetched once for each Python, imported and used in a
sandbox of every engine. It fetches about 1 GB, so only `make check` runs it, and where the index cannot be reached it is skipped."""
import json
import os
import time

import pytest

from conftest import make_sandpiper
from package_index import uv

# What is asked of each: an expression that is true.
USES = {
    "seaborn": "__import__('seaborn').scatterplot(x=[1, 2], y=[3, 4]) is not None",
    "polars": "__import__('polars').DataFrame({'a': [1, 2]})['a'].sum() == 3",
    "statsmodels": "round(__import__('statsmodels.api').api.OLS([1, 2, 3.1], [[1, 1], [1, 2], [1, 3]]).fit().params[1], 2) == 1.05",
    "networkx": "__import__('networkx').shortest_path_length(__import__('networkx').path_graph(5), 0, 4) == 4",
    "plotly": "'scatter' in __import__('plotly.express').express.scatter(x=[1], y=[2]).to_json()",
    "scikit-image": "__import__('skimage.filters').filters.gaussian(__import__('numpy').eye(8)).shape == (8, 8)",
    "xgboost": "__import__('xgboost').DMatrix(__import__('numpy').ones((2, 1)), label=[1, 2]).num_row() == 2",
    "lightgbm": "__import__('lightgbm').Dataset(__import__('numpy').ones((4, 1)), label=[0, 1, 0, 1]).construct().num_data() == 4",
    "tabulate": "'1' in __import__('tabulate').tabulate([[1, 2]])",
    "tqdm": "list(__import__('tqdm').tqdm([1], disable=True)) == [1]",
    "requests": "__import__('requests').Request('GET', 'https://example.com', params={'a': 1}).prepare().url.endswith('?a=1')",
    "beautifulsoup4": "__import__('bs4').BeautifulSoup('<b>x</b>', 'html.parser').b.text == 'x'",
    "lxml": "__import__('lxml.etree').etree.fromstring('<a><b/></a>')[0].tag == 'b'",
    "pypdf": "len((lambda w: (w.add_blank_page(72, 72), w)[1])(__import__('pypdf').PdfWriter()).pages) == 1",
    "pdfplumber": "callable(__import__('pdfplumber').open)",
    "python-docx": "__import__('docx').Document().add_paragraph('x').text == 'x'",
    "xlsxwriter": "__import__('xlsxwriter').Workbook('/tmp/a.xlsx').add_worksheet().write(0, 0, 1) == 0",
    "python-calamine": "callable(__import__('python_calamine').CalamineWorkbook.from_path)",
    "pyarrow": "__import__('pyarrow').array([1, 2]).sum().as_py() == 3 if hasattr(__import__('pyarrow').Array, 'sum') else len(__import__('pyarrow').array([1, 2])) == 2",
    "duckdb": "__import__('duckdb').sql('select 40 + 2').fetchall() == [(42,)]",
    "geopandas": "__import__('geopandas').GeoSeries.from_wkt(['POINT (1 2)']).x[0] == 1",
    "shapely": "__import__('shapely').Point(0, 0).buffer(1).area > 3",
    "sympy": "str(__import__('sympy').integrate(__import__('sympy').Symbol('x'))) == 'x**2/2'",
    "mpmath": "str(__import__('mpmath').mpf(1) / 4) == '0.25'",
    "numba": "__import__('numba').njit(lambda x: x + 1)(1) == 2",
    "nltk": "__import__('nltk').tokenize.wordpunct_tokenize('a b.') == ['a', 'b', '.']",
    "wordcloud": "__import__('wordcloud').WordCloud().generate('a word cloud of words').to_array().ndim == 3",
    "emoji": "__import__('emoji').emojize(':snake:') != ':snake:'",
    "pint": "__import__('pint').UnitRegistry()('1 km').to('m').magnitude == 1000",
    "uncertainties": "str(__import__('uncertainties').ufloat(1, 0.1) * 2) == '2.00+/-0.20'",
}
CODE = """import json, time, warnings
warnings.simplefilter('ignore')
for name, use in json.loads(%r).items():
    began = time.time()
    try:
        said = 'ok' if eval(use) else 'it came to something else'
    except BaseException as e:
        said = '%%s: %%s' %% (type(e).__name__, e)
    print(json.dumps([name, said, round(time.time() - began, 2)]))
""" % json.dumps(USES)
NO_INDEX = "the index of packages cannot be reached"


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """One cache of packages for all engines, as a user has it."""
    return str(tmp_path_factory.mktemp("packages"))


@pytest.mark.check
@pytest.mark.no_asan
@pytest.mark.timeout(1800)
@pytest.mark.xdist_group("thirty packages")
@pytest.mark.skipif(not uv(), reason="there is no uv here, and none can be fetched")
def test_thirty_packages(engine, kept):
    for s in make_sandpiper(engine):
        s.write("thirty.txt", "".join(name + "\n" for name in USES))
        keep = {name: os.environ[name] for name in os.environ if name.lower().endswith("_proxy") or name.startswith(("UV_", "PIP_", "SSL_CERT"))}
        env = dict(keep, XDG_CACHE_HOME=kept, PATH="%s:%s" % (uv(), os.environ["PATH"]))
        args = ["exec", "--memory", "4g", "--timeout", "20m", "--requirements", "thirty.txt", "-c"]
        began = time.time()
        r = s.run(*args, CODE, env=env, timeout=1500)
        if NO_INDEX in r.err:
            pytest.skip("the index cannot be reached")
        first = time.time() - began
        assert r.code == 0, r
        rows = [json.loads(line) for line in r.out.splitlines() if line.startswith('["')]
        began = time.time()
        assert s.run(*args, "1", env=env).code == 0
        print("%s: first %.1f s, again %.2f s" % (engine, first, time.time() - began), rows, r.err)
        # pyarrow does not declare which numpy it needs, and bwrap's is that of this machine
        old = [row[0] for row in rows if engine == "bwrap" and row[1].startswith("ImportError: pyarrow requires NumPy")]
        assert [row[:2] for row in rows if row[0] not in old] == [[name, "ok"] for name in USES if name not in old], r.err
