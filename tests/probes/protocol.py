"""protocol.py - hostile cells against the channel, the worker and the supervisor (P of docs/SECURITY.md), one session in this order. P10 is
tests/unit/sandbox/test_frame.c's."""
from .cell import KIB, Probe, died, ok, ok_out, timed_out

PROTOCOL_PROBES = [
    Probe("P01", "frames printed on stdout and stderr stay text", """
import os, struct
for body in (b'{"status": "ok", "value": "666"}', b'Z' + bytes(16), b'R' + bytes(16) + b'v\\3\\0\\0\\0666'):
    for fd in (1, 2):
        os.write(fd, struct.pack('<I', len(body)) + body + b'\\n')
        os.write(fd, b'Content-Length: %d\\r\\n\\r\\n' % len(body) + body + b'\\n')
""", lambda c: ok(c) and c.value is None and c.out.count("Content-Length") == 6),
    Probe("P02", "rubbish on every descriptor harms this cell alone", """
import os
for fd in range(3, 1024):
    for garbage in (b'\\xff' * 64, b'\\0' * 64, bytes(range(256)) * 8):
        try: os.write(fd, garbage)
        except OSError: pass
""", lambda c: c.status in ("ok", "died")),
    Probe("P03", "the commands of the supervisor cannot be read", """
import os, socket
seen = b''
for fd in range(3, 200):
    try:
        os.set_blocking(fd, False)
        seen += os.read(fd, 65536)
    except OSError: pass
print(b'execute' in seen or b'supervisor' in seen, len(seen))""", lambda c: c.status == "died" or ok_out("False 0\n")(c)),
    Probe("P04", "closing every descriptor ends this cell alone",
     "import os\nos.closerange(0, 1024)", lambda c: c.status in ("died", "exception") and c.seconds < 2),
    Probe("P05", "redirected output is lost for this cell alone",
     "import os\nfd = os.open('/dev/null', os.O_RDWR)\nfor i in range(3): os.dup2(fd, i)\nprint('lost')",
     lambda c: c.status in ("ok", "died") and c.seconds < 2),
    Probe("P07", "os._exit is told as a death, and the state is kept",
     "import os\nos._exit(0)", died("os._exit")),
    Probe("P08", "SystemExit ends the cell alone",
     "kept = 7\nraise SystemExit(3)", lambda c: c.status == "exit" and not c.state_lost),
    Probe("P08b", "KeyboardInterrupt ends the cell alone",
     "kept\nraise KeyboardInterrupt", lambda c: c.status in ("exception", "interrupted") and not c.state_lost and "NameError" not in c.error),
    Probe("P08c", "GeneratorExit ends the cell alone",
     "kept\nraise GeneratorExit", lambda c: c.status == "exception" and not c.state_lost and "GeneratorExit" in c.error),
    Probe("P09", "a thread that prints late does not become the next result", """
import os, threading, time
def late():
    time.sleep(0.02)
    for i in range(20): os.write(1, b'666\\n')
threading.Thread(target=late).start()""", ok),
    Probe("P11", "NUL and broken UTF-8 reach the model repaired",
     "import os\nn = os.write(1, b'a\\0b\\xff\\xed\\xa0\\x80\\xc0\\x80\\xf5end\\n')",
     lambda c: ok(c) and "end" in c.model_text and "\ufffd" in c.model_text and "\0" not in c.model_text),
    Probe("P11b", "a lone surrogate harms nobody",
     "print(chr(0xd800), 'tail')", lambda c: c.status in ("ok", "exception")),
    Probe("P12", "a value nested 100000 deep harms nobody",
     "x = []\nfor i in range(100000): x = [x]\nx", lambda c: c.status in ("ok", "exception") and not c.state_lost),
    Probe("P12b", "a repr that raises SystemExit harms nobody",
     "class H:\n    def __repr__(self): raise SystemExit(9)\nH()", lambda c: c.status in ("ok", "exception", "exit") and not c.state_lost),
    Probe("P12c", "a repr of 30 MiB is cut",
     "class H:\n    def __repr__(self): return 'x' * (30 << 20)\nH()", lambda c: c.status in ("ok", "exception") and len(c.model_text) < 64 * KIB),
    Probe("P13", "killing the parent, the first process and all others ends cleanly", """
import os
for pid in (os.getppid(), 1, -1):
    try: os.kill(pid, 9)
    except OSError: pass
print('alive')""", lambda c: c.status in ("ok", "died") and c.seconds < 2),
    # the next one ends the worker that this one has maimed
    Probe("P06", "an interpreter with its own functions removed goes on or restarts", """
import builtins, sys, json, os, struct, time, io, socket, select
for module, names in ((builtins, 'print repr len compile exec eval isinstance'), (json, 'dumps loads'), (os, 'write read fork _exit'),
                      (struct, 'pack unpack'), (time, 'time monotonic'), (socket.socket, 'send recv')):
    for name in names.split():
        try: setattr(module, name, None)
        except (TypeError, AttributeError): pass
sys.stdout = sys.stderr = sys.stdin = sys.displayhook = sys.excepthook = None""", lambda c: c.status in ("ok", "exception", "died")),
    Probe("P14", "a stopped worker ends at its time",
     "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)", timed_out(True)),
    Probe("P15", "a segmentation fault is told by name, and the state is kept",
     "import ctypes\nctypes.string_at(0)", died("SIGSEGV")),
    Probe("P16", "descriptors and memory of the supervisor cannot be opened", """
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
    Probe("P17", "limits and priority of the supervisor cannot be changed", """
import ctypes, os, resource
for what in (lambda: resource.prlimit(1, resource.RLIMIT_NOFILE, (3, 3)), lambda: os.setpriority(os.PRIO_PROCESS, 1, 19),
             lambda: os.setpriority(os.PRIO_USER, os.getuid(), 19), lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0)),
             lambda: os.sched_setaffinity(1, {min(os.sched_getaffinity(1))})):
    try:
        what()
        print('done')
    except OSError: pass
if ctypes.CDLL(None).syscall(251, 1, 1, 3 << 13) == 0: print('ioprio_set')
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
os.sched_setaffinity(0, os.sched_getaffinity(0))
os.nice(1)""", lambda c: ok(c) and c.out == ""),
    # what would tell of the host's own files, hold them, or make its disks write: each is refused, and what is like it works
    Probe("P18", "what tells of the host's files, holds them or writes out its disks is refused", """
import ctypes, errno, fcntl, os
libc = ctypes.CDLL(None, use_errno=True)
def call(*args):
    ctypes.set_errno(0)
    return 'done' if libc.syscall(*args) != -1 else errno.errorcode[ctypes.get_errno()]
folder, file = os.open('/usr', os.O_RDONLY), os.open(os.__file__, os.O_RDONLY)
print(call(253), call(294, 0), call(254, 0, b'/usr/bin', 0xfff), call(300, 0, 0), call(162), call(306, folder))
for what, fd, more in ((1026, folder, 0x3f), (1026 + (1 << 32), folder, 0x3f), (1024, file, 0), (1040, folder, 0)):
    print(call(72, fd, ctypes.c_long(what), ctypes.c_long(more)), end=' ')
mine = open('mine', 'w')
os.fsync(mine.fileno())
fcntl.flock(mine, fcntl.LOCK_EX)
fcntl.lockf(mine, fcntl.LOCK_EX)
print(fcntl.fcntl(mine, fcntl.F_GETFL) > 0)""",
     ok_out("ENOSYS ENOSYS ENOSYS EPERM EPERM EPERM\nEPERM EPERM EPERM EPERM True\n")),
]
