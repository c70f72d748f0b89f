"""pair.py - two sandboxes at once, one of them hostile to its neighbour; and the program's death by SIGKILL, under code that does what it can to
stay."""
import json
import threading
import time

from .cell import MARK, NOT_RUN, WEAKER, Finding, Probe, judge
from .running import Running, end_all, status_of
from .session import gone, marked, new_mark

USER = ("bwrap-user",)          # it has the uid of whoever started it
UIDS = Probe("PAIR1", "pair: two sandboxes at once have different uids on the host", None, None, weaker=USER)
FLIGHT = Probe("PAIR2", "pair: a neighbour full of descriptors in flight is not noticed", None, None, weaker=USER)
WATCHES = Probe("PAIR3", "pair: a neighbour with all inotify instances is not noticed", None, None, weaker=USER)
FORKS = Probe("PAIR4", "pair: a neighbour with all its processes is not noticed", None, None)
KILLED = Probe("KILL1", "end: nothing runs 2 s after kill -9 of the program", None, None)
STAYS = Probe("KILL2", "end: nor of code that does all it can to stay (SO_LINGER, full sockets, signals)", None, None)
ROWS = [UIDS, FLIGHT, WATCHES, FORKS, KILLED, STAYS]

NAME = "open('/proc/self/comm', 'w').write('%s')\n" % MARK
QUIET = NAME + "import time\nprint('up', flush=True)\ntime.sleep(60)\n"
GREEDY = NAME + """
import array, ctypes, os, signal, socket, time
pairs, got = [], 0
try:
    while len(pairs) < 40:
        pairs.append(socket.socketpair())
        for i in range(8):
            pairs[-1][0].sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [0] * 200))])
except OSError: pass
watches = []
libc = ctypes.CDLL(None)
while len(watches) < 130:
    fd = libc.inotify_init()
    if fd < 0: break
    watches.append(fd)
kids = 0
try:
    while kids < 5000:
        if os.fork() == 0:
            while True: time.sleep(60)
        kids += 1
except OSError: pass
print('up', len(pairs), len(watches), kids, flush=True)
time.sleep(60)
"""
NEIGHBOUR = """
import array, ctypes, errno, json, os, socket
def attempt(f):
    try:
        f()
        return 'worked'
    except OSError as e:
        return errno.errorcode.get(e.errno, str(e.errno))
def send():
    a, b = socket.socketpair()
    a.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [0] * 50))])
def watch():
    libc = ctypes.CDLL(None, use_errno=True)
    for i in range(3):
        if libc.inotify_init() < 0: raise OSError(ctypes.get_errno(), '')
def fork():
    for i in range(20):
        if os.fork() == 0: os._exit(0)
        os.wait()
print(json.dumps({'PAIR2': attempt(send), 'PAIR3': attempt(watch), 'PAIR4': attempt(fork)}))
"""
FORKED = NAME + """
import os, time
if os.fork() == 0: os.setsid()
else: print('up', flush=True)
time.sleep(600)
"""
# What the code sends to the supervisor would linger in the supervisor's close(), if that is the last of its holders.
STAYING = NAME + """
import array, os, signal, socket, struct, time
for s in range(1, 65):
    try: signal.signal(s, signal.SIG_IGN)
    except (OSError, ValueError): pass
for i in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True: time.sleep(1)
        os._exit(0)
print('up', flush=True)     # while the supervisor still reads
time.sleep(0.2)
server = socket.create_server(('127.0.0.1', 0))
server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
held, lingering, channels = [], [], []
for fd in [int(f) for f in os.listdir('/proc/self/fd')]:
    try:
        s = socket.socket(fileno=os.dup(fd))
        if s.family == socket.AF_UNIX: channels.append(s)
    except OSError: pass
cpu = min(os.sched_getaffinity(0))
try: os.sched_setaffinity(1, {cpu})         # beside a sender that is busy there
except OSError: pass

def attack():
    lingering = []
    for i in range(10):
        c = socket.create_connection(server.getsockname())
        held.append(server.accept()[0])
        c.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        try: c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 3600))
        except OSError: pass
        c.setblocking(False)
        try:
            while True: c.send(bytes(65536))
        except OSError: pass
        lingering.append(c)
    r, w = os.pipe()
    # A process that ends does not linger: whoever holds them last does. What is sent before keeps the supervisor from having them too soon.
    if os.fork() == 0:
        os.sched_setaffinity(0, {cpu})
        messages = [[(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [c.fileno()]))] for c in lingering]
        os.read(r, 1)
        for channel in channels:
            channel.setblocking(False)
            try:
                for i in range(150): channel.send(b'x' * 17)
                for m in messages: channel.sendmsg([b'x' * 17], m)
            except OSError: pass
        os._exit(0)
    for c in lingering: c.close()
    os.write(w, b'x')
    os.close(r)
    os.close(w)
    try: os.wait()
    except OSError: pass        # SIGCHLD is ignored

for i in range(6): attack()
while True:
    time.sleep(1)
"""
REFUSED = ("EPERM", "ENOSYS", "EACCES")         # for everybody, so it cannot be used up


