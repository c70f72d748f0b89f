"""test_outer_limits.py - limits that hold around the program: of a control group of the user's, of the shell. What is said of them is true, and says what
to do. That dockerd is restarted under living sandboxes cannot be tried beside other tests."""
import os
import resource

import pytest

from conftest import need_engine
from serving import Server

MIB = 1 << 20
V1, V2 = "/sys/fs/cgroup/memory", "/sys/fs/cgroup"
TAKES = "x = b'x' * (300 << 20)"


@pytest.fixture
def group():
    """Puts its caller into a control group with 256 MiB of memory."""
    top, name = (V1, "memory.limit_in_bytes") if os.path.exists(V1 + "/memory.limit_in_bytes") or os.path.exists(V1 + "/memory.stat") else (V2, "memory.max")
    place = "%s/sp-outer-%d" % (top, os.getpid())
    try:
        os.mkdir(place)
        with open(place + "/" + name, "w") as f:
            f.write(str(256 * MIB))
    except OSError as e:
        pytest.skip("no control group can be made here: %s" % e)

    def join():
        with open(place + "/cgroup.procs", "w") as f:
            f.write(str(os.getpid()))
    yield join
    with open(place + "/cgroup.procs") as f:
        assert f.read() == ""
    os.rmdir(place)


def test_the_limit_of_an_outer_group_is_named(sandpiper, group):
    need_engine("bwrap")
    r = sandpiper.run("exec", "-", stdin=TAKES, preexec_fn=group)
    assert "out of memory (limit 256 MiB)" in r.err and "1 GiB" not in r.err, r
    r = sandpiper.run("exec", "--memory", "128m", "-", stdin=TAKES, preexec_fn=group)
    assert "out of memory (limit 128 MiB)" in r.err, r


@pytest.mark.slow(3)
def test_a_server_in_a_group(sandpiper, group):
    """What is too much for the group ends the code, not the server."""
    need_engine("bwrap")
    server = Server(sandpiper, preexec_fn=group)
    box = server.ask("/create_sandbox", {})["sandbox_id"]
    for _ in range(3):
        ended = server.ask("/run_code", {"sandbox_id": box, "code": TAKES})
        assert ended["status"] == "memory" and "limit 256 MiB" in str(ended), ended
        assert server.ask("/run_code", {"sandbox_id": box, "code": "6 * 7"})["value"] == "42"
    assert server.close() == 0


def test_a_limit_on_the_size_of_files(sandpiper):
    need_engine("bwrap")
    r = sandpiper.run("exec", "-c", "print(1)", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (512, resource.RLIM_INFINITY)))
    assert r.code != 0 and "File too large" in r.err and "ulimit -f" in r.err and r.err.count("\n") == 2, r
