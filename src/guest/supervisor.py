# supervisor.py - the first process of a sandbox: keeps the channel to the program, forks the worker that runs the code, relays.
#
# Started as  python3 -I -S -u -c TEXT CHANNEL key=value...  where TEXT is this file, the other parts of src/guest as strings, and
# a last line that calls main(). Standard library only, Python 3.8 and later. Compiling and importing is most of the start-up, so this
# file holds the way of a plain cell; what is rare lies in parts that are compiled on first use. docs/sandbox-protocol.md has the frames.
#
# The code owns everything in here but this process: it cannot be opened through /proc (dumpable 0), ignores signals, never waits
# for anybody, never imports from a path the code can write, and reads files of the code only beneath the data folder.

import posix
import select
import sys
import time
import _signal
import _socket

VERSION = b'1'
FRAME_MAX = 1 << 20             # body of a frame from the program
CHUNK = 1 << 16
QUEUE_HIGH = 1 << 18            # with more than this unsent, the code's output waits in its pipes
NONE = bytes(16)
PARTS = {}                      # name -> source of a part not compiled yet
OPTIONS = {'nproc': '0', 'files': '0', 'data': '/mnt/data'}
CLOSED_WAIT = 0.2               # a worker without its socket has this long to end by itself
HELPER_WAIT = 20.0
RDWR = select.POLLIN | select.POLLOUT


def need(name):
    """Compile a part into this namespace, once."""
    source = PARTS.pop(name, None)
    if source is not None:
        exec(compile(source, '<sandpiper/%s>' % name, 'exec'), globals())


def tlv(tag, data):
    return tag + len(data).to_bytes(4, 'little') + data


def prctl(option, value):
    """prctl(2) without the price of importing ctypes. False where it cannot be called."""
    try:
        import _ctypes
        return _ctypes.call_function(_ctypes.dlsym(_ctypes.dlopen(None, 2), 'prctl'), (option, value, 0, 0, 0)) == 0
    except Exception:
        try:
            import ctypes
            return ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0
        except Exception:
            return False


