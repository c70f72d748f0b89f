# start.py - continues boot.py: forks the first worker and becomes the supervisor. A separate file, so that it
# comes compiled.


def libc(name, *words):
    """Calls a function of the C library without the cost of importing ctypes. False if it failed, or cannot
    be called."""
    try:
        import _ctypes
        return _ctypes.call_function(_ctypes.dlsym(_ctypes.dlopen(None, 2), name), words) == 0
    except Exception:
        try:
            import ctypes
            return getattr(ctypes.CDLL(None), name)(*words) == 0
        except Exception:
            return False


def prctl(option, value):
    return libc('prctl', option, value, 0, 0, 0)


FONT_LIST = '/usr/share/sandpiper/matplotlib'   # made by docker/Dockerfile

LIMITS = (('RLIMIT_NPROC', 'nproc'), ('RLIMIT_NOFILE', 'nofile'), ('RLIMIT_SIGPENDING', 'pending'),
          ('RLIMIT_DATA', 'heap'))


def neighbours():
    """Number of threads of our user that already run, as far as /proc shows them: the limit counts them
    too."""
    count = 0
    for name in posix.listdir('/proc'):
        try:
            if name.isdigit() and posix.stat('/proc/' + name).st_uid == posix.getuid():
                count += len(posix.listdir('/proc/%s/task' % name))
        except OSError:
            pass                                # it has ended, or we may not look at it
    return count


def confine():
    """Limits for the code alone, which no engine has set."""
    asked = [(name, int(OPTIONS[word])) for name, word in LIMITS if int(OPTIONS[word])]
    # RLIMIT_MEMLOCK is for the supervisor alone, see lock_code.py. It is 8 where Linux numbers as most do.
    if asked or posix.uname().machine not in ('x86_64', 'aarch64') or not libc('setrlimit', 8, bytes(16)):
        import resource
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))
    for name, most in asked:
        if name == 'RLIMIT_NPROC' and not OPTIONS['alone']:
            most += neighbours()
        what = getattr(resource, name)
        hard = resource.getrlimit(what)[1]
        resource.setrlimit(what, (min(most, hard) if hard >= 0 else most,) * 2)


def fork_child(close, hidden, alone):
    """Fork, and cut the child off from everything that belongs to the supervisor. Returns as fork does."""
    pid = posix.fork()
    if pid:
        return pid
    try:
        posix.setsid()
        for fd in close:
            posix.close(fd)
        to_null(0, 1, 2)
        _signal.set_wakeup_fd(-1)
        for number in IGNORED[1:] + (_signal.SIGCHLD,):
            _signal.signal(number, _signal.SIG_DFL)
        if hidden:
            # PR_SET_DUMPABLE: the code may look at itself, now that the channel is closed
            prctl(4, 1)
        OPTIONS['alone'] = alone
        if not alone:
            # PR_SET_PDEATHSIG: in a test no namespace ends us
            prctl(1, 9)
        confine()
    except BaseException:
        posix._exit(EXIT_NOT_STARTED)           # never continue as a second supervisor
    set_oom_score(OOM_WORKER)                       # the kernel is to kill the code, not the supervisor
    return 0


def set_oom_score(value, process='self'):
    """When memory runs out the kernel kills the process with the highest score. What may not be set stays as
    it is."""
    try:
        fd = posix.open('/proc/%s/oom_score_adj' % process, posix.O_WRONLY)
        posix.write(fd, b'%d' % value)
        posix.close(fd)
    except OSError:
        pass


def resident(process):
    """Bytes of memory that a process has."""
    fd = posix.open('/proc/%s/statm' % process, posix.O_RDONLY)
    try:
        return int(posix.read(fd, 200).split()[1]) * posix.sysconf('SC_PAGE_SIZE')
    finally:
        posix.close(fd)


def memory_left():
    """Bytes that the files in memory leave of the limit for all memory; 0 where there is no such limit."""
    left = int(OPTIONS['memory'])
    for path in (OPTIONS['data'], '/tmp', '/dev/shm') if left else ():
        try:
            st = posix.statvfs(path)
            left -= (st.f_blocks - st.f_bfree) * st.f_frsize
        except OSError:
            pass
    return left


def worker_links():
    """The two ways between us and who runs code: (our end of a socket for orders, theirs, our end of a pipe
    for words, theirs). The socket is shut for the way back and a pipe carries bytes alone, so no descriptor
    of the code's ever comes to us: its close could block us."""
    ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    ours.shutdown(_socket.SHUT_RD)
    ours.setblocking(False)
    words, words_in = posix.pipe2(posix.O_CLOEXEC)
    posix.set_blocking(words, False)
    return ours, theirs, words, words_in


