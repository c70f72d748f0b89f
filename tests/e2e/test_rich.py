"""test_rich.py - what the value of a last expression can show itself as: files, MIME bundles in --json, and outputs of a notebook."""
import base64
import json
import os

import nbformat
import pytest

TABLE = "import pandas as pd\npd.DataFrame({'name': ['Änne'], 'n': [7]})"
IMAGE = "from PIL import Image\nImage.new('RGB', (30, 20), (250, 20, 20))"
PLOT = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"


def events(r):
    return [json.loads(line) for line in r.out.splitlines()]


def of(r, kind):
    return [e for e in events(r) if e["type"] == kind]


def ask(program, serve, *codes, options=("--json",)):
    serve(program, [{"answer": {"calls": [{"code": code}]}} for code in codes] + [{"answer": {"text": "Done."}}])
    r = program.run(*options, "go")
    assert r.code == 0, r
    return r


@pytest.mark.slow(5)
def test_forms_in_json(sandpiper_on, serve):
    r = ask(sandpiper_on, serve, TABLE, IMAGE, PLOT, "1 + 1", "None")
    table, image, plot, two, none = [e["data"] for e in of(r, "tool_result")]
    assert sorted(table) == ["text/html", "text/plain"] and "Änne" in table["text/plain"]
    assert table["text/html"].startswith("<div>") and "<td>Änne</td>" in table["text/html"]
    png = base64.b64decode(image["image/png"], validate=True)
    assert png.startswith(b"\x89PNG") and "PIL.Image.Image" in image["text/plain"]
    assert plot is None and two == {"text/plain": "2"} and none is None
    files = of(r, "file")
    assert [f["name"] for f in files] == ["value-1.html", "figure-1.png", "figure-2.png"]
    with open(files[1]["path"], "rb") as f:
        assert f.read() == png
    with open(files[0]["path"], encoding="utf-8") as f:
        assert f.read().startswith('<!DOCTYPE html><meta charset="utf-8">')
    assert files[0]["data"] is None and files[1]["data"] is None            # the value's bundle has them
    with open(files[2]["path"], "rb") as f:
        assert base64.b64decode(files[2]["data"]["image/png"]) == f.read()


def test_what_is_too_large_is_only_a_file(sandpiper, serve):
    noise = "import numpy as np\nfrom PIL import Image\nImage.fromarray(np.random.default_rng(1).integers(0, 255, (1500, 1500, 3), np.uint8))"
    r = ask(sandpiper, serve, noise)
    (result,), (file,) = of(r, "tool_result"), of(r, "file")
    assert list(result["data"]) == ["text/plain"] and os.path.getsize(file["path"]) > 4 << 20


@pytest.mark.parametrize("more,shown", [((), False), (("-v",), True)])
def test_the_path_of_a_table_is_detail_for_exec_too(sandpiper, more, shown):
    r = sandpiper.run("exec", *more, "-", stdin=TABLE)
    assert r.code == 0 and ("value-1.html" in r.err) == shown, r


def test_the_model_is_told_of_images_alone(sandpiper, serve):
    r = ask(sandpiper, serve, TABLE, IMAGE)
    table, image = [e["model_text"] for e in of(r, "tool_result")]
    assert "Files made" not in table and "html" not in table
    assert "Files made, and given to the user: figure-1.png" in image


@pytest.mark.parametrize("more,shown", [((), False), (("-v",), True)])
def test_the_path_of_a_table_is_detail(sandpiper, serve, more, shown):
    r = ask(sandpiper, serve, TABLE, IMAGE, options=("--out", sandpiper.path("out")) + more)
    assert ("value-1.html" in r.err) == shown and "figure-1.png" in r.err, r
    assert sorted(os.listdir(sandpiper.path("out"))) == ["figure-1.png", "value-1.html"]


@pytest.mark.slow(10)
def test_in_a_notebook(sandpiper, serve):
    ask(sandpiper, serve, TABLE, IMAGE, PLOT, options=())
    (one,) = json.loads("[%s]" % ",".join(sandpiper.run("sessions", "--json").out.splitlines()))
    r = sandpiper.run("sessions", "export", one["id"], "--format", "ipynb")
    book = nbformat.reads(r.out, 4)
    nbformat.validate(book)
    table, image, plot = [c.outputs for c in book.cells if c.cell_type == "code"]
    assert [o["output_type"] for o in table + image + plot] == ["execute_result", "execute_result", "display_data"]
    assert "<td>Änne</td>" in table[0]["data"]["text/html"] and "Änne" in table[0]["data"]["text/plain"]
    assert base64.b64decode(image[0]["data"]["image/png"]).startswith(b"\x89PNG")


def test_an_image_that_the_code_saved_is_not_kept_twice(sandpiper, serve):
    r = ask(sandpiper, serve, "from PIL import Image\nim = Image.new('RGB', (30, 20))\nim.save('mine.png')\nim")
    assert [f["name"] for f in of(r, "file")] == ["mine.png"]


SAVED = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.savefig('mine.png', dpi=50)\nplt.close()"


