# snapshot.py - part of the worker, compiled at the first order to capture: makes a copy of this process,
# which waits, and which continues as the worker if we die.
#
# The copy is made by clone() with CLONE_PARENT. So it is the supervisor's child, and no os.wait() of the
# code's ever sees it. The fork handlers of libc and Python do not run: they would seed random anew, and may
# be the code's own. This is only safe with a single thread. Pipes and sockets that the copy must not have are
# closed at once: held here, they would hide from a child that we closed our end.

# number of the system call, and which of its arguments is the child's thread id
CLONE = {'x86_64': (56, 3), 'aarch64': (220, 4)}
STILL = 0.005                   # seconds for which a new copy and the worker do nothing of their own
TOUCHING = b'[i for i in (1, 2)]', b'for _ in ():\n    1\n1'
SLOW = 0.004                    # seconds: a copy that takes more is worth the price of huge pages
clone = _others = _collapse = None
_last = 0                       # seconds of processor time that the last copy took
_slow = SLOW                    # from there on huge pages are made


def can_clone():
    """Can a copy be made here? From then on clone() makes one, and returns as fork does."""
    global clone
    if clone is None:
        clone = prepare_clone() or 0            # raises in a Python without _ctypes
    return clone


def prepare_clone():
    """The call with its arguments, or None if it cannot be made."""
    global _collapse
    import _ctypes
    number, at = CLONE.get(posix.uname()[4], (0, 0))
    if not number or sys.maxsize < 1 << 32:
        return None

    class Word(_ctypes._SimpleCData):
        _type_ = 'P'
    libc = _ctypes.dlopen(None, 2)
    tid, flags = Word(0), 0x8000 | 17               # CLONE_PARENT, SIGCHLD
    # libc keeps our thread id where the kernel clears it when we end; for the copy the kernel writes its own
    # there (CLONE_CHILD_SETTID, _CLEARTID).
    if _ctypes.call_function(_ctypes.dlsym(libc, 'prctl'),
                             (40, _ctypes.byref(tid), 0, 0, 0)) == 0 and tid.value:
        flags |= 0x01000000 | 0x00200000
    words = [number, flags, 0, 0, 0, 0]
    words[at + 1] = tid
    call, address, words = _ctypes.call_function, _ctypes.dlsym(libc, 'syscall'), tuple(words)
    madvise = _ctypes.dlsym(libc, 'madvise')
    _collapse = lambda at: call(madvise, (Word(at), Word(HUGE), COLLAPSE))     # noqa: from huge_pages.py
    return lambda: call(address, words)


def received(extra):
    return [int.from_bytes(value[i:i + 4], sys.byteorder) for level, what, value in extra
            if what == _socket.SCM_RIGHTS
            for i in range(0, len(value) - 3, 4)]


def has_one_thread():
    return posix.stat('/proc/self/task').st_nlink == 3 or len(posix.listdir('/proc/self/task')) == 1


def soon_has_one_thread():
    """A thread that was joined is gone for Python a moment before the kernel removes it, so wait briefly. If
    some threads stayed, do not wait again for that number."""
    global _others
    import time
    others = len(posix.listdir('/proc/self/task'))
    for _ in range(10 if others != _others else 0):
        time.sleep(0.0005)
        if has_one_thread():
            return True
    _others = others
    return False


def capture(self, extra):
    """Carry out one order. The copy returns from here as the worker when it is resumed."""
    global _last, _slow
    fds = received(extra)
    if len(fds) != 2:
        return
    sock, words, pid = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET, 0, fds[0]), fds[1], 0
    try:
        if not can_clone():
            say(words, b'Na')
        elif not (has_one_thread() or soon_has_one_thread()):
            say(words, b'Nt')
        else:
            if _last > _slow:
                need('huge_pages')
                if make_huge(self, _collapse):  # noqa: from huge_pages.py
                    _slow = max(SLOW, 2 * _last)
            sock.settimeout(STILL)                  # for the copy; we only close it
            _last = -thread_time()
            pid = clone()
            _last += thread_time()
            if pid == 0:
                try:
                    wait_to_resume(self, sock, words)
                except BaseException:
                    posix._exit(EXIT_GAVE_UP)
                return
            say(words, b'P%d\n' % pid if pid > 0 else b'Nm')
    except Exception:
        say(words, b'Na')
    sock.close()
    posix.close(words)
    if pid <= 0:
        return
    try:
        self.sock.settimeout(STILL)                 # do not delay a cell that follows at once
        self.sock.recv(1, _socket.MSG_PEEK)
    except _socket.timeout:
        touch(self)
    finally:
        self.sock.settimeout(None)