class Supervisor:
    def __init__(self, fd_in, fd_out):
        self.fd_in, self.fd_out = fd_in, fd_out
        self.inbox = bytearray()
        self.outbox, self.unsent = [], 0        # whole frames, the first one perhaps cut; bytes in them
        self.worker = 0                         # pid
        self.sock = None                        # to the worker: messages, so garbage on it cannot put us out of step
        self.pipes = {}                         # descriptor -> kind of frame
        self.to_worker = []
        self.nonce = None                       # of the request under way
        self.waiting = False                    # ... and the worker has not answered it yet
        self.interrupted = False
        self.began = 0.0
        self.figures, self.figure_count = [], 0
        self.sending = None                     # generator of frames: files going out
        self.sending_wait = False               # it waits for room in the outbox
        self.put = None
        self.helper = None
        self.closed_at, self.closed_kill = 0.0, False
        self.reading = True                     # the pipes are in the poll set
        self.poll = select.poll()
        self.seen = {}                          # path -> identity of each file in the data folder
        self.alone = posix.getpid() == 1        # first process of its own pid namespace: kill(-1) is ours to use

    # ---- to the program

    def send(self, kind, nonce, body=b''):
        frame = b''.join((len(body).to_bytes(4, 'little'), kind, nonce, body))
        self.outbox.append(frame)
        self.unsent += len(frame)

    def flush(self):
        """Write what the channel takes. Never waits: a program that does not read must still be obeyed."""
        while self.outbox:
            try:
                n = posix.write(self.fd_out, self.outbox[0])
            except BlockingIOError:
                break
            except OSError:
                posix._exit(0)                  # the program is gone, and with us everything in here
            self.unsent -= n
            if n < len(self.outbox[0]):
                self.outbox[0] = memoryview(self.outbox[0])[n:]
            else:
                self.outbox.pop(0)

    # ---- from the program

    def host(self, events):
        if events & select.POLLOUT:
            self.flush()
        if not events & ~select.POLLOUT:
            return
        try:
            data = posix.read(self.fd_in, 1 << 18)
        except BlockingIOError:
            return
        except OSError:
            data = b''
        if not data:
            posix._exit(0)
        box = self.inbox
        box += data
        while len(box) >= 21:
            size = int.from_bytes(box[:4], 'little')
            if size > FRAME_MAX:
                posix._exit(65)
            if len(box) < 21 + size:
                break
            kind, nonce, body = bytes(box[4:5]), bytes(box[5:21]), bytes(box[21:21 + size])
            del box[:21 + size]
            self.obey(kind, nonce, body)

    def obey(self, kind, nonce, body):
        if kind == b'R':
            self.nonce, self.waiting, self.interrupted, self.began = nonce, True, False, time.monotonic()
            self.figures = []
            if self.worker and self.sock is not None:
                for fd in self.pipes:
                    self.relay(fd, 0)           # what a thread wrote since the last cell is not this cell's
                head = nonce + body[:4] + (len(body) - 4).to_bytes(4, 'little')
                self.to_worker = [head + body[4:CHUNK]] + [body[i:i + CHUNK] for i in range(CHUNK, len(body), CHUNK)]
                self.feed()
        elif kind == b'I':
            if self.waiting and self.worker:
                self.interrupted = True
                self.signal(_signal.SIGINT)
            elif self.sending is not None:
                self.sending.close()
                self.finish(tlv(b'f', b'1'))
            elif self.helper:
                self.helper_end(b'interrupted')
        elif kind == b'K':
            if self.worker:
                self.interrupted = True
                self.signal(_signal.SIGKILL)
        elif kind == b'Q':
            posix._exit(0)
        else:
            need('requests')
            self.request(kind, nonce, body)     # noqa: from requests.py

    # ---- the worker

    def spawn(self):
        """Fork a fresh worker. It gets a socket for messages and two pipes, and nothing else of ours."""
        ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
        out, err = posix.pipe2(posix.O_CLOEXEC), posix.pipe2(posix.O_CLOEXEC)
        pid = posix.fork()
        if pid == 0:
            try:
                ours.close()
                self.leave((out[0], err[0]))
                posix.dup2(out[1], 1)
                posix.dup2(err[1], 2)
                posix.close(out[1])
                posix.close(err[1])
                need('worker')
                worker(theirs)                  # noqa: from worker.py
            finally:
                posix._exit(70)
        theirs.close()
        posix.close(out[1])
        posix.close(err[1])
        ours.setblocking(False)
        posix.set_blocking(out[0], False)
        posix.set_blocking(err[0], False)
        self.worker, self.sock, self.pipes, self.to_worker = pid, ours, {out[0]: b'O', err[0]: b'E'}, []
        self.closed_at = 0.0
        self.poll.register(ours.fileno(), select.POLLIN)
        self.reading = False
        self.gate()

    def leave(self, fds):
        """In a fresh child: away from everything that is the supervisor's."""
        global SUPERVISOR
        SUPERVISOR = None
        posix.setsid()
        keep = posix.open('/dev/null', posix.O_RDWR)
        for fd in {self.fd_in, self.fd_out, self.wake[0], self.wake[1], self.root, *fds} - {0, 1, 2}:
            posix.close(fd)
        for fd in list(self.pipes) + ([self.put[0]] if self.put else []):
            posix.close(fd)
        for fd in (0, 1, 2):
            posix.dup2(keep, fd)
        posix.close(keep)
        _signal.set_wakeup_fd(-1)
        for number in (_signal.SIGCHLD, _signal.SIGTERM, _signal.SIGHUP, _signal.SIGQUIT, _signal.SIGUSR1, _signal.SIGUSR2, _signal.SIGALRM):
            _signal.signal(number, _signal.SIG_DFL)
        if self.hidden:
            prctl(4, 1)                         # PR_SET_DUMPABLE: the code may look at itself, now that the channel is closed
        if not self.alone:
            prctl(1, 9)                         # PR_SET_PDEATHSIG: in a test nobody ends us with the namespace
        try:
            fd = posix.open('/proc/self/oom_score_adj', posix.O_WRONLY)
            posix.write(fd, b'1000')            # when memory is gone the kernel takes the code, not the supervisor
            posix.close(fd)
        except OSError:
            pass
        if int(OPTIONS['nproc']):
            import resource
            limit = int(OPTIONS['nproc'])
            resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))

    def signal(self, number):
        try:
            posix.kill(-self.worker, number)    # its session, as a terminal would
        except OSError:
            try:
                posix.kill(self.worker, number)
            except OSError:
                pass
        if number == _signal.SIGKILL:
            try:
                posix.kill(self.worker, number)
            except OSError:
                pass

    def feed(self):
        while self.to_worker:
            try:
                self.sock.send(self.to_worker[0])
            except BlockingIOError:
                self.poll.modify(self.sock.fileno(), RDWR)
                return
            except OSError:
                self.to_worker = []             # it closed its end; the hang-up tells the rest
                return
            self.to_worker.pop(0)

    def message(self, events):
        """The worker's socket. Only a message that begins with the nonce of the cell under way counts."""
        if events & select.POLLOUT:
            self.poll.modify(self.sock.fileno(), select.POLLIN)
            self.feed()
        for _ in range(32):                     # bounded: the code can write here too
            if self.sock is None:
                return
            try:
                data, extra, _, _ = self.sock.recvmsg(1 << 18, 64)
            except BlockingIOError:
                return
            except OSError:
                data, extra = b'', ()
            fd = -1
            for level, what, value in extra:
                for i in range(0, len(value) - 3, 4):
                    if fd >= 0:
                        posix.close(fd)
                    fd = int.from_bytes(value[i:i + 4], sys.byteorder)
            mine = self.waiting and len(data) > 16 and data[:16] == self.nonce
            if mine and data[16:17] == b'F' and fd >= 0 and len(self.figures) < 20:
                self.figures.append(fd)
            elif fd >= 0:
                posix.close(fd)
            if mine and data[16:17] == b'R':
                self.answer(data[17:])
            if not data:                        # end, or an empty message, which the worker never sends
                self.poll.unregister(self.sock.fileno())
                self.sock.close()
                self.sock = None
                self.closed_at = time.monotonic()

    def relay(self, fd, keep=1, most=CHUNK):
        """Pass on what the code wrote; between cells nobody asked, so it is dropped and the writer does not block."""
        try:
            data = posix.read(fd, most)
        except BlockingIOError:
            return 0
        if not data:
            self.unpipe(fd)
        elif keep and self.waiting:
            self.send(self.pipes[fd], self.nonce, data)
        return len(data)

    def unpipe(self, fd):
        if self.reading:
            self.poll.unregister(fd)
        posix.close(fd)
        del self.pipes[fd]

    def gate(self):
        """The pipes are polled only while the outbox has room: back-pressure, with a bound on our memory."""
        want = self.unsent < QUEUE_HIGH
        if want != self.reading:
            self.reading = want
            for fd in self.pipes:
                if want:
                    self.poll.register(fd, select.POLLIN)
                else:
                    self.poll.unregister(fd)

    def drain(self):
        """What was written before the worker's answer. A pipe holds 64 KiB; a child that goes on writing gets no more than that."""
        for fd in list(self.pipes):
            left = 1 << 16
            while left > 0 and fd in self.pipes:
                n = self.relay(fd)
                if not n:
                    break
                left -= n

    def answer(self, body):
        self.drain()
        self.send(b'R', self.nonce, body)
        self.waiting = False
        self.collect(b'')

    def collect(self, ending):
        """The cell is over: see which files it made, send them, and close the request."""
        seen, self.seen = self.seen, self.scan()
        if self.figures or self.seen != seen:
            need('files')
            self.ending = ending
            self.sending = self.files(seen)     # noqa: from files.py
            self.more()
        else:
            self.finish(ending)

    def more(self):
        """Files go out a piece at a time, as the channel takes them."""
        while self.sending is not None and self.unsent < QUEUE_HIGH:
            try:
                next(self.sending)
            except StopIteration:
                self.finish(self.ending)

    def finish(self, ending):
        """The last frame of every request."""
        for fd in self.figures:
            posix.close(fd)
        self.sending, self.figures = None, []
        spent = int((time.monotonic() - self.began) * 1e6)
        self.send(b'Z', self.nonce, ending + tlv(b'd', b'%d' % spent) + (tlv(b'i', b'1') if self.interrupted else b''))
        self.nonce = None

    def scan(self):
        """Every file in the data folder with what changes when it does. Links are not followed; the number and the depth are bounded."""
        found, todo, root = {}, [(b'', 0)], OPTIONS['data'].encode()
        most = (int(OPTIONS['files']) or 10000) + 1000
        while todo and len(found) <= most:
            rel, depth = todo.pop()
            try:
                with posix.scandir(root + b'/' + rel) as entries:
                    for e in entries:
                        if e.is_dir(follow_symlinks=False):
                            if e.name[:1] != b'.' and e.name != b'__pycache__' and depth < 16:
                                todo.append((rel + e.name + b'/', depth + 1))
                            continue
                        st = e.stat(follow_symlinks=False)
                        found[rel + e.name] = (st.st_ino, st.st_size, st.st_mtime_ns, st.st_ctime_ns)
                        if len(found) > most:
                            break
            except OSError:
                pass
        return found

    # ---- death

    def reap(self):
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
            self.died(status)

    def died(self, status):
        """The worker ended. If its answer is already here it counts; then everything it left behind ends too, and a fresh one starts."""
        if self.sock is not None:
            self.message(select.POLLIN)
        if self.waiting:
            self.drain()
        cause = tlv(b'c', b'closed') if self.closed_kill else b''
        self.bury()
        self.spawn()
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
        for fd in list(self.pipes):
            self.unpipe(fd)
        self.reading, self.closed_at, self.closed_kill = True, 0.0, False
        until = time.monotonic() + 1.0
        while time.monotonic() < until:
            if self.alone:
                try:
                    posix.kill(-1, 9)           # only ever as the first process of a pid namespace
                except OSError:
                    pass
            else:
                need('requests')
                kill_descendants()              # noqa: from requests.py
            try:
                while posix.waitpid(-1, posix.WNOHANG)[0]:
                    pass
            except ChildProcessError:
                break
            time.sleep(0.001)
        self.worker = 0
        if self.helper:
            self.helper['status'] = 9

    # ---- the loop

    def serve(self):
        poll, interest, read_mask = self.poll, select.POLLIN, select.POLLIN
        poll.register(self.fd_in, read_mask)
        poll.register(self.wake[0], read_mask)
        same = self.fd_in == self.fd_out
        while True:
            self.flush()
            self.gate()
            wanted = RDWR if self.outbox else read_mask
            if wanted != interest:
                interest = wanted
                if same:
                    poll.modify(self.fd_in, wanted)
                elif wanted == RDWR:
                    poll.register(self.fd_out, select.POLLOUT)
                else:
                    poll.unregister(self.fd_out)
            dead = False
            for fd, events in poll.poll(50 if self.closed_at or self.helper else None):
                if fd in self.pipes:
                    self.relay(fd)
                elif fd == self.fd_in or fd == self.fd_out:
                    self.host(events)
                elif self.sock is not None and fd == self.sock.fileno():
                    self.message(events)
                elif fd == self.wake[0]:
                    try:
                        posix.read(fd, 4096)
                    except OSError:
                        pass
                    dead = True
                elif self.helper and fd == self.helper['fd']:
                    self.helper_read()          # noqa: from requests.py
            if dead:
                self.reap()                     # last, so that an answer sent before death is seen first
            self.more()
            if self.closed_at and time.monotonic() - self.closed_at > CLOSED_WAIT and self.worker:
                self.closed_kill = True         # the hang-up alone proves nothing: every death brings one
                self.signal(_signal.SIGKILL)
            if self.helper:
                self.helper_check()             # noqa: from requests.py


