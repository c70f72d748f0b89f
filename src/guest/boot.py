# boot.py - the text of "python3 -I -S -u -c": dial the program, take the rest of the source from it, fork the first worker, become
# the supervisor. Standard library only, Python 3.8 and later; docs/sandbox-protocol.md.
#
# Compiling and importing is most of the start-up. So this is small, the rest comes compiled too, for the Python that our builder had, and where this
# is another the worker is forked before the supervisor's own source is compiled (both then compile at the same time), and what a plain cell does not
# need is compiled when it is first needed. All parts share this namespace.

import posix
import sys
import _signal
import _socket

FRAME_MAX = 1 << 20             # body of a frame from the program
PARTS = {}                      # name -> a part not run yet: its source, or (what makes code of it, it)
DOOR = []                       # descriptors of a sandbox with a name: the listener, and who knocks (named.py)
OPTIONS = {'nproc': '0', 'files': '0', 'data': '/mnt/data', 'park': '0', 'memory': '0', 'alone': ''}
OOM_WORKER = 150                # oom_score_adj of what runs code; the supervisor has less, a parked copy more (park.py)
IGNORED = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP, _signal.SIGQUIT, _signal.SIGUSR1, _signal.SIGUSR2, _signal.SIGALRM)


def need(name):
    """Run a part in this namespace, once."""
    part = PARTS.pop(name, None)
    if part is not None:
        exec(part[0](part[1]) if type(part) is tuple else compile(part, '<sandpiper/%s>' % name, 'exec'), globals())


def unpack(body):
    """The first frame: all parts compiled, which holds only for the Python that compiled them, then as source."""
    at = 0
    while at < len(body):
        size = int.from_bytes(body[at + 1:at + 5], 'little')
        kind, data, at = body[at:at + 1], body[at + 5:at + 5 + size], at + 5 + size
        if kind == b'm':
            name, _, source = data.partition(b'\n')
            PARTS[name.decode()] = source
        elif kind == b'c':
            mine = getattr(sys.modules.get('_frozen_importlib_external'), 'MAGIC_NUMBER', b'') + str(sys.implementation.cache_tag).encode() + b'\n'
            if data.startswith(mine):
                import marshal
                for name, code in marshal.loads(data[len(mine):]).items():
                    PARTS[name] = marshal.loads, code
                break


def prctl(option, value):
    """prctl(2) without the price of importing ctypes. False where it cannot be called."""
    try:
        import _ctypes
        return _ctypes.call_function(_ctypes.dlsym(_ctypes.dlopen(None, 2), 'prctl'), (option, value, 0, 0, 0)) == 0
    except Exception:
        try:
            import ctypes
            return ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0
        except Exception:
            return False


def dial(channel):
    """The channel to the program: (descriptor to read, to write). With its first byte may come a listening descriptor."""
    if channel == 'stdio':
        posix.read(0, 1)
        pair = posix.dup(0), posix.dup(1)
        null = posix.open('/dev/null', posix.O_RDWR)
        posix.dup2(null, 0)
        posix.dup2(null, 1)
        posix.close(null)
        return pair
    if channel[:3] == 'fd:':
        sock = _socket.socket(fileno=int(channel[3:]))
    else:
        sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        sock.connect(channel[5:])
    sock.settimeout(30)
    for name in ('_ctypes', 'marshal', 'select', 'time'):       # what will be needed, while the program is still busy
        try:
            __import__(name)
        except ImportError:
            pass
    data, extra, _, _ = sock.recvmsg(1, 64)
    if not data:
        posix._exit(0)
    for level, what, value in extra:            # a listener comes when the sandbox has a name and is to outlive the program
        DOOR.append(int.from_bytes(value[:4], sys.byteorder))
        posix.set_inheritable(DOOR[-1], False)
    fd = sock.detach()
    posix.set_inheritable(fd, False)
    posix.set_blocking(fd, True)
    return fd, fd


def take(fd, size):
    data = b''
    while len(data) < size:
        piece = posix.read(fd, size - len(data))
        if not piece:
            posix._exit(0)
        data += piece
    return data


