# reap.py - part of the supervisor, compiled at the first SIGCHLD: reap the worker, end what it left, start
# another.


def reap(self):
    try:
        posix.read(self.wake[0], 4096)
    except OSError:
        pass
    if self.snapshots:
        need('recover')
    if self.snapshot is not None:
        # it may have the worker's pid, which is certain only before it is reaped
        self.hear_snapshot()
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
        elif self.snapshots and self.reaped(pid, what):
            pass
        elif self.kernels and self.kernel_reaped(pid, what):    # noqa: from languages.py
            pass
        elif self.command and pid == self.command.pid:
            self.command.status = what
        elif self.helper and pid == self.helper['pid']:
            self.helper['status'] = what
        else:
            for p in self.processes.values():
                if p.pid == pid and p.status is None:
                    p.status = what
    if status is not None:
        worker_died(self, status)


def worker_died(self, status):
    """The worker ended. If its answer is already here it counts. Then everything it left behind ends too, and
    a fresh worker starts."""
    if self.words >= 0:
        self.message(PIPE_MOST // CHUNK + 1)
    if self.waiting:
        self.drain(PIPE_MOST)
    ending = tlv(b'w', b'%d' % status) + (tlv(b'c', b'closed') if self.closed_kill else b'')
    if self.snapshots:
        self.due = 0.0
        self.gave_up = self.gave_up + 1 if self.waiting and status == EXIT_GAVE_UP << 8 else 0
        if self.gave_up > 1:                     # the snapshot is no better than the worker it replaced
            self.drop_snapshot(b'maimed')       # noqa: from recover.py
        disconnect_worker(self)
        self.worker = 0
        # READY_WAIT: from recover.py
        self.dying = ending, time.monotonic() + READY_WAIT, not self.waiting and self.sending is None
        self.recover()                          # noqa: from recover.py
        return
    self.kill_all()
    self.adopt(*fork_worker(self.ours(), self.hidden, self.alone))    # noqa: from start.py
    if self.waiting or self.sending is not None:
        end_cell(self, ending)
    else:
        self.send(FROM_GUEST_DEATH, NONE, ending)


def end_cell(self, ending):
    """The worker died during a cell, which may have answered already; then its files are being sent."""
    if self.sending is not None:
        self.ending += ending
        return
    self.waiting = False
    self.collect(ending)


def disconnect_worker(self):
    """Close our ends of everything that led to the worker."""
    self.close_words()
    if self.sock is not None:
        try:
            self.poll.unregister(self.sock.fileno())
        except KeyError:
            pass                                # it was not waiting for room
        close_socket(self.sock)                         # noqa: from start.py
        self.sock = None
    for fd in self.pipes:
        if self.polled:
            self.poll.unregister(fd)
        posix.close(fd)
    self.pipes, self.polled, self.look = {}, False, select.poll()
    self.told = {}                              # whoever comes next, also with a cell that comes before


def kill_all(self, spare=0):
    """Kill and reap everything except us and the process to spare, and forget the worker. False if something
    still lives after a second (five seconds without a pid namespace)."""
    disconnect_worker(self)
    if self.snapshots:
        need('recover')
    if spare and self.alone:
        # in one step, since code that forks without end could outrun single kills
        signal_all(_signal.SIGSTOP)
    # Without a pid namespace each look costs a walk through the whole machine's /proc.
    until = time.monotonic() + (1.0 if self.alone else 5.0)
    done = False
    while not done and time.monotonic() < until:
        if not self.alone:
            done = kill_descendants(spare) == 0
        elif spare:
            done = kill_listed(spare) == 0
        else:
            signal_all(_signal.SIGKILL)
        try:
            while True:
                pid, status = posix.waitpid(-1, posix.WNOHANG)
                if not pid:
                    break
                if self.snapshots:
                    self.reaped(pid, status)    # noqa: from recover.py
        except ChildProcessError:
            done = True
        if not done:
            time.sleep(0.001)
    if spare:
        try:
            posix.kill(spare, _signal.SIGCONT)
        except OSError:
            pass
    self.worker = 0
    if self.helper:
        self.helper['status'] = 9
    if self.command and self.command.status is None:
        self.command.status = 9
    for p in self.processes.values():
        p.status = 9 if p.status is None else p.status
    if self.kernels:
        self.end_kernels()                      # noqa: from languages.py
    return done


def signal_all(number):
    try:
        posix.kill(-1, number)                  # only when we are the first process of a pid namespace
    except OSError:
        pass


def kill_listed(spare):
    """Number of processes, besides us and the one to spare, that were still alive; they have been sent
    SIGKILL."""
    left = 0
    for name in posix.listdir('/proc'):
        if name.isdigit() and int(name) not in (posix.getpid(), spare):
            left += 1
            try:
                posix.kill(int(name), _signal.SIGKILL)
            except OSError:
                pass
    return left


def kill_descendants(spare):
    """Without a pid namespace of our own (tests only): the same for our own descendants, found in /proc."""
    me, parent = posix.getpid(), {}
    for name in posix.listdir('/proc'):
        if name.isdigit():
            try:
                with open('/proc/%s/stat' % name, 'rb') as f:
                    parent[int(name)] = int(f.read().rsplit(b')', 1)[1].split()[1])
            except (OSError, IndexError, ValueError):
                pass
    left = 0
    for pid in parent:
        up, depth = pid, 0
        while up in parent and up != me and depth < 100:
            up, depth = parent[up], depth + 1
        if up == me and pid not in (me, spare):
            left += 1
            try:
                posix.kill(pid, 9)
            except OSError:
                pass
    return left


Supervisor.reap, Supervisor.kill_all = reap, kill_all
