"""test_guard.py - no code outlives its program: code that holds up the supervisor, a supervisor that is stopped, a
program that is killed at any moment. What is looked for is the code itself, on the host, and no other start is
made before it is."""
import contextlib
import glob
import json
import os
import random
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import rootless
from conftest import ENGINES, ROOTLESS, TREE, make_sandpiper, need_engine
from named_sandboxes import end_all

pytestmark = pytest.mark.no_asan

HERE = os.path.dirname(__file__)
USER = "bwrap-user"             # bwrap started by an ordinary user
GUARDED = [*ENGINES, USER, ROOTLESS]
UID = 54321
WITHIN = 2.0                    # so soon after a kill nothing runs any more
SPACES = {}                     # pid namespace of a sandbox: whose it is, and a descriptor, so that none other gets the number
with open(os.path.join(HERE, "hostile.py")) as f:
    HOSTILE = f.read()


class AsUser:
    """The program of an ordinary user, on bwrap: the fixture's, and how to start it."""
    def __init__(self, sandpiper):
        self.s, self.how = sandpiper, {}

    def __getattr__(self, name):
        return getattr(self.s, name)

    def give(self):
        rootless.own(self.s.dir, UID)

    def start(self, *args, **more):
        return self.s.start(*args, user=UID, group=UID, extra_groups=[], **more)

    def run(self, *args, **more):
        return self.s.run(*args, user=UID, group=UID, extra_groups=[], **more)


def there(place):
    """Whether it is to be tested here. One that is required and missing fails the test."""
    if place == USER and os.geteuid() != 0:
        return False                            # every user here is an ordinary one
    try:
        need_engine("bwrap" if place == USER else place)
    except pytest.skip.Exception:
        return False
    return True


@contextlib.contextmanager
def guard(place):
    """The program there; nothing of it is left behind, whatever happens."""
    for s in make_sandpiper("bwrap" if place == USER else place):
        if place == USER:
            s = AsUser(s)
            s.give()
        try:
            yield s
        finally:
            for space in [space for space, its in SPACES.items() if its[0] is s]:
                first = first_inside(space)     # a failed test leaves nothing on this machine either
                if first:
                    os.kill(first, signal.SIGKILL)
                os.close(SPACES.pop(space)[1])
            end_all(s)


@pytest.fixture(params=GUARDED)
def guarded(request):
    """The program on each engine, and as an ordinary user on those that need no daemon."""
    if not there(request.param):
        pytest.skip("%s is not here" % request.param)
    with guard(request.param) as s:
        yield s


def everywhere(test):
    """The same on each of them, all at once: for what takes its time by waiting."""
    def one(place):
        with guard(place) as s:
            test(s)

    @pytest.mark.xdist_group("user")
    def run():
        places = [place for place in GUARDED if there(place)]
        with ThreadPoolExecutor(len(places) or 1) as pool:
            list(pool.map(one, places))
        assert places or pytest.skip("no engine")
    run.__doc__ = test.__doc__
    return run


def first_inside(space):
    """The process that is the first of that pid namespace, on the host."""
    for pid in inside(space):
        try:
            with open("/proc/%d/status" % pid) as f:
                if [line for line in f if line.startswith("NSpid:")][0].split()[-1] == "1":
                    return pid
        except OSError:
            pass                                # it has just ended
    return None


def inside(space):
    """The processes of a pid namespace. What has ended, and is only not taken note of yet, runs no more."""
    found = []
    for pid in os.listdir("/proc"):
        try:
            if pid.isdigit() and os.readlink("/proc/%s/ns/pid" % pid) == space:
                with open("/proc/%s/stat" % pid) as f:
                    if f.read().rpartition(")")[2].split()[0] not in "ZX":
                        found.append(int(pid))
        except OSError:
            pass
    return found


def note(s, space):
    first = first_inside(space)
    if first:
        SPACES[space] = s, os.open("/proc/%d/ns/pid" % first, os.O_RDONLY)


def what_runs():
    """For a failed test: what is still there, and what each is at."""
    found = []
    for pid in [pid for space in SPACES for pid in inside(space)]:
        try:
            for name in ("stat", "wchan", "stack"):
                with open("/proc/%d/%s" % (pid, name)) as f:
                    found.append(f.read(300))
        except OSError as e:
            found.append("%d: %s" % (pid, e.strerror))
    return "\n".join(found)


def gone_within(space, seconds):
    """How long it took; None: something still ran after that."""
    begin = time.monotonic()
    while True:
        left, now = inside(space), time.monotonic() - begin
        if not left:
            return now
        if now > seconds:
            return None
        time.sleep(0.005)


