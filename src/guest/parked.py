# parked.py - part of the supervisor, compiled after the first cell: have the worker make a copy of itself between two cells, and go on
# from that copy when the worker dies. Whatever the worker and the copy say is the code's: a word out of place loses the copy, nothing else.

ANNOUNCE_WAIT = 1.0             # a worker has died: its copy must have spoken within so long
WHY = {b'Na': b'none can be made on this machine', b'Nt': b'none could be made while threads were running',
       b'Nm': b'none could be made, for lack of memory or processes', b'busy': b'cells came too fast for one',
       b'deaf': b'the interpreter did not obey', b'killed': b'it was killed, most likely as memory ran short', b'gone': b'it had ended', b'none': b'none came to be',
       b'early': b'it was too early for one', b'maimed': b'it ended in the same way', b'left': b'what the code had left running did not end'}


def park(self):
    """The worker's state is that of a finished cell: an older copy ends, a new one is made. Never waits."""
    self.due = 0.0
    self.unpark(b'')
    if self.sock is None or not self.worker:
        return
    try:
        ours, theirs, words, words_in = lead()      # noqa: from start.py
    except OSError:
        self.why = b'Nm'
        return
    try:
        fds = theirs.fileno().to_bytes(4, sys.byteorder) + words_in.to_bytes(4, sys.byteorder)
        self.sock.sendmsg([bytes(16) + ORDER_SNAPSHOT + bytes(4)], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, fds)])
    except OSError:
        self.why = b'deaf'
        ours.close()
        posix.close(words)
    else:
        self.parked = [ours, words, 0]
        self.poll.register(words, select.POLLIN)
    theirs.close()
    posix.close(words_in)


def hurry(self):
    """The next cell is here and the copy of before it is not yet made. The worker takes its messages in order: it copies itself first."""
    if self.streak < STREAK:
        self.park()
    else:
        self.due = 0.0
        self.unpark(b'busy')


def unpark(self, why):
    """Forget the copy and end it. One that has not spoken yet ends when it finds its socket closed."""
    self.why = why
    if self.parked is None:
        return
    (sock, words, pid), self.parked = self.parked, None
    self.poll.unregister(words)
    posix.close(words)
    shut(sock)                                      # noqa: from start.py
    if pid:
        try:
            posix.kill(pid, _signal.SIGKILL)
        except OSError:
            pass


def heard(self):
    """The copy's words: it says its pid once. Anything more, and their end, is the end of the copy."""
    sock, words, pid = self.parked
    try:
        data = posix.read(words, 64)
    except BlockingIOError:
        return
    said = int(data[1:]) if data[:1] == b'P' and data[1:].isdigit() and len(data) < 10 else 0
    if pid == 0 and said not in (0, 1, posix.getpid(), self.worker) and a_child(said):
        self.parked[2] = said
    elif pid and not data:
        self.lost = pid                             # how it ended is told by reap()
        self.parked[2] = 0
        self.unpark(b'gone')
    else:
        self.unpark(data if pid == 0 and data in WHY else b'gone' if pid or data else b'none')


def a_child(pid):
    """Is it one of ours, dead or alive? Whatever the code says: no other can be spared, or killed, by mistake."""
    try:
        posix.waitid(posix.P_PID, pid, posix.WEXITED | posix.WNOHANG | posix.WNOWAIT)
        return True
    except OSError:
        return False


def ended(self, pid, status):
    """A child of ours that is not the worker was reaped. True: it was the copy, and others than us ended it."""
    if self.parked is not None and pid == self.parked[2]:
        self.parked[2] = 0
        self.unpark(b'gone')
    elif pid != self.lost:
        return False
    self.lost = 0
    if status & 0x7f == 9:
        self.taken += 1
        self.why = b'killed'
    return True


def mourn(self):
    """The worker is dead (died() has noted how): go on from the copy, or from nothing, and say which. Called until it is done."""
    ending, until, idle = self.dying
    if self.parked is not None and not self.parked[2]:
        heard(self)
        if self.parked is not None and not self.parked[2] and time.monotonic() < until:
            return
    self.dying, self.streak = None, 0
    orders = self.to_worker                         # a cell that came since
    if restore(self):
        ending += tlv(b'r', b'1')
    else:
        self.unpark(self.why)
        self.bury()
        self.adopt(*fork_worker(self.ours(), self.hidden, self.alone))
        if self.why in WHY:
            ending += tlv(b'u', WHY[self.why])
        self.why = b''
    if not idle:
        close_cell(self, ending)                    # noqa: from deaths.py
        return
    self.send(FROM_GUEST_DEATH, NONE, ending)
    if self.waiting:
        self.to_worker = orders
        self.feed()
    else:
        self.due = time.monotonic()


def restore(self):
    """True: the copy is the worker now, and nothing else of the code lives."""
    if self.parked is None or not self.parked[2]:
        return False
    sock, words, pid = self.parked
    if not self.bury(pid):
        self.why = b'left'
        return False
    if self.parked is None or self.parked[2] != pid:
        return False                                # it was reaped meanwhile
    (out, out_in), (err, err_in) = posix.pipe2(posix.O_CLOEXEC), posix.pipe2(posix.O_CLOEXEC)
    fds = out_in.to_bytes(4, sys.byteorder) + err_in.to_bytes(4, sys.byteorder)
    try:
        sock.sendmsg([b'G'], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, fds)])
    except OSError:
        self.why = b'gone'
        posix.close(out)
        posix.close(err)
        return False
    finally:
        posix.close(out_in)
        posix.close(err_in)
    posix.set_blocking(out, False)
    posix.set_blocking(err, False)
    self.poll.unregister(words)
    self.parked = None
    self.adopt(pid, sock, words, out, err)
    return True


Supervisor.park, Supervisor.hurry, Supervisor.unpark, Supervisor.heard = park, hurry, unpark, heard
Supervisor.ended, Supervisor.mourn = ended, mourn
