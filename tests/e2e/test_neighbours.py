"""test_neighbours.py - programs that run beside each other on one machine: what one sandbox uses up, another has."""
import json
import os
import re
import signal
import subprocess
import time

import pytest

from conftest import ROOTLESS, make_at

pytestmark = pytest.mark.no_asan

USER = 56000 + os.getpid() % 1000       # nobody else's, or what is counted for them counts
CONTAINERS = ["docker", "podman", ROOTLESS]


@pytest.fixture(params=CONTAINERS)
def container(request):
    yield from make_at(request.param, USER)


WHO = "import os\nprint(os.getuid(), os.getgid(), os.geteuid() == os.getuid())"


def test_each_container_has_a_uid_of_its_own(container):
    """Within what a rootless user has, no user's of this host; the packages that ask who they are get an answer."""
    code = WHO + """
import getpass, pathlib, tempfile
print(getpass.getuser(), os.path.expanduser('~'), pathlib.Path.home(), tempfile.gettempdir())
open('/mnt/data/a', 'w').write('x'); open('/tmp/b', 'w').write('x'); open('/dev/shm/c', 'w').write('x')
import site
print(site.getuserbase(), os.stat('/mnt/data/a').st_uid == os.getuid())
try:
    import matplotlib.pyplot as plt, pandas
    plt.plot([1, 2])
    plt.savefig('figure.png')
    pandas.DataFrame({'a': [1]}).to_csv('t.csv')
except ImportError: pass
"""
    programs = [container.start("exec", container.write("who%d.py" % i, code)) for i in range(3)]
    said = [p.communicate(timeout=120) for p in programs]
    assert [p.returncode for p in programs] == [0] * 3, said
    lines = [out.decode().splitlines() for out, _ in said]
    uids = [int(line[0].split()[0]) for line in lines]
    assert len(set(uids)) == 3 and all(20000 <= uid < 60000 for uid in uids), uids
    for uid, line in zip(uids, lines):
        assert line[0] == "%d %d True" % (uid, uid), line
        assert line[1:] == ["sandpiper /mnt/data /mnt/data /tmp", "/mnt/data/.local True"], line


def test_a_name_keeps_its_uid(container):
    """A later program, and a crash of the code in between, find the same uid; another sandbox never gets it."""
    try:
        first = container.run("exec", "--sandbox-name", "kept", "-", stdin=WHO)
        container.run("exec", "--sandbox-name", "kept", "-", stdin="import os\nos._exit(3)")
        again = container.run("exec", "--sandbox-name", "kept", "-", stdin=WHO)
        assert first.code == 0 and again.code == 0 and first.out == again.out, (first, again)
        record = open(container.path("run/sandpiper/names/kept/sandbox/record")).read()
        assert re.search(r'"uid": ?%s\b' % first.out.split()[0], record), record
    finally:
        assert container.run("rm", "kept").code == 0


# Everything that is counted for a user, a machine or a disk: as much of it as there is, and all the time.
HOSTILE = """
import ctypes, fcntl, os, signal, socket, threading, time
libc = ctypes.CDLL(None, use_errno=True)
held, got = [], {}

def until(what):
    n = 0
    try:
        while n < 100000:
            what()
            n += 1
    except (OSError, MemoryError): pass
    return n

def child(what):
    pid = os.fork()
    if pid == 0:
        try: what()
        finally: os._exit(0)
    return pid

def elsewhere(name, what):
    # in a process of its own, which has descriptors of its own, and stays
    r, w = os.pipe()
    def body():
        os.write(w, b'%d' % until(what))
        time.sleep(600)
    child(body)
    got[name] = int(os.read(r, 20))
    os.close(r); os.close(w)

def in_flight():
    # a message holds 200, so few of our own are needed for very many
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    held.append((a, b))
    socket.send_fds(a, [b'x'], [0] * 200)

def one_in_flight():
    if not held: held.extend(socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))
    socket.send_fds(held[0], [b'x'], [0])

def watch():
    if libc.inotify_init1(0) < 0: raise OSError

def full_pipe():
    r, w = os.pipe()
    fcntl.fcntl(w, fcntl.F_SETPIPE_SZ, 1 << 20)
    os.set_blocking(w, False)
    os.write(w, bytes(1 << 20))

for place in ('/tmp', '/dev/shm', '/mnt/data'):
    with open(place + '/full', 'wb', 0) as f: until(lambda: f.write(bytes(1 << 20)))
elsewhere('in flight, by 200', in_flight)
elsewhere('in flight, one by one', one_in_flight)
elsewhere('inotify', watch)
elsewhere('pipes', full_pipe)
me = threading.get_ident()
signal.pthread_sigmask(signal.SIG_BLOCK, range(35, 64))
got['pending'] = until(lambda: signal.pthread_kill(me, 40))

def hog():
    open('/proc/self/oom_score_adj', 'w').write('1000')
    blocks = []
    try:
        while True: blocks.append(bytearray(16 << 20))
    except MemoryError:
        time.sleep(1)

def storm():
    while True:
        os.sync()
        libc.syncfs(1)
        if QUIET: time.sleep(0.01)

hogs = [child(hog)]
for i in range(4): child(storm)
got['processes'] = until(lambda: child(lambda: time.sleep(600)))
print('ready', got, flush=True)
while True:
    time.sleep(0.3)
    if os.waitpid(hogs[0], os.WNOHANG)[0]:
        try: hogs[0] = child(hog)
        except OSError: pass
"""

