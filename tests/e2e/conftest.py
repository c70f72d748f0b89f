"""conftest.py - what every end-to-end test stands on: the built program in a clean environment, the three engines, a scripted model
service, a pseudo-terminal, and a check that nothing is left behind after each test.

  SANDPIPER_BIN            the program to test (build/release/sandpiper); an ASan build does too, its findings fail the test
  SANDPIPER_TEST_ENGINES   "required": a missing engine is a failure (CI); "docker bwrap": only these; unset: those that work here
"""
import ctypes
import glob
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from functools import lru_cache

import pexpect
import pytest

import rootless
from model_server import ModelServer

# A shell that runs us in the background ignores SIGINT and SIGQUIT for us and for every child; then no Ctrl-C of a test would reach anybody.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)

TREE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BIN = os.path.abspath(os.environ.get("SANDPIPER_BIN", os.path.join(TREE, "build", "release", "sandpiper")))
ENGINES = ["docker", "podman", "bwrap"]
ROOTLESS = "podman-rootless"     # podman as an ordinary user, where root runs the tests
IMAGE = "sandpiper:latest"
PR_SET_CHILD_SUBREAPER = 36
HERE = os.path.dirname(__file__)


# --------------------------------------------------------------------------------------------------------------- engines

def quiet(argv, timeout=60, env=None):
    try:
        return subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout, text=True)
    except (OSError, subprocess.TimeoutExpired) as e:
        return subprocess.CompletedProcess(argv, 127, str(e))


@lru_cache(maxsize=None)
def why_not(engine):
    """Why this engine cannot be tested here, or None."""
    if engine == ROOTLESS:
        return why_not("podman") or rootless.store(IMAGE)[1]
    if engine == "bwrap":
        r = quiet(["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"])
        return None if r.returncode == 0 else "bwrap does not work: " + r.stdout.strip()
    r = quiet([engine, "image", "inspect", "-f", "x", IMAGE])
    return None if r.returncode == 0 else "%s or its image %s is not there: %s" % (engine, IMAGE, r.stdout.strip().splitlines()[-1:])


def need_engine(engine):
    wanted = os.environ.get("SANDPIPER_TEST_ENGINES", "")
    if wanted and wanted != "required" and engine.split("-")[0] not in wanted.split():
        pytest.skip("SANDPIPER_TEST_ENGINES leaves %s out" % engine)
    problem = why_not(engine)
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


# ------------------------------------------------------------------------------------------------------------- the program

class Result:
    def __init__(self, code, out, err, seconds, argv):
        self.code, self.out_bytes, self.err_bytes, self.seconds, self.argv = code, out, err, seconds, argv
        self.out, self.err = out.decode("utf-8", "replace"), err.decode("utf-8", "replace")

    def __repr__(self):
        return "exit %s after %.2f s\n--- argv: %s\n--- stdout:\n%s--- stderr:\n%s---" % (
            self.code, self.seconds, self.argv, self.out[-4000:], self.err[-4000:])


