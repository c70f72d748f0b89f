"""limits.py - hostile cells against the limits (L of docs/SECURITY.md). All of them are one session, in this order."""
from .cell import KIB, MARK, MIB, NOT_FOR_USER, Probe, number, ok, ok_out, out_of_memory, timed_out, told

FILL = """
try:
    with open('%s', 'wb', 0) as f:
        while True: f.write(bytes(1 << 20))
finally:
    __import__('os').unlink('%s')"""


PATIENCE = "'PROBE_SECONDS', 1.2", "'PROBE_SECONDS', 12"        # in a session of its own a probe has more time


def together(c):
    """MiB in use at once by those that live: without a limit it would be 512 by 8. One that is just being killed may still be counted. A session
    that runs short of memory is slow at all it does, so the end of the cell's time is no verdict."""
    if c.status == "memory":
        return True
    used, alive = map(int, c.out.split())
    if alive == 8 and used < 64:
        raise ValueError("too slow to tell")
    return c.status in ("ok", "timeout") and used <= 256 + 64


LIMIT_PROBES = [
    Probe("L03", "one process cannot use more than the memory",
     "x = b'x' * (600 << 20)", out_of_memory),
    Probe("L04", "many processes together cannot use more than the memory", """
import mmap, os, struct, time
counts, kids = mmap.mmap(-1, 4096), {}
for i in range(8):
    pid = os.fork()
    if pid == 0:
        b = bytearray(64 << 20)
        for at in range(0, len(b), 1 << 20):
            for page in range(at, at + (1 << 20), 4096): b[page] = 1
            struct.pack_into('I', counts, 4 * i, (at >> 20) + 1)
        time.sleep(60)
        os._exit(0)
    kids[pid] = i
end = time.monotonic() + float(os.environ.get('PROBE_SECONDS', 1.2))
while kids and time.monotonic() < end:
    for pid in list(kids):
        if os.waitpid(pid, os.WNOHANG)[0]: del kids[pid]
    held = [struct.unpack_from('I', counts, 4 * i)[0] for i in kids.values()]
    if min(held, default=64) == 64: break
    time.sleep(0.05)
print(sum(held), len(kids), flush=True)
for pid in kids: os.kill(pid, 9)""", together, weaker=NOT_FOR_USER),
    Probe("L05", "memory of unmapped files (memfd) counts", """
import os
fds, n = [os.memfd_create(str(i)) for i in range(4)], 0
for fd in fds:
    for i in range(100): n += os.write(fd, b'x' * (1 << 20))
print(n >> 20)""", lambda c: c.status in ("memory", "died", "exception"), weaker=NOT_FOR_USER),
    # Which limit, and how much there is of it, is told to the model with the failure.
    Probe("L02t", "the limit of threads is told with the failure", """
import threading
gate = threading.Event()
try:
    while True: threading.Thread(target=gate.wait, daemon=True).start()
finally:
    gate.set()""", told("exception", "40 processes", "256 MiB")),
    Probe("L01t", "the limit of processes is told with the failure", """
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
    Probe("L03t", "the limit of memory is told with the failure",
     "x = b'x' * (600 << 20)", lambda c: out_of_memory(c) and "256 MiB" in c.model_text),
    Probe("L08t", "the size of /mnt/data is told with the failure",
     FILL % ("full", "full"),
     told("exception", "/mnt/data holds 64 MiB in all")),
    Probe("L06t", "the size of /tmp is told with the failure",
     FILL % ("/tmp/full", "/tmp/full"),
     told("exception", "holds 64 MiB in all")),
    Probe("L10t", "the size of one file is told with the failure",
     "open('sparse', 'wb').truncate(300 << 20)", told("exception", "at most 256 MiB")),
    Probe("L12t", "the limit of open files is told with the failure",
     "files = [open('/dev/null') for i in range(2000)]", told("exception", "256 open files")),
    Probe("L11", "the number of files in /mnt/data stops, or is told after the cell", """
for i in range(10050): open('n%d' % i, 'w').close()""",
     lambda c: told("exception", "/mnt/data has its most files: 10000")(c) or c.status == "ok" and "more than 10000 files, the limit" in c.model_text),
    Probe("L11b", "and they can be removed again",
     "import os\nfor name in os.listdir(): name[0] == 'n' and os.unlink(name)", ok),
    Probe("L14t", "a cell's time is told with its end",
     "while True: pass", lambda c: timed_out()(c) and "longer than %d s" % c.limit in c.model_text),
    Probe("L26", "100 MiB of zeros in one write loop: cut, counted",
     "import os\nleft = 100 << 20\nwhile left: left -= os.write(1, b'x' * min(left, 1 << 20))",
     lambda c: ok(c) and c.output_bytes == 100 * MIB and len(c.out) <= 17 * MIB and "left out" in c.model_text),
    Probe("L13", "busy processes together stay below the CPU limit", """
import os, time
t, kids = time.monotonic(), []
for i in range(4):
    pid = os.fork()
    if pid == 0:
        while time.monotonic() - t < 1.2: pass
        os._exit(0)
    kids.append(pid)
for p in kids: os.waitpid(p, 0)
print((os.times().children_user + os.times().children_system) / (time.monotonic() - t))""", number(0, 1.35), weaker=NOT_FOR_USER),
    Probe("L14", "a loop that ignores every signal ends at its time",
     "import signal\nfor s in (2, 15, 1, 3, 10, 12): signal.signal(s, signal.SIG_IGN)\nwhile True: pass", timed_out(True)),
    Probe("L15", "a loop that swallows every exception ends at its time",
     "while True:\n    try:\n        while True: pass\n    except BaseException:\n        pass", timed_out()),
    Probe("L16", "a C call that never looks at signals ends at its time",
     "import re\nre.match(r'(a+)+$', 'a' * 60 + 'b')", timed_out()),
    Probe("L17", "100 MiB of lines: the result stays small",
     "import os\npiece = b'x' * 65535 + b'\\n'\nfor i in range(1600): os.write(1, piece) == 65536 or 1/0",
     lambda c: ok(c) and c.output_bytes == 1600 * 65536 and len(c.out) <= 17 * MIB and len(c.model_text) < 64 * KIB),
    Probe("L18", "one line of 64 MiB: the result stays small",
     "import sys\nfor i in range(16): n = sys.stdout.write('x' * (4 << 20))",
     lambda c: ok(c) and c.output_bytes == 64 * MIB and len(c.out) <= 17 * MIB and len(c.model_text) < 64 * KIB),
    Probe("L19", "floods on stdout and stderr at once do not lock", """
import os, threading
def flood(fd):
    left = 8 << 20
    while left: left -= os.write(fd, b'y' * min(left, 10000))
threads = [threading.Thread(target=flood, args=(fd,)) for fd in (1, 2)]
for t in threads: t.start()
for t in threads: t.join()""", lambda c: ok(c) and c.output_bytes == 16 * MIB),
    Probe("L20", "a daemon that left the session is in the sandbox, and ends with it", """
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
print(sum(open('/proc/%%s/comm' %% p).read().strip() == '%s' for p in os.listdir('/proc') if p.isdigit()))""" % (MARK, MARK), ok_out("1\n")),
    Probe("L21", "a child that keeps stdout open does not hold the cell",
     "import os, time\nif os.fork() == 0:\n    time.sleep(20)\n    os._exit(0)\nprint('went on')",
     lambda c: ok_out("went on\n")(c) and c.seconds < 1.5),
    Probe("L22", "orphans are reaped", """
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
    Probe("L23", "no System V shared memory",
     "import ctypes\nprint(ctypes.CDLL(None).shmget(0, ctypes.c_size_t(1 << 40), 0o1600))", ok_out("-1\n")),
    Probe("L25", "a folder 2000 levels deep harms nobody", """
import os
for i in range(2000):
    os.mkdir('d')
    os.chdir('d')
open('bottom.txt', 'w').write('x')
os.chdir('/mnt/data')""", lambda c: c.status in ("ok", "exception") and c.seconds < 4),
    # last: where memory is limited for each process, what libc keeps of forty threads' stacks and heaps counts for good
    Probe("L02", "threads count as processes", """
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