def up(s, *args, code=HOSTILE, after="while True: time.sleep(1)"):
    """Start the hostile code; the program, and its pid namespace, once it has done its worst."""
    p = s.start("exec", *args, "-", stdin=subprocess.PIPE)
    p.stdin.write((code + "\n" + after).encode())
    p.stdin.close()
    p.stdin = None
    for line in p.stdout:
        if line.startswith(b"up "):
            space, end = line.split()[1].decode(), time.monotonic() + 10
            note(s, space)
            # The supervisor, the worker, three that stay.
            while code == HOSTILE and len(inside(space)) < 5 and time.monotonic() < end:
                time.sleep(0.01)
            time.sleep(0.3 if code == HOSTILE else 0)
            return p, space
    raise AssertionError(p.stderr.read())


def places(s):
    return [f for f in glob.glob(s.path("run/sandpiper/*")) if os.path.basename(f) != "names"]


def nothing_left(s, seconds=10):
    end = time.monotonic() + seconds
    while places(s) or s.containers():
        assert time.monotonic() < end, places(s) + s.containers()
        time.sleep(0.05)


def test_code_that_holds_up_the_supervisor(guarded):
    p, space = up(guarded)
    p.kill()
    p.wait()
    assert gone_within(space, WITHIN) is not None, inside(space)
    nothing_left(guarded)


CLOSE = """
import _signal, _socket, posix, struct, sys, time
exec(compile(open(sys.argv[1]).read(), 'start.py', 'exec'))
_signal.signal(_signal.SIGALRM, lambda *_: None)
door = _socket.socket()
door.bind(('127.0.0.1', 0))
door.listen(1)
s = _socket.socket()
s.connect(door.getsockname())
peer = door._accept()
s.setsockopt(_socket.SOL_SOCKET, _socket.SO_LINGER, struct.pack('ii', 1, 30))
s.setblocking(False)
try:
    while True: s.send(b'x' * 65536)
except BlockingIOError:
    pass
begin = time.monotonic()
close_socket(s)
print(time.monotonic() - begin < 15)
"""


def test_a_close_that_would_block():
    """What the supervisor closes that may make it wait, as on older kernels the garbage of others does: it does not."""
    start = os.path.join(TREE, "src/sandbox/guest/start.py")
    r = subprocess.run(["/usr/bin/python3", "-I", "-c", CLOSE, start], stdout=subprocess.PIPE, timeout=60)
    assert r.stdout == b"True\n"


def test_a_supervisor_that_is_stopped(guarded):
    """It does not see that the channel has ended: somebody outside does."""
    p, space = up(guarded)
    os.kill(first_inside(space), signal.SIGSTOP)
    p.kill()
    p.wait()
    assert gone_within(space, WITHIN) is not None, inside(space)
    nothing_left(guarded)


# ---- at any moment

def known_inside(s):
    """The pid namespace that the record of a start names; None: no code has been sent yet."""
    for path in glob.glob(s.path("run/sandpiper/*/record")):
        try:
            with open(path) as f:
                return os.readlink("/proc/%s/ns/pid" % json.load(f)["inside"].split(":")[1])
        except (OSError, KeyError, ValueError, AttributeError):
            pass
    return None


def kill_at(s, p, chance, until):
    """Kill it at a moment from now to then; half of the supervisors are stopped before. For how long anything still ran."""
    time.sleep(until * chance.random())
    p.send_signal(signal.SIGSTOP)               # it sends nothing more while we look
    space = known_inside(s)
    if space and space not in SPACES:
        note(s, space)
    first = space and first_inside(space)
    if first and chance.random() < 0.5:
        os.kill(first, signal.SIGSTOP)
    p.kill()
    p.wait()
    return gone_within(space, WITHIN) if space else 0.0


