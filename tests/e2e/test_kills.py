"""test_kills.py - the program is killed with SIGKILL at moments all over a run; after the next start nothing of it is left: no container, no
process, no mount, no control group, no file in the runtime and temporary folders, no session folder without files."""
import json
import os
import random
import shutil
import time

import pytest

from conftest import swept

# Fifty in all, a third on each engine; SANDPIPER_TEST_MOMENTS=50 makes it fifty on each (about a minute an engine).
MOMENTS = int(os.environ.get("SANDPIPER_TEST_MOMENTS", "17"))
# Everything in one run: start-up, a file moves in, a cell with a daemon is under way, files move out, the end.
CELL = """
import os, time
if os.fork() == 0:
    os.setsid()
    time.sleep(60)
for i in range(4): open('f%d.bin' % i, 'wb').truncate(15 << 20)
print('up', flush=True)
time.sleep(0.15)
"""


@pytest.mark.slow(50)
@pytest.mark.check
def test_kill_at_random_moments(sandpiper_on, engine):
    """Random moments before the cell, in it, and while files move out and everything ends; none may leave anything after the next start."""
    chance = random.Random(os.environ.get("SANDPIPER_TEST_SEED", "1"))
    big = sandpiper_on.write("big.bin", b"")
    os.truncate(big, 40 << 20)
    words = "exec", "--add", big, "--out", sandpiper_on.path("out"), sandpiper_on.write("cell.py", CELL)
    for _ in range(2):                          # the choice of the engine is remembered, as it usually is
        p, begin = sandpiper_on.start(*words), time.monotonic()
        assert p.stdout.readline() == b"up\n"
        up = time.monotonic()
        assert p.wait() == 0 and p.stderr.read().count(b"/out/f") == 4
        done = time.monotonic()
    killed = 0
    for i in range(3 * MOMENTS):                # one that ended before its moment came, on a machine that is faster now, counts for none
        if killed == MOMENTS:
            break
        p = sandpiper_on.start(*words)
        if i % 2 == 0:                          # half of them: start-up, and the file on its way in; the engine's client starts early in it
            time.sleep((up - begin) * chance.random() * (0.1 if i % 4 == 0 else 1))
        else:
            assert p.stdout.readline() == b"up\n"
            time.sleep((done - up) * chance.random())
        p.kill()
        killed += p.wait() != 0
        shutil.rmtree(sandpiper_on.path("out"), ignore_errors=True)
    assert killed == MOMENTS
    r = sandpiper_on.run("exec", "-", stdin="print('next')")
    assert r.code == 0 and r.out == "next\n", r
    left = sandpiper_on.leftovers() + os.listdir(sandpiper_on.path("state/sandpiper/sessions"))
    left += sorted(set(os.listdir(sandpiper_on.path("cache/sandpiper"))) - {"engine", "swept"})
    assert not left, "\n".join(left)
    r = sandpiper_on.run("gc")
    assert swept(r, engine), r


def test_what_was_told_outlives_a_kill(sandpiper, serve):
    """A file whose path was on stdout is the user's, however the program ends."""
    serve(sandpiper, [{"answer": {"calls": [{"code": "open('kept.txt', 'w').write('kept')"}]}},
                      {"answer": {"calls": [{"code": "import time\ntime.sleep(60)"}]}}], complete=False)
    p = sandpiper.start("--json", "go")
    for line in p.stdout:
        event = json.loads(line)
        if event["type"] == "file":
            path = event["path"]
        if event["type"] == "tool_call" and "sleep" in event["code"]:
            break
    p.kill()
    p.wait()
    assert sandpiper.run("exec", "-", stdin="import time\ntime.sleep(0.5)").code == 0
    with open(path) as f:
        assert f.read() == "kept"
