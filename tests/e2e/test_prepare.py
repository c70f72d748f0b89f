"""test_prepare.py - batch --prepare: a file runs once, each row goes on from a live copy of that interpreter in a sandbox of its own, and what one row does no other meets."""
import base64
import json
import os
import time

import pytest

import test_batch
from program import HANG
from test_batch import lines, model                             # noqa: F401

LOAD = """import os
print("loading")
table = list(range(100000))
open("/mnt/data/made.txt", "w").write("made by load")
os.makedirs("/mnt/data/deep/er")
open("/mnt/data/deep/er/x", "w").write("x" * 5000)
os.symlink("made.txt", "/mnt/data/link")
held = open("/mnt/data/made.txt")
held.read(5)

def total():
    return sum(table)

def breaks():
    raise ValueError("of load.py")
"""


@pytest.fixture
def coded(monkeypatch, model):                                  # noqa: F811
    """Its rows are Python, each run as the model's code."""
    monkeypatch.setattr(test_batch, "CODE", "import base64; exec(base64.b64decode(QUESTION).decode())")
    return model


def write_rows(s, codes, name="q.jsonl"):
    s.write(name, "".join(json.dumps({"id": "r%d" % i, "question": "do " + base64.b64encode(code.encode()).decode()}) + "\n" for i, code in enumerate(codes)))


def run(s, codes, *args, load=LOAD, code=0):
    s.write("load.py", load)
    write_rows(s, codes)
    r = s.run("batch", "q.jsonl", "-o", "out.jsonl", "--prepare", "load.py", *args, timeout=HANG * 4)
    assert code is None or r.code == code, r
    return r, {line["id"]: line["answer"] for line in lines(s)} if code in (0, 1, None) else {}


def test_rows_go_on_from_one_interpreter(sandpiper_on, coded):
    """Variables, functions, files, open files and the place in them; nothing is loaded again, and the model is told what there is."""
    m = coded(sandpiper_on)
    sandpiper_on.write("numbers.csv", "a\n1\n2\n")
    r, answers = run(sandpiper_on, ["print(total(), sorted(os.listdir('.')), open('link').read(), held.read(), os.path.getsize('deep/er/x'), open('/mnt/data/numbers.csv').read().split())",
                                    "try:\n    breaks()\nexcept ValueError:\n    import traceback\n    print(traceback.format_exc().splitlines()[-3:-1])"], "--add", "numbers.csv")
    assert r.err.count("\n") == 1 and "2 answered, 0 failed, 0 left" in r.err, r
    assert "4999950000 ['deep', 'link', 'made.txt', 'numbers.csv'] made by load by load 5000 ['a', '1', '2']" in answers["r0"], answers
    assert "load.py" in answers["r1"] and "raise ValueError" in answers["r1"], answers
    told = json.dumps(m.bodies[0]["messages"])
    assert "load.py of the user's has already run in this interpreter" in told and "It gave:\\nloading" in told.replace("\\\\n", "\\n") and "table (list)" in told
    assert "loading" not in "".join(answers.values())


def test_rows_are_apart(sandpiper_on, coded):
    """What a row changes, of variables, modules and files, no other sees; nor its processes."""
    coded(sandpiper_on)
    change = "table[:] = [1]; open('made.txt', 'w').write('changed'); open('mine%d' % id(0), 'w').write('x'); os.mine = 1; os.remove('deep/er/x')\n"
    look = "print(sum(table), getattr(os, 'mine', 0), open('made.txt').read(), len(os.listdir('.')), sum(n.isdigit() for n in os.listdir('/proc')))"
    r, answers = run(sandpiper_on, [look, change + look] * 4, "-j", "4")
    assert all(answers["r%d" % i].startswith("It is 4999950000 0 made by load 3 ") for i in (0, 2, 4, 6)), answers
    assert all(answers["r%d" % i].startswith("It is 1 1 changed 4 ") for i in (1, 3, 5, 7)), answers
    assert len({one.split()[-1] for one in answers.values() if one.startswith("It is 4")}) == 1, answers      # of processes it sees its own alone


