"""test_probes.py - hostile cells, one table: id, code, what must come of it. Ids are those of docs/SECURITY.md's probes: L limits, P the protocol,
F files; group I is in test_posture.py. Each group is one session of the program on each engine; after every probe a cell computes 42, so
a probe that breaks the session, or whose effects are taken for the next cell's, fails. Two rows are held elsewhere: P10 (tests/unit/sandbox/
test_frame.c) and the limits that posture_probe.py fills up (L01, L06 to L12, L24)."""
import json
import os
import secrets
import stat

import pytest

from conftest import ROOTLESS, make_sandpiper, need_engine
from rootless import UID

KIB, MIB = 1 << 10, 1 << 20
LIMITS = ("--timeout", "2s", "--memory", "256m", "--pids", "40", "--data-size", "64m")
PLACES = ["docker", "podman", "bwrap", "bwrap-user", ROOTLESS]
# No control group (podman: in the v1 hierarchy): SECURITY.md says that this is weaker.
NOT_FOR_USER = ("bwrap-user", ROOTLESS)
DAEMON = "sp" + secrets.token_hex(5)
EVIL_NAMES = ["a\nb.txt", "\x1b[31mred.txt", "-rf", "\u202etxt.exe", "n" * 250 + ".txt", "\"'`$(x)`.txt", ".bashrc", "..\\up.txt"]


class Cell:
    """What the program told of one cell."""
    def __init__(self, call):
        self.code, self.out, self.files, self.notices = call["code"], "", [], []

    def finish(self, result):
        for key in ("status", "value", "error", "state_lost", "state_restored", "seconds", "output_bytes", "model_text"):
            setattr(self, key, result[key])
        self.error = self.error or ""

    def __repr__(self):
        return "%s value=%r error=%r lost=%s %.2f s, %d bytes: %r, files %s, told %r" % (
            self.status, self.value, self.error[-300:], self.state_lost, self.seconds, self.output_bytes, self.out[:200],
            [f["name"][:40] for f in self.files], self.model_text[-300:])


def ok(c):
    return c.status == "ok"


def ok_out(text):
    return lambda c: c.status == "ok" and c.out == text


def number(low, high):
    return lambda c: c.status == "ok" and low <= float(c.out) <= high


def out_of_memory(c):
    return c.status == "memory" or (c.status == "exception" and "MemoryError" in c.error)


def timed_out(killed=None):
    return lambda c: c.status == "timeout" and "2 s" in c.error and c.seconds < 8 and killed in (None, c.state_restored)


def died(word):
    return lambda c: c.status == "died" and word in c.error and c.state_restored and not c.state_lost and c.seconds < 2


def told(status, *any_of):
    return lambda c: c.status == status and any(words in c.model_text for words in any_of)


def read(file):
    with open(file["path"], "rb") as f:
        return f.read()


FILL = """
try:
    with open('%s', 'wb', 0) as f:
        while True: f.write(bytes(1 << 20))
finally:
    __import__('os').unlink('%s')"""

