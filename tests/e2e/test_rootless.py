"""test_rootless.py - podman as an ordinary user, for real (rootless.py): what exec promises, what is left behind, and what is weaker without
control groups. The hostile cells are test_probes.py's, the posture test_posture.py's."""
import os
import subprocess
import time

import pytest

import test_exec
from conftest import ROOTLESS, make_sandpiper, need_engine
from rootless import UID

pytestmark = pytest.mark.xdist_group("user")

# podman without root can limit the whole sandbox only in the v2 hierarchy, and there only where systemd has delegated it.
WEAKER = "podman without root has no control groups here: memory is limited per process, not in total, and CPU time is not limited"


@pytest.fixture
def user():
    need_engine(ROOTLESS)
    yield from make_sandpiper(ROOTLESS)


def delegated():
    try:
        with open("/sys/fs/cgroup/user.slice/user-%d.slice/user@%d.service/cgroup.controllers" % (UID, UID)) as f:
            return {"memory", "pids"} <= set(f.read().split())
    except OSError:
        return False


def test_exec_as_a_user(user):
    r = user.run("exec", "-", stdin=test_exec.PROBE, env={"OPENAI_API_KEY": "test-key", "SECRET_KEY": "x"})
    assert r.code == 0, r
    assert r.out == "uid0 False\nstdin True\nnetwork no\nhome False False True\nsecret False\nroot read-only\ncwd /mnt/data\n", r


def test_files_are_the_users(user):
    r = user.run("exec", "--out", user.path("out"), "-", stdin="open('mine.txt', 'w').write('x')")
    assert r.code == 0 and os.lstat(user.path("out/mine.txt")).st_uid == UID, r


def test_what_is_weaker_is_said_once(user):
    """One line at the first start, then with -v; doctor names it, and claims no limit that does not hold."""
    assert not delegated(), "this machine delegates control groups: then the limits hold, and this test must say so"
    first, second, detailed = [user.run("exec", *words, "-", stdin="pass") for words in ((), (), ("-v",))]
    assert first.code == 0 and first.err.count(WEAKER) == 1, first
    assert second.code == 0 and WEAKER not in second.err and detailed.err.count(WEAKER) == 1, (second, detailed)
    r = user.run("doctor", "--offline", "-v", "--memory", "300m", "--pids", "50")
    limits = [line for line in r.out.splitlines() if line.startswith("                  limits: ")]
    assert r.code == 0 and WEAKER in r.out and "memory" not in limits[0] and "CPU" not in limits[0] and "50 processes" in limits[0], r


def test_memory_of_each_process(user):
    r = user.run("exec", "--memory", "200m", "-", stdin="x = b'x' * (400 << 20)")
    assert r.code == 1 and "MemoryError" in r.err, r
    r = user.run("exec", "--memory", "200m", "-", stdin="x = b'x' * (100 << 20)\nprint(len(x) >> 20)")
    assert r.code == 0 and r.out == "100\n", r


def test_a_killed_program_leaves_nothing(user):
    for wait in (0.1, 0.25, 0.4, None):
        p = user.start("exec", "-", stdin=subprocess.PIPE)
        p.stdin.write(b"import os, time\nif os.fork() == 0: time.sleep(60)\nprint('up', flush=True)\ntime.sleep(60)\n")
        p.stdin.close()
        if wait:
            time.sleep(wait)
        else:
            assert p.stdout.readline() == b"up\n"
        p.kill()
        p.wait()
    assert user.run("exec", "-", stdin="import time\ntime.sleep(2)").code == 0
    r = user.run("gc")
    assert r.code == 0 and r.out == "nothing to remove\n" and r.err == "", r
    left = user.leftovers()
    assert not left, "\n".join(left)