class Sandpiper:
    """The program with a home of its own. url: the model service; None: nothing is configured."""

    def __init__(self, engine="bwrap"):
        # Short, because unix sockets below it have 108 bytes for their whole path.
        self.dir = tempfile.mkdtemp(prefix="sp", dir="/tmp")
        self.engine, self.url, self.key, self.model = engine, None, "test-key", None
        self.pids, self.children = [], []
        for name in ("home", "config/sandpiper", "cache", "state", "data", "run", "tmp", "work"):
            os.makedirs(os.path.join(self.dir, name), mode=0o700)
        self.work = os.path.join(self.dir, "work")
        self.rootless = engine == ROOTLESS
        if self.rootless:
            self.engine = "podman"
            rootless.configure(self.path("config"), self.path("data/store"), rootless.store(IMAGE)[0])
            rootless.own(self.dir)

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, content, mode="w"):
        """A file in the working directory; returns its path."""
        path = os.path.join(self.work, name)
        with open(path, "wb" if isinstance(content, bytes) else mode) as f:
            f.write(content)
        return path

    def configure(self, text):
        with open(self.path("config/sandpiper/config.yaml"), "w") as f:
            f.write(text)

    def env(self, extra=None):
        keep = {k: os.environ[k] for k in ("PATH",) if k in os.environ}
        env = dict(keep, HOME=self.path("home"), XDG_CONFIG_HOME=self.path("config"), XDG_CACHE_HOME=self.path("cache"),
                   XDG_STATE_HOME=self.path("state"), XDG_DATA_HOME=self.path("data"), XDG_RUNTIME_DIR=self.path("run"),
                   TMPDIR=self.path("tmp"), LANG="C.UTF-8", TERM="dumb", SANDPIPER_DISCOVER="0",
                   ASAN_OPTIONS="detect_leaks=1:exitcode=99:log_path=%s" % self.path("asan"),
                   UBSAN_OPTIONS="print_stacktrace=1:log_path=%s" % self.path("asan"))
        if self.engine:
            env["SANDPIPER_SANDBOX"] = self.engine
        if self.url:
            env["OPENAI_BASE_URL"] = self.url
            env["SANDPIPER_MODEL"] = self.model or "test-model"
            if self.key:
                env["OPENAI_API_KEY"] = self.key
        for name, value in (extra or {}).items():
            if value is None:
                env.pop(name, None)
            else:
                env[name] = str(value)
        return env

    def argv(self, args):
        return rootless.wrapped([BIN, *args]) if self.rootless else [BIN, *args]

    def start(self, *args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=None, **popen):
        p = subprocess.Popen(self.argv(args), stdin=stdin, stdout=stdout, stderr=stderr, env=self.env(env), cwd=popen.pop("cwd", self.work),
                             start_new_session=popen.pop("start_new_session", True), **popen)
        self.pids.append(p.pid)
        self.children.append(p)
        return p

    def run(self, *args, stdin=None, env=None, timeout=90, **popen):
        """stdin: bytes or text for a pipe; None: /dev/null; a file object or descriptor: that."""
        data = None
        if isinstance(stdin, (str, bytes)):
            data, stdin = stdin.encode() if isinstance(stdin, str) else stdin, subprocess.PIPE
        begin = time.monotonic()
        p = self.start(*args, stdin=subprocess.DEVNULL if stdin is None else stdin, env=env, **popen)
        try:
            out, err = p.communicate(data, timeout=timeout)
        except subprocess.TimeoutExpired:
            p.send_signal(signal.SIGABRT)
            out, err = p.communicate()
            raise AssertionError("it did not end within %d s: %r" % (timeout, Result("none", out or b"", err or b"", timeout, args)))
        return Result(p.returncode, out or b"", err or b"", time.monotonic() - begin, args)

    def chat(self, *args, env=None, size=(30, 100), timeout=30):
        """The program in a pseudo-terminal (pexpect)."""
        # A canonical terminal cuts a line at 4,096 bytes; the chat reads raw, so only tests of pastes come near.
        argv = self.argv(args)
        p = pexpect.spawn(argv[0], argv[1:], env=self.env(dict({"TERM": "xterm-256color"}, **(env or {}))), cwd=self.work,
                          dimensions=size, timeout=timeout, encoding="utf-8", codec_errors="replace", echo=False)
        p.delaybeforesend = 0.02
        self.pids.append(p.pid)
        self.children.append(p)
        return p

    def finish(self):
        """End what still runs, then say what was left behind."""
        for p in self.children:
            if isinstance(p, subprocess.Popen):
                if p.poll() is None:
                    p.kill()
                    p.wait()
                for f in (p.stdout, p.stderr, p.stdin):
                    if f:
                        f.close()
            else:
                p.close(force=True)
        return self.leftovers()

    def end_podman(self):
        rootless.end_pause(self.path("run"))
        for name in ("run/libpod", "run/containers", "run/runc", "run/crun"):
            shutil.rmtree(self.path(name), ignore_errors=True)

    def leftovers(self):
        problems = ["%s:\n%s" % (os.path.basename(f), open(f, errors="replace").read()[:6000]) for f in glob.glob(self.path("asan*"))]
        deadline = time.monotonic() + 3       # what a killed program left may take a moment to see that it is alone
        while True:
            left = self.containers()
            self.end_podman()
            left += self.processes() + self.mounts() + self.cgroups()
            if not left or time.monotonic() > deadline:
                break
            time.sleep(0.1)
        left += ["temporary file " + f for f in self.files()]
        return problems + left

    def processes(self):
        """Children of ours (we are their subreaper) that have this sandpiper's folder in their environment or their words."""
        left = []
        mark = self.dir.encode()
        for pid in [int(p) for p in os.listdir("/proc") if p.isdigit()]:
            try:
                with open("/proc/%d/cmdline" % pid, "rb") as f:
                    words = f.read()
                with open("/proc/%d/environ" % pid, "rb") as f:
                    env = f.read()
                with open("/proc/%d/stat" % pid) as f:
                    state = f.read().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if pid != os.getpid() and state != "Z" and (mark in words or mark in env):
                left.append("process %d: %s" % (pid, words.replace(b"\0", b" ").decode("utf-8", "replace")[:200]))
        return left

    def containers(self):
        left = []
        if self.rootless:               # whatever this user has is this test's
            listed = quiet(rootless.wrapped(["podman", "ps", "-aq", "--no-trunc"]), env=self.env())
            assert listed.returncode == 0, listed.stdout
            return ["podman container %s of the user" % one for one in listed.stdout.split() if len(one) == 64]
        for engine in ("docker", "podman"):
            if why_not(engine) is None and self.engine in (engine, "auto", None):
                ids = quiet([engine, "ps", "-aq", "--no-trunc"]).stdout.split()
                for one in ids:
                    if self.dir in quiet([engine, "inspect", one]).stdout:
                        left.append("%s container %s" % (engine, one))
        return left

    def mounts(self):
        with open("/proc/self/mountinfo") as f:
            return ["mount " + line.strip() for line in f if self.dir in line]

    def cgroups(self):
        """Folders named after sandpiper and one of the processes that ran here."""
        found = glob.glob("/sys/fs/cgroup/**/*sandpiper*", recursive=True)
        return ["cgroup " + c for c in found if any(str(p) in os.path.basename(c).replace(".", "-").split("-") for p in self.pids)]

    def files(self):
        left = glob.glob(self.path("tmp/**"), recursive=True)[1:]
        # a runtime folder may be kept, but nothing in it; of ours not even an empty one
        left += [f for f in glob.glob(self.path("run/sandpiper/*")) if os.path.basename(f) != "names"]
        return left + [f for f in glob.glob(self.path("run/**"), recursive=True) if not os.path.isdir(f)]


