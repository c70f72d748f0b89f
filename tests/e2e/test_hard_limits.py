"""test_hard_limits.py - started under hard limits of processes or open files that are below what a sandbox is given: the code has what there
is, which is said once; what the user has named is never replaced; and where nothing can run, that is the error."""
import os
import re
import resource

import pytest

from conftest import ROOTLESS, make_at

pytestmark = pytest.mark.no_asan

USER = 55000 + os.getpid() % 1000       # nobody else's, or their processes count
FORKS = """
import os, time
kids = []
try:
    while True:
        pid = os.fork()
        if pid == 0:
            time.sleep(20)
            os._exit(0)
        kids.append(pid)
except OSError: pass
print(len(kids))
for pid in kids:
    os.kill(pid, 9)
    os.waitpid(pid, 0)
"""


def under(kind, most):
    """LeakSanitizer starts a thread at the end, which there may be no room for."""
    return dict(preexec_fn=lambda: resource.setrlimit(kind, (most, most)), env={"ASAN_OPTIONS": "detect_leaks=0:exitcode=99"})


@pytest.fixture(params=["bwrap-user", "bwrap", "podman"])
def few(request):
    yield from make_at(request.param, USER)


@pytest.fixture(params=["bwrap-user", "bwrap", "podman", ROOTLESS])
def closed(request):
    yield from make_at(request.param, USER)


def test_fewer_processes(few, serve):
    """60 instead of 128: code runs, may have nearly that many, and is told the right number; the user is told once."""
    limit = under(resource.RLIMIT_NPROC, 60)
    serve(few, [{"answer": {"calls": [{"code": FORKS}]}}, {"answer": {"text": "Done."}}])
    r = few.run("how many?", **limit)
    said = re.findall(r"code may have (\d+) processes instead of 128, because the hard limit \(ulimit -Hu\) is 60; "
                      ".*limits.conf", r.err)
    assert r.code == 0 and r.out == "Done.\n" and "ended the interpreter" not in r.err and len(said) == 1, r
    most = int(said[0])
    ran = int(re.search(r"^\W*(\d+)$", r.err, re.M).group(1))
    assert 40 <= most < 60 and most - 10 <= ran < most, r
    again = few.run("exec", "-", stdin="import os, time\nfor i in range(100): os.fork() or (time.sleep(9), os._exit(0))", **limit)
    assert again.code == 1 and "instead of" not in again.err, again
    elsewhere = few.run("exec", "-", stdin="pass")
    assert elsewhere.code == 0 and "processes instead" not in elsewhere.err, elsewhere


def test_named_processes_are_not_replaced(few):
    limit = under(resource.RLIMIT_NPROC, 60)
    r = few.run("exec", "--pids", "100", "-", stdin="print(1)", **limit)
    assert r.code == 125 and "--pids 100 is not possible" in r.err and "60" in r.err, r
    most = re.search(r"or use --pids (\d+)", r.err).group(1)
    assert few.run("exec", "--pids", "20", "-", stdin="print(1)", **limit).out == "1\n" and 20 < int(most) <= 60


def test_too_few_processes(few, serve):
    """Nothing can be run: a question whose code cannot run does not end with 0."""
    serve(few, [{"answer": {"calls": [{"code": "print(1)"}]}}, {"answer": {"text": "It is 1."}}], complete=False)
    r = few.run("how many?", **under(resource.RLIMIT_NPROC, 7))
    assert r.code == 3 and "too few processes" in r.err and "limits.conf" in r.err and "namespace" not in r.err, r


def test_doctor_knows(few):
    r = few.run("doctor", "--offline", "-v", **under(resource.RLIMIT_NPROC, 60))
    limits = re.search(r"limits: .*?(\d+) processes", r.out)
    assert r.code == 0 and int(limits.group(1)) < 60 and "processes instead of 128" in r.out, r
    r = few.run("doctor", "--offline", **under(resource.RLIMIT_NPROC, 7))
    assert r.code == 3 and " no    too few processes" in r.out and "--pids" not in r.out, r


def test_fewer_open_files(closed):
    """100 instead of 256, which podman cannot be asked for; and 20 are too few."""
    code = ("import resource\nprint(resource.getrlimit(resource.RLIMIT_NOFILE))\n"
            "files = [open('/dev/null') for i in range(300)]")
    r = closed.run("exec", "-", stdin=code, **under(resource.RLIMIT_NOFILE, 100))
    assert r.code == 1 and r.out == "(100, 100)\n" and "Too many open files" in r.err, r
    assert r.err.count("code may have 100 open files instead of 256, because the hard limit (ulimit -Hn) is 100") == 1, r
    r = closed.run("exec", "-", stdin=code, **under(resource.RLIMIT_NOFILE, 25))
    assert r.code == 125 and "too few open files" in r.err and "limits.conf" in r.err, r


@pytest.mark.parametrize("kind, most", [("FSIZE", 100 << 20), ("STACK", 4 << 20), ("SIGPENDING", 100), ("MEMLOCK", 1 << 16)])
def test_less_of_others(closed, kind, most):
    """Nobody is told of these: no engine may ask for more, that is all."""
    code = "import resource\nprint(resource.getrlimit(resource.RLIMIT_%s)[1] <= %d)" % (kind, most)
    r = closed.run("exec", "-", stdin=code, **under(getattr(resource, "RLIMIT_" + kind), most))
    assert r.code == 0 and r.out == "True\n", r


def test_a_full_user_is_told_so(serve):
    """Processes that others have started meanwhile: said as what it is, and not as a namespace that is forbidden."""
    for s in make_at("bwrap-user", USER):
        s.write("bwrap", "#!/bin/sh\necho 'bwrap: Creating new namespace failed: Resource temporarily unavailable' >&2\nexit 1\n")
        os.chmod(os.path.join(s.work, "bwrap"), 0o755)
        r = s.run("exec", "-", stdin="print(1)", env={"PATH": s.work + ":" + os.environ["PATH"]})
        assert r.code == 125 and "process limit reached" in r.err and "namespace" not in r.err, r
