"""test_children.py - processes and tasks that code starts have what it has, whatever way they are started; and nothing of what runs the code is seen
where Python prints a stack (src/sandbox/guest/children.py, hide.py)."""
import pytest

from mcp_stdio import Mcp, text

WAYS = ["fork", "spawn", "forkserver"]
SCRIPT = """import multiprocessing as mp
def sq(x): return x * x
if __name__ == '__main__':
    mp.set_start_method('%s')
    with mp.Pool(2) as p:
        print(p.map(sq, range(5)))
"""
CELL = """import math, threading
import multiprocessing as mp
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
N, lock, double = 10, threading.Lock(), lambda x: 2 * x
@dataclass
class Point:
    x: int
origin = Point(7)
if N:
    def area(p):
        with lock:
            return Point(double(p.x) + N + origin.x + math.isqrt(4) + int(Fraction(2)))
"""
ONE = "with mp.get_context('%s').Pool(2) as p: print(p.map(area, [Point(1), Point(2)]))"
OTHER = "with ProcessPoolExecutor(2, mp_context=mp.get_context('%s')) as p: print(list(p.map(area, [Point(1)])))"


@pytest.mark.parametrize("way", WAYS)
def test_a_script(sandpiper_on, way):
    """As python3 runs it, also where the file is not in the sandbox."""
    sandpiper_on.write("s.py", SCRIPT % way)
    for args, stdin in ((("s.py",), None), (("-",), SCRIPT % way)):
        r = sandpiper_on.run("exec", "--timeout", "20s", *args, stdin=stdin)
        assert (r.code, r.out, r.err) == (0, "[0, 1, 4, 9, 16]\n", ""), r


@pytest.mark.parametrize("way", WAYS)
def test_cells(sandpiper, way):
    """Functions, classes, variables of other cells, and those that cannot be pickled, without a guard."""
    m = Mcp(sandpiper, "--timeout", "20s")
    assert text(m.code(CELL)) == "(no output)"
    assert text(m.code(ONE % way)) == "[Point(x=23), Point(x=25)]\n"
    assert text(m.code("N = 20\n" + OTHER % way)) == "[Point(x=33)]\n"
    assert text(m.code("%matplotlib inline\ndef late(q): q.put(mp.current_process().name)")) == "(no output)"
    told = text(m.code("c = mp.get_context('%s')\nq = c.Queue()\np = c.Process(target=late, args=(q,), name='me')\np.start()\nprint(q.get())\n"
                       "p.join()\nprint(p.exitcode)" % way))
    assert told == "me\n0\n", told
    told = text(m.code("def bad(x):\n    return 1 / x\nwith mp.get_context('%s').Pool(1) as p: p.map(bad, [0])" % way))
    assert '", line 2, in bad\n    return 1 / x' in told and "ZeroDivisionError" in told and "<sandpiper" not in told, told
    assert m.close() == (0, "")


def test_joblib_says_nothing(sandpiper_on):
    r = sandpiper_on.run("exec", "-", stdin="import importlib.util\nprint(importlib.util.find_spec('joblib') is not None)")
    if r.out != "True\n":
        pytest.skip("this engine has no joblib")
    r = sandpiper_on.run("exec", "-", stdin="from joblib import Parallel, delayed\ndef sq(x): return x * x\nprint(Parallel(n_jobs=2)(delayed(sq)(i) for i in range(4)))")
    assert (r.code, r.out, r.err) == (0, "[0, 1, 4, 9]\n", ""), r


def test_a_python_started_with_our_flags_has_the_packages(sandpiper):
    code = "import subprocess, sys\nsubprocess.run([sys.executable, *subprocess._args_from_interpreter_flags(), '-c', 'import numpy; print(numpy.arange(2))']) and None"
    r = sandpiper.run("exec", "-", stdin=code)
    assert (r.code, r.out) == (0, "[0 1]\n"), r


def test_tasks_go_on_in_the_next_cell(sandpiper):
    m = Mcp(sandpiper)
    m.code("import asyncio\nasync def bg(x):\n    await asyncio.sleep(0.05)\n    return x")
    assert text(m.code("t = asyncio.create_task(bg(5), name='t')\ng = asyncio.gather(bg(6), asyncio.ensure_future(bg(7)))")) == "(no output)"
    assert text(m.code("print(t.get_name(), await t, await g)")) == "t 5 [6, 7]\n"
    assert text(m.code("asyncio.run(bg(8))")) == "8" and text(m.code("t = asyncio.create_task(bg(9))\nawait t")) == "9"
    assert text(m.code("t = asyncio.create_task(bg(9))")) == "(no output)" and text(m.code("await t")) == "9"
    assert m.close() == (0, "")


def test_stacks_end_with_the_codes_own(sandpiper):
    code = ("import inspect, logging, traceback, warnings\ndef f():\n    traceback.print_stack()\n    logging.warning('w', stack_info=True)\n"
            "    warnings.warn('careful', stacklevel=3)\nf()\nprint(traceback.extract_stack())\n"
            "print(len(traceback.StackSummary.extract(traceback.walk_stack(None))))\n"
            "try: get_ipython().run_line_magic('time', '1 / 0')\nexcept ZeroDivisionError: traceback.print_exc()")
    r = sandpiper.run("exec", "-c", code)
    assert r.code == 0 and r.out == "[<FrameSummary file <cell 1>, line 7 in <module>>]\n1\n", r
    assert r.err.count('  File "<cell 1>", line 6, in <module>\n') == 2 and "sys:1: UserWarning: careful\n" in r.err, r
    assert "sandpiper" not in r.err and "<python" not in r.err and "<string>" not in r.err, r


def test_no_path_of_ours(sandpiper):
    r = sandpiper.run("exec", "-", stdin="async def f(): pass\nf()\nimport faulthandler, inspect\nfaulthandler.dump_traceback()\nprint(inspect.stack())")
    assert r.code == 0 and "sandpiper/" not in r.out + r.err, r


def test_characters_that_no_font_has(sandpiper):
    r = sandpiper.run("exec", "-", stdin="import matplotlib.pyplot as plt\nplt.title('\u65e5\u672c\u65e5 ok')\nplt.plot([1]);")
    assert r.code == 0 and "UserWarning" not in r.err and ("[figure: no font here has \u65e5\u672c]\n" in r.err or "figure:" not in r.err), r
