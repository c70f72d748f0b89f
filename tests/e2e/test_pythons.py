"""test_pythons.py - whatever Python the image (or, for bwrap, the host) has: none and one that is too old end in one line of cause and one of
remedy, the oldest and the newest to be had run a whole session. bwrap sees another /usr by an overlay in a mount namespace of its own."""
import json
import os
import secrets
import shutil
import subprocess
import tempfile

import pytest

import program
import pythons
from conftest import ENGINES, HANG, make_sandpiper, need_engine

pytestmark = pytest.mark.no_asan

UNITS = [os.path.join(os.path.dirname(program.BIN), "unit", "sandbox", name) for name in ("test_channel", "test_cell_files", "test_snapshots")]
EVERY = os.environ.get("SANDPIPER_TEST_PYTHONS") == "all"
# One step each: the cell, and what must come of it.
SESSION = [
    ("x = 21\nprint('hello')", lambda r, out: r["status"] == "ok" and out == "hello\n"),
    ("x * 2", lambda r, out: r["value"] == "42"),
    ("d = {'apple': 1}\ndef f(k):\n    return d[k]\nf('plum')",
     lambda r, out: r["status"] == "exception" and "KeyError: 'plum'" in r["error"]["traceback"] and "keys of d: apple" in r["model_text"]),
    ("import math\nmath.sqroot(2)", lambda r, out: r["status"] == "exception" and "sqrt" in r["model_text"]),
    ("import asyncio\nawait asyncio.sleep(0, 7)", lambda r, out: r["value"] == "7"),
    ("import multiprocessing as mp\ndef sq(x): return x * x\nwith mp.get_context('spawn').Pool(1) as p: print(p.map(sq, [3]))", lambda r, out: out == "[9]\n"),
    ("t = asyncio.create_task(asyncio.sleep(0, 8))", lambda r, out: r["status"] == "ok"),
    ("await t", lambda r, out: r["value"] == "8"),
    ("```python\n%time print(\u201cx\u201d)\n```", lambda r, out: "x\n" in out and "CPU times" in out),
    ("import traceback, warnings\nwarnings.warn('w', stacklevel=2)\nprint(traceback.extract_stack(), '<python' in str(traceback.format_exc()))",
     lambda r, out: "sys:1: UserWarning: w" in out and "<FrameSummary file <cell" in out and out.count("<FrameSummary") == 1),
    ("import builtins, os\nbuiltins.len = builtins.print = os.write = None", lambda r, out: r["status"] == "ok"),
    ("print(len('abc'), x)", lambda r, out: out == "3 21\n"),
    ("for i in range(5000): print(i)", lambda r, out: r["status"] == "ok" and r["output_bytes"] == 23890),
    ("import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'print(6 * 7)'], check=True) and None", lambda r, out: out == "42\n"),
    ("open('made.txt', 'w').write('made') and None", lambda r, out: r["status"] == "ok"),
    ("import time\nwhile True: time.sleep(0.01)", lambda r, out: r["status"] == "timeout" and not r["state_lost"]),
    ("import os\nos._exit(3)", lambda r, out: r["status"] == "died" and "os._exit" in r["error"]["text"]),
    ("import ctypes, sqlite3, json, csv, decimal\n6 * 7", lambda r, out: r["value"] == "42"),
]


# The oldest and the newest; on bwrap, where it costs nothing, all of them.
CHOSEN = [(engine, version) for engine in ENGINES for version in pythons.GOOD
          if engine == "bwrap" or EVERY or version in (pythons.GOOD[0], pythons.GOOD[-1])]


class Place:
    """An engine in which python3 is what the test says; run() is the program's, there."""

    def __init__(self, sandpiper, engine):
        self.sandpiper, self.engine, self.image = sandpiper, engine, "sandpiper-test:" + secrets.token_hex(6)
        self.made, self.root = False, tempfile.mkdtemp(prefix="sp-root-", dir="/var/tmp")
        os.chmod(self.root, 0o755)

    def have(self, version, data=False):
        if version:
            pythons.make_root(pythons.FOUND[version], version, self.root)
        elif self.engine == "bwrap":
            os.makedirs(os.path.join(self.root, "usr"))
        if self.engine != "bwrap":
            pythons.import_image([self.engine], self.image, self.root if version else None, data)
            self.made = True

    def run(self, *args, **more):
        s = self.sandpiper
        if self.engine != "bwrap":
            return s.run(args[0], "--image", self.image, *args[1:], **more)
        if os.geteuid() != 0:
            pytest.skip("another /usr needs root")
        script = ("set -e; d=%s; mount -t tmpfs none /mnt; mkdir /mnt/u /mnt/w; mount -t overlay overlay -o lowerdir=$d/usr:/usr,"
                  "upperdir=/mnt/u,workdir=/mnt/w /usr; [ -e $d/usr/bin/python3 ] || rm /usr/bin/python3; exec \"$0\" \"$@\"" % self.root)
        wrapper = s.write("wrapper", "#!/bin/sh\nexec unshare -m sh -c '%s' %s \"$@\"\n" % (script, program.BIN))
        os.chmod(wrapper, 0o755)
        real, program.BIN = program.BIN, wrapper
        try:
            return s.run(*args, **more)
        finally:
            program.BIN = real

    def remove(self):
        if self.made:
            pythons.remove_image(self.engine, self.image)
        shutil.rmtree(self.root, ignore_errors=True)


