# requests.py - part of the supervisor, compiled when first needed: files in, reset, profile, arguments,
# inventory, the terminal.

HELPER_WAIT = 20.0
DEATH_WAIT = 0.02               # seconds within which a worker's death is known after its pipes are closed
WITH = '/tmp/.with-packages'
LIST_MOST = 2000                # maximum bytes of the names of variables, and of files, in an inventory


need('helper')


def request(self, kind, nonce, body):
    if kind == TO_GUEST_PROCESS:
        need('processes')
        self.process_frame(body)                # noqa: from processes.py
    elif kind == TO_GUEST_PUT:                          # a file comes in: its name, then data, then commit
        self.begin(nonce)
        put_end(self)
        if any(part in (b'', b'.', b'..') for part in body.split(b'/')):
            self.finish(tlv(b'e', b'not a file name'))
            return
        try:
            if body[:1] == b'\0':               # of a package, not of the user's
                body, self.put_root = body[1:], packages_root()
            name = PUT_NAME + nonce.hex().encode()  # the code cannot know this name beforehand
            flags = posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL | posix.O_NOFOLLOW | posix.O_CLOEXEC
            self.put = [posix.open(name, flags, 0o644, dir_fd=self.put_root), body, name]
        except OSError as e:
            self.finish(failed(e))
    elif self.put is not None and nonce == self.nonce and kind in (TO_GUEST_DATA, TO_GUEST_COMMIT):
        try:
            while body:
                body = body[posix.write(self.put[0], body):]
            if kind == TO_GUEST_COMMIT and self.put[2] is None:
                self.pixels_decode()            # noqa: from pixels.py
            elif kind == TO_GUEST_COMMIT:
                # Renamed over whatever is there: a link that the code planted under this name is replaced,
                # not followed.
                folder = open_folder(self.put_root, self.put[1], make=True)     # noqa: from start.py
                try:
                    posix.rename(self.put[2], self.put[1].rsplit(b'/', 1)[-1], src_dir_fd=self.put_root,
                                 dst_dir_fd=folder)
                finally:
                    posix.close(folder)
                st = posix.fstat(self.put[0])
                if self.put_root == self.root:
                    self.seen[self.put[1]] = (st.st_ino, st.st_size, st.st_mtime_ns, st.st_ctime_ns)
                posix.close(self.put[0])
                self.put = None
                put_end(self)
                self.finish(b'')
        except OSError as e:
            put_end(self)
            self.finish(failed(e))
    elif kind == TO_GUEST_ABORT and self.put is not None:
        put_end(self)
        self.finish(b'')
    elif kind == TO_GUEST_RESET:
        self.begin(nonce)
        need('reap')
        if self.snapshot is not None:
            self.drop_snapshot(b'')             # noqa: from recover.py
        self.due = self.captured_at = 0.0
        self.kill_all()                             # noqa: from reap.py
        self.ran.clear()
        self.adopt(*fork_worker(self.ours(), self.hidden, self.alone))    # noqa: from start.py
        self.finish(b'')
    elif kind == TO_GUEST_PROFILE:
        self.begin(nonce)
        helper_examine(self, body)
    elif kind == TO_GUEST_PIXELS:
        self.begin(nonce)
        put_end(self)
        need('pixels')
        self.pixels_begin(body)                 # noqa: from pixels.py
    elif kind in (TO_GUEST_COMMAND, TO_GUEST_GET, TO_GUEST_LIST):
        need('commands')
        self.beside(kind, nonce, body)          # noqa: from commands.py
    elif kind == TO_GUEST_LANGUAGE:
        need('languages')
        self.run_in(nonce, body)                # noqa: from languages.py
    elif kind == TO_GUEST_COPY:
        self.begin(nonce)
        need('copies')
        self.copy_begin(body)                   # noqa: from copies.py
    elif kind == TO_GUEST_INVENTORY:
        self.begin(nonce)
        self.ask_worker(kind, ORDER_INVENTORY + body)


def answered(self, body):
    """The worker's answer to TO_GUEST_INVENTORY or _COPY; empty if it does not answer."""
    if self.task == TO_GUEST_COPY:
        self.copy_end(body)                     # noqa: from copies.py
        return
    names = {path.split(b'/')[0] for path in self.scan()}
    files = b', '.join(sorted(name for name in names if name[:1] != b'.' and name != b'__pycache__')[:50])
    self.finish(tlv(b't', body[:LIST_MOST].replace(b'\n', b' ') + b'\n' + files[:LIST_MOST]))


def packages_root():
    """A descriptor of the folder for packages that could not be mounted. Code that made something else in its
    place gets none."""
    try:
        posix.mkdir(WITH, 0o755)
    except FileExistsError:
        pass
    return posix.open(WITH, posix.O_RDONLY | posix.O_DIRECTORY | posix.O_NOFOLLOW | posix.O_CLOEXEC)


def put_end(self):
    if self.put is not None:
        (fd, _, name), self.put = self.put, None
        if name is None:
            self.drop_figure()                        # an image to be decoded, in a memory file
            return
        posix.close(fd)
        try:
            posix.unlink(name, dir_fd=self.put_root)
        except OSError:
            pass
    if self.put_root != self.root:
        posix.close(self.put_root)
        self.put_root = self.root