# Sums, files and figures, and all that the other one uses up. What fails is counted, so that one failure hides no other.
ORDINARY = """
import fcntl, hashlib, json, os, signal, socket, threading
failed, figures = {}, 0
def attempt(name, what):
    try:
        if what() is False: raise ValueError('wrong')
    except Exception as e:
        failed[name] = repr(e)

def sums():
    return sum(range(300000)) == 44999850000 and hashlib.sha256(b'x' * 1000000).hexdigest()[:8] == '1b977e9f'

def files():
    data = os.urandom(1 << 20)
    for folder in ('/mnt/data', '/tmp', '/dev/shm'):
        with open(folder + '/f', 'wb') as f:
            f.write(data)
            os.fsync(f.fileno())
        if open(folder + '/f', 'rb').read() != data: return False
        os.unlink(folder + '/f')

def processes():
    kids = []
    for i in range(20):
        pid = os.fork()
        if pid == 0: os._exit(7)
        kids.append(pid)
    threads = [threading.Thread(target=sum, args=([1],)) for i in range(20)]
    for t in threads: t.start()
    for t in threads: t.join()
    return all(os.waitpid(pid, 0)[1] == 7 << 8 for pid in kids)

def descriptors():
    a, b = socket.socketpair()
    socket.send_fds(a, [b'x'], [0, 1, 2])
    fds = socket.recv_fds(b, 1, 10)[1]
    for fd in fds: os.close(fd)
    a.close(); b.close()
    return len(fds) == 3

def pipes():
    r, w = os.pipe()
    size = fcntl.fcntl(w, 1032)
    os.close(r); os.close(w)
    return size == 65536

def signals():
    signal.pthread_sigmask(signal.SIG_BLOCK, [40])
    signal.pthread_kill(threading.get_ident(), 40)
    return signal.sigtimedwait([40], 5).si_signo == 40

def figure():
    try: import matplotlib.pyplot as plt
    except ImportError: return
    plt.figure()
    plt.plot([1, 2, 4])

for i in range(ROUNDS):
    for what in (sums, files, processes, descriptors, pipes, signals, figure):
        attempt(what.__name__, what)
print(json.dumps(failed))
"""
ROUNDS = 6

# Counted for the user on the host, whatever the namespace: docs/SECURITY.md, "Neighbours".
SHARED_BY_A_USER = {"descriptors", "pipes"}
PLACES = ["docker", "podman", "bwrap", "bwrap-user", ROOTLESS]
NOT_HELD = ("bwrap-user", ROOTLESS)     # CPU time


@pytest.fixture(params=PLACES)
def place(request):
    return request.param


@pytest.fixture
def host(place):
    for s in make_at(place, USER):
        s.write("hostile.py", HOSTILE.replace("QUIET", str(place in NOT_HELD)))
        s.write("ordinary.py", ORDINARY.replace("ROUNDS", str(ROUNDS)))
        os.chmod(s.work, 0o755)
        yield s


def five(s):
    """Five at once: seconds of each, and what each said. The fifth is a script of questions whose code crashes in between."""
    began = time.monotonic()
    running = [s.start("exec", s.path("work/ordinary.py")) for i in range(4)]
    crashing = s.start("--json", stdin=subprocess.PIPE)
    crashing.stdin.write(b"one?\ntwo?\nthree?\n")
    crashing.stdin.close()
    crashing.stdin = None
    seconds, said = [], []
    for p in running + [crashing]:
        said.append(p.communicate(timeout=240))
        seconds.append(time.monotonic() - began)
    assert [p.returncode for p in running + [crashing]] == [0] * 5, said
    return seconds, [(out.decode(), err.decode()) for out, err in said]


def conversation(serve, s):
    answers = []
    for code in ("kept = 41", "import os\nos._exit(1)", "print(kept + 1)"):
        answers += [{"answer": {"calls": [{"code": code}]}}, {"answer": {"text": "Done."}}]
    return serve(s, answers)


def results(out):
    return [e for e in map(json.loads, out.splitlines()) if e["type"] == "tool_result"]


@pytest.mark.slow(50)
@pytest.mark.check
def test_six_programs(host, place, serve):
    """One of them has all there is of everything that it can reach. The others get the same answers as without it."""
    conversation(serve, host)
    alone, _ = five(host)
    hostile = host.start("exec", "--memory", "512m", "--data-size", "64m", host.path("work/hostile.py"))
    try:
        ready = hostile.stdout.readline().decode()
        assert ready.startswith("ready"), (ready, hostile.communicate())
        conversation(serve, host)
        beside, said = five(host)
        assert hostile.poll() is None, hostile.communicate()    # it was there all the time
    finally:
        hostile.send_signal(signal.SIGTERM)
        hostile.communicate(timeout=60)
    shared = SHARED_BY_A_USER if place == "bwrap-user" else set()
    print(place, ready.strip(), "alone %.1f s, beside it %.1f s" % (max(alone), max(beside)), said[0][0].strip())
    for out, err in said[:4]:
        failed = json.loads(out.splitlines()[-1])
        assert set(failed) <= shared, (failed, ready, err)
        assert err.count("/files/") in (0, ROUNDS), err         # each figure has come out
    assert results(said[4][0])[2]["status"] == "ok" and "42" in results(said[4][0])[2]["model_text"], said[4]
    # It may have one CPU of those here, where CPU time is held; else each of its spinning processes as much as each of ours. Of two CPUs
    # that leaves the five half of what they had; twice that, because the machine may have other work now than a moment ago.
    assert max(beside) < 4 * max(alone) + 2, (alone, beside, ready)
