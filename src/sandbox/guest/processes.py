# processes.py - part of the supervisor, compiled when first needed: processes of a client's beside the
# worker, any number at once, that are fed and signalled while they run, and that no request waits for. They
# belong to no request: each frame names the process by a number of the program's, and has no nonce.
#
# They are as confined as commands are, and end with the worker, with the client and with the sandbox.

PROCESSES_MOST = 100
INPUT_MOST = 1 << 21            # bytes that wait for one that does not read; the program keeps to less


class Process:
    def __init__(self, number, pid, pipes, stdin):
        self.number, self.pid, self.pipes, self.stdin = number, pid, pipes, stdin
        self.status, self.input, self.closing = None, b'', False
        self.held, self.polled = False, False   # its client is slow; its pipes are in the poll set


def process_frame(self, body):
    number, what, rest = body[:4], body[4:5], body[5:]
    if what in (b't', b'g'):
        process_freeze(self, _signal.SIGSTOP if what == b't' else _signal.SIGCONT)
        return
    p = self.processes.get(number)
    if what == b's':
        process_start(self, number, rest)
    elif p is not None and what == b'i':
        p.input += rest[:INPUT_MOST - len(p.input)]
        process_feed(self, p)
    elif p is not None and what == b'c':
        p.closing = True
        process_feed(self, p)
    elif p is not None and what in (b'h', b'r'):
        p.held = what == b'h'
        process_look(self, p)
    elif p is not None and what == b'k' and p.status is None:
        signal_session(p.pid, rest[0] if rest else _signal.SIGKILL)     # noqa: from requests.py


def process_tell(self, number, what, rest=b''):
    self.send(FROM_GUEST_PROCESS, NONE, number + what + rest)


def process_start(self, number, body):
    words, env, folder, fed = [], [], b'', False
    for tag, value in tagged(body):             # noqa: from protocol.py
        if tag == b'w':
            words = value.split(b'\0')[:-1]
        elif tag == b'e':
            env = value.split(b'\0')[:-1]
        elif tag == b'd':
            folder = value
        elif tag == b'i':
            fed = True
    if number in self.processes or not words or len(self.processes) >= PROCESSES_MOST:
        process_tell(self, number, b'f', b'at most %d processes at once' % PROCESSES_MOST)
        return
    fds = []
    try:
        for out, theirs in output_pipes():      # noqa: from start.py
            fds += [out, theirs]
        stdin, theirs = posix.pipe2(posix.O_CLOEXEC) if fed else (-1, -1)
        fds += [theirs, stdin]
        posix.set_blocking(theirs, False) if fed else None
        ours = {fds[0], fds[2]} | ({theirs} if fed else set())
        pid = fork_child(self.ours() | ours, self.hidden, self.alone)       # noqa: from start.py
    except OSError as e:
        for fd in fds:
            if fd >= 0:
                posix.close(fd)
        process_tell(self, number, b'f', b'no process for it: ' + e.strerror.encode())
        return
    if pid == 0:
        process_become(words, env, folder, (stdin, fds[1], fds[3]))
    for fd in (fds[1], fds[3], stdin):
        if fd >= 0:
            posix.close(fd)
    p = Process(number, pid, {fds[0]: b'o', fds[2]: b'e'}, theirs)
    self.processes[number] = p
    for fd in p.pipes:
        self.process_fds[fd] = p
    process_look(self, p)
    process_tell(self, number, b'p', b'%d' % pid)


def process_become(words, env, folder, fds):
    """In that process; never returns."""
    try:
        for number, fd in enumerate(fds):
            if fd >= 0:
                posix.dup2(fd, number)
        for one in env:
            name, _, value = one.partition(b'=')
            posix.environ[name] = value
        try:
            if folder:
                posix.chdir(folder)
        except OSError as e:
            posix.write(2, b'%s: %s\n' % (folder, e.strerror.encode()))
            posix._exit(126)
        command_become(words)                   # noqa: from commands.py
    finally:
        posix._exit(127)


def process_feed(self, p):
    """Write what the pipe takes, and close it once all is written that came before the end."""
    if p.stdin < 0:
        p.input = b''
        return
    waits = p.stdin in self.process_fds
    try:
        n = posix.write(p.stdin, p.input) if p.input else 0
    except BlockingIOError:
        n = 0
    except OSError:                             # it has closed its end
        n, p.closing = len(p.input), True
    p.input = p.input[n:]
    if n:
        process_tell(self, p.number, b'w', b'%d' % n)
    if bool(p.input) != waits:
        if waits:
            del self.process_fds[p.stdin]
            self.poll.unregister(p.stdin)
        else:
            self.process_fds[p.stdin] = p
            self.poll.register(p.stdin, select.POLLOUT)
    if p.closing and not p.input:
        posix.close(p.stdin)
        p.stdin = -1


def process_ready(self, fd):
    p = self.process_fds[fd]
    if fd == p.stdin:
        process_feed(self, p)
    else:
        process_relay(self, p, fd)


def process_relay(self, p, fd):
    try:
        data = posix.read(fd, CHUNK)
    except BlockingIOError:
        return 0
    if data:
        process_tell(self, p.number, p.pipes[fd], data)
    else:
        process_close(self, p, fd)
    return len(data)


def process_close(self, p, fd):
    if p.polled:
        self.poll.unregister(fd)
    posix.close(fd)
    del p.pipes[fd], self.process_fds[fd]


def process_poll(self, room):
    """Their output waits in the pipes while the program does not take what was sent."""
    self.process_polled = room
    for p in self.processes.values():
        process_look(self, p)


def process_look(self, p):
    """Begin or stop polling its pipes."""
    wanted = self.process_polled and not p.held
    for fd in p.pipes if wanted != p.polled else ():
        if wanted:
            self.poll.register(fd, select.POLLIN)
        else:
            self.poll.unregister(fd)
    p.polled = wanted


def process_check(self):
    """Which have ended? What they left running may hold their pipes: what these have now is the end."""
    for p in [p for p in self.processes.values() if p.status is not None]:
        for fd in list(p.pipes):
            left = PIPE_MOST
            while left > 0 and fd in p.pipes:
                n = process_relay(self, p, fd)
                left -= n
                if not n:
                    break
        for fd in list(p.pipes):
            process_close(self, p, fd)
        p.input, p.closing = b'', True
        process_feed(self, p)
        del self.processes[p.number]
        process_tell(self, p.number, b'z', b'%d' % p.status)


def process_freeze(self, number):
    """Stop all that runs here, or let it go on."""
    if self.alone:
        signal_all(number)                      # noqa: from reap.py
        return
    for pid in [self.worker] + [p.pid for p in self.processes.values() if p.status is None]:
        if pid:
            signal_session(pid, number)         # noqa: from requests.py


def process_kill(self):
    """The client is gone, and with it whoever would hear of them."""
    for p in self.processes.values():
        if p.status is None:
            signal_session(p.pid, _signal.SIGKILL)      # noqa: from requests.py


need('commands')
need('reap')
Supervisor.process_frame, Supervisor.process_ready = process_frame, process_ready
Supervisor.process_check, Supervisor.process_poll = process_check, process_poll
Supervisor.process_kill = process_kill
