# supervisor.py - the first process of a sandbox: it keeps the channel to the program, carries out the
# program's requests, and relays what the worker says and prints.
#
# The code controls everything in the sandbox except this process. It cannot be opened through /proc (dumpable
# 0), ignores signals, never waits for anybody, never imports from a path that the code can write to, and
# reads the code's files only below the data folder. What a plain cell needs is here and in collect.py. The
# other parts are compiled when they are first needed (reap.py, copy_out.py, requests.py).

import select
import time

CHUNK = 1 << 16
PAUSE = 0.001                   # seconds after a cell without another one; then the interpreter is idle
INTERVAL = 0.05                 # seconds between snapshots while cells follow each other without a pause
NEVER = float('inf')            # when an idle interpreter makes one with late=1: the next cell orders it
BRISK_MS = 1                    # so long a cell's output waits for its result, to leave with it
# The machine code is locked in memory when nothing has happened for so long, or this many seconds after the
# start: earlier it would take time from the first cell.
UNLOCKED_MS, UNLOCKED_MOST = 5, 0.1
QUEUE_HIGH = 1 << 18            # bytes; with more than this unsent, the code's output waits in its pipes
NONE = bytes(16)
PUT_NAME = b'.sandpiper-put-'                # name of an incoming file, before its nonce
CLOSED_WAIT = 0.2               # seconds that a worker without its socket has to end by itself
FLOOD_READS, FLOOD_SMALL, FLOOD_MS = 64, 8192, 2
PIPE_SIZE, PIPE_MOST = 1 << 18, 1 << 20     # of a pipe while code floods; what code may make of one



def file_clock():
    """The time in ns that a file changed now would have. It advances in steps, and on a busy machine it may
    be tens of ms behind time.time_ns()."""
    return time.clock_gettime_ns(5)             # CLOCK_REALTIME_COARSE, linux/time.h


