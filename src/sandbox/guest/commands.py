# commands.py - part of the supervisor, compiled when first needed: commands that run beside the worker, a
# file that is asked for by its name, the list of all files.
#
# RULE: A command of a client's runs beside the interpreter, never on this machine.

LISTED_MOST = 1000


class Command:
    """A process of its own, in a session of its own. The worker has no part in it: whatever the code has done
    to its modules or descriptors changes nothing here."""
    early = False                               # an interrupt came before its code ran; languages.py

    def __init__(self, pid, out, err):
        self.pid, self.status, self.polled = pid, None, False
        self.pipes = {out: FROM_GUEST_STDOUT, err: FROM_GUEST_STDERR}

    def relay(self, supervisor, fd):
        try:
            data = posix.read(fd, CHUNK)
        except BlockingIOError:
            return 0
        if data:
            supervisor.send(self.pipes[fd], supervisor.nonce, data)
        else:
            self.drop_pipe(supervisor, fd)
        return len(data)

    def drop_pipe(self, supervisor, fd):
        if self.polled:
            supervisor.poll.unregister(fd)
        posix.close(fd)
        del self.pipes[fd]

    def empty(self, supervisor):
        """What it left running may hold its pipes: what they have in them now is the end of its output."""
        for fd in list(self.pipes):
            left = PIPE_MOST
            while left > 0 and fd in self.pipes:
                n = self.relay(supervisor, fd)
                left -= n
                if not n:
                    break

    def check(self, supervisor):
        """Has it ended?"""
        if self.status is None:
            return
        self.empty(supervisor)
        for fd in list(self.pipes):
            self.drop_pipe(supervisor, fd)
        supervisor.command = None
        supervisor.collect(tlv(b'w', b'%d' % self.status))

    def signal(self, supervisor, number):
        supervisor.interrupted = True
        signal_session(self.pid, number)        # noqa: from requests.py


def beside(self, kind, nonce, body):
    self.begin(nonce)
    self.task = kind
    if kind == TO_GUEST_COMMAND:
        command_start(self, body.split(b'\0')[:-1])
    else:
        need('copy_out')
        self.ending = b''
        self.sending = send_named(self, body) if kind == TO_GUEST_GET else send_list(self)


# ---- commands

def command_start(self, words, prepare=None):
    """prepare: called in the process, before it becomes the command, with the words; it returns them."""
    try:
        (out, out_in), (err, err_in) = output_pipes()    # noqa: from start.py
    except OSError as e:
        self.finish(failed(e))
        return
    try:
        pid = fork_child(self.ours() | {out, err}, self.hidden, self.alone)    # noqa: from start.py
    except OSError as e:
        for fd in (out, out_in, err, err_in):
            posix.close(fd)
        self.finish(tlv(b'e', b'no process for it: ' + e.strerror.encode()))
        return
    if pid == 0:
        try:
            posix.dup2(out_in, 1)
            posix.dup2(err_in, 2)
            command_become(prepare(words) if prepare else words)
        finally:
            posix._exit(127)
    for fd in (out_in, err_in):
        posix.close(fd)
    self.command = Command(pid, out, err)


def command_become(words):
    """Never returns. The exit codes are those of a shell."""
    for number in (_signal.SIGINT, _signal.SIGPIPE, _signal.SIGXFSZ):
        _signal.signal(number, _signal.SIG_DFL)
    name, why = words[0], 'not found'
    path = posix.environ.get(b'PATH', b'/usr/local/bin:/usr/bin:/bin')
    folders = [b''] if b'/' in name else path.split(b':')
    code = 127
    for folder in folders:
        try:
            posix.execve(folder + b'/' + name if folder else name, words, posix.environ)
        except OSError as e:
            if e.errno not in (2, 20):          # ENOENT, ENOTDIR
                code, why = 126, e.strerror
    posix.write(2, b'%s: %s\n' % (name, why.encode()))
    posix._exit(code)


# ---- files

def send_named(self, path):
    """A generator of frames, as files_out() is."""
    fd = -1
    try:
        if any(part in (b'', b'.', b'..') for part in path.split(b'/')):
            raise FileNotFoundError(2, 'No such file or directory')
        fd = open_beneath(self.root, path)      # noqa: from copy_out.py
        st = posix.fstat(fd)
        if st.st_mode & 0o170000 != 0o100000 or st.st_dev != posix.fstat(self.root).st_dev:
            self.ending += tlv(b'e', b'not a regular file')
        else:
            yield from send_file(self, fd, path, st.st_size, b'')    # noqa: from copy_out.py
    except OSError as e:
        self.ending += failed(e)
    finally:
        if fd >= 0:
            posix.close(fd)


def send_list(self):
    names = sorted(p for p in self.scan() if p[:1] != b'.' and not p.startswith(b'__pycache__/'))
    data = b''
    for path in names[:LISTED_MOST]:
        try:
            st = posix.stat(path, dir_fd=self.root, follow_symlinks=False)
        except OSError:
            continue
        if st.st_mode & 0o170000 != 0o100000:
            continue
        data += b'%d ' % st.st_size + path + b'\0'
        if len(data) > CHUNK:
            self.send(FROM_GUEST_DATA, self.nonce, data)
            data = b''
            yield
    if data:
        self.send(FROM_GUEST_DATA, self.nonce, data)
        yield
    if len(names) > LISTED_MOST:
        self.ending += tlv(b'm', b'%d' % (len(names) - LISTED_MOST))


Supervisor.beside = beside