def uid(mark):
    pids = marked(mark)
    return status_of(pids[0])["Uid"].split()[1] if pids else None


def verdict(there, probe, holds, seen):
    if there.place in probe.weaker:
        return Finding(there.place, "pair", probe, WEAKER, seen)
    return judge(there.place, "pair", probe, holds, seen)


def two_uids(there):
    marks = new_mark(), new_mark()
    with Running(there, QUIET.replace(MARK, marks[0])) as a, Running(there, QUIET.replace(MARK, marks[1])) as b:
        said = a.line(), b.line()
        uids = [uid(m) for m in marks]
    if said != ("up", "up") or None in uids:
        return [Finding(there.place, "pair", UIDS, NOT_RUN, "%s, uids %s" % (said, uids))]
    return [verdict(there, UIDS, lambda: uids[0] != uids[1] and "0" not in uids, "uids %s" % uids)]


def neighbours(there):
    """A greedy sandbox, and what another one can still do beside it."""
    mark, rows = new_mark(), (FLIGHT, WATCHES, FORKS)
    with Running(there, GREEDY.replace(MARK, mark)) as greedy:
        held = greedy.line()
        if not held.startswith("up "):
            return [Finding(there.place, "pair", row, NOT_RUN, "the neighbour: " + held) for row in rows]
        with Running(there, NEIGHBOUR) as other:
            line = other.line()
    try:
        seen = json.loads(line)
    except ValueError:
        return [verdict(there, row, lambda: False, "beside it a sandbox does not start: " + line) for row in rows]
    return [verdict(there, row, lambda row=row: seen[row.id] in ("worked", *REFUSED), "%s beside one that has %s" % (seen[row.id], held))
            for row in rows]


def killed(there, probe, code):
    mark = new_mark()
    with Running(there, code.replace(MARK, mark), "--timeout", "900s") as cell:
        line = cell.line()
        if line != "up":
            return Finding(there.place, "pair", probe, NOT_RUN, line)
        time.sleep(1)               # what it sent has arrived
        cell.kill()
        fine = gone(mark, 2)
        left = ["%d %s" % (p, status_of(p).get("State")) for p in marked(mark)]
        end_all(mark)
    return verdict(there, probe, lambda: fine, "still there: %s" % left if left else "")


ALONE = threading.Lock()        # two of them at once would be each other's neighbours


def run_group(there):
    with ALONE:
        return run_alone(there)


def run_alone(there):
    found = two_uids(there) + neighbours(there) + [killed(there, KILLED, FORKED), killed(there, STAYS, STAYING)]
    there.run("gc")                 # records and control groups of the killed, as the next start would
    return found