class Supervisor:
    # What a plain cell needs has a place of its own, which is quicker to get at.
    __slots__ = ('fd_in', 'fd_out', 'inbox', 'outbox', 'queued', 'number', 'until', 'worker', 'sock',
                 'words', 'heap', 'pipes', 'to_worker', 'nonce', 'waiting', 'interrupted', 'figures',
                 'figure', 'sending', 'helper', 'command', 'copying', 'closed_at', 'polled', 'quiet',
                 'brisk', 'flood', 'snapshots', 'snapshot', 'chores', 'taken', 'captured_at', 'ended',
                 'task', 'fresh', 'settings', 'told', 'due', 'gave_up', 'dying', 'poll', 'answers', 'look',
                 'still', 'wake', 'root', 'elsewhere', 'locked', 'lock_by', 'processes', 'process_fds',
                 'process_polled', '__dict__')

    def __init__(self, fd_in, fd_out, alone):
        self.fd_in, self.fd_out, self.alone = fd_in, fd_out, alone
        self.hidden = False
        self.inbox = bytearray()
        self.heard = False                      # we have said so since the last whole frame
        self.outbox = bytearray()               # frames, the first perhaps cut
        self.queued = False                     # the channel is polled for room
        self.number = NONE[:4]                  # of the last cell
        self.until = 0.0                        # when to call on_timer(); named.py
        self.worker, self.sock = 0, None        # pid; messages to it
        self.words, self.heap = -1, b''         # descriptor and bytes of what it says
        self.pipes = {}                         # descriptor -> kind of frame
        self.to_worker = []
        self.nonce = None                       # of the present request
        self.waiting = False                    # the worker has not answered it yet
        self.interrupted = False
        self.figures, self.named = {}, {}       # our memory files, each with its form; names given so far
        self.figure, self.form = -1, b''        # the one being received
        self.pictures = {}                      # more of them: of figures without their texts
        self.kept = 0                           # bytes of them
        # generator of frames: files going out; what the last frame then says
        self.sending, self.ending = None, b''
        self.put = self.helper = None           # see requests.py
        self.command = None                     # see commands.py
        self.kernels, self.ran = {}, set()      # see languages.py
        self.copying = b''                      # see copies.py
        # see processes.py: number -> Process; descriptor -> Process; their pipes are in the poll set
        self.processes, self.process_fds, self.process_polled = {}, {}, True
        self.closed_at, self.closed_kill = 0.0, False
        self.polled = False                     # the pipes are in the poll set
        self.quiet = False                      # they were when we last looked, and had nothing
        self.brisk = False                      # the last cell answered at once, and there was no pause since
        self.reads, self.reads_since, self.flood, self.room = 0, 0.0, False, CHUNK
        # bytes copied out: of a file, after a cell
        self.file_most, self.cell_most = int(OPTIONS['file']), int(OPTIONS['total'])
        self.snapshots = OPTIONS['snapshots'] == '1'    # keep a snapshot of the worker, see recover.py
        self.snapshot, self.why = None, b''     # a Snapshot; why there is none
        # the one before, until the latest stands; four ends for the next; whether to look after both
        self.older, self.links, self.chores = None, (), False
        # pid of one that hung up; how many were killed by others, not told yet
        self.lost, self.taken = 0, 0
        self.captured_at, self.ended = 0.0, 0   # when the last one was ordered; cells that have ended
        self.task = b''                         # TO_GUEST_RUN or _INVENTORY: what the worker was asked for
        # order -> the program's latest body for it; those that this worker was given
        self.settings, self.told = {}, {}
        self.due = 0.0                          # when the next one is to be made
        self.gave_up = 0                         # workers that gave up, with no answer since
        self.dying = None                       # the worker died, and what then is not settled yet
        # path -> identity of each file in the data folder; of all that was looked at there
        self.seen, self.entries = {}, 0
        self.poll = select.poll()
        self.look = select.poll()               # the pipes alone
        # the interpreter's machine code, see lock_code.py
        self.locked, self.lock_by = False, time.monotonic() + UNLOCKED_MOST
        self.still = 0                          # ctime of the data folder while it is known to be empty
        # where code can write, but nothing is kept -> when that folder last changed; files told of
        self.elsewhere, self.told_of, self.began = {}, set(), file_clock()
        self.wake = posix.pipe2(posix.O_CLOEXEC | posix.O_NONBLOCK)
        self.root = posix.open(OPTIONS['data'], posix.O_RDONLY | posix.O_DIRECTORY | posix.O_CLOEXEC)
        self.put_root = self.root               # of the file that comes in, see requests.py

    # ---- to the program

    def send(self, kind, nonce, body=b''):
        self.outbox += len(body).to_bytes(4, 'little') + kind + nonce + body

    def flush(self):
        """Write what the channel takes. Never waits: even if the program does not read, it must be obeyed."""
        try:
            del self.outbox[:posix.write(self.fd_out, self.outbox)]
        except BlockingIOError:
            pass
        except OSError:
            self.gone()

    # ---- from the program

    def gone(self):
        posix._exit(0)                          # everything in the sandbox ends with us; but see named.py

    def host(self, events):
        if events & select.POLLOUT:
            self.flush()
            if events == select.POLLOUT or self.fd_in < 0:
                return
        try:
            if self.copying:
                data = self.take_copy()         # noqa: from copies.py
            else:
                data = posix.read(self.fd_in, CHUNK if self.inbox else SHORT)
        except BlockingIOError:
            return
        except OSError:
            data = b''
        if not data:
            self.gone()
            return
        box = self.inbox
        if not box and len(data) == 21 + int.from_bytes(data[:4], 'little'):
            self.handle(data[4:5], data[5:21], data[21:])     # one whole frame, as most are
            return
        box += data
        while len(box) >= 21:
            size = int.from_bytes(box[:4], 'little')
            if size > FRAME_MAX:
                posix._exit(65)
            if len(box) < 21 + size:
                break
            kind, nonce, body = bytes(box[4:5]), bytes(box[5:21]), bytes(box[21:21 + size])
            del box[:21 + size]
            self.heard = False
            self.handle(kind, nonce, body)
        if box and self.fd_in != self.fd_out and not self.heard and not self.outbox:
            self.heard = True
            self.send(FROM_GUEST_HEARD, NONE)   # noqa: from boot.py

    def handle(self, kind, nonce, body):
        if kind == TO_GUEST_RUN:
            self.number, self.fresh = body[:4], False
            self.begin(nonce)
            self.ask_worker(kind, body)
        elif kind == TO_GUEST_INTERRUPT or kind == TO_GUEST_KILL:
            self.stop(_signal.SIGINT if kind == TO_GUEST_INTERRUPT else _signal.SIGKILL)
        elif kind == TO_GUEST_HEARD:
            pass
        elif kind in SETTINGS:                  # the worker gets it with its next cell
            self.settings[SETTINGS[kind]] = body
            self.told.pop(SETTINGS[kind], None)
        elif kind == TO_GUEST_KEEP:
            need('named')
            self.stay(body)                     # noqa: from named.py
        else:
            need('requests')
            self.request(kind, nonce, body)     # noqa: from requests.py

    def begin(self, nonce):
        self.nonce, self.interrupted = nonce, False

    def stop(self, number):
        """Interrupt or kill the present request."""
        if self.command:
            self.command.signal(self, number)
        elif self.waiting and self.task != TO_GUEST_RUN:
            self.answer(b'')                    # the worker does not answer this one, so end it without
        elif self.waiting and self.worker:
            self.interrupted = True
            self.signal(number)
        elif self.sending is not None:
            self.cut_short(tlv(b'f', b'1'))
        elif self.helper and number == _signal.SIGINT:
            self.helper_end(b'interrupted')     # noqa: from requests.py

    # ---- the worker

    def ask_worker(self, task, message):
        """message: four bytes with the number of a cell or an order, then its data."""
        self.task, self.heap, self.waiting = task, b'', False
        if self.due and task != TO_GUEST_INVENTORY:     # the interpreter was not idle since the last cell
            self.due = 0.0
            if time.monotonic() - self.captured_at >= INTERVAL:
                # The worker takes its messages in order, so one that is ordered now is made first. Where the
                # last one is young it is kept, and misses what ended since.
                need('recover')
                self.order_snapshot()           # noqa: from recover.py
        if not self.quiet:      # what a thread wrote since the last cell does not belong to this cell
            self.drain(PIPE_MOST)
        self.waiting = True
        self.to_worker = []
        if self.told != self.settings and task == TO_GUEST_RUN:
            for order, setting in self.settings.items():
                if self.told.get(order) != setting:
                    self.to_worker += pieces(NONE, order, setting)
            self.told = dict(self.settings)
        size = len(message) - 4
        if size < SHORT - 24:                   # one piece, as most are
            self.to_worker.append(self.nonce + message[:4] + size.to_bytes(4, 'little') + message[4:])
        else:
            self.to_worker += pieces(self.nonce, message[:4], message[4:])
        if self.sock is not None:
            self.feed()
            self.brisk = not self.to_worker and self.answers.poll(BRISK_MS) != []
            if self.brisk:                      # most cells answer at once, so that was waited for alone
                self.message()
                if self.outbox:
                    self.flush()

    def ours(self):
        """Descriptors that no child may have."""
        fds = {self.fd_in, self.fd_out, self.wake[0], self.wake[1], self.root, *LISTENER}
        fds.update(self.pipes, self.figures, self.pictures, (self.words, self.figure))
        if self.put:
            fds.update((self.put[0], self.put_root))
        if self.command:
            fds.update(self.command.pipes)
        for p in self.processes.values():
            fds.update((p.stdin, *p.pipes))
        for kernel in self.kernels.values():
            fds.update(kernel.fds())
        for s in filter(None, (self.snapshot, self.older)):
            fds.update((s.sock.fileno(), s.words, *s.pipes))
        fds.update(fd if type(fd) is int else fd.fileno() for fd in self.links)
        if self.sock is not None:
            fds.add(self.sock.fileno())
        fds.discard(-1)                         # there may be no client now, for instance
        return fds

    def adopt(self, pid, sock, words, out, err):
        self.worker, self.sock, self.words, self.to_worker = pid, sock, words, []
        self.fresh = True                       # no cell was run in it
        self.pipes = {out: FROM_GUEST_STDOUT, err: FROM_GUEST_STDERR}
        self.closed_at, self.closed_kill, self.polled, self.flood = 0.0, False, False, False
        self.heap = b''
        self.poll.register(words, select.POLLIN)
        self.answers, self.look = select.poll(), select.poll()
        self.answers.register(words, select.POLLIN)
        self.look.register(out, select.POLLIN)
        self.look.register(err, select.POLLIN)

    def signal(self, number):
        for pid in (-self.worker, self.worker) if number == _signal.SIGKILL else (-self.worker,):
            try:
                posix.kill(pid, number)         # its whole session, as a terminal would
            except OSError:
                pass

    def feed(self):
        while self.to_worker:
            try:
                self.sock.send(self.to_worker[0])
            except BlockingIOError:
                self.poll.register(self.sock.fileno(), select.POLLOUT)
                return
            except OSError:
                self.to_worker = []  # it closed its end; the hang-up of its words will tell the rest
                return
            self.to_worker.pop(0)

    def message(self, reads=4):
        """What the worker says: records of nonce, kind, u32 length, body. Only those with the nonce of the
        present cell count; anything between them is skipped. Reads a bounded amount at a time, since the code
        can write here without end."""
        for _ in range(reads):
            try:
                data = posix.read(self.words, SHORT if self.brisk else CHUNK)
            except BlockingIOError:
                return
            if not data:
                self.close_words()
                self.closed_at = time.monotonic()
                return
            if (self.waiting and not self.heap and data.startswith(self.nonce + RECORD_RESULT)
                    and len(data) == 21 + int.from_bytes(data[17:21], 'little')):
                self.answer(data[21:])          # one whole record, as most are
                return
            heap, at = self.heap + data, 0
            while self.waiting:
                found = heap.find(self.nonce, at)
                at = found if found >= 0 else max(at, len(heap) - 15)
                end = at + 21 + int.from_bytes(heap[at + 17:at + 21], 'little')
                if end > at + 21 + CHUNK:
                    at += 16                    # none of our records is this long
                    continue
                if found < 0 or end > len(heap) or at + 21 > len(heap):
                    break
                kind, body, at = heap[at + 16:at + 17], heap[at + 21:end], end
                if kind == RECORD_RESULT:
                    self.heap = b''
                    self.answer(body)
                    return
                self.brisk = False              # no quick cell
                self.take_figure(kind, body)     # noqa: from collect.py
            self.heap = heap[at:] if self.waiting else b''

    def close_words(self):
        """Close the pipe on which the worker speaks."""
        if self.words >= 0:
            self.poll.unregister(self.words)
            self.answers.unregister(self.words)
            posix.close(self.words)
            self.words = -1

    def relay(self, fd):
        """Pass on what the code wrote. Output between cells was not asked for; it is dropped, so that the
        writer does not block."""
        try:
            data = posix.read(fd, CHUNK)
        except BlockingIOError:
            return 0
        if not data:
            if self.polled:
                self.poll.unregister(fd)
            self.look.unregister(fd)
            posix.close(fd)
            del self.pipes[fd]
        elif self.waiting and self.task == TO_GUEST_RUN:
            self.send(self.pipes[fd], self.nonce, data)
        return len(data)

    def drain(self, most):
        """Read what is in the pipes now, but no more than most bytes, in case a child goes on writing."""
        got = 0
        for fd, _ in self.look.poll(0):
            left = most
            while left > 0:
                n = self.relay(fd)
                left -= n
                got += n
                if n < CHUNK:                   # it is empty now
                    break
        return got

    def back_pressure(self):
        """The pipes are polled only while the outbox has room: this is back-pressure, and bounds our memory.
        The worker's are not polled while the code floods: a program that prints a million lines would wake us
        for each; instead they are emptied every 2 ms."""
        room = len(self.outbox) < QUEUE_HIGH
        if self.polled != (room and not self.flood):
            self.poll_pipes(self)
        if self.command and self.command.polled != room:
            self.poll_pipes(self.command)
        if self.processes and self.process_polled != room:
            self.process_poll(room)             # noqa: from processes.py

    def poll_pipes(self, owner):
        """Begin or stop polling the pipes of the worker (self) or of a command."""
        owner.polled = not owner.polled
        for fd in owner.pipes:
            if owner.polled:
                self.poll.register(fd, select.POLLIN)
            else:
                self.poll.unregister(fd)

    def count_reads(self):
        self.reads += 1
        if self.reads >= FLOOD_READS:
            now = time.monotonic()
            self.flood = now - self.reads_since < 0.02
            self.reads, self.reads_since = 0, now
            if self.flood:
                self.room = widen(self.pipes)

    def answer(self, body):
        self.drain(PIPE_MOST)
        self.waiting, self.gave_up = False, 0
        if self.task == TO_GUEST_RUN:
            self.send(FROM_GUEST_RESULT, self.nonce, body)
            self.collect(b'')
        else:
            self.answered(body)                 # noqa: from requests.py

    # ---- the loop

    def interest(self, now):
        """Poll the channel for writing only while something is queued."""
        if self.fd_in == self.fd_out:
            self.poll.modify(self.fd_in, select.POLLIN | select.POLLOUT if now else select.POLLIN)
        elif now:
            self.poll.register(self.fd_out, select.POLLOUT)
        else:
            self.poll.unregister(self.fd_out)
        return now

    def wait(self):
        """Milliseconds for poll; None: until something happens."""
        if self.sending is not None and not self.outbox and not self.dying:
            # the channel took everything, so only we can produce the next piece
            return 0
        if self.flood and len(self.outbox) < QUEUE_HIGH:
            return FLOOD_MS
        if self.brisk or self.command and self.command.early:
            return BRISK_MS
        if self.due and self.due < NEVER:
            return max(BRISK_MS, int((self.due - time.monotonic()) * 1000))
        if self.dying:
            return 10
        if not self.locked:
            return UNLOCKED_MS
        return 50 if self.closed_at or self.helper else None

    def serve(self):
        self.poll.register(self.fd_in, select.POLLIN)
        self.poll.register(self.wake[0], select.POLLIN)
        while True:
            if self.outbox:
                self.flush()
            if self.due and time.monotonic() >= self.due:
                need('recover')
                self.order_snapshot()              # noqa: from recover.py
            self.back_pressure()
            if bool(self.outbox) != self.queued:
                self.queued = self.interest(not self.queued)
            dead = False
            ready = self.poll.poll(self.wait())
            self.quiet = self.polled and len(ready) == 1
            if not (self.locked or self.brisk) and (not ready or time.monotonic() > self.lock_by):
                need('lock_code')
                self.lock_code()                # noqa: from lock_code.py
            if not ready:
                self.brisk = False
            for fd, events in ready:
                if fd in self.pipes:
                    if self.relay(fd) < FLOOD_SMALL:
                        self.count_reads()
                elif fd == self.fd_in or fd == self.fd_out:
                    self.host(events)
                elif fd == self.words:
                    self.message()
                elif self.sock is not None and fd == self.sock.fileno():
                    self.poll.unregister(fd)    # there is room again, or no client to send to
                    self.feed()
                elif fd == self.wake[0]:
                    dead = True
                elif self.command and fd in self.command.pipes:
                    self.command.relay(self, fd)
                elif fd in self.process_fds:
                    self.process_ready(fd)      # noqa: from processes.py
                elif self.helper and fd == self.helper['fd']:
                    self.helper_read()          # noqa: from requests.py
                elif fd in LISTENER:
                    self.on_client(fd)               # noqa: from named.py
                elif self.snapshot is not None and fd == self.snapshot.words:
                    self.hear_snapshot()        # noqa: from recover.py
                elif self.kernels:
                    self.hear_idle(fd)          # noqa: from languages.py
            if self.flood and len(self.outbox) < QUEUE_HIGH:
                # over, or so much that the writer waits for us
                self.flood = 0 < self.drain(self.room) < self.room
            if dead:                            # last, so that an answer sent before death is seen first
                need('reap')
                self.reap()                     # noqa: from reap.py
            if self.dying:
                self.recover()                  # noqa: from recover.py
            if self.sending is not None and not self.dying:
                self.more()
            if self.chores and not self.brisk:
                self.look_after()               # noqa: from recover.py
            if self.closed_at and time.monotonic() - self.closed_at > CLOSED_WAIT and self.worker:
                self.closed_kill = True  # the hang-up alone proves nothing, since every death causes one
                self.signal(_signal.SIGKILL)
            if self.command:
                self.command.check(self)
            if self.helper:
                self.helper_check()             # noqa: from requests.py
            if self.processes:
                self.process_check()            # noqa: from processes.py
            if self.until and time.monotonic() >= self.until:
                self.on_timer()                    # noqa: from named.py


