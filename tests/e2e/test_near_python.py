"""test_near_python.py - code as models and people hand it in: in fences, with prompts, curly quotes, notebook commands. It runs, and is told what
was done to it (src/sandbox/guest/near_python.py, notebook.py)."""
import json
import time

import pytest

from mcp_stdio import Mcp, text
from serving import Server

# name -> code, what it prints, what is told
REPAIRED = {
    "a fence": ("```python\nprint(5)\n```", "5\n", "the Markdown fence"),
    "the end of a fence": ("print(5)\n```\nIt prints 5.", "5\n", "the Markdown fence"),
    "a fence in an answer": ("Here it is:\n```py\nprint(5)\n```\nand then\n```\nnothing\n```", "5\n", "the Markdown fence"),
    "a fence on one line": ("```python print(5)```", "5\n", "the Markdown fence"),
    "literal ends of lines": (r'x = "a\nb"\nfor c in x.split():\n    print(c)', "a\nb\n", r"literal \n"),
    "escaped as in JSON": (r'print(\"a\\nb\")\nprint(1)', "a\nb\n1\n", r"literal \n"),
    "an indent": ("    x = 1\n    print(x)", "1\n", "its indent"),
    "an indent but for the first line": ("x = 1\n    y = 2\n    print(x + y)", "3\n", "its indent"),
    "no-break spaces": ("if True:\n\u00a0\u00a0\u00a0\u00a0print('\u00a0'.isspace())", "True\n", "no-break"),
    "zero-width spaces": ("\u200bx\u200b = 1\nprint(x, ascii('\u200b'))", "1 '\\u200b'\n", "zero-width"),
    "curly quotes": ("print(\u201chi\u201d, \u2018you\u2019)", "hi you\n", "typographic"),
    "curly quotes around others": ("print(\u201cit's\u201d, \u201cit\u2019s\u201d)", "it's it\u2019s\n", "typographic"),
    "a minus sign": ("print(5 \u2212 3)", "2\n", "typographic"),
    "prompts": (">>> x = 5\n>>> if x:\n...     print(x)\n...\n5\n", "5\n", "its prompts"),
    "numbered prompts": ("In [1]: x = 5\n\nIn [2]: if x:\n   ...:     print(x)\n   ...: \n5\nIn [3]: x\nOut[3]: 5", "5\n", "its prompts"),
    "one numbered prompt": ("In [7]:\nx = 5\nprint(x)", "5\n", "its prompts"),
    "HTML entities": ("if 1 &lt; 2 and 3 &gt; 2:\n    print(&quot;&#39;&amp;&quot;)", "'&\n", "HTML entities"),
    "several": ("```python\n    %matplotlib inline\n    print(\u201cboth\u201d)\n```", "both\n", "the Markdown fence"),
}
COMMANDS = {
    "a setting": ("%matplotlib inline\n%load_ext autoreload\nprint(1)", "1\n"),
    "shell": ("!echo hi\nfor n in range(2):\n    !echo {n} $n \\\n      ${HOME:+home}", "hi\n0 0 home\n1 1 home\n"),
    "shell into a variable": ("lines = !printf 'a\\nb\\n'\nprint(lines, lines.n)", "['a', 'b'] a\nb\n"),
    "not in a string": ("s = '''\n!echo a\n%x\n'''\nt = (7\n%4)\n!echo b\nprint(len(s), t)", "b\n12 3\n"),
    "display": ("display({'a': 1}, 'b')", "{'a': 1}\n'b'\n"),
    "imported": ("from IPython.display import display, Markdown, clear_output\nclear_output()\ndisplay(Markdown('# hi'))", "# hi\n"),
    "the interpreter": ("from IPython import get_ipython as get\nget().run_line_magic('matplotlib', 'inline')\nget_ipython().system('echo hi')", "hi\n"),
    "a file": ("%%writefile made.py\nprint('made')\n", "Writing made.py\n"),
    "another language": ("%%bash\nfor i in 1 2; do echo $i; done", "1\n2\n"),
    "captured": ("%%capture out\nprint('not seen')", ""),
}


@pytest.mark.asan_once
@pytest.mark.parametrize("name", REPAIRED)
def test_what_is_mechanical_is_repaired(sandpiper, name):
    code, out, told = REPAIRED[name]
    r = sandpiper.run("exec", "-", stdin=code)
    assert (r.code, r.out) == (0, out), r
    assert r.err.startswith("[not valid Python as it came; it ran with") and told in r.err and r.err.count("\n") == 1, r.err


@pytest.mark.asan_once
@pytest.mark.parametrize("name", COMMANDS)
def test_notebook_commands(sandpiper, name):
    code, out = COMMANDS[name]
    r = sandpiper.run("exec", "-", stdin=code)
    assert (r.code, r.out) == (0, out) and "[" not in r.err, r


@pytest.mark.asan_once
@pytest.mark.parametrize("code", ["def f(:\n    pass", "print('a", "x = (", "import os\nprint(1) x", "a\u00a0b", "!", "\u201c", ">>>", "```\n```"])
def test_the_rest_fails_as_it_did(sandpiper, code):
    r = sandpiper.run("exec", "-", stdin=code)
    assert r.code == 1 and r.out == "" and "SyntaxError" in r.err and "not valid Python as it came" not in r.err, r