def dial(channel):
    """The channel to the program: (descriptor to read, to write). The first byte says whether a listening descriptor comes with it."""
    if channel == 'stdio':
        posix.read(0, 1)
        pair = posix.dup(0), posix.dup(1)
        null = posix.open('/dev/null', posix.O_RDWR)
        posix.dup2(null, 0)
        posix.dup2(null, 1)
        posix.close(null)
        return pair
    if channel[:3] == 'fd:':
        sock = _socket.socket(fileno=int(channel[3:]))
    else:
        sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        sock.connect(channel[5:])
    sock.settimeout(30)
    data, extra, _, _ = sock.recvmsg(1, 64)
    if not data:
        posix._exit(0)
    for level, what, value in extra:            # for sandboxes that outlive the program; none do yet
        posix.close(int.from_bytes(value[:4], sys.byteorder))
    fd = sock.detach()
    posix.set_inheritable(fd, False)
    return fd, fd


def find_packages():
    """Folders for sys.path (site is not run, for speed) and what in them is worth naming to a model, found by name alone."""
    version = '/python%d.%d/' % sys.version_info[:2]
    names, found = ('numpy', 'pandas', 'matplotlib', 'scipy', 'scikit_learn', 'sympy', 'openpyxl', 'pillow'), {}
    for folder in (sys.prefix + '/local/lib' + version + 'dist-packages', '/usr/local/lib' + version + 'dist-packages',
                   sys.prefix + '/lib' + version + 'site-packages', '/usr/local/lib' + version + 'site-packages',
                   '/usr/lib/python3/dist-packages'):
        try:
            entries = posix.listdir(folder)
        except OSError:
            continue
        if folder not in sys.path:
            sys.path.append(folder)
        for e in entries:
            if e.endswith(('.dist-info', '.egg-info')):
                name, _, rest = e[:-10].partition('-')
                name = name.lower()
                if name in names and name not in found:
                    found[name] = '%s %s' % (name.replace('_', '-'), '.'.join(rest.split('-')[0].split('.')[:2]))
    return ', '.join(found[n] for n in names if n in found)