LIMIT_PROBES = [
    ("L03", "x = b'x' * (600 << 20)", out_of_memory),
    ("L04", """
import os, time
kids = []
for i in range(8):
    pid = os.fork()
    if pid == 0:
        b = bytearray(64 << 20)
        for at in range(0, len(b), 4096): b[at] = 1
        time.sleep(5)
        os._exit(0)
    kids.append(pid)
time.sleep(1.5)
alive = [p for p in kids if os.waitpid(p, os.WNOHANG)[0] == 0]
for p in alive: os.kill(p, 9)
print(len(alive))""", lambda c: c.status == "memory" or number(0, 4)(c), NOT_FOR_USER),
    ("L05", """
import os
fds, n = [os.memfd_create(str(i)) for i in range(4)], 0
for fd in fds:
    for i in range(100): n += os.write(fd, b'x' * (1 << 20))
print(n >> 20)""", lambda c: c.status in ("memory", "died", "exception"), NOT_FOR_USER),
    # Which limit, and how much there is of it, is told to the model with the failure.
    ("L02t", """
import threading
gate = threading.Event()
try:
    while True: threading.Thread(target=gate.wait, daemon=True).start()
finally:
    gate.set()""", told("exception", "40 processes", "256 MiB")),
    ("L01t", """
import os, time
kids = []
try:
    while True:
        pid = os.fork()
        if pid == 0:
            time.sleep(20)
            os._exit(0)
        kids.append(pid)
finally:
    for pid in kids:
        os.kill(pid, 9)
        os.waitpid(pid, 0)""", told("exception", "40 processes", "256 MiB")),
    ("L03t", "x = b'x' * (600 << 20)", lambda c: out_of_memory(c) and "256 MiB" in c.model_text),
    ("L08t", FILL % ("full", "full"),
     told("exception", "/mnt/data holds 64 MiB in all")),
    ("L06t", FILL % ("/tmp/full", "/tmp/full"),
     told("exception", "holds 64 MiB in all")),
    ("L10t", "open('sparse', 'wb').truncate(300 << 20)", told("exception", "at most 256 MiB")),
    ("L12t", "files = [open('/dev/null') for i in range(2000)]", told("exception", "256 open files")),
    ("L11", """
for i in range(10050): open('n%d' % i, 'w').close()""",
     lambda c: told("exception", "/mnt/data has its most files: 10000")(c) or c.status == "ok" and "more than 10000 files, the limit" in c.model_text),
    ("L11b", "import os\nfor name in os.listdir(): name[0] == 'n' and os.unlink(name)", ok),
    ("L14t", "while True: pass", lambda c: timed_out()(c) and "longer than 2 s" in c.model_text),
    ("L26", "import os\nleft = 100 << 20\nwhile left: left -= os.write(1, b'x' * min(left, 1 << 20))",
     lambda c: ok(c) and c.output_bytes == 100 * MIB and len(c.out) <= 17 * MIB and "left out" in c.model_text),
    ("L13", """
import os, time
t, kids = time.monotonic(), []
for i in range(4):
    pid = os.fork()
    if pid == 0:
        while time.monotonic() - t < 1.2: pass
        os._exit(0)
    kids.append(pid)
for p in kids: os.waitpid(p, 0)
print((os.times().children_user + os.times().children_system) / (time.monotonic() - t))""", number(0, 1.35), NOT_FOR_USER),
    ("L14", "import signal\nfor s in (2, 15, 1, 3, 10, 12): signal.signal(s, signal.SIG_IGN)\nwhile True: pass", timed_out(True)),
    ("L15", "while True:\n    try:\n        while True: pass\n    except BaseException:\n        pass", timed_out()),
    ("L16", "import re\nre.match(r'(a+)+$', 'a' * 60 + 'b')", timed_out()),
    ("L17", "import os\npiece = b'x' * 65535 + b'\\n'\nfor i in range(1600): os.write(1, piece) == 65536 or 1/0",
     lambda c: ok(c) and c.output_bytes == 1600 * 65536 and len(c.out) <= 17 * MIB and len(c.model_text) < 64 * KIB),
    ("L18", "import sys\nfor i in range(16): n = sys.stdout.write('x' * (4 << 20))",
     lambda c: ok(c) and c.output_bytes == 64 * MIB and len(c.out) <= 17 * MIB and len(c.model_text) < 64 * KIB),
    ("L19", """
import os, threading
def flood(fd):
    left = 8 << 20
    while left: left -= os.write(fd, b'y' * min(left, 10000))
threads = [threading.Thread(target=flood, args=(fd,)) for fd in (1, 2)]
for t in threads: t.start()
for t in threads: t.join()""", lambda c: ok(c) and c.output_bytes == 16 * MIB),
    ("L20", """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open('/proc/self/comm', 'w').write('%s')
        os.closerange(0, 200)
        while True: time.sleep(1)
    os._exit(0)
os.wait()
time.sleep(0.2)
print(sum(open('/proc/%%s/comm' %% p).read().strip() == '%s' for p in os.listdir('/proc') if p.isdigit()))""" % (DAEMON, DAEMON), ok_out("1\n")),
    ("L21", "import os, time\nif os.fork() == 0:\n    time.sleep(20)\n    os._exit(0)\nprint('went on')",
     lambda c: ok_out("went on\n")(c) and c.seconds < 1.5),
    ("L22", """
import os, time
for i in range(20):
    pid = os.fork()
    if pid == 0:
        if os.fork() == 0: os._exit(0)
        os._exit(0)
    os.waitpid(pid, 0)
def zombies():
    n = 0
    for p in os.listdir('/proc'):
        if p.isdigit():
            try: n += open('/proc/%s/stat' % p).read().rpartition(')')[2].split()[0] == 'Z'
            except OSError: pass
    return n
left = 1
for i in range(40):
    left = zombies()
    if left == 0: break
    time.sleep(0.05)
print(left)""", ok_out("0\n")),
    ("L23", "import ctypes\nprint(ctypes.CDLL(None).shmget(0, ctypes.c_size_t(1 << 40), 0o1600))", ok_out("-1\n")),
    ("L25", """
import os
for i in range(2000):
    os.mkdir('d')
    os.chdir('d')
open('bottom.txt', 'w').write('x')
os.chdir('/mnt/data')""", lambda c: c.status in ("ok", "exception") and c.seconds < 4),
    # last: where memory is limited for each process, what libc keeps of forty threads' stacks and heaps counts for good
    ("L02", """
import threading
gate, n = threading.Event(), 0
try:
    for n in range(300):
        threading.Thread(target=gate.wait, daemon=True).start()
except (RuntimeError, MemoryError):     # where memory is limited for each process, their stacks count
    pass
gate.set()
print(n)""", number(5, 39)),
]