def test_a_row_that_harms(sandpiper_on, coded):
    """One kills itself and all that it can reach, one fills the disk, one all memory, one leaves children behind, one goes for the others through
    /proc: what is not its own it cannot even name, and the rows beside it and after it have all that they began with."""
    coded(sandpiper_on)
    fill = "f = open('big', 'wb')\ntry:\n    while True:\n        f.write(bytes(1 << 20))\nexcept OSError as e:\n    print('full', e.errno)\n"
    leave = "import subprocess\nfor _ in range(5):\n    subprocess.Popen(['sleep', '1000'], start_new_session=True)\nprint('left')\n"
    eat = "x = []\nwhile True:\n    x.append(bytearray(b'x' * (16 << 20)))\n"
    reach = """mine = {1, os.getpid()}
found = [int(n) for n in os.listdir('/proc') if n.isdigit() and int(n) not in mine and os.stat('/proc/' + n).st_uid == os.getuid()]
words = [open('/proc/%d/cmdline' % pid).read() for pid in found]
alive = []
for pid in range(2, 40000):
    try:
        if pid not in mine:
            os.kill(pid, 0)
            alive.append(pid)
    except OSError:
        pass
print('others', set(alive) - set(found), [one for one in words if 'sleep' in one])
"""
    look = "import time; time.sleep(1); print(total(), open('made.txt').read(), sum(os.path.getsize(n) for n in os.listdir('.') if os.path.isfile(n)))"
    r, answers = run(sandpiper_on, [look, "os.kill(-1, 9)", fill, look, leave, eat, reach, look], "-j", "8", "--memory", "300m", code=None)
    assert all(answers["r%d" % i].startswith("It is 4999950000 made by load 24 ") or answers["r%d" % i].startswith("It is 4999950000 made by load 24.") for i in (0, 3, 7)), answers
    assert "full 28" in answers["r2"] and "left" in answers["r4"] and "others set() []" in answers["r6"], answers


def test_killed_in_the_middle(sandpiper_on, coded):
    """Nothing of it is left, neither while the file runs nor while rows do."""
    coded(sandpiper_on)
    sandpiper_on.write("load.py", LOAD + "import time\nif not os.path.exists('made.txt.x'): time.sleep(float(open('wait').read()))\n")
    write_rows(sandpiper_on, ["import time; time.sleep(100)"] * 3)
    for wait in ("100", "0"):
        sandpiper_on.write("wait", wait)
        p = sandpiper_on.start("batch", "q.jsonl", "-o", "out.jsonl", "--prepare", "load.py", "--add", "wait")
        time.sleep(4)
        assert p.poll() is None
        p.kill()
        p.wait(HANG)
        assert sandpiper_on.leftovers() == []


@pytest.mark.parametrize("load, said", [("1/0\n", ["ZeroDivisionError: division by zero", 'File "/mnt/data/load.py", line 1', "no row is asked"]),
                                        ("x = (\n", ["SyntaxError", "load.py"]), ("import sys; sys.exit(3)\n", ["no row is asked"]), (b"\xff", ["no text in UTF-8"])])
def test_a_file_that_fails(sandpiper, coded, load, said):
    m = coded(sandpiper)
    write_rows(sandpiper, ["print(1)"])
    with open(os.path.join(sandpiper.work, "load.py"), "wb") as f:
        f.write(load if isinstance(load, bytes) else load.encode())
    r = sandpiper.run("batch", "q.jsonl", "-o", "out.jsonl", "--prepare", "load.py")
    assert r.code == 2 and r.out == "" and all(one in r.err for one in said), r
    assert not m.asked and not os.path.exists(sandpiper.path("work/out.jsonl"))
    sandpiper.write("out.jsonl", "")
    r = sandpiper.run("batch", "q.jsonl", "-o", "out.jsonl", "--prepare", "none.py")
    assert r.code == 2 and "--prepare: cannot open none.py: No such file" in r.err and lines(sandpiper) == [], r        # the user's own stays


def test_where_there_can_be_no_copy(sandpiper_on, coded):
    """Threads run: each row runs the file itself, and a line says so."""
    coded(sandpiper_on)
    load = LOAD + "import threading, time\nthreading.Thread(target=lambda: time.sleep(600), daemon=True).start()\n"
    r, answers = run(sandpiper_on, ["print(total(), open('made.txt').read(), threading.active_count())"] * 2, load=load)
    assert "each row runs the file itself" in r.err and "threads are running" in r.err, r
    assert all("4999950000 made by load 2" in one for one in answers.values()), answers
