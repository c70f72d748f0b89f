# boot.py - the text of "python3 -I -S -u -c": connects to the program and takes the rest of the source from
# it (start.py goes on). Standard library only, Python 3.8 and later; docs/sandbox-protocol.md.
#
# Compiling and importing is most of the start-up time. So this part is small, and the rest also comes
# compiled for the Python that our builder had. Under another Python, the worker is forked before the
# supervisor's own source is compiled, so that both compile at the same time. What a plain cell does not need
# is compiled when it is first needed. All parts share this namespace.

import posix
import sys
import _signal
import _socket

TO_GUEST_PARTS = b'B'           # the first frame; the others are in protocol.py
FROM_GUEST_HEARD = b'A'         # says nothing (channel.h)
FRAME_MAX = (1 << 20) + 4096    # body of a frame from the program
OURS = '<python/'               # what the names of the parts begin with, where a user may see one
PARTS = {}  # name -> a part that has not run yet: its source, or (function that makes code of it, source)
# descriptors of a named sandbox: the listener, and the client that is not admitted yet (named.py)
LISTENER = []
PARTS_FILE = []                 # the descriptor of a memory file with the parts, if one came
OPTIONS = {'nproc': '0', 'nofile': '0', 'pending': '0', 'heap': '0', 'files': '0',
           'data': '/mnt/data', 'snapshots': '0', 'memory': '0', 'file': '%d' % (16 << 20),
           'total': '%d' % (64 << 20), 'alone': '',
           'packages': '', 'late': '', 'figures': '', 'mounts': '', 'program': '', 'net': ''}
# oom_score_adj of whatever runs code; the supervisor has less, a snapshot more (snapshot.py)
OOM_WORKER = 150
IGNORED = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP, _signal.SIGQUIT, _signal.SIGUSR1, _signal.SIGUSR2,
           _signal.SIGALRM)


def need(name):
    """Run a part in this namespace, once."""
    part = PARTS.pop(name, None)
    if part is not None:
        exec(part[0](part[1]) if type(part) is tuple else compile(part, OURS + '%s>' % name, 'exec'),
             globals())


def unpack(data, at, load=None):
    """A series of parts: b'm', size, name, newline, and its source, or with load its code marshalled. Most
    are never needed, so nothing is copied."""
    while at < len(data):
        begin, at = at + 5, at + 5 + int.from_bytes(data[at + 1:at + 5], 'little')
        name = data[begin:begin + 20].tobytes().partition(b'\n')[0]
        part = data[begin + len(name) + 1:at]
        PARTS[name.decode()] = (load, part) if load else part.tobytes()


def read_parts(fd, size):
    """The body of the first frame has all parts twice: compiled (b'c', size, what tells the Python that did
    it), which is only valid for that Python, and as source."""
    length = int.from_bytes(take(fd, 5)[1:], 'little')
    unpack_either(take(fd, length), take(fd, size - 5 - length))


def read_file(fd):
    """The same from a memory file, of which only what is needed is read. It is closed before code runs, and
    its position, which other sandboxes share, is left alone."""
    length = int.from_bytes(posix.pread(fd, 5, 0)[1:], 'little')
    if not unpack_compiled(memoryview(posix.pread(fd, length, 5))):
        unpack(memoryview(posix.pread(fd, FRAME_MAX, 5 + length)), 0)
    posix.close(fd)


def unpack_compiled(data):
    """False: another Python compiled them."""
    mine = getattr(sys.modules.get('_frozen_importlib_external'), 'MAGIC_NUMBER',
                   b'') + str(sys.implementation.cache_tag).encode() + b'\n'
    if data[:len(mine)] == mine:
        import marshal
        unpack(data, len(mine), marshal.loads)
        return True
    return False


def unpack_either(compiled, source):
    """The compiled parts, where they are for this Python, else the source."""
    if not unpack_compiled(compiled):
        unpack(source, 0)


def to_null(*fds):
    null = posix.open('/dev/null', posix.O_RDWR)
    for fd in fds:
        posix.dup2(null, fd)
    posix.close(null)


def dial(channel):
    """The channel to the program: (descriptor to read, to write). A descriptor may come with its first byte:
    that of the parts ('M'), or one that listens."""
    if channel == 'stdio':
        posix.read(0, 1)
        pair = posix.dup(0), posix.dup(1)
        to_null(0, 1)
        return pair
    if channel[:3] == 'fd:':
        sock = _socket.socket(fileno=int(channel[3:]))
    else:
        sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        sock.connect(channel[5:])
    sock.settimeout(30)
    # import what will be needed while the program is still busy
    for name in ('_ctypes', 'marshal', 'select', 'time'):
        try:
            __import__(name)
        except ImportError:
            pass
    data, extra, _, _ = sock.recvmsg(1, 64)
    if not data:
        posix._exit(0)
    # a listener comes if the sandbox has a name and is to outlive the program
    came = PARTS_FILE if data == b'M' else LISTENER
    for level, what, value in extra:
        came.append(int.from_bytes(value[:4], sys.byteorder))
        posix.set_inheritable(came[-1], False)
    fd = sock.detach()
    posix.set_inheritable(fd, False)
    posix.set_blocking(fd, True)
    return fd, fd


def take(fd, size):
    data = left = memoryview(bytearray(size))
    while left:
        n = posix.readv(fd, [left])
        if not n:
            posix._exit(0)
        left = left[n:]
    return data


def boot():
    for word in sys.argv[2:]:
        key, _, value = word.partition('=')
        OPTIONS[key] = value
    # The first process of a pid namespace gets a signal from inside only if it has a handler, and Python sets
    # one for SIGINT.
    for number in IGNORED:
        _signal.signal(number, _signal.SIG_IGN)
    fd_in, fd_out = dial(sys.argv[1])
    if PARTS_FILE:
        read_file(PARTS_FILE.pop())
    else:
        head = take(fd_in, 21)                  # the program's first frame is the rest of our source
        if head[4:5] != TO_GUEST_PARTS or int.from_bytes(head[:4], 'little') > FRAME_MAX:
            posix._exit(65)
        if fd_in != fd_out:
            posix.write(fd_out, bytes(4) + FROM_GUEST_HEARD + bytes(16))
        read_parts(fd_in, int.from_bytes(head[:4], 'little'))
    need('start')
    start(fd_in, fd_out)                        # noqa: from start.py
