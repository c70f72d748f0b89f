# named.py - part of the supervisor, compiled when the program says that this sandbox has a name and so
# outlives its client.
#
# When a client detaches, its unfinished work ends. The listener then waits for the next client, at most as
# long as the last one said. There is one client at a time, and only from outside: the code shares our network
# namespace's sockets, so the kernel tells who a client is (SO_PEERCRED).

STEP_WAIT = 2.0                 # seconds from SIGINT to SIGKILL for a cell whose client is gone
PENDING_WAIT = 2.0                # seconds within which a new client must send its first frame
KEEP_MOST = 1024


def stay(self, body):
    """The first client has recorded where we can be found; or a client changes what it said of itself."""
    if not LISTENER:
        return
    read_keep(self, body)
    if self.listener is not None:
        return
    to_null(0, 1, 2)
    self.listener = _socket.socket(fileno=LISTENER[0])
    self.listener.setblocking(False)
    self.poll.register(LISTENER[0], select.POLLIN)
    Supervisor.gone = gone


def read_keep(self, body):
    """What a client says of itself: how long we may idle after it, and how much it accepts of what the code
    makes."""
    for tag, value in tagged(body):
        if tag == b'i' and value.isdigit() and len(value) < 8:
            self.idle = int(value)
        elif tag in b'ft' and value.isdigit() and len(value) < 17:
            setattr(self, 'file_most' if tag == b'f' else 'cell_most', int(value))


def gone(self):
    """The client is gone: drop what was meant for it, and end what it had begun."""
    self.poll.unregister(self.fd_in)
    posix.close(self.fd_in)
    self.fd_in = self.fd_out = -1
    self.inbox.clear()
    self.outbox, self.queued = bytearray(), False
    self.send = self.unheard
    if self.helper:
        self.helper_end(b'')                    # noqa: from requests.py
    if self.command:
        self.command.signal(self, _signal.SIGKILL)
    if self.processes:
        self.process_kill()                     # noqa: from processes.py
    if self.put is not None:
        put_end(self)                           # noqa: from requests.py
        self.nonce = None
    if self.copying:
        self.copying, self.nonce = b'', None
    if self.sending is not None:
        self.cut_short(b'')
    now = time.monotonic()
    self.kill_at, self.ends = 0.0, now + self.idle
    if self.waiting and self.task != TO_GUEST_RUN:
        self.waiting = False
        self.finish(b'')
    if self.waiting:
        self.unfinished = self.interrupted = True
        self.signal(_signal.SIGINT)
        self.kill_at = now + STEP_WAIT
    self.plan()


def unheard(self, kind, nonce, body=b''):
    """Replaces send while there is no client. The next client is told how a cell ended and that the worker
    died."""
    if kind == FROM_GUEST_DEATH or kind == FROM_GUEST_END and (self.unfinished or body[:1] == b'w'):
        self.unheard_ends = (self.unheard_ends + body)[-4096:]


def plan(self):
    """When to look again."""
    times = [t for t in (self.kill_at, self.pending_until) if t]
    if self.pending is None and self.fd_in < 0:
        times.append(self.ends)
    self.until = min(times) if times else 0.0


def on_timer(self):
    now = time.monotonic()
    if self.kill_at and now >= self.kill_at:
        self.kill_at = 0.0
        if self.waiting and self.worker:
            self.signal(_signal.SIGKILL)
    if self.accepted:
        admit_client(self)
    elif self.pending is not None and now >= self.pending_until:
        refuse_client(self)
    if self.pending is None and self.fd_in < 0 and now >= self.ends:
        posix._exit(0)                          # nobody came: end, and everything in the sandbox with us
    self.plan()


def on_client(self, fd):
    if self.pending is not None:
        read_first_frame(self)
    else:
        accept_client(self)
    self.plan()


def accept_client(self):
    try:
        fd, _ = self.listener._accept()
    except OSError:
        return
    sock = _socket.socket(fileno=fd)
    sock.setblocking(False)
    pid = int.from_bytes(sock.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)[:4], sys.byteorder)
    if self.fd_in >= 0 and not (self.alone and pid != 0):
        look = select.poll()
        look.register(self.fd_in, 0)
        if look.poll(0):                        # our client is gone, and we have not noticed it yet
            self.gone()
    # Either we are held by a client, or this one has a pid in here, so it is the code.
    if self.fd_in >= 0 or (self.alone and pid != 0):
        close_socket(sock)                              # noqa: from start.py
        return
    # others wait in the queue until it has sent its first frame
    self.poll.unregister(LISTENER[0])
    self.poll.register(fd, select.POLLIN)
    LISTENER.append(fd)
    self.pending, self.pending_until, self.first_frame = sock, time.monotonic() + PENDING_WAIT, b''


def refuse_client(self):
    fd = LISTENER.pop()
    if not self.accepted:
        self.poll.unregister(fd)
    close_socket(self.pending)                            # noqa: from start.py
    self.pending, self.pending_until, self.accepted = None, 0.0, False
    self.poll.register(LISTENER[0], select.POLLIN)


def read_first_frame(self):
    try:
        data = self.pending.recv(KEEP_MOST)
    except BlockingIOError:
        return
    except OSError:
        data = b''
    self.first_frame = frame = self.first_frame + data
    size = int.from_bytes(frame[:4], 'little')
    other = len(frame) >= 5 and frame[4:5] != TO_GUEST_KEEP
    if not data or other or len(frame) >= 4 and size > KEEP_MOST - 21 or len(frame) > 21 + size:
        refuse_client(self)
    elif len(frame) == 21 + size:
        read_keep(self, frame[21:])
        self.poll.unregister(LISTENER[-1])
        self.accepted = True
        admit_client(self)


def admit_client(self):
    """It becomes our client once its predecessor's cell has ended."""
    if self.nonce is not None:
        self.pending_until = time.monotonic() + 0.02
        return
    fd = LISTENER.pop()
    self.pending.detach()
    self.pending, self.pending_until, self.accepted = None, 0.0, False
    self.poll.register(LISTENER[0], select.POLLIN)
    self.fd_in = self.fd_out = fd
    self.poll.register(fd, select.POLLIN)
    del self.send
    self.send(FROM_GUEST_HELLO, NONE, self.greeting + tlv(b'c', b'%d' % int.from_bytes(self.number, 'little'))
              + (tlv(b'u', b'1') if self.unfinished else b'')
              + (tlv(b'z', self.unheard_ends) if self.unheard_ends else b''))
    self.unfinished, self.unheard_ends = False, b''
    if OPTIONS['net']:
        self.send_listener()                    # noqa: from network.py


def wait(self, before=Supervisor.wait):
    ms = before(self)
    if self.until:
        left = max(0, int((self.until - time.monotonic()) * 1000) + 1)
        ms = left if ms is None else min(ms, left)
    return ms


Supervisor.listener = Supervisor.pending = None
Supervisor.idle, Supervisor.ends, Supervisor.kill_at, Supervisor.pending_until = 1800, 0.0, 0.0, 0.0
# of the pending client, so far; what the next one is told
Supervisor.first_frame, Supervisor.unheard_ends = b'', b''
# the last client left a cell unfinished; the pending one has sent its first frame
Supervisor.unfinished = Supervisor.accepted = False
Supervisor.stay, Supervisor.on_client, Supervisor.on_timer, Supervisor.plan = stay, on_client, on_timer, plan
Supervisor.unheard, Supervisor.wait = unheard, wait
