# recover.py - part of the supervisor, compiled after the first cell: has the worker make a snapshot of itself
# between two cells (snapshot.py), and continues from it when the worker dies. The code can forge anything
# that worker and snapshot say; a wrong word loses the snapshot, nothing else.

# seconds within which the snapshot of a dead worker must have said that it is ready
READY_WAIT = 1.0
ROOM_LEAST = 24 << 20           # bytes that a worker may lack before its snapshot is to blame
WHY = {b'Na': b'none can be made on this machine',
       b'Nt': b'none could be made while threads were running',
       b'Nm': b'none could be made, for lack of memory or processes',
       b'deaf': b'the interpreter did not respond',
       b'killed': b'it was killed, most likely as memory ran short',
       b'gone': b'it had ended',
       b'none': b'none came to be',
       b'maimed': b'it ended in the same way',
       b'left': b'what the code had left running did not end'}


class Snapshot:
    def __init__(self, sock, words, ended):
        self.sock, self.words = sock, words     # orders to it; what it says
        self.ended = ended                      # cells that had ended when it was ordered
        self.said, self.pipes = b'', ()         # our ends of its stdout and stderr, once it is to go on
        self.pid, self.ready, self.alive = 0, False, False

    def close(self):
        """End it. One that is not made yet ends when it finds its socket closed."""
        for fd in (self.words, *self.pipes):
            posix.close(fd)
        close_socket(self.sock)                             # noqa: from start.py
        if self.pid:
            try:
                posix.kill(self.pid, _signal.SIGKILL)
            except OSError:
                pass


def order_snapshot(self):
    """The worker's state is that of a finished cell: order a new snapshot. The one before stays until that
    stands. Never waits."""
    self.due, self.captured_at, self.chores = 0.0, time.monotonic(), True
    if self.sock is None or not self.worker:
        self.drop_snapshot(b'')
        return
    try:
        ours, theirs, words, words_in = self.links or worker_links()    # noqa: from start.py
    except OSError:
        self.drop_snapshot(b'Nm')
        return
    self.links = ()
    try:
        fds = theirs.fileno().to_bytes(4, sys.byteorder) + words_in.to_bytes(4, sys.byteorder)
        self.sock.sendmsg([bytes(16) + ORDER_SNAPSHOT + bytes(4)],
                          [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, fds)])
    except OSError:
        self.drop_snapshot(b'deaf')
        ours.close()
        posix.close(words)
    else:
        if self.snapshot is not None:
            self.poll.unregister(self.snapshot.words)
            keep, end = self.snapshot, self.older
            if not keep.pid:                        # it never came to be
                keep, end = end, keep
            if end is not None:
                end.close()
            self.older = keep
        self.why = b''
        self.snapshot = Snapshot(ours, words, self.ended)
        self.poll.register(words, select.POLLIN)
    theirs.close()
    posix.close(words_in)


def look_after(self):
    """What an order leaves to do, while no cell waits for it."""
    if self.dying or self.snapshot is not None and not self.snapshot.pid:
        return                                      # it is not made yet
    self.chores = False
    if self.older is not None:
        self.older.close()
        self.older = None
    if not self.links:
        try:
            self.links = worker_links()             # noqa: from start.py
        except OSError:
            pass


def drop_snapshot(self, why):
    """Forget the snapshots and end them."""
    self.why = why
    if self.snapshot is not None:
        self.poll.unregister(self.snapshot.words)
        self.snapshot.close()
    if self.older is not None:
        self.older.close()
    self.snapshot = self.older = None


def hear_snapshot(self):
    """Its pid is said by the worker as soon as the snapshot is made, by the snapshot when it is ready, and
    again when it goes on. Anything else, or the end of its words, ends the snapshot."""
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
    elif not data or len(pids) != 1 or lines[-1] or len(lines) > 4:
        self.snapshot_ended(b'gone' if s.pid or data else b'none')
    else:
        pid = int(min(pids)) if min(pids).isdigit() and len(min(pids)) < 10 else 0
        if s.pid in (0, pid) and pid not in (0, 1, posix.getpid(), self.worker) and a_child(pid):
            if not s.pid:
                spare_the_worker(pid)
            s.pid, s.ready, s.alive = pid, s.ready or b'R' in s.said, b'G' in s.said
        else:
            self.drop_snapshot(b'gone')


def snapshot_ended(self, why):
    """It ended, but not by us. reap() says how. The one before may still be there."""
    self.lost, self.snapshot.pid = self.snapshot.pid, 0
    self.captured_at = 0.0                          # the next one need not wait
    older, self.older = self.older, None
    self.drop_snapshot(why)
    if older is not None:
        self.snapshot = older
        self.poll.register(older.words, select.POLLIN)