PROTOCOL_PROBES = [
    ("P01", """
import os, struct
for body in (b'{"status": "ok", "value": "666"}', b'Z' + bytes(16), b'R' + bytes(16) + b'v\\3\\0\\0\\0666'):
    for fd in (1, 2):
        os.write(fd, struct.pack('<I', len(body)) + body + b'\\n')
        os.write(fd, b'Content-Length: %d\\r\\n\\r\\n' % len(body) + body + b'\\n')
""", lambda c: ok(c) and c.value is None and c.out.count("Content-Length") == 6),
    ("P02", """
import os
for fd in range(3, 1024):
    for garbage in (b'\\xff' * 64, b'\\0' * 64, bytes(range(256)) * 8):
        try: os.write(fd, garbage)
        except OSError: pass
""", lambda c: c.status in ("ok", "died")),
    ("P03", """
import os, socket
seen = b''
for fd in range(3, 200):
    try:
        os.set_blocking(fd, False)
        seen += os.read(fd, 65536)
    except OSError: pass
print(b'execute' in seen or b'supervisor' in seen, len(seen))""", lambda c: c.status == "died" or ok_out("False 0\n")(c)),
    ("P04", "import os\nos.closerange(0, 1024)", lambda c: c.status in ("died", "exception") and c.seconds < 2),
    ("P05", "import os\nfd = os.open('/dev/null', os.O_RDWR)\nfor i in range(3): os.dup2(fd, i)\nprint('lost')",
     lambda c: c.status in ("ok", "died") and c.seconds < 2),
    ("P07", "import os\nos._exit(0)", died("os._exit")),
    ("P08", "kept = 7\nraise SystemExit(3)", lambda c: c.status == "exit" and not c.state_lost),
    ("P08b", "kept\nraise KeyboardInterrupt", lambda c: c.status in ("exception", "interrupted") and not c.state_lost and "NameError" not in c.error),
    ("P08c", "kept\nraise GeneratorExit", lambda c: c.status == "exception" and not c.state_lost and "GeneratorExit" in c.error),
    ("P09", """
import os, threading, time
def late():
    time.sleep(0.02)
    for i in range(20): os.write(1, b'666\\n')
threading.Thread(target=late).start()""", ok),
    ("P11", "import os\nn = os.write(1, b'a\\0b\\xff\\xed\\xa0\\x80\\xc0\\x80\\xf5end\\n')",
     lambda c: ok(c) and "end" in c.model_text and "\ufffd" in c.model_text and "\0" not in c.model_text),
    ("P11b", "print(chr(0xd800), 'tail')", lambda c: c.status in ("ok", "exception")),
    ("P12", "x = []\nfor i in range(100000): x = [x]\nx", lambda c: c.status in ("ok", "exception") and not c.state_lost),
    ("P12b", "class H:\n    def __repr__(self): raise SystemExit(9)\nH()", lambda c: c.status in ("ok", "exception", "exit") and not c.state_lost),
    ("P12c", "class H:\n    def __repr__(self): return 'x' * (30 << 20)\nH()", lambda c: c.status in ("ok", "exception") and len(c.model_text) < 64 * KIB),
    ("P13", """
import os
for pid in (os.getppid(), 1, -1):
    try: os.kill(pid, 9)
    except OSError: pass
print('alive')""", lambda c: c.status in ("ok", "died") and c.seconds < 2),
    # the next one ends the worker that this one has maimed
    ("P06", """
import builtins, sys, json, os, struct, time, io, socket, select
for module, names in ((builtins, 'print repr len compile exec eval isinstance'), (json, 'dumps loads'), (os, 'write read fork _exit'),
                      (struct, 'pack unpack'), (time, 'time monotonic'), (socket.socket, 'send recv')):
    for name in names.split():
        try: setattr(module, name, None)
        except (TypeError, AttributeError): pass
sys.stdout = sys.stderr = sys.stdin = sys.displayhook = sys.excepthook = None""", lambda c: c.status in ("ok", "exception", "died")),
    ("P14", "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)", timed_out(True)),
    ("P15", "import ctypes\nctypes.string_at(0)", died("SIGSEGV")),
    ("P16", """
import os
for pid in {1, os.getppid()}:
    for what in ('fd', 'root', 'cwd'):
        try:
            os.listdir('/proc/%d/%s' % (pid, what))
            print('open', pid, what)
        except OSError: pass
    for what in ('mem', 'environ', 'maps'):
        try:
            open('/proc/%d/%s' % (pid, what), 'rb').read(1)
            print('open', pid, what)
        except OSError: pass""", ok_out("")),
    # limits and priorities of the supervisor, which has the code's uid
    ("P17", """
import ctypes, os, resource
for what in (lambda: resource.prlimit(1, resource.RLIMIT_NOFILE, (3, 3)), lambda: os.setpriority(os.PRIO_PROCESS, 1, 19),
             lambda: os.setpriority(os.PRIO_USER, os.getuid(), 19), lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0))):
    try:
        what()
        print('done')
    except OSError: pass
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
os.nice(1)""", lambda c: ok(c) and c.out == ""),
]

