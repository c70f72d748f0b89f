"""test_same_result.py - the same cell gives the same members by each way: --json, exec --json-result, serve, MCP and exports."""
import json

import pytest

from mcp_stdio import Mcp
from serve_raw import Server
from test_rich import ask, of

CELLS = {
    "html": "class T:\n    def _repr_html_(self): return '<b>\\u00c4</b>'\n    def __repr__(self): return 'T()'\nT()",
    "plain": "6 * 7",
    "nothing": "x = 1",
    "figure": "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()",
    "file": "open('a.txt', 'w').write('abc'); None",
    "exit": "import os\nos._exit(3)",
    "raises": "1 / 0",
}
MEMBERS = ["status", "value", "data", "exit_code", "state_lost"]
WHOLE = MEMBERS + ["state_restored", "stdout", "stderr", "output"]


def serve_each(program):
    server = Server(program)
    try:
        box = server.good("/create_sandbox")["sandbox_id"]
        return {k: server.good("/run_code", sandbox_id=box, code=code) for k, code in CELLS.items()}
    finally:
        server.close()


def mcp_each(program):
    m = Mcp(program)
    try:
        return {k: m.code(code)["structuredContent"] for k, code in CELLS.items()}
    finally:
        m.close()


def exec_each(program):
    """Each has an interpreter of its own, without snapshots."""
    return {k: json.loads(program.run("exec", "--json-result", "-c", code).out) for k, code in CELLS.items()}


def said(result):
    """Its error but for the traceback, which names the cell, and for what is left of the variables."""
    error = result["error"]
    first = error and error["text"].partition(". ")[0].rstrip(".")
    return error and (error["name"], first[:1].lower() + first[1:], error["hint"], error["traceback"].count("\n"))


def bundles(book):
    """Of each cell, the bundle of its value, as a notebook has it."""
    cells = [c for c in book["cells"] if c["cell_type"] == "code"]
    values = [[o["data"] for o in c["outputs"] if o["output_type"] == "execute_result"] for c in cells]
    return dict(zip(CELLS, [v[0] if v else None for v in values]))


@pytest.mark.slow(3)
def test_by_each_way(sandpiper, serve):
    served, called, run = serve_each(sandpiper), mcp_each(sandpiper), exec_each(sandpiper)
    r = ask(sandpiper, serve, *CELLS.values())
    asked = dict(zip(CELLS, of(r, "tool_result")))
    (one,) = [json.loads(line) for line in sandpiper.run("sessions", "--json").out.splitlines()]
    exported = bundles(json.loads(sandpiper.run("sessions", "export", one["id"], "--format", "ipynb").out))
    saved = json.loads(sandpiper.run("sessions", "export", one["id"], "--format", "json").out)["questions"]
    saved = dict(zip(CELLS, [i for q in saved for i in q["items"] if i["type"] == "cell"]))
    cells = {e["cell"]: k for k, e in asked.items()}
    files = {k: [] for k in CELLS}
    for f in of(r, "file"):
        if f["name"] != "value-1.html":         # the bundle has it
            files[cells[f["cell"]]].append((f["name"], f["size"]))
    for k in CELLS:
        if k == "exit":                             # exec makes no snapshot: nothing could come after it
            run[k]["state_lost"] = False
        saved[k]["data"] = asked[k]["data"]         # of which an export has the files
        for other in served[k], called[k], run[k], saved[k]:
            assert [other[m] for m in MEMBERS] == [asked[k][m] for m in MEMBERS], (k, other)
            assert type(other["seconds"]) is float and said(other) == said(asked[k]), (k, other)
            assert [(f["name"], f["size"]) for f in other["files"] if f["name"] != "value-1.html"] == files[k], (k, other)
        assert [called[k][m] for m in WHOLE] == [served[k][m] for m in WHOLE], (k, called[k])
        assert len(called[k]["notices"]) == len(served[k]["notices"]) == (k == "exit"), (k, called[k], served[k])
        assert exported[k] == asked[k]["data"], k
    assert asked["html"]["data"] == {"text/plain": "T()", "text/html": "<b>\u00c4</b>"} and asked["exit"]["status"] == "died", asked
    assert files["file"] == [("a.txt", 3)] and files["figure"], files
