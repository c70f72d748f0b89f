"""test_slurm.py - sandboxes as steps of one allocation, on a real Slurm with two nodes on loopback (slurm_cluster.py): what runs there is what runs
here, nothing stays in the queue, a wait is shown and has an end, and a node that dies costs its rows until the next run. As root and as an
ordinary user."""
import contextlib
import json
import os
import statistics
import subprocess
import threading
import time

import pytest

import rootless
import slurm_cluster
from conftest import make_sandpiper, need_engine
from other_machine import cells_files_and_deaths, probes_hold
from package_index import packages_are_sent, uv
from probes import session
from test_batch import lines, model, rows                       # noqa: F401
from test_engines import until

pytestmark = [pytest.mark.xdist_group("slurm"), pytest.mark.no_asan]
DAEMON = dict(user=1, group=1, extra_groups=[])                 # a user whom Slurm knows


@pytest.fixture(scope="module")
def cluster():
    need_engine("bwrap")
    with slurm_cluster.running() as c:
        yield c


def on(cluster, settings=None):
    for s in make_sandpiper("bwrap"):
        s.configure("engines: %s\n" % json.dumps({"slurm": {"with": settings or {}}}))
        s.engine = "slurm"
        plain = s.env
        s.env = lambda extra=None: plain(dict({"SLURM_CONF": cluster.conf}, **(extra or {})))
        yield s
        until(lambda: not cluster.jobs(), 60)


@pytest.fixture
def slurm(cluster):
    yield from on(cluster, {"sandboxes": 2})


@pytest.fixture
def small(cluster):
    """With four sandboxes at once."""
    yield from on(cluster, {"sandboxes": 4})


@contextlib.contextmanager
def full(cluster):
    """Somebody else has all processors."""
    other = subprocess.Popen(["salloc", "--quiet", "--nodes=2", "--exclusive", "cat"], env=cluster.env, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, cwd="/")
    try:
        until(lambda: any("RUNNING" in j for j in cluster.jobs()))
        yield
    finally:
        other.stdin.close()
        other.wait()


def test_the_same_walls_hold(slurm):
    r = slurm.run("doctor", "--offline", "-v", "--sandbox", "slurm")
    assert r.code == 0 and "slurm       ok    Python 3." in r.out and "open: " not in r.out, r
    for words in ("no network", "not root", "no folder on a disk can be written to", "its own processes", "256 MiB in /mnt/data"):
        assert words in r.out, (words, r)
    assert "no filter of system calls" not in r.out and "no_new_privs" not in r.out, r


@pytest.mark.skipif(not uv(), reason="there is no uv here, and none can be fetched")
def test_packages_are_sent_there(slurm):
    packages_are_sent(slurm)


def test_an_ordinary_user(cluster):
    for s in on(cluster):
        rootless.own(s.dir, 1)
        s.uid = 1
        r = s.run("exec", "-c", "import os; print(os.getuid(), open('/proc/self/status').read().split('Seccomp:')[1].split()[0])", **DAEMON)
        assert r.code == 0 and r.out == "65532 2\n", r


def test_files_cells_and_deaths(slurm):
    cells_files_and_deaths(slurm)


@pytest.mark.slow(15)
@pytest.mark.parametrize("group", [pytest.param(g, marks=pytest.mark.check) for g in ("limits", "shell", "javascript", "program")] + ["protocol", "files", "sql", "posture"])
def test_probes(slurm, group):
    probes_hold(slurm, group)


@pytest.mark.parametrize("option", ["--mount=/usr", "--allow-net=example.com", "--secret=K=example.com"])
def test_no_folders_and_no_hosts(slurm, option):
    """What the probes of mounts and hosts attack is not there."""
    r = slurm.run("exec", option, "-c", "1", env={"K": "1"})
    assert r.code == 125 and ("slurm cannot mount folders" if "mount" in option else "slurm cannot be given hosts") in r.err, r


def test_nothing_stays_in_the_queue(slurm, cluster):
    p = slurm.start("exec", "-c", "import time\nprint('up', flush=True)\ntime.sleep(300)")
    assert p.stdout.readline() == b"up\n" and len(cluster.jobs()) == 1
    p.kill()
    p.wait()
    until(lambda: not cluster.jobs())               # 5 s, where nothing else runs
    assert "CANCELLED" not in cluster.ask("scontrol", "show", "job"), cluster.ask("scontrol", "show", "job")


def test_a_wait_is_shown(slurm, cluster):
    with full(cluster):
        p = slurm.start("exec", "-c", "print(6 * 7)")
        first = p.stderr.readline()
        assert b"slurm: waiting: PENDING (" in first, first
    out, err = p.communicate(timeout=60)
    assert (p.returncode, out) == (0, b"42\n"), err


def test_a_wait_has_an_end(slurm, cluster):
    with full(cluster):
        r = slurm.run("exec", "--queue-timeout", "4s", "-c", "1")
        assert r.code == 125 and "slurm: it waited 4 s in the queue (PENDING (" in r.err and "--queue-timeout" in r.err, r
        until(lambda: len(cluster.jobs()) == 1)
        p = slurm.start("exec", "-c", "1")
        until(lambda: len(cluster.jobs()) == 2)
        p.kill()                                        # while it is queued
        p.wait()
        until(lambda: len(cluster.jobs()) == 1)