def main():
    global SUPERVISOR
    for word in sys.argv[2:]:
        key, _, value = word.partition('=')
        OPTIONS[key] = value
    # As first process we would take a signal from inside only if a handler were set: Python sets one for SIGINT.
    for number in (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP, _signal.SIGQUIT, _signal.SIGUSR1, _signal.SIGUSR2, _signal.SIGALRM):
        _signal.signal(number, _signal.SIG_IGN)
    s = SUPERVISOR = Supervisor(*dial(sys.argv[1]))
    for fd in (s.fd_in, s.fd_out):
        posix.set_blocking(fd, False)
    s.wake = posix.pipe2(posix.O_CLOEXEC | posix.O_NONBLOCK)
    _signal.signal(_signal.SIGCHLD, lambda *_: None)
    _signal.set_wakeup_fd(s.wake[1], warn_on_full_buffer=False)
    posix.chdir(OPTIONS['data'])
    s.root = posix.open(OPTIONS['data'], posix.O_RDONLY | posix.O_DIRECTORY | posix.O_CLOEXEC)
    s.hidden = False
    packages = find_packages()
    s.spawn()                                   # before we hide: the child need not undo it
    s.hidden = prctl(4, 0)                      # PR_SET_DUMPABLE 0: /proc/PID/{fd,mem,environ} of ours are closed to the code
    if not s.alone:
        prctl(36, 1)                            # PR_SET_CHILD_SUBREAPER: in a test, orphans come to us as they would to PID 1
    s.seen = s.scan()
    s.send(b'H', NONE, tlv(b'v', VERSION) + tlv(b'p', ('%d.%d.%d' % sys.version_info[:3]).encode()) + tlv(b'k', packages.encode())
           + (tlv(b'1', b'1') if s.alone else b'') + (tlv(b'd', b'1') if s.hidden else b''))
    s.serve()