def fork_child(close, hidden, alone):
    """Fork with the child cut off from everything that is the supervisor's. Returns as fork does."""
    pid = posix.fork()
    if pid:
        return pid
    try:
        posix.setsid()
        null = posix.open('/dev/null', posix.O_RDWR)
        for fd in close:
            posix.close(fd)
        for fd in (0, 1, 2):
            posix.dup2(null, fd)
        posix.close(null)
        _signal.set_wakeup_fd(-1)
        for number in IGNORED[1:] + (_signal.SIGCHLD,):
            _signal.signal(number, _signal.SIG_DFL)
        if hidden:
            prctl(4, 1)                         # PR_SET_DUMPABLE: the code may look at itself, now that the channel is closed
        OPTIONS['alone'] = alone
        if not alone:
            prctl(1, 9)                         # PR_SET_PDEATHSIG: in a test nobody ends us with the namespace
        if int(OPTIONS['nproc']):
            import resource
            resource.setrlimit(resource.RLIMIT_NPROC, (int(OPTIONS['nproc']),) * 2)
    except BaseException:
        posix._exit(71)                         # never go on as a second supervisor
    try:
        fd = posix.open('/proc/self/oom_score_adj', posix.O_WRONLY)
        posix.write(fd, b'%d' % OOM_WORKER)     # when memory is gone the kernel takes the code, not the supervisor
        posix.close(fd)
    except OSError:
        pass
    return 0


def fork_worker(close, hidden, alone):
    """A fresh worker: (pid, our end of its socket, its stdout, its stderr). Messages keep their borders, so garbage cannot put us out of step."""
    ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    (out, out_in), (err, err_in) = posix.pipe2(posix.O_CLOEXEC), posix.pipe2(posix.O_CLOEXEC)
    pid = fork_child(list(close) + [out, err], hidden, alone)
    if pid == 0:
        try:
            ours.close()
            posix.dup2(out_in, 1)
            posix.dup2(err_in, 2)
            posix.close(out_in)
            posix.close(err_in)
            need('worker')
            worker(theirs)                      # noqa: from worker.py
        finally:
            posix._exit(70)
    theirs.close()
    posix.close(out_in)
    posix.close(err_in)
    ours.setblocking(False)
    posix.set_blocking(out, False)
    posix.set_blocking(err, False)
    return pid, ours, out, err


def excuse(fd):
    """Nothing can be run here: a greeting that lets the program say why. An image's own folder keeps its mode under some engines."""
    text = ('%d.%d.%d' % sys.version_info[:3]).encode()
    text = b'v\1\0\0\0001p' + len(text).to_bytes(4, 'little') + text + (b'' if posix.access('.', posix.W_OK) else b'w\1\0\0\0000')
    posix.write(fd, len(text).to_bytes(4, 'little') + b'H' + bytes(16) + text)
    posix._exit(66)


def boot():
    for word in sys.argv[2:]:
        key, _, value = word.partition('=')
        OPTIONS[key] = value
    # As first process we would take a signal from inside only if a handler were set: Python sets one for SIGINT.
    for number in IGNORED:
        _signal.signal(number, _signal.SIG_IGN)
    fd_in, fd_out = dial(sys.argv[1])
    head = take(fd_in, 21)                      # the first frame from the program is the rest of our source
    if head[4:5] != b'B' or int.from_bytes(head[:4], 'little') > FRAME_MAX:
        posix._exit(65)
    unpack(take(fd_in, int.from_bytes(head[:4], 'little')))
    posix.chdir(OPTIONS['data'])
    if sys.version_info < (3, 8) or not posix.access('.', posix.W_OK):
        excuse(fd_out)
    version = '/python%d.%d/' % sys.version_info[:2]
    folders = ['/usr/local/lib' + version + 'dist-packages', sys.prefix + '/lib' + version + 'site-packages',
               '/usr/local/lib' + version + 'site-packages']
    if sys.prefix == '/usr':                    # Debian's, built for its own Python alone
        folders.append('/usr/lib/python3/dist-packages')
    for folder in folders:
        try:                                    # site is not run, for speed: its folders are added here
            posix.stat(folder)
        except OSError:
            continue
        if folder not in sys.path:
            sys.path.append(folder)
    alone = posix.getpid() == 1                 # first process of its own pid namespace
    if type(PARTS.get('supervisor')) is tuple:
        need('supervisor')                      # nothing to compile: before the fork it costs less, for memory is not shared yet
    first = fork_worker({fd_in, fd_out, *DOOR}, False, alone)
    need('supervisor')
    supervise(fd_in, fd_out, first, alone)      # noqa: from supervisor.py
