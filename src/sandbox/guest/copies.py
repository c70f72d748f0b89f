# copies.py - part of the supervisor, compiled when first needed: a live copy of the worker is written into a
# memory file of the program's (live_copy.py), or the worker is replaced by one that goes on from such a file
# (go_on.py). What the file holds is no concern of ours: the worker alone writes it, and a new one reads it.
#
# The program sends the descriptor with one byte, after we have said that we wait for it: read() would drop a
# descriptor, and recvmsg() costs more than most frames do.

WRITE_IT = b'w'                 # of a request; the other one: go on from it


def copy_begin(self, body):
    if self.fd_in != self.fd_out:
        self.finish(tlv(b'e', b'no descriptor can be handed over on this way into the sandbox'))
        return
    self.copying = body[:1] or WRITE_IT
    self.number = body[1:5] if len(body) == 5 else self.number      # of the last cell, where it goes on
    self.send(FROM_GUEST_COPY, self.nonce)


def take_copy(self):
    """In place of read(): what the program sends, without the byte that brought the descriptor."""
    sock = _socket.socket(fileno=posix.dup(self.fd_in))
    try:
        data, extra, _, _ = sock.recvmsg(CHUNK, 64, _socket.MSG_CMSG_CLOEXEC | _socket.MSG_DONTWAIT)
    finally:
        sock.close()
    fds = [int.from_bytes(value[:4], sys.byteorder) for _, what, value in extra if what == _socket.SCM_RIGHTS]
    if not fds:
        return data                             # a frame came first
    how, self.copying = self.copying, b''
    try:
        if self.nonce is not None:              # else it was interrupted meanwhile
            copy_write(self, fds[0]) if how == WRITE_IT else copy_replace(self, fds[0])
    except OSError as e:
        self.waiting = False
        self.finish(failed(e))
    finally:
        posix.close(fds[0])
    if len(data) > 1:
        return data[:-1]
    raise BlockingIOError                       # nothing else has come


def copy_write(self, fd):
    """Have the worker write itself. Its snapshot would keep all memory a second time meanwhile."""
    if self.sock is None or not self.worker:
        self.finish(tlv(b'e', b'there is no interpreter'))
        return
    if self.snapshots:
        need('recover')
        self.drop_snapshot(b'')                 # noqa: from recover.py
    self.due, self.task, self.heap = 0.0, TO_GUEST_COPY, b''
    self.sock.sendmsg([self.nonce + ORDER_COPY + bytes(4)],
                      [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, fd.to_bytes(4, sys.byteorder))])
    self.waiting = True


def copy_replace(self, fd):
    need('reap')
    if self.snapshot is not None:
        self.drop_snapshot(b'')                 # noqa: from recover.py
    self.due = self.captured_at = 0.0
    self.kill_all()                             # noqa: from reap.py
    self.adopt(*fork_worker(self.ours() - {fd}, self.hidden, self.alone, fd))   # noqa: from start.py
    self.ask_worker(TO_GUEST_COPY, ORDER_COPY)
    self.fresh = False


def copy_end(self, body):
    """The worker has written itself or goes on (b'+' and its variables), or says why not (b'-' and words)."""
    self.seen = self.scan()
    if self.snapshots:
        self.due = time.monotonic()
    self.finish(tlv(b't', body[1:]) if body[:1] == b'+' else tlv(b'e', body[1:] or b'it did not answer'))


Supervisor.copy_begin, Supervisor.take_copy, Supervisor.copy_end = copy_begin, take_copy, copy_end
