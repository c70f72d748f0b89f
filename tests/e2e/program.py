"""program.py - the built program in a clean home, on one engine or as one user, and what it left behind. The standard library alone: pytest's
fixtures (conftest.py) and `make probe` (tests/probes) both stand on it.

  SANDPIPER_BIN            the program to test (build/release/sandpiper); an ASan build does too, its findings fail the test
  SANDPIPER_IMAGE          the image for docker and podman (sandpiper:latest)
"""
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from functools import lru_cache

import event_schema
import rootless

TREE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BIN = os.path.abspath(os.environ.get("SANDPIPER_BIN", os.path.join(TREE, "build", "release", "sandpiper")))
ENGINES = ["docker", "podman", "bwrap"]
ROOTLESS = "podman-rootless"     # podman as an ordinary user, where root runs the tests
BWRAP_USER = "bwrap-user"        # the same for bwrap
PLACES = ["docker", "podman", "bwrap", BWRAP_USER, ROOTLESS]
IMAGE = os.environ.get("SANDPIPER_IMAGE", "sandpiper:latest")
PR_SET_CHILD_SUBREAPER = 36
HERE = os.path.dirname(__file__)
HANG = 25               # seconds: on a machine with much other work a program that waits for nothing is quicker; one that hangs is not


# --------------------------------------------------------------------------------------------------------------- engines

def engine_of(place):
    return place.split("-")[0]


def quiet(argv, timeout=60, env=None, stderr=subprocess.STDOUT, **popen):
    try:
        return subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr, timeout=timeout, text=True, **popen)
    except (OSError, subprocess.TimeoutExpired) as e:
        return subprocess.CompletedProcess(argv, 127, str(e))


AS_USER = dict(user=rootless.UID, group=rootless.UID, extra_groups=[])


@lru_cache(maxsize=None)
def why_not(place):
    """Why this engine, or this engine as that user, cannot be tested here; or None."""
    if place == ROOTLESS:
        return why_not("podman") or rootless.store(IMAGE)[1]
    if place == BWRAP_USER and os.geteuid() != 0:
        return "bwrap is run by an ordinary user already"
    if engine_of(place) == "bwrap":
        r = quiet(["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"], cwd="/", **(AS_USER if place == BWRAP_USER else {}))
        return None if r.returncode == 0 else "bwrap does not work: " + r.stdout.strip()
    r = quiet([place, "image", "inspect", "-f", "x", IMAGE])
    return None if r.returncode == 0 else "%s or its image %s is not there: %s" % (place, IMAGE, " ".join(r.stdout.strip().splitlines()[-1:]))


@lru_cache(maxsize=None)
def binary_for_user():
    """The program where an ordinary user can start it: root's tree may lie in a folder that is closed to others."""
    if quiet([BIN, "--version"], cwd="/", **AS_USER).returncode == 0:
        return BIN
    copy = os.path.join(rootless.place(), "sandpiper")
    shutil.copy(BIN, copy)
    os.chmod(copy, 0o755)
    return copy


@lru_cache(maxsize=None)
def own_store():
    """Where an ordinary user's podman keeps its images, which a home of our own would hide; None for root."""
    if os.geteuid() == 0:
        return None
    r = quiet(["podman", "info", "-f", "{{.Store.GraphRoot}}"])
    return r.stdout.strip() if r.returncode == 0 else None


UNSEEN = set()          # folders of programs that had no engine, to be looked for among all containers


INSPECTED = {}          # what podman told of a container that is made does not change, and each client costs 0.1 s


def inspected(ids):
    """What podman tells of these containers, as texts. One may have gone meanwhile; another may be half made, by a client that was killed,
    and is only listed: its name stands for it."""
    new = [id for id in ids if id not in INSPECTED]
    told = quiet(["podman", "inspect", *new], stderr=subprocess.DEVNULL).stdout if new else "[]"
    try:
        INSPECTED.update((c["Id"], json.dumps(c)) for c in json.loads(told))
    except ValueError:
        if len(new) > 1:
            return {id: text for one in ids for id, text in inspected([one]).items()}
        listed = quiet(["podman", "ps", "-a", "--no-trunc", "--filter", "id=" + new[0], "--format", "{{.Names}}"], stderr=subprocess.DEVNULL).stdout
        return {new[0]: listed} if listed.strip() else {}
    return {id: INSPECTED[id] for id in ids if id in INSPECTED}


def told_of_each(engine):
    """{id: a text that has its name and its mounts} of every container, dead or alive."""
    if engine == "docker":
        told = quiet(["docker", "ps", "-a", "--no-trunc", "--format", "{{.ID}} {{.Names}} {{.Mounts}}"], stderr=subprocess.DEVNULL).stdout
        return {line.split()[0]: line for line in told.splitlines()}
    return inspected(quiet(["podman", "ps", "-aq", "--no-trunc"], stderr=subprocess.DEVNULL).stdout.split())