@pytest.mark.slow(50)
@pytest.mark.check
def test_storm(guarded, capfd):
    """Killed before its code runs, and while it does its worst. SANDPIPER_TEST_STORM=100 for a hundred on each engine."""
    moments = int(os.environ.get("SANDPIPER_TEST_STORM", "5"))
    chance = random.Random(os.environ.get("SANDPIPER_TEST_SEED", "1"))
    begin = time.monotonic()
    p, space = up(guarded)
    once, times = time.monotonic() - begin, [kill_at(guarded, p, chance, 0.1)]
    for i in range(moments):
        if i % 2:
            p, space = up(guarded)
            took = kill_at(guarded, p, chance, 0.5)
        else:
            p = guarded.start("exec", guarded.write("hostile.py", HOSTILE + "\nwhile True: time.sleep(1)"))
            took = kill_at(guarded, p, chance, once)
        assert took is not None, "moment %d: %s" % (i, what_runs())
        times.append(took)
    nothing_left(guarded, 20)
    with capfd.disabled():
        print("%d kills on %s: nothing ran after %.3f s (median), %.3f s (longest)" %
              (len(times), guarded.engine, sorted(times)[len(times) // 2], max(times)))


# ---- without a keeper, or where none is: what the next program, gc and rm do, and what they say

QUIET = "import os, time\nprint('up', os.readlink('/proc/self/ns/pid'), flush=True)"


def keeper_of(program):
    for pid in os.listdir("/proc"):
        try:
            with open("/proc/%s/stat" % pid) as f:
                name, rest = f.read().split("(", 1)[1].rsplit(")", 1)
            if name == "sp-keeper" and int(rest.split()[1]) == program.pid:
                return int(pid)
        except (OSError, IndexError):
            pass
    return None


def all_killed(s):
    """A stopped supervisor whose program and keeper are dead: its pid namespace."""
    p, space = up(s, code=QUIET)
    os.kill(first_inside(space), signal.SIGSTOP)
    keeper = keeper_of(p)
    if keeper:
        os.kill(keeper, signal.SIGKILL)
    p.kill()
    p.wait()
    time.sleep(0.3)
    return space


def test_gc_ends_what_nobody_else_does(guarded):
    for _ in range(5):          # any other start of the program that looks at docker's list of containers ends this one too
        space = all_killed(guarded)
        left = inside(space)
        r = guarded.run("gc")
        assert r.code == 0 and not inside(space) and not places(guarded), r
        if left:
            break
    assert left and r.out.startswith("removed ") and r.out.endswith(" left behind by killed programs\n"), r


def test_the_next_start_ends_it_too(guarded):
    space = all_killed(guarded)
    assert guarded.run("exec", "-", stdin="pass").code == 0
    assert gone_within(space, WITHIN) is not None, inside(space)
    nothing_left(guarded)


def test_gc_says_what_it_could_not_end(guarded):
    """Nothing is called removed that still runs. Here the record names a process that an ordinary user may not kill."""
    if not isinstance(guarded, AsUser):
        pytest.skip("root may kill everybody")
    space = all_killed(guarded)
    path = places(guarded)[0] + "/record"
    with open(path) as f:
        record = json.load(f)
    with subprocess.Popen(["sleep", "60"]) as other:
        try:
            with open("/proc/%d/stat" % other.pid) as f:
                start = f.read().rpartition(")")[2].split()[19]
            mine, record["inside"] = record["inside"], "%s:%d:%s" % (record["inside"].split(":")[0], other.pid, start)
            for first in (record["inside"], mine):
                with open(path, "w") as f:
                    json.dump(dict(record, inside=first), f)
                r = guarded.run("gc")
                if first != mine:
                    words = "could not be removed: process %d of a bwrap sandbox, still running" % other.pid
                    assert r.code == 1 and words in r.err, r
                    assert "removed 1" not in r.out and inside(space), r
        finally:
            other.kill()
    assert r.code == 0 and "removed 1 sandbox left behind by killed programs\n" in r.out, r
    assert not inside(space)


# ---- with a name

def named(s, code, *args):
    return s.run("exec", "--sandbox-name", "work", *args, "-", stdin=code)


def test_the_idle_limit_holds_under_attack(guarded):
    p, space = up(guarded, "--sandbox-name", "work", "--sandbox-idle", "1s")
    p.kill()
    p.wait()
    assert gone_within(space, 6) is not None, inside(space)
    assert guarded.run("gc").code == 0


@pytest.mark.slow(10)
@everywhere
def test_the_next_user_of_one_that_is_stopped(guarded):
    """It is told, once, and has a new one; before that "ps" shows it."""
    space = named(guarded, "x = 1\n" + QUIET).out.split()[1]
    note(guarded, space)
    assert " idle " in guarded.run("ps").out
    os.kill(first_inside(space), signal.SIGSTOP)
    assert " no answer " in guarded.run("ps").out and '"silent"' in guarded.run("ps", "--json").out
    r = named(guarded, "print('x' in globals())")
    assert r.code == 0 and r.out == "False\n" and r.seconds < 20, r
    assert r.err.count("did not answer and was removed: its variables and files are gone; starting a new one\n") == 1, r
    assert r.err.count("\n") == 1 + r.err.count("podman without root") + r.err.count("no permission to create"), r
    assert not inside(space)


def test_rm_of_one_that_is_stopped(guarded):
    space = named(guarded, QUIET).out.split()[1]
    note(guarded, space)
    os.kill(first_inside(space), signal.SIGSTOP)
    r = guarded.run("rm", "work")
    assert r.code == 0 and r.out == "removed work\n" and r.err == "", r
    assert not inside(space)


@pytest.mark.slow(10)
@everywhere
def test_gc_ends_one_that_its_idle_limit_did_not(guarded):
    p, space = up(guarded, "--sandbox-name", "work", "--sandbox-idle", "1s", code=QUIET)
    os.kill(first_inside(space), signal.SIGSTOP)
    p.kill()
    p.wait()
    assert guarded.run("gc").code == 0 and inside(space), "its time is not over"
    deadline = time.monotonic() + 60
    while inside(space) and time.monotonic() < deadline:        # its second, and what it has for ending by itself
        time.sleep(0.5)
        r = guarded.run("gc")
    # with what killed programs of other tests left
    assert r.code == 0 and "removed the remains of 1 named sandbox\n" in r.out and r.err == "", r
    assert not inside(space)