@pytest.fixture(scope="session", autouse=True)
def subreaper():
    """Processes that lose their parent become ours, so they are reaped and never hide as a child of init."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    assert os.access(BIN, os.X_OK), "%s is not built" % BIN


def make_sandpiper(engine):
    s = Sandpiper(engine)
    try:
        yield s
    finally:
        left = s.finish()
        shutil.rmtree(s.dir, ignore_errors=True)
    assert not left, "left behind:\n  " + "\n  ".join(left)


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

    def start(program, exchanges=(), model=None, complete=True, lenient=False, profile=None):
        server = ModelServer(exchanges, model=model or "test-model", lenient=lenient, profile=profile)
        server.__enter__()
        servers.append((server, complete))
        program.url, program.model = server.url, model or program.model
        return server
    yield start
    for server, _ in servers:
        server.__exit__()
    for server, complete in servers:
        server.check(complete)


def pytest_collection_modifyitems(config, items):
    """Where only some engines are asked for, the rounds of the others are not there, instead of being skipped."""
    wanted = os.environ.get("SANDPIPER_TEST_ENGINES", "")
    if not wanted or wanted == "required":
        return
    out = [i for i in items if getattr(i, "callspec", None) and i.callspec.params.get("engine") in [*ENGINES, ROOTLESS]
           and i.callspec.params["engine"].split("-")[0] not in wanted.split()]
    config.hook.pytest_deselected(items=out)
    items[:] = [i for i in items if i not in out]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    """A test that hangs dumps where, instead of eating CI's hour."""
    timer = threading.Timer(300, lambda: os.kill(os.getpid(), signal.SIGALRM))
    timer.daemon = True

    def alarm(signum, frame):
        raise AssertionError("the test ran for 300 s")
    old = signal.signal(signal.SIGALRM, alarm)
    timer.start()
    yield
    timer.cancel()
    signal.signal(signal.SIGALRM, old)