def helper_examine(self, body):
    """Answer with what a module of the program's says of a file. body: u32 length of the file's name, the
    name, flags, the module's parts."""
    size = 4 + int.from_bytes(body[:4], 'little')
    path, flags, parts = OPTIONS['data'].encode() + b'/' + body[4:size], body[size], body[size + 1:]

    def answer(text):
        self.finish(tlv(b't', text))

    def work():
        module = examiner(memoryview(parts))            # noqa: from helper.py
        return examine(module, flags, path.decode('utf-8', 'surrogateescape'))      # noqa: from helper.py

    def start():
        helper_start(self, work, answer)
    in_copy = flags & EXAMINE_IN_COPY and self.fresh and len(path) < SHORT     # noqa: from helper.py
    if not (in_copy and order_examine(self, flags, path, parts, answer, start)):
        start()


def order_examine(self, flags, path, parts, then, instead):
    """Have the worker, in which no cell has run yet, make a copy of itself that examines the file. False if
    it cannot be told. instead: what is done if there can be no copy."""
    memory = fd = theirs = -1
    try:
        memory = posix.memfd_create('parts', posix.MFD_CLOEXEC)
        while parts:
            parts = parts[posix.write(memory, parts):]
        posix.lseek(memory, 0, 0)
        fd, theirs = posix.pipe2(posix.O_CLOEXEC)
        fds = memory.to_bytes(4, sys.byteorder) + theirs.to_bytes(4, sys.byteorder)
        order = bytes(16) + ORDER_EXAMINE + (1 + len(path)).to_bytes(4, 'little')
        self.sock.sendmsg([order + bytes((flags,)) + path], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, fds)])
    except (OSError, AttributeError):
        if fd >= 0:
            posix.close(fd)
        fd = -1
    for one in memory, theirs:
        if one >= 0:
            posix.close(one)
    if fd >= 0:
        helper_watch(self, 0, fd, then, instead)
    return fd >= 0


def helper_start(self, work, then, keep=-1):
    """Call work() in its own child, which has the descriptor to keep, and then(the text that it returned)
    here: the user's interpreter stays untouched, and a reader that uses up memory dies alone."""
    fd, theirs = posix.pipe2(posix.O_CLOEXEC)
    try:
        pid = fork_child((self.ours() | {fd}) - {keep}, self.hidden, self.alone)    # noqa: from start.py
    except OSError as e:
        # what the code left running uses all processes or all memory
        posix.close(fd)
        posix.close(theirs)
        self.finish(tlv(b'e', b'no process for it: ' + e.strerror.encode()))
        return
    if pid == 0:
        help_and_exit(work, theirs)             # noqa: from helper.py
    posix.close(theirs)
    helper_watch(self, pid, fd, then)


def helper_watch(self, pid, fd, then, instead=None):
    """pid is 0 until the helper says it, if a copy of the worker is to be one; instead() is called if there
    can be none, at the time again."""
    posix.set_blocking(fd, False)
    self.poll.register(fd, select.POLLIN)
    self.helper = {'pid': pid, 'fd': fd, 'data': b'', 'status': None, 'then': then, 'instead': instead,
                   'again': 0.0, 'until': time.monotonic() + HELPER_WAIT}


def signal_session(pid, number):
    """Signal a process and its whole session, as a terminal would."""
    for one in (-pid, pid):
        try:
            posix.kill(one, number)
        except OSError:
            pass


def helper_read(self):
    h = self.helper
    try:
        data = posix.read(h['fd'], 8192)
    except OSError:
        return
    h['data'] += data
    if h['instead'] and b'\n' in h['data']:
        said, _, h['data'] = h['data'].partition(b'\n')
        pid = int(said) if said.isdigit() and len(said) < 10 else 0
        need('recover')
        h['pid'], h['instead'] = pid if pid > 1 and a_child(pid) else 0, None       # noqa: from recover.py
    if not data and h['instead']:               # if the worker has died, that is to be dealt with before
        self.poll.unregister(h['fd'])
        h['again'] = time.monotonic() + DEATH_WAIT
    elif not data or len(h['data']) > 8192:
        self.helper_end(b'')


def helper_check(self):
    if self.helper['status'] is not None:
        self.helper_read()                      # read what it wrote before it ended
        if self.helper:
            self.helper_end(b'the helper was killed')
    elif 0 < self.helper['again'] < time.monotonic():
        helper_forget(self)['instead']()
    elif time.monotonic() > self.helper['until']:
        self.helper_end(b'it took more than %d s' % HELPER_WAIT)


def helper_forget(self):
    h, self.helper = self.helper, None
    try:
        self.poll.unregister(h['fd'])
    except KeyError:
        pass                                    # it has ended
    posix.close(h['fd'])
    return h


def helper_end(self, why):
    h = helper_forget(self)
    if h['status'] is None and h['pid']:
        signal_session(h['pid'], _signal.SIGKILL)
    data = h['data']
    if data[:1] == b'+' and len(data) <= 8192:
        h['then'](data[1:4097])
    else:
        self.finish(tlv(b'e', (data[1:1000] if data[:1] == b'-' else why)
                        or b'the helper ended without a word'))


Supervisor.request, Supervisor.answered, Supervisor.helper_start = request, answered, helper_start
Supervisor.helper_read, Supervisor.helper_check, Supervisor.helper_end = helper_read, helper_check, helper_end