def output_pipes():
    """Two pipes for what a child prints: (our end, theirs), (our end, theirs). Ours never block."""
    out = posix.pipe2(posix.O_CLOEXEC)
    try:
        err = posix.pipe2(posix.O_CLOEXEC)
    except OSError:
        for fd in out:
            posix.close(fd)
        raise
    posix.set_blocking(out[0], False)
    posix.set_blocking(err[0], False)
    return out, err


def open_folder(root, path, make=False):
    """A descriptor for the folder of the file path below root. Follows no link. make: a folder that is
    missing is made."""
    folder = posix.dup(root)
    for part in path.split(b'/')[:-1]:
        try:
            if make:
                try:
                    posix.mkdir(part, 0o755, dir_fd=folder)
                except FileExistsError:
                    pass
            inner = posix.open(part, posix.O_RDONLY | posix.O_DIRECTORY | posix.O_NOFOLLOW | posix.O_CLOEXEC,
                               dir_fd=folder)
        finally:
            posix.close(folder)
        folder = inner
    return folder


def close_socket(sock):
    """Close a Unix socket. Before Linux 6.10, closing one also closes sockets that others have lost in
    flight. Those may be TCP sockets of the code's that linger (SO_LINGER); a signal ends that wait."""
    _signal.setitimer(_signal.ITIMER_REAL, 0.02, 0.02)
    sock.close()
    _signal.setitimer(_signal.ITIMER_REAL, 0)


def fork_worker(close, hidden, alone, copy=-1):
    """A fresh worker, or one that goes on from a copy: (pid, our end of its socket, of its words, its stdout,
    its stderr)."""
    ours, theirs, words, words_in = worker_links()
    (out, out_in), (err, err_in) = output_pipes()
    pid = fork_child(list(close) + [out, err, words], hidden, alone)
    if pid == 0:
        try:
            ours.close()
            posix.dup2(out_in, 1)
            posix.dup2(err_in, 2)
            posix.close(out_in)
            posix.close(err_in)
            if copy >= 0:
                need('go_on')
                go_on(copy, theirs, words_in)   # noqa: from go_on.py
            need('worker')
            worker(theirs, words_in)            # noqa: from worker.py
        finally:
            posix._exit(EXIT_GAVE_UP)
    theirs.close()
    for fd in (words_in, out_in, err_in):
        posix.close(fd)
    return pid, ours, words, out, err


def report_unusable(fd):
    """Nothing can run here: send a greeting that lets the program say why. Under some engines an image's own
    folder keeps its mode."""
    text = ('%d.%d.%d' % sys.version_info[:3]).encode()
    text = tlv(b'v', VERSION) + tlv(b'p', text) + (b'' if posix.access('.', posix.W_OK) else tlv(b'w', b'0'))
    posix.write(fd, len(text).to_bytes(4, 'little') + FROM_GUEST_HELLO + bytes(16) + text)
    posix._exit(66)


def furnish():
    """Set environment variables that a user's own engine has not set."""
    for key in OPTIONS:
        name, value = key[4:].encode(), OPTIONS[key].encode()
        if key[:4] == 'env:' and name not in posix.environ:
            posix.environ[name] = value         # for os, which is not imported yet
            posix.putenv(name, value)


def share_font_list():
    """Let matplotlib find the list of fonts that was made with the image: making it takes a second."""
    try:
        names, folder = posix.listdir(FONT_LIST), posix.environ[b'MPLCONFIGDIR'].decode()
        posix.mkdir(folder)
        for name in names:
            posix.symlink(FONT_LIST + '/' + name, folder + '/' + name)
    except (OSError, KeyError):
        pass                                    # another image


def start(fd_in, fd_out):
    need('protocol')
    furnish()
    share_font_list()
    posix.chdir(OPTIONS['data'])
    if sys.version_info < (3, 8) or not posix.access('.', posix.W_OK):
        report_unusable(fd_out)
    version = '/python%d.%d/' % sys.version_info[:2]
    folders = ['/usr/local/lib' + version + 'dist-packages', sys.prefix + '/lib' + version + 'site-packages',
               '/usr/local/lib' + version + 'site-packages']
    if sys.prefix == '/usr':                    # Debian's Python, built for its own version alone
        folders.append('/usr/lib/python3/dist-packages')
    for folder in folders:
        try:                                    # for speed site is not run, so its folders are added here
            posix.stat(folder)
        except OSError:
            continue
        if folder not in sys.path:
            sys.path.append(folder)
    alone = posix.getpid() == 1                 # first process of its own pid namespace
    if type(PARTS.get('supervisor')) is tuple:
        # nothing has to be compiled; cheaper before the fork, since memory is not shared yet
        need('supervisor')
    first = fork_worker({fd_in, fd_out, *LISTENER}, False, alone)
    need('supervisor')
    supervise(fd_in, fd_out, first, alone)      # noqa: from supervisor.py
