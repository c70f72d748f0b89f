"""conftest.py - what every end-to-end test stands on: the built program in a clean environment, the three engines, a scripted model
service, a pseudo-terminal, and a check that nothing is left behind after each test.

  SANDPIPER_TEST_ENGINES   "required": a missing engine is a failure (CI); "docker bwrap": only these; unset: those that work here
  SANDPIPER_TEST_NOTES     a file for what runs, ended and failed (tests/run.sh)

Tests run side by side (tests/run.sh gives them to several workers), each on its own but for these, which stay with one worker: those that share
a fixture which is made once, and those of the one ordinary user, who has one store of images and whose processes are counted together.
Markers stand beside the tests; MARKERS says what each is for.
"""
import ctypes
import faulthandler
import os
import re
import signal
import sys

import pytest

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))     # tests/probes

import rootless
import turns
from model_server import ModelServer
from program import (BIN, BWRAP_USER, ENGINES, HANG, HERE, IMAGE, PLACES, PR_SET_CHILD_SUBREAPER, ROOTLESS, TREE, UNSEEN,  # noqa: F401
                     Result, Sandpiper, containers_of, engine_of, make_sandpiper, quiet, reap, swept, why_not)

# A shell that runs us in the background ignores SIGINT and SIGQUIT for us and for every child; then no Ctrl-C of a test would reach anybody.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_DFL)          # under nohup it is ignored for every child as well


def need_engine(engine):
    wanted = os.environ.get("SANDPIPER_TEST_ENGINES", "")
    if wanted and wanted != "required" and engine_of(engine) not in wanted.split():
        pytest.skip("SANDPIPER_TEST_ENGINES leaves %s out" % engine)
    problem = why_not(engine)
    if engine == BWRAP_USER and os.geteuid() != 0:
        pytest.skip(problem)
    if problem and wanted:
        pytest.fail("%s is required: %s" % (engine, problem), pytrace=False)
    if problem:
        pytest.skip(problem)


@pytest.fixture(params=ENGINES)
def engine(request):
    """Each engine in turn."""
    need_engine(request.param)
    return request.param


@pytest.fixture
def one_engine():
    """The quickest one, where the engine does not matter."""
    need_engine("bwrap")
    return "bwrap"