def spare_the_worker(pid):
    """When memory runs out the kernel ends what has most of it, oom_score_adj thousandths of the limit added.
    A snapshot's is set so that the sum is the same however big it is: the worker is ended where it has nearly
    all memory for itself (it would die without the snapshot too, which is what saves the state); below that
    the snapshot is, because what the worker lacks is what that holds."""
    limit, score = int(OPTIONS['memory']), 1000
    try:
        if limit:
            least = memory_left() - max(limit * 15 // 100, ROOM_LEAST)      # noqa: from start.py
            lacks = least - resident(pid)           # noqa: from start.py
            score = max(OOM_WORKER, min(1000, OOM_WORKER + lacks * 1000 // limit))
    except (OSError, ValueError, IndexError):
        return
    set_oom_score(score, pid)                           # noqa: from start.py


def a_child(pid):
    """Is it a child of ours, dead or alive? Whatever the code claims, no other process can be spared or
    killed by mistake."""
    try:
        posix.waitid(posix.P_PID, pid, posix.WEXITED | posix.WNOHANG | posix.WNOWAIT)
        return True
    except OSError:
        return False


def reaped(self, pid, status):
    """A child of ours other than the worker was reaped. True if it was a snapshot and somebody other than us
    ended it."""
    if self.snapshot is not None and pid == self.snapshot.pid:
        self.snapshot_ended(b'gone')
    elif self.older is not None and pid == self.older.pid:
        self.older.pid = 0
        self.older.close()
        self.older, self.lost = None, pid
    elif pid != self.lost:
        return False
    self.lost = 0
    if status & 0x7f == 9:
        self.taken += 1
        self.why = b'killed'
    return True


def recover(self):
    """The worker is dead, and worker_died() has noted how: continue from the snapshot or start afresh, and
    say which. Called until it is done. A snapshot counts only when it has said that it goes on: one that the
    kernel is killing takes orders, too, until it is gone."""
    ending, until, idle = self.dying
    if self.snapshot is not None:
        hear_snapshot(self)
    s = self.snapshot
    if s is not None and s.ready and not s.pipes and call_back(self):
        self.dying = ending, time.monotonic() + READY_WAIT, idle
        return
    if self.snapshot is not None and not s.alive and time.monotonic() < until:
        return
    self.dying = None
    orders = self.to_worker                         # a cell that has arrived since
    if self.snapshot is not None and s.alive:
        self.poll.unregister(s.words)
        self.snapshot = None
        self.adopt(s.pid, s.sock, s.words, *s.pipes)
        self.fresh = False
        ending += tlv(b'r', b'%d' % (self.ended - s.ended))
    else:
        self.drop_snapshot(self.why or (b'gone' if self.snapshot is not None else b''))
        self.kill_all()
        self.adopt(*fork_worker(self.ours(), self.hidden, self.alone))    # noqa: from start.py
        if self.why in WHY:
            ending += tlv(b'u', WHY[self.why])
        self.why = b''
    self.captured_at = 0.0
    if not idle:
        end_cell(self, ending)                    # noqa: from reap.py
        return
    self.send(FROM_GUEST_DEATH, NONE, ending)
    if self.waiting:
        self.to_worker = orders
        self.feed()
    else:
        self.due = time.monotonic()


def call_back(self):
    """End all else that the code left, and have the snapshot go on. False if that cannot be."""
    s = self.snapshot
    if self.older is not None:
        self.older.close()
        self.older = None
    if not self.kill_all(s.pid):
        self.why = b'left'
        self.drop_snapshot(self.why)
        return False
    if self.snapshot is not s:
        return False                                # it was reaped meanwhile
    try:
        (out, out_in), (err, err_in) = output_pipes()       # noqa: from start.py
    except OSError:
        self.drop_snapshot(b'gone')
        return False
    s.pipes = out, err
    fds = out_in.to_bytes(4, sys.byteorder) + err_in.to_bytes(4, sys.byteorder)
    try:
        s.sock.sendmsg([ORDER_RESUME], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, fds)])
    except OSError:
        self.snapshot_ended(b'gone')                # it is dying, but not reaped yet
        return False
    finally:
        posix.close(out_in)
        posix.close(err_in)
    return True


Supervisor.order_snapshot, Supervisor.drop_snapshot = order_snapshot, drop_snapshot
Supervisor.hear_snapshot = hear_snapshot
Supervisor.look_after = look_after
Supervisor.snapshot_ended, Supervisor.reaped, Supervisor.recover = snapshot_ended, reaped, recover