@pytest.fixture
def place(engine):
    need_engine(engine)
    p = None
    try:
        for s in make_sandpiper(engine):
            p = Place(s, engine)
            yield p
    finally:            # behind the program's own end: an image that a container has is only untagged
        if p:
            p.remove()


def clear(r, engine, cause, remedy):
    """Exit 3, and nothing on stderr but the cause and the remedy."""
    assert r.code == 125 and r.out == "", r
    lines = r.err.splitlines()
    assert len(lines) == 2 and engine in lines[0] and cause in lines[0] and remedy in lines[1], r


def test_no_python(place, engine):
    place.have(None)
    r = place.run("exec", "-", stdin="print(1)")
    if engine == "bwrap":
        clear(r, engine, "this host has no /usr/bin/python3", "apt install python3")
    else:
        clear(r, engine, "image %s has no python3" % place.image, "use another image (--image), or build ours: make image")
    r = place.run("doctor", "--offline", "--sandbox", engine)
    assert r.code == 3 and " no    " in r.out and "python3; " in r.out and len(r.out.splitlines()) == 1, r


@pytest.mark.slow(20)
@pytest.mark.skipif(not pythons.TOO_OLD, reason="no Python below 3.8 in " + pythons.PYENV)
def test_too_old(place, engine):
    version = pythons.TOO_OLD[-1]
    place.have(version)
    r = place.run("exec", "-", stdin="print(1)")
    clear(r, engine, "its python3 is %s, older than 3.8" % pythons.name_of(version), "3.8 or newer")
    assert r.seconds < HANG, r


def test_an_image_with_a_closed_data_folder(place, engine):
    """runc gives a tmpfs the mode of the folder below it. docker's is the code's own; podman's, which has no owner, cannot be written to then."""
    if engine == "bwrap":
        pytest.skip("it has no image")
    if not pythons.GOOD:
        pytest.skip("no other Python in " + pythons.PYENV)
    place.have(pythons.GOOD[0], data=True)
    r = place.run("exec", "-", stdin="open('x', 'w').write('x')\nprint(6 * 7)")
    if engine == "docker":
        assert r.code == 0 and r.out == "42\n", r
    else:
        clear(r, engine, "its own /mnt/data is not writable", "--image")


def cells(r):
    out, text = [], ""
    for e in map(json.loads, r.out.splitlines()):
        if e["type"] == "tool_output":
            text += e["text"]
        elif e["type"] == "tool_result":
            out.append((e, text))
            text = ""
    return out


@pytest.mark.slow(50)
@pytest.mark.check
@pytest.mark.parametrize("engine, version", CHOSEN, ids=lambda v: v if isinstance(v, str) else pythons.name_of(v))
def test_oldest_and_newest(place, engine, version, serve):
    place.have(version)
    exchanges = []
    for code, _ in SESSION:
        exchanges += [{"answer": {"calls": [{"code": code}]}}, {"answer": {"text": "Done."}}]
    serve(place.sandpiper, exchanges)
    r = place.run("--json", "--timeout", "20s", stdin="".join("%d?\n" % i for i in range(len(SESSION))))
    got = cells(r)
    assert len(got) == len(SESSION), r
    bad = [("%r gave %r, %r" % (code, result, out))[:1500] for (code, good), (result, out) in zip(SESSION, got) if not good(result, out)]
    assert not bad, "\n".join(bad)
    assert any(e["type"] == "file" and e["name"] == "made.txt" for e in map(json.loads, r.out.splitlines())), r
    first = json.loads(r.out.splitlines()[0])
    assert first["type"] == "session", first


@pytest.mark.slow(50)
@pytest.mark.skipif(not pythons.FOUND, reason="no other Python in " + pythons.PYENV)
@pytest.mark.skipif(not all(os.access(unit, os.X_OK) for unit in UNITS), reason="the units are not built: make unit")
@pytest.mark.parametrize("unit", UNITS, ids=os.path.basename)
@pytest.mark.parametrize("version", pythons.GOOD if EVERY else pythons.GOOD[:1], ids=pythons.name_of)
def test_guest_units(version, unit):
    """The supervisor's and worker's own tests, without a container, under this Python."""
    env = dict(os.environ, TEST_PYTHON=os.path.join(pythons.FOUND[version], "bin", "python3"))
    r = subprocess.run([unit], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=200)
    assert r.returncode == 0, r.stdout.decode("utf-8", "replace")[-4000:]