def test_code_that_runs_is_left_alone(sandpiper):
    """An error while it runs is none of its text, whatever that is."""
    r = sandpiper.run("exec", "-", stdin="print('\u201c&lt;\u201d \\\\n \u00a0>>> ')\neval('1 +')")
    assert r.code == 1 and r.out == "\u201c&lt;\u201d \\n \u00a0>>> \n" and "not valid Python" not in r.err, r


def test_lines_keep_their_numbers(sandpiper):
    r = sandpiper.run("exec", "-", stdin="Look:\n```python\nx = 1\nx / 0\n```")
    assert "line 4\n    x / 0" in r.err, r.err
    r = sandpiper.run("exec", "-", stdin="%%time\nx = 1\n\nx / 0")
    assert "line 4\n    x / 0" in r.err, r.err


def test_a_session_of_cells(sandpiper):
    m = Mcp(sandpiper)
    says = lambda code: text(m.code(code))      # noqa: E731
    # While no cell runs, the worker runs cells of its own, to touch its memory: _ is none of theirs.
    assert says("6 * 9") == "54"
    time.sleep(0.2)
    assert says("_ + 1") == "55"
    assert says("6 * 7") == "42" and says("_ + 1") == "43" and says("for _ in range(3): pass\n9") == "9" and says("_") == "2"
    assert "Signature: len(obj, /)" in says("len?") and "def f(x)" in says("def f(x):\n    return 1\nf??")
    told = says("%time sum(range(10))")
    assert "CPU times: " in told and "Wall time: " in told and told.endswith("\n45"), told
    told = says("%%time\ny = 5\ny * 2")
    assert "Wall time: " in told and told.endswith("\n10") and says("y") == "5", told
    assert "loops each" in says("%timeit -n 10 -r 2 y + 1")
    told = says("!pip install numpy nosuchthing")
    assert "numpy" in told.split("\n")[0] and "nosuchthing cannot be installed" in told and "--image" in told, told
    assert "cannot be installed" in says("%pip install -q nosuchthing") == says("pip install nosuchthing")
    assert "there is no command %nosuch" in says("%nosuch 1")
    # a library that asks whether this is a notebook is told the truth
    assert says("import types\nlib = types.ModuleType('lib')\nexec('def ask():\\n    return get_ipython()', lib.__dict__)\n"
                "try: lib.ask()\nexcept NameError as e: print(e)") == "name 'get_ipython' is not defined\n"
    assert "Markdown fence" in says("```\nprint(1)\n```") and m.close() == (0, "")


def test_a_table_that_is_displayed(sandpiper, serve):
    serve(sandpiper, [{"answer": {"calls": [{"code": "import pandas as pd\ndf = pd.DataFrame({'a': [1]})\ndisplay(df)\nprint('end')"}]}},
                      {"answer": {"text": "Done."}}])
    r = sandpiper.run("--json", "go")
    lines = [json.loads(line) for line in r.out.splitlines()]
    assert [e["name"] for e in lines if e["type"] == "file"] == ["value-1.html"], r
    told = next(e["model_text"] for e in lines if e["type"] == "tool_result")
    assert told == "   a\n0  1\nend", told


def test_for_every_client(sandpiper, serve):
    """One path: the model's call, `serve`, SandboxFusion's notebooks."""
    code = "```python\n%matplotlib inline\nprint(\u201chi\u201d)\n```"
    serve(sandpiper, [{"answer": {"calls": [{"code": code}]}}, {"answer": {"text": "Done."}}])
    r = sandpiper.run("--json", "go")
    (told,) = [e["model_text"] for e in map(json.loads, r.out.splitlines()) if e["type"] == "tool_result"]
    assert "hi" in told and "without the Markdown fence around it, with plain quotes" in told, told
    server = Server(sandpiper)
    ran = server.ask("/run_code", {"sandbox_id": server.ask("/create_sandbox", {})["sandbox_id"], "code": code})
    assert ran["stdout"] == "hi\n" and "Markdown fence" in ran["stderr"], ran
    cells = server.ask("/run_jupyter", {"cells": ["%%time\nx = 1", code, "!echo {x}"]})["cells"]
    assert [c["stdout"].split("\n")[0] for c in cells][1:] == ["hi", "1"] and "Markdown fence" in cells[1]["stderr"], cells
    assert server.close() == 0


def test_ipython_where_it_is_installed(sandpiper):
    """Its transformer, without the rest of it; and its display() is the worker's."""
    m = Mcp(sandpiper)
    m.code("import os\nos.makedirs('IPython/core')\nopen('IPython/__init__.py', 'w').write('raise SystemError')\n"
           "open('IPython/core/inputtransformer2.py', 'w').write('class TransformerManager:\\n"
           "    def transform_cell(self, text):\\n        return text.replace(\"!\", \"print(4)\")\\n')")
    assert text(m.code("!")) == "4\n" and m.close() == (0, "")


def test_an_optional_dependency_is_a_missing_package(sandpiper):
    m = Mcp(sandpiper)
    told = text(m.code("raise ImportError(\"Missing optional dependency 'tabulate'.  Use pip or conda to install tabulate.\")"))
    assert "nothing can be installed: there is no network. Installed: numpy" in told and m.close() == (0, ""), told