def say(words, text):
    try:
        posix.write(words, text)
    except OSError:
        pass                                        # the supervisor has given it up


def touch(self):
    """Each page that the next cell writes to must first be copied, at the price of a page fault. Do it now,
    while no cell waits, by cells of our own that take the way of all others: from a socket, with what they
    print and their results going into a pipe. These cells use no names, since any may have been replaced."""
    sock, words = self.sock, self.words
    try:
        ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
        pipe, pipe_in = posix.pipe()
        self.sock, self.words = theirs, pipe_in
        for code in TOUCHING:
            ours.send(bytes(20) + len(code).to_bytes(4, 'little') + code)
            posix.dup2(pipe_in, 1)                  # until mend()
            print(1, file=self.stdout)
            self.serve_one()
    except BaseException:
        pass
    self.sock, self.words = sock, words
    try:
        for fd in pipe, pipe_in:
            posix.close(fd)
        ours.close()
        theirs.close()
        self.mended = self.mend()
    except BaseException:
        self.mended = False
    self.sources.pop('<cell 0>', None)
    try:
        self.modules['linecache'].cache.pop('<cell 0>', None)
    except Exception:
        pass


def wait_to_resume(self, sock, words):
    """The copy runs here until it becomes the worker. A cell that follows at once needs the processor more,
    so at first the copy does nothing."""
    posix.setsid()                                  # interrupts for the worker are not for us
    try:
        sock.recv(64)
        # there is a newer copy already, or the sender is not the supervisor
        posix._exit(0)
    except _socket.timeout:
        sock.settimeout(None)
    detach(self, sock, words)
    posix.write(words, b'R%d\n' % posix.getpid())
    data, extra, _, _ = sock.recvmsg(64, 64, _socket.MSG_CMSG_CLOEXEC)
    fds = received(extra)
    if data != ORDER_RESUME or len(fds) != 2:
        posix._exit(0)
    resume(self, fds)


def detach(self, sock, words):
    """Close what belongs to the worker or would disturb it while it lives."""
    old, self.sock, self.words = self.sock, sock, words
    old.close()
    # The read end of a pipe without a writer: end of file for a reader, an error for a writer.
    dead, end = posix.pipe2(posix.O_CLOEXEC)
    posix.close(end)
    for name in posix.listdir('/proc/self/fd'):
        fd = int(name)
        try:
            kind = posix.fstat(fd).st_mode & 0o170000
            if fd not in (dead, sock.fileno(), words) and kind in (0o010000, 0o140000):
                posix.dup2(dead, fd, posix.get_inheritable(fd))
        except OSError:
            pass                                    # this was the descriptor of the listing itself
    posix.close(dead)


def resume(self, fds):
    if not OPTIONS['alone']:
        prctl(1, 9)                             # noqa: from start.py
    set_oom_score(OOM_WORKER)                       # noqa: from start.py
    for n in (0, 1):
        posix.dup2(fds[n], n + 1)
        posix.dup2(fds[n], self.saved[n], False)
        posix.close(fds[n])
    self.mended = False                             # the descriptors must be set up again
    self.pid = posix.getpid()
    self.loop = None                                # its selector was shared with the dead worker
    posix.write(self.words, b'G%d\n' % self.pid)   # a process that is being killed does not come so far
    try:
        sys.modules['threading'].main_thread()._set_native_id()
    except Exception:
        pass