@pytest.fixture(scope="session", autouse=True)
def subreaper():
    """Processes that lose their parent become ours, so they are reaped and never hide as a child of init."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    assert os.access(BIN, os.X_OK), "%s is not built" % BIN
    yield
    left = [one for engine in ("docker", "podman") if UNSEEN for one in containers_of(engine, UNSEEN)]
    assert not left, left


def make_at(place, uid):
    """On an engine; podman as an ordinary user (ROOTLESS); or, as "bwrap-user", bwrap as an ordinary user of that uid where root runs the tests."""
    need_engine(place)
    for s in make_sandpiper("bwrap" if place == BWRAP_USER else place):
        if place == BWRAP_USER:
            rootless.own(s.dir, uid)
            plain = s.start
            s.start = lambda *args, **popen: plain(*args, user=uid, group=uid, extra_groups=[], **popen)
        yield s


@pytest.fixture
def sandpiper(one_engine):
    """The program on the quickest engine."""
    yield from make_sandpiper(one_engine)


@pytest.fixture
def sandpiper_on(engine):
    """The program on each engine in turn."""
    yield from make_sandpiper(engine)


@pytest.fixture
def bare():
    """The program with no engine chosen, for what must not need one."""
    yield from make_sandpiper(None)


@pytest.fixture
def serve():
    """serve(sandpiper, exchanges) starts a scripted model service for that program. Checked at the end of the test."""
    servers = []

    def start(program, exchanges=(), model=None, complete=True, lenient=False, profile=None, sees=False):
        server = ModelServer(exchanges, model=model or "test-model", lenient=lenient, profile=profile)
        server.sees = sees
        server.__enter__()
        servers.append((server, complete))
        program.url, program.model = server.url, model or program.model
        return server
    yield start
    for server, _ in servers:
        server.__exit__()
    for server, complete in servers:
        server.check(complete)


MARKERS = [
    "check: a long repetition, which `make check` runs",
    "slow(seconds): took about so long beside others; the longest begin first, so that no worker is left alone with one at the end, and `make quick` "
    "leaves them out",
    # Containment and its limits, which are the engine's; what runs inside; the set-up. What is measured in bytes or seconds is another thing with
    # sanitizers. What the unit tests and fuzz targets read with sanitizers as well. What searches the program's memory, where the sanitizers keep
    # a copy of the environment; what takes away /proc, which they need. What other people's clients understand: the tests, and a fuzz target, send
    # such requests themselves.
    "no_asan: says nothing of the program's own memory, or cannot be said of a build with sanitizers, which leaves it out",
    "asan_once: its cases differ in what runs inside, or in one text; with sanitizers the first will do",
    "client(names, what): it runs these clients (ENVIRONMENT/PACKAGE of tests/clients, or a name alone), and what of them: a row of docs/CLIENTS.md",
    "xdist_group(name): these stay with one worker",
]
SHARED = {"machine": "machine", "certificates": "certificates"}           # fixtures that are made once


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help="leave out the slow tests and, of one with several cases, all but the first")
    parser.addoption("--turns", action="store_true", help="leave out what another round of `make test` and `make check` runs (turns.py)")


def pytest_configure(config):
    for line in MARKERS:
        config.addinivalue_line("markers", line)
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Notes())


def group_of(item, quick):
    """Whom it must stay with; None: it may run beside any other."""
    if quick and hasattr(item.module, "prof"):      # else each worker imports pandas for a few short tests
        return "profiles"
    values = getattr(item, "callspec", None) and item.callspec.params.values() or ()
    if any(isinstance(v, str) and v in (ROOTLESS, BWRAP_USER) for v in values):
        return "user"
    return next((name for fixture, name in SHARED.items() if fixture in item.fixturenames), None)


def seconds_of(item):
    slow = item.get_closest_marker("slow")
    return slow.args[0] if slow else 0


def pytest_collection_modifyitems(config, items):
    """Groups for the workers, and the longest first. Where only some engines are asked for, the rounds of the others are not there, instead of
    being skipped."""
    quick, asan, cases = config.getoption("quick"), "asan" in BIN, set()
    out = turns.left_to_another(items, asan) if config.getoption("turns") else set()
    for item in items:
        group = group_of(item, quick)
        if group:
            item.add_marker(pytest.mark.xdist_group(group))
    if config.getoption("numprocesses", None) or hasattr(config, "workerinput"):
        items.sort(key=lambda i: (not i.get_closest_marker("xdist_group"), -seconds_of(i)))
    wanted = os.environ.get("SANDPIPER_TEST_ENGINES", "")
    wanted = [] if wanted == "required" else wanted.split()

    def is_another_case(item):
        test = (item.path, getattr(item, "originalname", item.name), item.cls)
        return test in cases or cases.add(test)

    def left_out(item):
        engine = getattr(item, "callspec", None) and item.callspec.params.get("engine")
        return asan and item.get_closest_marker("no_asan") or quick and item.get_closest_marker("slow") or wanted and engine in [*ENGINES, ROOTLESS] and engine.split("-")[0] not in wanted
    out |= {item for item in items if left_out(item) or (quick or asan and item.get_closest_marker("asan_once")) and is_another_case(item)}
    config.hook.pytest_deselected(items=out)
    items[:] = [item for item in items if item not in out]


# What tests/run.sh tells of a round that did not come to its own summary: a line as each test begins, ends or fails.
NOTES = os.environ.get("SANDPIPER_TEST_NOTES")


def note(word, test, why=""):
    if NOTES:
        with open(NOTES, "a") as f:
            f.write("\t".join([word, re.sub("@[a-z]+$", "", test), *why.strip().splitlines()[-1:]]) + "\n")


class Notes:
    """With workers the first process hears of all their tests, and also of those that a worker died of."""

    def pytest_runtest_logstart(self, nodeid):
        note("began", nodeid)

    def pytest_runtest_logfinish(self, nodeid):
        note("ended", nodeid)

    def pytest_runtest_logreport(self, report):
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            note("FAILED", report.nodeid, crash.message.partition("\n")[0] if crash else str(report.longrepr))


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    """What pytest-timeout cannot end (signals are blocked, or the clean-up hangs as well) takes its worker with it, which is then a failure of
    that test; the others go on."""
    with open(NOTES or os.devnull, "a") as f:
        faulthandler.dump_traceback_later((item.config.getoption("timeout", None) or 300) + 60, exit=True, file=f)
        yield
        faulthandler.cancel_dump_traceback_later()
    reap()
