"""test_served_elsewhere.py - serve and mcp with sandboxes on another machine: behind a real sshd, and as steps of one allocation of a real Slurm."""
import json
import os

import pytest

import slurm_cluster
import ssh_server
from conftest import make_sandpiper, need_engine
from mcp_stdio import Mcp, text
from serve_raw import Server
from test_engines import until

pytestmark = [pytest.mark.xdist_group("slurm"), pytest.mark.no_asan]


@pytest.fixture(scope="module")
def sshd():
    with ssh_server.running() as config:
        yield config


@pytest.fixture(scope="module")
def cluster():
    need_engine("bwrap")
    with slurm_cluster.running() as c:
        yield c


def words_of(program):
    """The command lines of the processes that it has started."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/environ" % pid) as f, open("/proc/%s/cmdline" % pid) as words:
                found += [words.read().replace("\0", " ")] if program.dir in f.read() else []
        except OSError:
            pass
    return found


@pytest.fixture(params=["ssh", "slurm"])
def elsewhere(request):
    """The program, and what of ours runs there."""
    need_engine("bwrap")
    for s in make_sandpiper("bwrap"):
        if request.param == "ssh":
            config = request.getfixturevalue("sshd")
            s.shared = lambda s=s: sum("ControlMaster=yes" in w for w in words_of(s))
            s.configure("engines: %s\n" % json.dumps({"ssh": {"with": {"host": "gpubox", "options": ["-F", config]}}}))
        else:
            c = request.getfixturevalue("cluster")
            s.configure("engines: %s\n" % json.dumps({"slurm": {"with": {"sandboxes": 4}}}))
            plain = s.env
            s.env = lambda extra=None: plain(dict({"SLURM_CONF": c.conf}, **(extra or {})))
            s.jobs = c.jobs
            s.shared = lambda: len(c.jobs())
        s.engine = request.param
        yield s
        if request.param == "slurm":
            until(lambda: not s.jobs(), 60)


def test_serve(elsewhere):
    """Several sandboxes, of which each has its variables and files; all of them share one connection or allocation."""
    server = Server(elsewhere)
    boxes = [server.good("/create_sandbox")["sandbox_id"] for _ in range(3)]
    for i, box in enumerate(boxes):
        assert server.good("/write_file", sandbox_id=box, filename="in.txt", content="of %d" % i)["size"] == 4
        server.good("/run_code", sandbox_id=box, code="x = %d" % i)
    for i, box in enumerate(boxes):
        ran = server.good("/run_code", sandbox_id=box, code="print(open('in.txt').read())\nx")
        assert ran["stdout"] == "of %d\n" % i and ran["value"] == str(i), ran
    late = server.good("/run_code", sandbox_id=boxes[0], code="while True: pass", timeout=1)
    assert late["status"] == "timeout" and server.good("/run_code", sandbox_id=boxes[0], code="x")["value"] == "0", late
    assert elsewhere.shared() == 1
    assert server.good("/stop_sandbox", sandbox_id=boxes[1])["stopped"]
    server.refused(410, "SANDBOX_EXPIRED", "/run_code", sandbox_id=boxes[1], code="1")
    assert server.good("/run_code", sandbox_id=boxes[2], code="x")["value"] == "2"
    assert server.close() == 0 and elsewhere.leftovers() == []


def test_a_server_that_is_killed(elsewhere):
    server = Server(elsewhere)
    box = server.good("/create_sandbox")["sandbox_id"]
    server.good("/run_code", sandbox_id=box, code="import subprocess\nsubprocess.Popen(['sleep', '1000'])")
    server.process.kill()
    server.process.wait()
    assert elsewhere.leftovers() == []


def test_mcp(elsewhere):
    m = Mcp(elsewhere, modern=True)
    """Which limits are weaker there is said once: with the first result, or on stderr if that was still to come."""
    assert text(m.code("x = 41\nx + 1")).splitlines()[0] == "42"
    assert text(m.code("x")) == "41" and elsewhere.shared() == 1
    code, err = m.close()
    assert code == 0 and (not err or "no permission to create a control group there" in err), err
    assert elsewhere.leftovers() == []


def test_one_that_cannot_be_had(elsewhere):
    """Which the client is told in words of ours, at once."""
    if elsewhere.engine == "ssh":
        elsewhere.configure("engines: {ssh: {with: {host: nowhere.invalid}}}\n")
        words = "Could not resolve hostname"
    else:
        elsewhere.configure("engines: {slurm: {with: {partition: none-such}}}\n")
        words = "the cluster has no such partition"
    server = Server(elsewhere)
    r = server.ask("POST", "/create_sandbox", {})
    assert r.status == 503 and words in str(r.json), r
    assert server.close() == 0
