# deaths.py - part of the supervisor, compiled at the first SIGCHLD: reap, bury, start again.


def reap(self):
    try:
        posix.read(self.wake[0], 4096)
    except OSError:
        pass
    status = None
    while True:
        try:
            pid, what = posix.waitpid(-1, posix.WNOHANG)
        except ChildProcessError:
            break
        if pid == 0:
            break
        if pid == self.worker:
            status = what
        elif self.helper and pid == self.helper['pid']:
            self.helper['status'] = what
    if status is not None:
        died(self, status)


def died(self, status):
    """The worker ended. If its answer is already here it counts; then everything it left behind ends too, and a fresh one starts."""
    if self.sock is not None:
        self.message(select.POLLIN)
    if self.waiting:
        self.drain(PIPE_SIZE)
    cause = tlv(b'c', b'closed') if self.closed_kill else b''
    self.bury()
    self.adopt(*fork_worker(self.ours(), self.hidden, self.alone))
    ending = tlv(b'w', b'%d' % status) + cause
    if self.waiting:
        self.waiting = False
        self.collect(ending)
    else:
        self.send(b'X', NONE, ending)


def bury(self):
    """Kill and reap everything but us, and forget the worker."""
    if self.sock is not None:
        self.poll.unregister(self.sock.fileno())
        self.sock.close()
        self.sock = None
    for fd in self.pipes:
        if self.polled:
            self.poll.unregister(fd)
        posix.close(fd)
    self.pipes, self.polled = {}, False
    until = time.monotonic() + 1.0
    while time.monotonic() < until:
        if self.alone:
            try:
                posix.kill(-1, 9)               # only ever as the first process of a pid namespace
            except OSError:
                pass
        else:
            kill_descendants()
        try:
            while posix.waitpid(-1, posix.WNOHANG)[0]:
                pass
        except ChildProcessError:
            break
        time.sleep(0.001)
    self.worker = 0
    if self.helper:
        self.helper['status'] = 9


def kill_descendants():
    """Without a pid namespace of our own (tests only): kill what descends from us, found in /proc, and nothing else."""
    me, parent = posix.getpid(), {}
    for name in posix.listdir('/proc'):
        if name.isdigit():
            try:
                with open('/proc/%s/stat' % name, 'rb') as f:
                    parent[int(name)] = int(f.read().rsplit(b')', 1)[1].split()[1])
            except (OSError, IndexError, ValueError):
                pass
    for pid in parent:
        up, depth = pid, 0
        while up in parent and up != me and depth < 100:
            up, depth = parent[up], depth + 1
        if up == me and pid != me:
            try:
                posix.kill(pid, 9)
            except OSError:
                pass


Supervisor.reap, Supervisor.bury = reap, bury