@pytest.mark.slow(10)
@pytest.mark.parametrize("form,more", [("png", []), ("svg", ["svg"]), ("pdf", ["pdf"]), ("all", ["pdf", "svg"])])
def test_other_forms_of_figures(sandpiper, serve, form, more):
    """Of an open one, and of one that the code saves and closes, as models do."""
    ask(sandpiper, serve, "import matplotlib.pyplot as plt\nplt.plot([1])\nplt.figure()\nplt.plot([2])", SAVED, options=("--out", sandpiper.path("out"), "--figure-format", form))
    made = sorted("%s.%s" % (name, end) for name in ("figure-1", "figure-2", "mine") for end in ["png"] + more)
    assert sorted(os.listdir(sandpiper.path("out"))) == made
    for name in made:
        with open(os.path.join(sandpiper.path("out"), name), "rb") as f:
            start = f.read(400)
        assert {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<svg"}[name[-3:]] in start, name


@pytest.mark.slow(5)
def test_a_figure_asked_for_as_svg(sandpiper, serve):
    ask(sandpiper, serve, "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.savefig('x.svg')\nplt.savefig('x.pdf')", options=("--out", sandpiper.path("out")))
    assert sorted(os.listdir(sandpiper.path("out"))) == ["x.pdf", "x.svg"]


@pytest.mark.parametrize("engine", ["docker", "podman"], indirect=True)
def test_the_list_of_fonts_is_in_the_image(sandpiper_on, engine):
    """Else matplotlib makes it anew in each session, which takes as long as the rest of the first plot."""
    r = sandpiper_on.run("exec", "-c", "import os, matplotlib.font_manager as f\n"
                         "name = os.environ['MPLCONFIGDIR'] + '/fontlist-v%s.json' % f.FontManager.__version__\n"
                         "print(os.path.islink(name), os.path.getsize(name) > 1000)")
    assert (r.code, r.out, r.err) == (0, "True True\n", ""), r


BROUGHT = ("pandas scipy sklearn sympy statsmodels.formula.api seaborn networkx tqdm tabulate jinja2 yaml openpyxl python_calamine odf docx pyarrow pyreadstat h5py netCDF4 "
           "dbfread shapefile zstandard chardet pypdf pdfminer.high_level pdfplumber bs4 html5lib lxml PIL")


@pytest.mark.parametrize("engine", ["docker", "podman"], indirect=True)
def test_what_the_image_brings(sandpiper_on, engine):
    """Where no index of Python packages could be reached it brings less, and make image has said so."""
    r = sandpiper_on.run("exec", "-c", "import importlib, importlib.util\n"
                         "if importlib.util.find_spec('python_calamine'):\n"
                         "    for name in %r.split(): importlib.import_module(name)\n"
                         "    import pandas; assert pandas.__version__ > '2'\n" % BROUGHT, timeout=120)
    assert (r.code, r.err) == (0, ""), r


@pytest.mark.parametrize("style", ["pass", "plt.style.use('ggplot')", "plt.rcParams.update({'font.family': ['sans-serif'], 'font.sans-serif': ['Arial', 'DejaVu Sans']})",
                                   "import matplotlib; matplotlib.rcdefaults()"], ids=["none", "style", "as-seaborn", "default"])
@pytest.mark.parametrize("engine", ["docker", "podman"], indirect=True)
def test_a_figure_has_the_letters_of_other_scripts(sandpiper_on, engine, style):
    r = sandpiper_on.run("exec", "-c", "import warnings, matplotlib.pyplot as plt\n" + style + "\nwarnings.simplefilter('error')\n"
                         "plt.title('中文 日本語 한국어 ไทย हिन्दी العربية')\nimport io\nplt.savefig(io.BytesIO())\nplt.close()")
    assert (r.code, r.out, r.err) == (0, "", ""), r


LOOKED = """
import gc, time
import matplotlib.pyplot as plt
worker = next(o for o in gc.get_objects() if type(o).__name__ == 'Worker' and hasattr(o, 'evaluate'))
inside = type(worker).cell.__globals__
inside['need']('extras')
for name, args in (('save_figures', ()), ('keep_forms', (1j,))):
    took = []
    for i in range(1000):
        begin = time.perf_counter(); inside[name](worker, *args); took.append(time.perf_counter() - begin)
    print(sorted(took)[500] * 1e6)
"""


@pytest.mark.slow(5)
def test_a_cell_without_a_figure_pays_next_to_nothing(sandpiper):
    """For looking for one, with matplotlib loaded, and for other forms of its value: a microsecond; the bar is 100."""
    r = sandpiper.run("exec", "-c", LOOKED)
    assert r.code == 0 and sum(map(float, r.out.split())) < 100, r


PLOTLY = """
import io
from PIL import Image
class Figure:
    def _repr_html_(self): return '<b>interactive</b>'
    def to_image(self, format):
        out = io.BytesIO(); Image.new('RGB', (30, 20)).save(out, format); return out.getvalue()
"""


@pytest.mark.parametrize("exporter", [True, False])
def test_a_figure_of_plotly(sandpiper, serve, exporter):
    """Its own static export, where that is installed (kaleido): stand-ins of both, which the image does not have. Else its HTML alone."""
    make = "open('plotly.py', 'w').write(%r)\n%simport plotly\nplotly.Figure()" % (PLOTLY, "open('kaleido.py', 'w').close()\n" if exporter else "")
    r = ask(sandpiper, serve, make)
    (result,) = of(r, "tool_result")
    assert sorted(result["data"]) == (["image/png"] if exporter else []) + ["text/html", "text/plain"], result
    assert ("figure-1.png" in [f["name"] for f in of(r, "file")]) == exporter