def pieces(nonce, order, body):
    """A message to the worker, whose first piece is short."""
    data = nonce + order + len(body).to_bytes(4, 'little') + body
    return [data] if len(data) <= SHORT else [data[:SHORT]] + [data[i:i + CHUNK]
                                                               for i in range(SHORT, len(data), CHUNK)]


def widen(pipes):
    """The code is flooding: make its pipes hold 2 ms of output. Returns what one of them holds then."""
    try:
        import fcntl
        return min([fcntl.fcntl(fd, 1031, PIPE_SIZE) for fd in pipes] + [PIPE_SIZE])    # F_SETPIPE_SZ
    except Exception:
        return CHUNK


def supervise(fd_in, fd_out, first, alone):
    need('collect')
    s = Supervisor(fd_in, fd_out, alone)
    for fd in (fd_in, fd_out):
        posix.set_blocking(fd, False)
    # for the wake-up pipe; to end a wait in close_socket()
    for number in (_signal.SIGCHLD, _signal.SIGALRM):
        _signal.signal(number, lambda *_: None)
    _signal.set_wakeup_fd(s.wake[1], warn_on_full_buffer=False)
    s.adopt(*first)
    # PR_SET_DUMPABLE 0: the code cannot open our /proc/PID/{fd,mem,environ}
    s.hidden = prctl(4, 0)                      # noqa: from start.py
    if not alone:
        # PR_SET_CHILD_SUBREAPER: in a test, orphans become our children as they would PID 1's
        prctl(36, 1)
    if posix.waitpid(s.worker, posix.WNOHANG)[0]:
        posix._exit(EXIT_GAVE_UP)               # it died before we looked
    s.seen = s.scan()
    if alone:                                   # else others write there too
        # UNKEPT, changed_at: from collect.py
        s.elsewhere = {path: changed_at(path) for path in UNKEPT if posix.access(path, posix.W_OK)}
    need('installed')
    s.greeting = (tlv(b'v', VERSION) + tlv(b'p', ('%d.%d.%d' % sys.version_info[:3]).encode())
                  + tlv(b'k', find_packages().encode())    # noqa: from installed.py
                  + (tlv(b'1', b'1') if alone else b'') + (tlv(b'd', b'1') if s.hidden else b''))
    if OPTIONS['mounts']:
        need('mounted')
        s.greeting += find_mounts()             # noqa: from mounted.py
    s.send(FROM_GUEST_HELLO, NONE, s.greeting)
    if OPTIONS['net']:
        need('network')
        s.send_listener()                       # noqa: from network.py
    s.serve()
