# recover.py - part of the supervisor, compiled after the first cell: has the worker make a snapshot of itself
# between two cells (snapshot.py), and continues from it when the worker dies. The code can forge anything
# that worker and snapshot say; a wrong word loses the snapshot, nothing else.

# seconds within which the snapshot of a dead worker must have said that it is ready
READY_WAIT = 1.0
INTERVAL = 0.05                 # seconds between snapshots while cells follow each other without a pause
WHY = {b'Na': b'none can be made on this machine',
       b'Nt': b'none could be made while threads were running',
       b'Nm': b'none could be made, for lack of memory or processes',
       b'deaf': b'the interpreter did not obey',
       b'killed': b'it was killed, most likely as memory ran short',
       b'gone': b'it had ended',
       b'none': b'none came to be',
       b'maimed': b'it ended in the same way',
       b'left': b'what the code had left running did not end'}


class Snapshot:
    def __init__(self, sock, words):
        self.sock, self.words = sock, words     # orders to it; what it says
        self.said = b''
        self.pid, self.ready = 0, False


def order_snapshot(self):
    """The worker's state is that of a finished cell: order a new snapshot and end the older one. Never
    waits."""
    self.due, self.captured_at, self.behind = 0.0, time.monotonic(), 0
    if self.sock is None or not self.worker:
        self.drop_snapshot(b'')
        return
    try:
        ours, theirs, words, words_in = worker_links()      # noqa: from start.py
    except OSError:
        self.drop_snapshot(b'Nm')
        return
    try:
        fds = theirs.fileno().to_bytes(4, sys.byteorder) + words_in.to_bytes(4, sys.byteorder)
        self.sock.sendmsg([bytes(16) + ORDER_SNAPSHOT + bytes(4)],
                          [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, fds)])
    except OSError:
        self.drop_snapshot(b'deaf')
        ours.close()
        posix.close(words)
    else:
        self.drop_snapshot(b'')                     # after the order, which the worker then obeys meanwhile
        self.snapshot = Snapshot(ours, words)
        self.poll.register(words, select.POLLIN)
    theirs.close()
    posix.close(words_in)


def order_if_old(self):
    """The next cell is here, and the last one has no snapshot yet. The worker takes its messages in order:
    one that is ordered now is made first. Where the last one is young it is kept, and misses what ended
    since."""
    self.due = 0.0
    if time.monotonic() - self.captured_at >= INTERVAL:
        self.order_snapshot()


def drop_snapshot(self, why):
    """Forget the snapshot and end it. One that is not ready yet ends when it finds its socket closed."""
    self.why = why
    if self.snapshot is None:
        return
    s, self.snapshot = self.snapshot, None
    self.poll.unregister(s.words)
    posix.close(s.words)
    close_socket(s.sock)                                    # noqa: from start.py
    if s.pid:
        try:
            posix.kill(s.pid, _signal.SIGKILL)
        except OSError:
            pass


def hear_snapshot(self):
    """Its pid is sent twice: by the worker as soon as the snapshot is made, and by the snapshot when it is
    ready. Anything else, or the end of its words, ends the snapshot."""
    s = self.snapshot
    try:
        data = posix.read(s.words, 64)
    except BlockingIOError:
        return
    s.said += data
    lines = s.said.split(b'\n')
    pids = {line[1:] for line in lines[:-1]}
    if s.said in WHY:
        self.drop_snapshot(s.said)
    elif not data or len(pids) != 1 or lines[-1] or len(lines) > 3:
        self.snapshot_ended(b'gone' if s.pid or data else b'none')
    else:
        pid = int(min(pids)) if min(pids).isdigit() and len(min(pids)) < 10 else 0
        if s.pid in (0, pid) and pid not in (0, 1, posix.getpid(), self.worker) and a_child(pid):
            s.pid, s.ready = pid, s.ready or b'R' in s.said
        else:
            self.drop_snapshot(b'gone')


def snapshot_ended(self, why):
    """It ended, but not by us. reap() says how."""
    self.lost, self.snapshot.pid = self.snapshot.pid, 0
    self.captured_at = 0.0                          # the next one need not wait
    self.drop_snapshot(why)


def a_child(pid):
    """Is it a child of ours, dead or alive? Whatever the code claims, no other process can be spared or
    killed by mistake."""
    try:
        posix.waitid(posix.P_PID, pid, posix.WEXITED | posix.WNOHANG | posix.WNOWAIT)
        return True
    except OSError:
        return False


def reaped(self, pid, status):
    """A child of ours other than the worker was reaped. True if it was the snapshot and somebody other than
    us ended it."""
    if self.snapshot is not None and pid == self.snapshot.pid:
        self.snapshot_ended(b'gone')
    elif pid != self.lost:
        return False
    self.lost = 0
    if status & 0x7f == 9:
        self.taken += 1
        self.why = b'killed'
    return True


def recover(self):
    """The worker is dead, and worker_died() has noted how: continue from the snapshot or start afresh, and
    say which. Called until it is done."""
    ending, until, idle = self.dying
    if self.snapshot is not None and not self.snapshot.ready:
        hear_snapshot(self)
        if self.snapshot is not None and not self.snapshot.ready and time.monotonic() < until:
            return
    self.dying = None
    orders = self.to_worker                         # a cell that has arrived since
    behind = self.behind
    if restore(self):
        ending += tlv(b'r', b'%d' % behind)
    else:
        self.drop_snapshot(self.why)
        self.kill_all()
        self.adopt(*fork_worker(self.ours(), self.hidden, self.alone))
        if self.why in WHY:
            ending += tlv(b'u', WHY[self.why])
        self.why = b''
    self.captured_at, self.behind = 0.0, 0
    if not idle:
        end_cell(self, ending)                    # noqa: from reap.py
        return
    self.send(FROM_GUEST_DEATH, NONE, ending)
    if self.waiting:
        self.to_worker = orders
        self.feed()
    else:
        self.due = time.monotonic()


def restore(self):
    """True if the snapshot is the worker now and no other process of the code lives."""
    if self.snapshot is None or not self.snapshot.ready:
        return False
    s = self.snapshot
    if not self.kill_all(s.pid):
        self.why = b'left'
        return False
    if self.snapshot is not s:
        return False                                # it was reaped meanwhile
    (out, out_in), (err, err_in) = posix.pipe2(posix.O_CLOEXEC), posix.pipe2(posix.O_CLOEXEC)
    fds = out_in.to_bytes(4, sys.byteorder) + err_in.to_bytes(4, sys.byteorder)
    try:
        s.sock.sendmsg([ORDER_RESUME], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, fds)])
    except OSError:
        self.snapshot_ended(b'gone')                # it is dying, but not reaped yet
        posix.close(out)
        posix.close(err)
        return False
    finally:
        posix.close(out_in)
        posix.close(err_in)
    posix.set_blocking(out, False)
    posix.set_blocking(err, False)
    self.poll.unregister(s.words)
    self.snapshot = None
    self.adopt(s.pid, s.sock, s.words, out, err)
    return True


Supervisor.order_snapshot, Supervisor.order_if_old = order_snapshot, order_if_old
Supervisor.drop_snapshot, Supervisor.hear_snapshot = drop_snapshot, hear_snapshot
Supervisor.snapshot_ended, Supervisor.reaped, Supervisor.recover = snapshot_ended, reaped, recover