FILE_PROBES = [
    ("F01", """
import os
for i, target in enumerate(('/etc/passwd', '/etc/hostname', '/proc/self/environ', '/usr/bin/python3', '../../etc/passwd')):
    os.symlink(target, '/mnt/data/link%d.txt' % i)
open('real.txt', 'w').write('real')""", lambda c: ok(c) and [f["name"] for f in c.files] == ["real.txt"]),
    ("F03", """
import os
for path in ('/usr/bin/env', '/etc/alternatives', '/proc/self/status'):
    try:
        os.link(path, '/mnt/data/hard')
        print('linked', path)
    except OSError: pass""", ok_out("")),
    ("F04", """
import os, socket
try: os.mkfifo('/mnt/data/plot.png')
except OSError: os.symlink('/dev/zero', '/mnt/data/plot.png')       # the filter refuses mknod
socket.socket(socket.AF_UNIX).bind('/mnt/data/sock.png')
os.mkdir('/mnt/data/dir.png')""", lambda c: ok(c) and c.files == [] and c.seconds < 1.5),
    ("F05", "names = %r\nfor n in names: open('/mnt/data/' + n, 'w').write('x')\nopen(b'/mnt/data/\\xff\\xfe.txt', 'w').write('x')\n" % (EVIL_NAMES,),
     lambda c: ok(c) and len(c.files) == len(EVIL_NAMES) + 1 and all(read(f) == b"x" for f in c.files) and
     not any(ord(ch) < 32 or ch in "\x7f\u202e/" for f in c.files for ch in os.path.basename(f["path"])) and
     not any(os.path.basename(f["path"])[0] in ".-" for f in c.files)),
    ("F06", "for n in ('.gitconfig', '.env', 'sitecustomize.py', '.bashrc2', 'config.yaml'): open(n, 'w').write('raise SystemExit')",
     lambda c: ok(c) and len(c.files) == 5 and all("/state/" in f["path"] and os.path.basename(f["path"])[0] != "." for f in c.files)),
    ("F07", """
import struct
open('broken.png', 'wb').write(b'\\x89PNG\\r\\n\\x1a\\nrubbish')
open('bomb.png', 'wb').write(b'\\x89PNG\\r\\n\\x1a\\n' + struct.pack('>I4sIIBBBBB', 13, b'IHDR', 2**31 - 1, 2**31 - 1, 8, 2, 0, 0, 0))
open('big.png', 'wb').write(b'\\x89PNG' + bytes(17 << 20))
open('sparse.bin', 'wb').truncate(60 << 20)""",
     lambda c: ok(c) and sorted(f["name"] for f in c.files) == ["bomb.png", "broken.png"] and c.seconds < 4),
    ("F08", """
import tarfile, io
with tarfile.open('t.tar', 'w') as t:
    for name in ('../../escaped', '/tmp/escaped'):
        info = tarfile.TarInfo(name)
        info.size = 1
        t.addfile(info, io.BytesIO(b'x'))""", lambda c: ok(c) and [f["name"] for f in c.files] == ["t.tar"]),
    ("F09", "import os\nos.mkdir('closed')\nopen('closed/in', 'w').write('x')\nos.chmod('closed', 0)\nos.mkdir('locked', 0)", ok),
    ("F10", "open('mine.txt', 'w').write('x')", lambda c: ok(c) and len(c.files) == 1),
    ("F11", """
import os
for what in (lambda: os.rmdir('/mnt/data'), lambda: os.rename('/mnt/data', '/mnt/other'), lambda: os.symlink('/etc', '/mnt/data2'),
             lambda: os.unlink('/mnt/data')):
    try:
        what()
        print('done')
    except OSError: pass""", ok_out("")),
    # last, since it goes on during the next cells
    ("F02", """
import os, time
os.mkdir('real'); open('real/passwd', 'w').write('mine'); os.symlink('/etc', 'fake'); os.symlink('real', 'swap')
if os.fork() == 0:
    end = time.monotonic() + 1
    while time.monotonic() < end:
        os.rename('real', 'd'); os.rename('fake', 'real'); os.rename('real', 'fake'); os.rename('d', 'real')
    os._exit(0)
time.sleep(0.05)""", lambda c: ok(c) and all(read(f) == b"mine" for f in c.files)),
]