def containers_of(engine, folders):
    """The containers that know one of these folders, or have the name of a sandbox in one."""
    if why_not(engine) is not None:
        return []
    marks = [mark for folder in folders for mark in [folder, *("sandpiper-" + os.path.basename(f) for f in glob.glob(folder + "/run/sandpiper/*"))]]
    return ["%s container %s" % (engine, id) for id, text in told_of_each(engine).items() if any(mark in text for mark in marks)]


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return [int(p) for p in f.read().split()]


def name_of(pid):
    """None: it has ended meanwhile."""
    try:
        with open("/proc/%d/comm" % pid) as f:
            return f.read().strip()
    except OSError:
        return None


def descendants():
    """Every process below this one, or every one there is, if this kernel does not tell."""
    found, todo = [], [os.getpid()]
    if not os.path.exists("/proc/%d/task/%d/children" % (todo[0], todo[0])):
        return [int(p) for p in os.listdir("/proc") if p.isdigit()]
    while todo:
        tasks = "/proc/%d/task" % todo.pop()
        try:
            for task in os.listdir(tasks):
                with open("%s/%s/children" % (tasks, task)) as f:
                    pids = [int(p) for p in f.read().split()]
                found += pids
                todo += pids
        except OSError:
            pass
    return found


def reap():
    """The dead that nobody waits for: who loses their parent becomes ours (conftest.py). Between two tests, when none of them is a child that a
    test started; left as they are, hundreds would be looked at after each test."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


# ------------------------------------------------------------------------------------------------------------- the program

class Result:
    def __init__(self, code, out, err, seconds, argv):
        self.code, self.out_bytes, self.err_bytes, self.seconds, self.argv = code, out, err, seconds, argv
        self.out, self.err = out.decode("utf-8", "replace"), err.decode("utf-8", "replace")

    def __repr__(self):
        return "exit %s after %.2f s\n--- argv: %s\n--- stdout:\n%s--- stderr:\n%s---" % (
            self.code, self.seconds, self.argv, self.out[-4000:], self.err[-4000:])


# A process that is killed during its leak check at the end: of this its tracer may still complain, and of nothing else.
KILLED_IN_LEAK_CHECK = re.compile(r"(==\d+==)?(Running thread \d+ was not suspended\. False leaks are possible\."
                                  r"|Unable to get registers from thread \d+\.|Could not attach to thread \d+ \(errno 3\)\.)")


def sanitizers_say(path):
    with open(path, errors="replace") as f:
        lines = f.readlines()
    return "".join(line for line in lines if not KILLED_IN_LEAK_CHECK.fullmatch(line.rstrip()))


class Sandpiper:
    """The program with a home of its own. url: the model service; None: nothing is configured."""

    def __init__(self, engine="bwrap"):
        # Short, because unix sockets below it have 108 bytes for their whole path.
        self.dir = tempfile.mkdtemp(prefix="sp", dir="/tmp")
        self.engine, self.url, self.key, self.model = engine, None, "test-key", None
        self.pids, self.children = [], []
        self.began = int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK")) - 1     # as the kernel counts starts of processes
        for name in ("home", "config/sandpiper", "cache", "state", "data", "run", "tmp", "work"):
            os.makedirs(os.path.join(self.dir, name), mode=0o700)
        self.work = os.path.join(self.dir, "work")
        root = os.geteuid() == 0
        self.place, self.rootless = engine if root else {"bwrap": BWRAP_USER, "podman": ROOTLESS}.get(engine, engine), engine == ROOTLESS
        if engine:
            self.engine = engine_of(engine)
        self.uid = rootless.UID if root and engine in (ROOTLESS, BWRAP_USER) else os.geteuid()
        images = rootless.store(IMAGE)[0] if self.rootless else own_store() if engine == "podman" else None
        if images:
            rootless.configure(self.path("config"), self.path("data/store"), images)
        if self.uid != os.geteuid():
            rootless.own(self.dir)

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, content, mode="w"):
        """A file in the working directory; returns its path."""
        path = os.path.join(self.work, name)
        with open(path, "wb" if isinstance(content, bytes) else mode) as f:
            f.write(content)
        if self.uid != os.geteuid():
            os.lchown(path, self.uid, self.uid)
        return path

    def configure(self, text):
        with open(self.path("config/sandpiper/config.yaml"), "w") as f:
            f.write(text)

    def env(self, extra=None):
        keep = {k: os.environ[k] for k in ("PATH", "DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG") if k in os.environ}
        env = dict(keep, HOME=self.path("home"), XDG_CONFIG_HOME=self.path("config"), XDG_CACHE_HOME=self.path("cache"),
                   XDG_STATE_HOME=self.path("state"), XDG_DATA_HOME=self.path("data"), XDG_RUNTIME_DIR=self.path("run"),
                   TMPDIR=self.path("tmp"), LANG="C.UTF-8", TERM="dumb", SANDPIPER_DISCOVER="0",
                   ASAN_OPTIONS="detect_leaks=1:exitcode=99:log_path=%s" % self.path("asan"),
                   UBSAN_OPTIONS="print_stacktrace=1:log_path=%s" % self.path("asan"))
        if self.engine:
            env["SANDPIPER_SANDBOX"] = self.engine
        elif self.url and why_not("bwrap") is None:     # a question starts a sandbox meanwhile: not docker's, which costs ten times as much
            env["SANDPIPER_SANDBOX"] = "bwrap"
        if self.engine in ("docker", "podman", "auto", None) and "SANDPIPER_IMAGE" in os.environ:
            env["SANDPIPER_IMAGE"] = IMAGE
        if self.engine in ("docker", "podman") and "SANDPIPER_RUNTIME" in os.environ:
            env["SANDPIPER_RUNTIME"] = os.environ["SANDPIPER_RUNTIME"]
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
        program = BIN if self.uid == os.geteuid() else binary_for_user()
        return rootless.wrapped([program, *args]) if self.rootless else [program, *args]

    def start(self, *args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=None, **popen):
        if self.place == BWRAP_USER and os.geteuid() == 0:
            rootless.own(self.dir)              # with what the test has written since
            popen = dict(AS_USER, **popen)
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
        r = Result(p.returncode, out or b"", err or b"", time.monotonic() - begin, args)
        if "--json" in args:
            event_schema.check(r.out)
        return r

    def chat(self, *args, env=None, size=(30, 100), timeout=60):
        """The program in a pseudo-terminal."""
        import pexpect              # which `make probe` has no need of
        # A canonical terminal cuts a line at 4,096 bytes; the chat reads raw, so only tests of pastes come near.
        argv = self.argv(args)
        if self.place == BWRAP_USER and os.geteuid() == 0:
            rootless.own(self.dir)
            argv = ["setpriv", "--reuid=%d" % self.uid, "--regid=%d" % self.uid, "--clear-groups", *argv]
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
        problems = ["%s:\n%s" % (os.path.basename(f), said[:6000]) for f in glob.glob(self.path("asan*")) if (said := sanitizers_say(f))]
        # What a killed program left may take a moment to see that it is alone; a keeper gives a busy engine 50 seconds (container.c), and may itself
        # wait for a processor.
        deadline = time.monotonic() + 60
        while True:
            left = self.containers() if self.rootless else []       # podman leaves files of its own
            self.end_podman()
            left += self.processes() + self.mounts() + self.cgroups() + ["temporary file " + f for f in self.files()]
            if not self.rootless and (not left or time.monotonic() > deadline):
                left += self.containers()       # once all else is gone, since a client costs many times as much
            if not left or time.monotonic() > deadline:
                break
            time.sleep(0.1)
        return problems + left

    def processes(self):
        """Descendants of ours (we are their subreaper) that have this sandpiper's folder in their environment or their words."""
        left = []
        mark = self.dir.encode()
        for pid in descendants():
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
        if self.engine is None:         # asked for none: seen to at the end of all tests (unseen), since a client's start is dear
            UNSEEN.add(self.dir)
            return []
        for engine in ("docker", "podman"):
            if self.engine in (engine, "auto"):
                left += containers_of(engine, [self.dir])
        return left

    def mounts(self):
        with open("/proc/self/mountinfo") as f:
            return ["mount " + line.strip() for line in f if self.dir in line]

    def cgroups(self):
        """Folders named after one of the processes that ran here: sandpiper-PID-START-... (records/owner.h). One that a killed run of the tests left
        may have the same pid, but an earlier start."""
        found, todo = [], ["/sys/fs/cgroup"]
        while todo:             # after each test, so without glob: nothing is listed that has no folder below it
            try:
                for entry in os.scandir(todo.pop()):
                    if entry.is_dir(follow_symlinks=False):
                        found += [entry.path] if "sandpiper" in entry.name else []
                        todo += [entry.path] if entry.stat(follow_symlinks=False).st_nlink > 2 else []
            except OSError:     # another test's, gone meanwhile
                pass
        return ["cgroup " + c for c in found if self.is_ours(os.path.basename(c).split("-"))]

    def is_ours(self, words):
        return len(words) > 3 and words[1] in map(str, self.pids) and words[2].isdigit() and int(words[2]) >= self.began

    def files(self):
        left = glob.glob(self.path("tmp/**"), recursive=True)[1:]
        # a runtime folder may be kept, but nothing in it; of ours not even an empty one
        left += [f for f in glob.glob(self.path("run/sandpiper/*")) if os.path.basename(f) != "names"]
        return left + [f for f in glob.glob(self.path("run/**"), recursive=True) if not os.path.isdir(f)]


def swept(r, engine, n=0):
    """A "gc" that went well and removed n sandboxes. Containers of other tests' killed programs count as well, and other programs may have
    removed ours, so there the number says nothing."""
    said = re.search(r"^removed (\d+) sandbox(?:es)? left behind by killed programs$", r.out, re.M)
    told = said or r.out == "nothing to remove\n" or r.out.startswith("removed ")
    return told and r.code == 0 and r.err == "" and (engine in ("docker", "podman") or int(said[1] if said else 0) == n)


def make_sandpiper(engine):
    s = Sandpiper(engine)
    try:
        yield s
    finally:
        left = s.finish()
        shutil.rmtree(s.dir, ignore_errors=True)
    assert not left, "left behind:\n  " + "\n  ".join(left)
