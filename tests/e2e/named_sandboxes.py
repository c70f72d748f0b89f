"""named_sandboxes.py - what tests of sandboxes with a name do with them: run code there, hold one, see who is in it, and leave none behind."""
import json
import os
import subprocess
import time

import pytest


def end_all(s):
    for p in s.children:
        if isinstance(p, subprocess.Popen) and p.poll() is None:
            p.kill()
            p.wait()
    s.run("rm", "--all")


@pytest.fixture
def named(sandpiper_on):
    """Nothing is left at the end, also where a test has failed."""
    yield sandpiper_on
    end_all(sandpiper_on)


@pytest.fixture
def named_bwrap(sandpiper):
    yield sandpiper
    end_all(sandpiper)


def run(s, code, *args, name="work", **more):
    return s.run("exec", "--sandbox-name", name, *args, "-", stdin=code, **more)


def record(s, name="work"):
    where = s.path("run/sandpiper/names/%s/sandbox" % name)
    with open(where + "/record") as f:
        found = json.load(f)
    return dict(found, id=os.path.basename(os.readlink(where)), pid=int(found["owner"].split(":")[1]))


def listed(s):
    r = s.run("ps", "--json")
    assert r.code == 0 and r.err == "", r
    return {o["name"]: o for o in map(json.loads, r.out.splitlines())}


def hold(s, code="import time\nprint('up', flush=True)\ntime.sleep(60)", *args, name="work"):
    p = s.start("exec", "--sandbox-name", name, *args, "-", stdin=subprocess.PIPE)
    p.stdin.write(code.encode())
    p.stdin.close()
    p.stdin = None
    assert p.stdout.readline() == b"up\n"
    return p


def processes_of(pid):
    """What lives in the pid namespace of the first process inside."""
    space, found = os.readlink("/proc/%d/ns/pid" % pid), []
    for p in os.listdir("/proc"):
        try:
            if p.isdigit() and os.readlink("/proc/%s/ns/pid" % p) == space:
                found.append(int(p))
        except OSError:
            pass
    return found


def gone(pid, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            with open("/proc/%d/stat" % pid) as f:
                if f.read().rpartition(")")[2].split()[0] == "Z":      # we are the one who should take note
                    return True
        except OSError:
            return True
        time.sleep(0.05)
    return False
