"""test_kills.py - the program is killed with SIGKILL at moments all over a run; after the next start nothing of it is left: no container, no
process, no mount, no control group, no file in the runtime and temporary folders, no session folder without files."""
import json
import os
import random
import subprocess
import time

CELL = b"import os, time\nopen('/mnt/data/f', 'w').write('x')\nif os.fork() == 0: time.sleep(60)\nprint('up', flush=True)\ntime.sleep(60)\n"
MOMENTS = 10
# Until the cell runs, by engine: the moments cover what comes before and a little after.
SPAN = {"docker": 1.2, "podman": 0.7, "bwrap": 0.3}


def test_kill_at_random_moments(sandpiper_on, engine):
    chance = random.Random(os.environ.get("SANDPIPER_TEST_SEED", "1"))
    assert sandpiper_on.run("exec", "-", stdin="pass").code == 0       # the choice of the engine is remembered, as it usually is
    for i in range(MOMENTS):
        p = sandpiper_on.start("exec", "-", stdin=subprocess.PIPE)
        p.stdin.write(CELL)
        p.stdin.close()
        time.sleep(SPAN[engine] * (i + chance.random()) / MOMENTS)
        p.kill()
        p.wait()
    r = sandpiper_on.run("exec", "-", stdin="import time\ntime.sleep(2)\nprint('next')")
    assert r.code == 0 and r.out == "next\n", r
    left = sandpiper_on.leftovers() + os.listdir(sandpiper_on.path("state/sandpiper/sessions"))
    assert not left, "\n".join(left)
    r = sandpiper_on.run("gc")
    assert r.code == 0 and r.out == "nothing to remove\n" and r.err == "", r


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