GROUPS = {"limits": LIMIT_PROBES, "protocol": PROTOCOL_PROBES, "files": FILE_PROBES}


@pytest.fixture(params=PLACES)
def place(request):
    need_engine(request.param if request.param == ROOTLESS else request.param.split("-")[0])
    if request.param == "bwrap-user" and os.geteuid() != 0:
        pytest.skip("bwrap is run by an ordinary user already")
    return request.param


@pytest.fixture
def there(place):
    yield from make_sandpiper(place if place == ROOTLESS else place.split("-")[0])


def cells_of(r):
    """The cells in order, with what belongs to each."""
    cells = {}
    for e in map(json.loads, r.out.splitlines()):
        if e["type"] == "tool_call":
            cells[e["cell"]] = Cell(e)
        elif e["type"] == "tool_output":
            cells[e["cell"]].out += e["text"]
        elif e["type"] == "tool_result":
            cells[e["cell"]].finish(e)
        elif e["type"] == "file":
            cells[e["cell"]].files.append(e)
    return [cells[n] for n in sorted(cells)]


def daemons():
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/comm" % pid) as f:
                found += [pid] if f.read().strip() == DAEMON else []
        except OSError:
            pass
    return found


@pytest.mark.parametrize("group", GROUPS)
def test_probes(there, serve, place, group):
    probes = [p for p in GROUPS[group] if not p[3:] or place not in p[3]]
    uid, run = UID if place == ROOTLESS else os.geteuid(), {}
    if place == "bwrap-user":
        uid = 54321
        run = dict(user=uid, group=uid, extra_groups=[])
        for root, dirs, files in os.walk(there.dir):
            for name in dirs + files + ["."]:
                os.chown(os.path.join(root, name), uid, uid)
    exchanges = []
    for p in probes:
        for code in (p[1], "6 * 7"):
            exchanges += [{"answer": {"calls": [{"code": code}]}}, {"answer": {"text": "Done."}}]
    serve(there, exchanges)
    r = there.run("--json", *LIMITS, stdin="".join("%s?\n%s after?\n" % (p[0], p[0]) for p in probes), timeout=150, **run)
    cells = cells_of(r)
    assert len(cells) == 2 * len(probes), (len(cells), r)
    bad = []
    for p, probe, after in zip(probes, cells[::2], cells[1::2]):
        if not p[2](probe):
            bad.append("%s: %r" % (p[0], probe))
        if after.status != "ok" or after.value != "42":
            bad.append("%s, the cell after it: %r" % (p[0], after))
        bad += ["%s: %s is not the user's own plain file" % (p[0], f["path"]) for f in probe.files
                if os.lstat(f["path"]).st_uid != uid or not stat.S_ISREG(os.lstat(f["path"]).st_mode)]
    assert not bad, "\n".join(bad)
    assert daemons() == [] and os.listdir(there.work) == [] and not os.path.exists("/tmp/escaped")
