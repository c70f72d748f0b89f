"""test_delivery.py - files onto this machine: whole or not at all, however the program ends; not twice; and no more than a session may."""
import glob
import json
import os
import random
import signal
import sqlite3
import subprocess
import time
import zipfile

import pexpect
import pytest

from chat_keys import ask, leave, start
from conftest import BIN

MIB = 1 << 20
ASAN = b"__asan_init" in open(BIN, "rb").read()
# A file system that knows no files without a name: what it answers, in front of the C library.
SHIM = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>
int openat(int at, const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    mode_t mode = va_arg(list, mode_t);
    va_end(list);
    if ((flags & O_TMPFILE) == O_TMPFILE)
        return errno = EOPNOTSUPP, -1;
    return syscall(SYS_openat, at, path, flags, mode);
}
"""


def out_of(program):
    return sorted(os.listdir(program.path("work/out")))


# ------------------------------------------------------------------------------------------------------------ whole or not

BIG = ("with open('big.bin', 'wb') as f:\n    for i in range(150): f.write(bytes([i]) * (1 << 20))\n"
       "print('made', flush=True)\n")


def is_whole(path):
    with open(path, "rb") as f:
        return all(f.read(MIB) == bytes([i]) * MIB for i in range(150)) and f.read() == b""


def kill_in_the_middle(program, wait, env=None):
    p = program.start("exec", "--max-file", "200m", "--out", "out", "-", stdin=subprocess.PIPE, env=env)
    p.stdin.write(BIG.encode())
    p.stdin.close()
    assert p.stdout.readline() == b"made\n"
    time.sleep(wait)
    p.kill()
    p.wait()


@pytest.mark.slow(20)
def test_a_killed_program_leaves_no_half_file(sandpiper_on):
    """kill -9 while 150 MiB are on their way: nothing has a name that is not whole."""
    for i in range(20 if sandpiper_on.engine == "bwrap" else 4):
        kill_in_the_middle(sandpiper_on, random.uniform(0, 0.25))
        for name in glob.glob(sandpiper_on.path("work/out/*")) + glob.glob(sandpiper_on.path("work/out/.*")):
            assert is_whole(name), (i, name, os.path.getsize(name))
            os.unlink(name)
    r = sandpiper_on.run("exec", "--max-file", "200m", "--out", "out", "-", stdin=BIG)
    assert r.code == 0 and out_of(sandpiper_on) == ["big.bin"] and is_whole(sandpiper_on.path("work/out/big.bin")), r


@pytest.mark.slow(10)
@pytest.mark.skipif(ASAN, reason="ASan wants to be loaded first")
def test_where_every_file_has_a_name(sandpiper):
    """What a killed program leaves there is hidden, and gone with the next file that comes into that folder."""
    source, shim = sandpiper.write("shim.c", SHIM), sandpiper.path("work/shim.so")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", shim, source], check=True)
    env, seen = {"LD_PRELOAD": shim}, 0
    for i in range(20):
        kill_in_the_middle(sandpiper, random.uniform(0, 0.12), env)
        hidden = glob.glob(sandpiper.path("work/out/.*"))
        assert all(os.path.basename(name).startswith(".sandpiper-") for name in hidden), hidden
        assert len(hidden) <= 1, hidden         # that of the one before went when this one began
        seen += len(hidden)
        for name in glob.glob(sandpiper.path("work/out/*")):
            assert is_whole(name), (i, name, os.path.getsize(name))
            os.unlink(name)
    assert seen > 0
    for again in ("big.bin", "big-1.bin"):
        r = sandpiper.run("exec", "--max-file", "200m", "--out", "out", "-", stdin=BIG, env=env)
        assert r.code == 0 and r.err.strip().endswith("/" + again) and is_whole(sandpiper.path("work/out/" + again)), r
    assert out_of(sandpiper) == ["big-1.bin", "big.bin"]


def test_an_interrupt_leaves_no_half_file(sandpiper_on):
    p = sandpiper_on.start("exec", "--max-file", "200m", "--out", "out", "-", stdin=subprocess.PIPE)
    p.stdin.write(BIG.encode())
    p.stdin.close()
    assert p.stdout.readline() == b"made\n"
    time.sleep(0.02)
    p.send_signal(signal.SIGINT)
    p.wait(60)
    for name in glob.glob(sandpiper_on.path("work/out/*")) + glob.glob(sandpiper_on.path("work/out/.*")):
        assert is_whole(name), (name, os.path.getsize(name))


# ---------------------------------------------------------------------------------------------------------------- not twice

def test_what_has_not_changed_is_not_written_again(sandpiper_on, serve):
    """Touched, rewritten with the same bytes, moved there and back: the copy that is here stays the only one."""
    make = "import os\nfor i in range(4): open('f%d' % i, 'wb').write(bytes([i]) * 3_000_000)"
    again = ["for i in range(4): os.utime('f%d' % i)", make, "os.rename('f0', 'x'); os.rename('x', 'f0')",
             "os.chmod('f1', 0o600)"] * 3
    again = ["%s\n# %d" % (code, i) for i, code in enumerate(again)]      # what has run twice is not run a third time
    serve(sandpiper_on, [{"answer": {"calls": [{"code": code}]}} for code in [make] + again] + [{"answer": {"text": "done"}}])
    r = sandpiper_on.run("--json", "--max-rounds", "20", "--out", "out", "go")
    assert r.code == 0 and out_of(sandpiper_on) == ["f0", "f1", "f2", "f3"], (r, out_of(sandpiper_on))
    files = [json.loads(line) for line in r.out.splitlines() if json.loads(line)["type"] == "file"]
    assert len(files) == 4 + 3 * (4 + 4 + 1 + 1), len(files)      # each cell still says what it made, and where it is
    assert {f["path"] for f in files} == {sandpiper_on.path("work/out/f%d" % i) for i in range(4)}


def test_a_file_that_was_not_closed_is_whole(sandpiper, serve):
    """csv.writer(open(...)): as a question, where the interpreter goes on, and as a program, whose archives are complete at its end only."""
    code = "import csv, zipfile\nw = csv.writer(open('a.csv', 'w'))\nw.writerow([1, 2])\nf = open('b', 'wb')\nf.write(b'xyz')\n"
    serve(sandpiper, [{"answer": {"calls": [{"code": code}]}}, {"answer": {"text": "Done."}}])
    assert sandpiper.run("--out", "asked", "go").code == 0
    code += "z = zipfile.ZipFile('c.zip', 'w')\nz.writestr('n', 'text')\n"
    assert sandpiper.run("exec", "--out", "ran", "-c", code).code == 0
    for folder in ("asked", "ran"):
        for name, holds in (("a.csv", b"1,2\r\n"), ("b", b"xyz")):
            with open(os.path.join(sandpiper.work, folder, name), "rb") as f:
                assert f.read() == holds, (folder, name)
    assert zipfile.ZipFile(os.path.join(sandpiper.work, "ran/c.zip")).read("n") == b"text"


@pytest.mark.slow(5)
def test_files_that_stay_open_over_several_cells(sandpiper, serve):
    """Each change is a new version. A file that takes the descriptor of one that was closed is seen; the objects are not searched again for a
    database, which has none."""
    cells = ["a = open('a', 'w')\na.write('1')", "a.write('2')\nb = open('b', 'w')\nb.write('3')", "a.close()\nc = open('c', 'w')\nc.write('4')",
             "b = open('b', 'a')\nb.write('5')",
             "import sqlite3, gc, time\ncon = sqlite3.connect('d.db')\ncon.execute('create table t (a)')\nlots = [[] for _ in range(3000000)]",
             "lots[0] = time.process_time()", "print('searched' if time.process_time() - lots[0] > 0.02 else 'quick')"]
    server = serve(sandpiper, [{"answer": {"calls": [{"code": code}]}} for code in cells] + [{"answer": {"text": "Done."}}])
    assert sandpiper.run("--out", "out", "--no-snapshots", "go").code == 0
    for name, holds in (("a-1", "12"), ("b-1", "35"), ("c", "4")):
        with open(os.path.join(sandpiper.work, "out", name)) as f:
            assert f.read() == holds, name
    assert server.bodies()[-1]["messages"][-1]["content"] == "quick"


def test_what_is_too_deep_is_said(sandpiper):
    code = "import os\nfor n in (16, 17):\n    os.makedirs('d/' * n, exist_ok=True)\n    open('d/' * n + 'f', 'w').close()"
    r = sandpiper.run("exec", "--out", "out", "-c", code)
    assert r.code == 0 and "/out/" + "d-" * 16 + "f\n" in r.err and r.err.count("\n") == 2, r
    assert "%s: not saved: more than 16 folders deep\n" % "/".join("d" * 17) in r.err, r


def test_what_sqlite_keeps_beside_a_database_is_no_result(sandpiper):
    """Reading one makes two files. A log that holds what was written is one, and so is a file that has only such a name."""
    path = sandpiper.path("work/used.db")
    con = sqlite3.connect(path)
    con.execute("PRAGMA journal_mode=WAL")
    con.execute("CREATE TABLE t AS SELECT 7 AS x")
    con.commit()
    con.close()
    code = "import os, sqlite3\ncon = sqlite3.connect('used.db')\nprint(con.execute('select x from t').fetchall(), sorted(os.listdir()))\n"
    r = sandpiper.run("exec", "--add", path, "--out", "out", "-c", code)
    assert r.code == 0 and r.out == "[(7,)] ['used.db', 'used.db-shm', 'used.db-wal']\n" and r.err == "", r
    assert not os.path.exists(sandpiper.path("work/out")) or out_of(sandpiper) == [], r
    code += "con.execute('insert into t values (8)'); con.commit()\nfor name in 'a-shm', 'b.db-wal': open(name, 'w')\nopen('a', 'w')"
    r = sandpiper.run("exec", "--add", path, "--out", "out", "-c", code)
    assert r.code == 0 and out_of(sandpiper) == ["a", "a-shm", "b.db-wal", "used.db-wal"], (r, out_of(sandpiper))


def test_a_change_is_another_file(sandpiper, serve):
    codes = ["open('a.txt', 'w').write('one')", "open('a.txt', 'w').write('two')", "open('a.txt', 'w').write('two')",
             "open('a.txt', 'w').write('longer')"]
    serve(sandpiper, [{"answer": {"calls": [{"code": code}]}} for code in codes] + [{"answer": {"text": "done"}}])
    r = sandpiper.run("--out", "out", "go")
    assert r.code == 0 and out_of(sandpiper) == ["a-1.txt", "a-2.txt", "a.txt"], r
    assert open(sandpiper.path("work/out/a-1.txt")).read() == "two"


def test_what_its_user_removed_comes_again(sandpiper, serve):
    """The code makes it anew with the same bytes; here it was removed, or edited, meanwhile."""
    code = "open('a.txt', 'w').write('text')"
    serve(sandpiper, [x for _ in range(4) for x in ({"answer": {"calls": [{"code": code}]}}, {"answer": {"text": "done now"}})])
    p = sandpiper.chat("--out", "out", env={"NO_COLOR": "1"})
    p.expect("> ")
    for turn in range(4):
        p.send("go\r")
        p.expect("done now")
        p.expect("> ")
        if turn == 0:
            os.unlink(sandpiper.path("work/out/a.txt"))
        elif turn == 1:
            assert out_of(sandpiper) == ["a.txt"]
            with open(sandpiper.path("work/out/a.txt"), "w") as f:
                f.write("mine")
        else:
            assert out_of(sandpiper) == ["a-1.txt", "a.txt"]
            assert open(sandpiper.path("work/out/a.txt")).read() == "mine"
    p.send("\x04")
    p.expect(pexpect.EOF)
    p.close()


@pytest.mark.slow(3)
def test_the_same_figure_is_one_file(sandpiper_on, serve):
    plot = "import matplotlib.pyplot as plt\nplt.plot([1, 2, %d])"
    serve(sandpiper_on, [{"answer": {"calls": [{"code": plot % n}]}} for n in (3, 3, 4, 3)] + [{"answer": {"text": "done"}}])
    r = sandpiper_on.run("--out", "out", "go")
    if "No module named 'matplotlib'" in r.err:
        pytest.skip("no matplotlib in there")
    assert r.code == 0 and out_of(sandpiper_on) == ["figure-1.png", "figure-3.png", "figure-4.png"], (r, out_of(sandpiper_on))


# ------------------------------------------------------------------------------------------------------------------ the quota

FRESH = "import os\nopen('f', 'wb').write(os.urandom(300_000))  # %d"
LOST = "f (300 kB) was NOT saved: one session saves at most 1 MiB of files (--max-files-total). It is lost when sandpiper ends."


def run_fresh(program, serve, *args, n=6):
    serve(program, [{"answer": {"calls": [{"code": FRESH % i}]}} for i in range(n)] + [{"answer": {"text": "done"}}])
    return program.run("--max-files-total", "1m", "--max-rounds", "20", "--out", "out", *args, "go")


@pytest.mark.parametrize("args", [(), ("--quiet",), ("--json",)])
def test_a_session_saves_no_more_than_it_may(sandpiper, serve, args):
    r = run_fresh(sandpiper, serve, *args)
    assert r.code == 1 and out_of(sandpiper) == ["f", "f-1", "f-2"], r
    assert "f (300 kB) was NOT saved" in r.err and "--max-files-total 2m would save it" in r.err, r
    if not args:
        assert r.out == "done\n" and r.err.count(LOST) == 3, r      # of three cells, and not again at the end
        assert r.err.count("80 % of the 1 MiB that one session may save in files are used") == 1, r
    elif args == ("--json",):
        done = [json.loads(line) for line in r.out.splitlines()][-2]
        assert (done["status"], done["exit_code"], done["answer"]) == ("undelivered", 1, "done"), done


def test_it_is_one_quota_for_all_questions_of_a_script(sandpiper_on, serve):
    serve(sandpiper_on, [x for i in range(4) for x in ({"answer": {"calls": [{"code": FRESH % i}]}}, {"answer": {"text": "done"}})])
    r = sandpiper_on.run("--max-files-total", "1m", "--out", "out", stdin="one\ntwo\nthree\nfour\n")
    assert r.code == 1 and r.out.count("done") == 4 and out_of(sandpiper_on) == ["f", "f-1", "f-2"], r


def test_many_small_files_and_figures_count(sandpiper_on):
    code = ("for i in range(90): open('e%02d' % i, 'w').close()\n"
            "import os\nfor i in range(5): open('n%d' % i, 'wb').write(os.urandom(200_000))\n")
    r = sandpiper_on.run("exec", "--max-files-total", "400k", "--out", "out", "-", stdin=code)
    assert r.code == 125 and len(out_of(sandpiper_on)) == 90 and "n0 (200 kB) was NOT saved" in r.err, r
    figure = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.figure()\nplt.plot([1, 3])"
    r = sandpiper_on.run("exec", "--max-files-total", "1k", "--out", "figures", "-", stdin=figure)
    if "No module named 'matplotlib'" not in r.err:
        assert r.code == 125 and r.err.count("NOT saved") == 2 and not os.path.exists(sandpiper_on.path("work/figures/figure-1.png")), r


def test_a_named_sandbox_still_has_it(sandpiper):
    args = ("exec", "--sandbox-name", "keeper", "--out", "out")
    r = sandpiper.run(*args, "--max-files-total", "1m", "-", stdin="open('a', 'wb').write(bytes(2_000_000))")
    assert r.code == 125 and 'It is still in the sandbox "keeper".' in r.err and "NOT saved" not in r.err, r
    r = sandpiper.run(*args, "--max-files-total", "2m", "-", stdin="import os\nos.utime('a')")
    assert r.code == 0 and out_of(sandpiper) == ["a"], r
    assert sandpiper.run("rm", "keeper").code == 0


def test_the_quota_of_each_layer(sandpiper):
    code = "open('f', 'wb').write(bytes(3 << 20))"
    sandpiper.configure("max_files_total: 1m\n")
    r = sandpiper.run("exec", "-", stdin=code)
    assert r.code == 125 and "at most 1 MiB of files" in r.err, r
    assert sandpiper.run("exec", "-", stdin=code, env={"SANDPIPER_MAX_FILES_TOTAL": "3m"}).code == 0
    r = sandpiper.run("exec", "--max-files-total", "2m", "-", stdin=code, env={"SANDPIPER_MAX_FILES_TOTAL": "4m"})
    assert r.code == 125 and "at most 2 MiB of files" in r.err, r


def test_get_brings_what_was_not_saved(sandpiper, serve):
    """Too large, on a full disk, put in by the user, in a folder: /get copies it out of the sandbox. Nothing is replaced; what there is not is told."""
    code = "import os\nopen('big one.bin', 'wb').write(b'x' * 3_000_000)\nos.makedirs('d', exist_ok=True)\nos.symlink('/etc/passwd', 'link')"
    serve(sandpiper, [{"answer": {"calls": [{"code": code}]}}, {"answer": {"text": "Made."}}])
    sandpiper.write("in.csv", "a\n1\n")
    p = start(sandpiper, "--max-file", "1m", size=(30, 200))
    ask(p, "go", "Made.")
    ask(p, "/get big one.bin", "Copied to big one.bin")
    ask(p, "/get big\\ one.bin", "big one.bin: File exists")
    ask(p, "/get big one.bin other.bin", "Copied to other.bin")
    ask(p, "/put in.csv", "in the sandbox as")
    ask(p, "/get /mnt/data/in.csv back.csv", "Copied to back.csv")
    ask(p, "/get nothing here", "there is no file nothing here, neither saved nor in /mnt/data")
    ask(p, "/get link", "there is no file link,")
    ask(p, "/get in.csv nowhere/x", "nowhere/: No such file or directory")
    leave(p)
    for name in ("big one.bin", "other.bin"):
        with open(sandpiper.path("work/" + name), "rb") as f:
            assert f.read() == b"x" * 3_000_000
    assert sorted(os.listdir(sandpiper.work)) == ["back.csv", "big one.bin", "in.csv", "other.bin"]


# ------------------------------------------------------------------------------------------------------- through a memory map

def saved(program, serve, *codes):
    """What each cell of one session has saved: lists of (name, content)."""
    serve(program, [{"answer": {"calls": [{"code": code}]}} for code in codes] + [{"answer": {"text": "Done."}}])
    r = program.run("--json", "go")
    assert r.code == 0, r
    made = {}
    for e in (json.loads(line) for line in r.out.splitlines()):
        assert e.get("status", "ok") in ("ok", "answered"), e
        if e["type"] == "file":
            with open(e["path"], "rb") as f:
                made.setdefault(e["cell"], []).append((e["name"], f.read(8)))
    return [made.get(i + 1, []) for i in range(len(codes))]


def test_a_map_changes_no_time_of_a_file(sandpiper_on, serve):
    """What is written through a map is delivered all the same: while it lives, and when it is opened and closed within one cell."""
    got = saved(sandpiper_on, serve, "import mmap\nopen('x.bin', 'wb').write(bytes(5000)); None",
                "with open('x.bin', 'r+b') as f: m = mmap.mmap(f.fileno(), 0)\nm[:3] = b'one'",
                "print('nothing new')",
                "m[:3] = b'two'",
                "m.close(); del m\nwith open('x.bin', 'r+b') as f, mmap.mmap(f.fileno(), 0) as m: m[:3] = b'six'",
                "with open('x.bin', 'rb') as f, mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ) as m: print(m[:3])",
                "import numpy as np\na = np.memmap('x.bin', mode='r+', dtype='u1')\na[:3] = 65\na.flush()")
    assert [[content[:3] for _, content in files] for files in got] == [[bytes(3)], [b"one"], [], [b"two"], [b"six"], [], [b"AAA"]], got


def test_a_map_of_what_is_gone_costs_nothing(sandpiper, serve):
    got = saved(sandpiper, serve, "import mmap, os\nf = open('x.bin', 'w+b'); f.truncate(9)\nm = mmap.mmap(f.fileno(), 0)",
                "os.unlink('x.bin'); os.symlink('/dev/full', 'x.bin'); m[:1] = b'x'",
                "a = mmap.mmap(-1, 100); a[:1] = b'x'\nopen('y.bin', 'wb').write(b'y'); None")
    assert got == [[("x.bin", bytes(8)[:8])], [], [("y.bin", b"y")]], got


FIGURES = """
import gc
worker = next(o for o in gc.get_objects() if type(o).__name__ == 'Worker')
for i in range(30):
    worker.say(b'F', b'png')
    for k in range(160): worker.say(b'f', bytes([65 + i]) * 50000)
    worker.say(b'g', b'')
"""


def test_figures_leave_memory_to_the_sandbox(sandpiper):
    """More of them than can be saved are measured, not kept: they would take all memory, and the supervisor with it."""
    r = sandpiper.run("exec", "--memory", "128m", "--max-file", "9m", "--out", "out", "-", stdin=FIGURES + "print('here')")
    assert r.out == "here\n" and "figure-9.png (8 MB) was NOT saved: at most 64 MiB are saved per run of code." in r.err, r
    assert sorted(os.listdir(sandpiper.path("work/out"))) == ["figure-%d.png" % i for i in range(1, 9)], r
    for i in range(8):
        with open(sandpiper.path("work/out/figure-%d.png" % (i + 1)), "rb") as f:
            assert f.read() == bytes([65 + i]) * 8000000