FAILS = [({"partition": "none-such"}, "the cluster has no such partition"), ({"memory": "900G"}, "no node of the cluster has what is asked for"),
         ({"partition": "main; touch /tmp/sp-pwned"}, "the cluster has no such partition")]


@pytest.mark.parametrize("settings, words", FAILS, ids=[w for _, w in FAILS])
def test_what_the_cluster_refuses(cluster, settings, words):
    for s in on(cluster, settings):
        r = s.run("exec", "-c", "1")
        assert r.code == 125 and "slurm: " + words in r.err and len(r.err.splitlines()) == 2 and not os.path.exists("/tmp/sp-pwned"), r


def test_no_cluster(slurm, cluster):
    """Its controller does not answer."""
    with open(cluster.conf) as f:
        conf = slurm.write("slurm.conf", f.read().replace("SlurmctldPort=", "MessageTimeout=2\nSlurmctldPort=1 # "))
    r = slurm.run("exec", "-c", "1", env={"SLURM_CONF": conf})
    assert r.code == 125 and "slurm: the cluster's controller does not answer" in r.err and len(r.err.splitlines()) == 2, r


def test_a_batch_has_one_allocation(small, cluster, model):     # noqa: F811
    model(small)
    seen, stop = set(), threading.Event()

    def look():
        while not stop.is_set():
            seen.update(j.split()[0] for j in cluster.jobs())
            time.sleep(0.1)
    threading.Thread(target=look, daemon=True).start()
    r = small.run("batch", rows(small, 12), "-o", "out.jsonl", "-j", "4", timeout=150)
    stop.set()
    assert r.code == 0 and "12 answered, 0 failed, 0 left" in r.err and len(seen) == 1, (r, seen)
    again = small.run("batch", rows(small, 12), "-o", "out.jsonl", "-j", "4")
    assert again.code == 0 and small.leftovers() == [], (again, "nothing was asked")


@pytest.mark.slow(10)
def test_a_node_that_dies(small, cluster, model):               # noqa: F811
    """All rows are answered, or told and answered by the second run, and no step of the first one is left."""
    model(small)
    n, words = int(os.environ.get("SANDPIPER_TEST_ROWS", "20")), ("batch", "q.jsonl", "-o", "out.jsonl", "-j", "4")
    rows(small, n)
    p = small.start(*words)
    out = os.path.join(small.work, "out.jsonl")
    until(lambda: os.path.exists(out) and len(open(out).read().splitlines()) >= n // 4, 90)
    cluster.kill("n2")
    _, err = p.communicate(timeout=240)
    err = err.decode()
    answered = sum(line["status"] == "answered" for line in lines(small))
    assert (p.returncode == 0) == (answered == n) and "%d answered" % answered in err, err
    cluster.start_node("n2")
    cluster.wait_idle(60)
    r = small.run(*words, "--retry-failed", timeout=240)
    last = {line["id"]: line for line in lines(small)}
    assert r.code == 0 and len(last) == n and all(line["status"] == "answered" for line in last.values()), (r, err)


def site_of(program):
    """The allocation that a program of this home has, as its runners find it."""
    for id in os.listdir(program.path("run/sandpiper")):
        if os.path.exists(program.path("run/sandpiper/%s/in/s" % id)):
            with open(program.path("run/sandpiper/%s/record" % id)) as f:
                return "slurm:%s:%s" % (id, json.load(f)["owner"])


def test_how_long_it_takes(slurm, cluster, capsys):
    """It is printed; the limit is wide, since others may use the machine."""
    walls = {}
    for engine in ("bwrap", "slurm"):
        slurm.engine = engine
        cells, r, _ = session.play(slurm, ["1"] + ["2"] * 20)
        walls[engine] = statistics.median(c.seconds for c in cells[1:])
    for code in ("#" * 3000, "'x' * 3000", "print('x' * 3000)", "import time\nprint(1, flush=True)\ntime.sleep(0.001)\nprint(2)"):
        cells, r, _ = session.play(slurm, ["1"] + [code] * 10)
        assert min(c.seconds for c in cells[1:]) < 0.04, (code[:20], [c.seconds for c in cells])        # srun's pieces do not wait for each other
    alone = slurm.run("exec", "-c", "print(1)").seconds
    p = slurm.start("exec", "-c", "import time\nprint('up', flush=True)\ntime.sleep(300)")
    assert p.stdout.readline() == b"up\n"
    shared = statistics.median(slurm.run("exec", "-c", "print(1)", env={"SANDPIPER_SITE": site_of(slurm)}).seconds for _ in range(5))
    p.kill()
    with capsys.disabled():
        print("\nslurm: a step to its output and end %.3f s, with an allocation of its own %.3f s; a warm cell %.2f ms, bwrap here %.2f ms"
              % (shared, alone, 1000 * walls["slurm"], 1000 * walls["bwrap"]))
    assert walls["slurm"] < walls["bwrap"] + 0.05
