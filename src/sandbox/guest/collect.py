# collect.py - what a cell leaves: its figures while they come, its files when it is over, and the frame that
# ends its request. Methods of the supervisor that every cell needs.
#
# RULE: Which files a cell made is said before its request ends, and the request ends once.

LEVELS_MOST = 16                # folders below each other; what is deeper is not looked at
FILES_MOST, FILES_OVER = 10000, 1000            # where OPTIONS has no limit; so many more are looked at
FIGURES_MOST = 70               # figures of a cell in all forms, and forms of its value
PICTURES_MOST = 8               # of figures without their texts, of all cells
UNKEPT = '/tmp', '/dev/shm', '/var/tmp'         # other folders that code may write to


def changed_at(path):
    """When the folder got or lost a name; 0 if that is now, so that the next change may have the same time;
    None where there is none that we can write to."""
    now = file_clock()
    try:
        when = posix.stat(path).st_mtime_ns
    except OSError:
        return None
    return when if when < now else 0


def take_figure(self, kind, body):
    """A figure comes in pieces: begin, data, end. One without an end is dropped. One that is too big to
    be copied out, alone or with those before it, is measured but not kept: it takes memory of the sandbox."""
    if kind == RECORD_FIGURE:
        self.drop_figure()
        self.kept = self.kept if self.figures else 0
        if len(self.figures) < FIGURES_MOST and self.task == TO_GUEST_RUN:
            self.figure, self.form = figure_file(), body
    elif self.figure < 0:
        return
    elif kind == RECORD_FIGURE_DATA:
        try:
            size = posix.fstat(self.figure).st_size
            if size + len(body) <= self.file_most and self.kept + len(body) <= self.cell_most:
                posix.pwrite(self.figure, body, size)
                self.kept += len(body)
            else:
                self.kept -= min(size, posix.fstat(self.figure).st_blocks * 512)
                posix.ftruncate(self.figure, 0)
                posix.ftruncate(self.figure, size + len(body))
        except OSError:
            self.drop_figure()
    elif kind == RECORD_FIGURE_END and self.form[:1] == b'#':
        self.keep_picture()
    elif kind == RECORD_FIGURE_END:
        self.figures[self.figure] = self.form
        self.figure = -1


def keep_picture(self):
    """Of a figure without its texts, until it is asked for (pixels.py)."""
    st = posix.fstat(self.figure)
    self.kept -= min(self.kept, st.st_blocks * 512)
    if st.st_blocks * 512 < st.st_size:
        self.drop_figure()
        return
    if len(self.pictures) == PICTURES_MOST:
        oldest = next(iter(self.pictures))
        del self.pictures[oldest]
        posix.close(oldest)
    self.pictures[self.figure] = self.form
    self.figure = -1


def drop_figure(self):
    if self.figure >= 0:
        posix.close(self.figure)
        self.figure = -1


def collect(self, ending):
    """The cell is over: find the files it made, send them, and close the request."""
    if self.task not in (TO_GUEST_RUN, TO_GUEST_COMMAND, TO_GUEST_LANGUAGE):
        self.finish(ending)
        return
    for path, when in self.elsewhere.items():
        if not when or changed_at(path) != when:
            need('elsewhere')
            self.look_elsewhere()               # noqa: from elsewhere.py
            break
    if self.still and self.still == posix.fstat(self.root).st_ctime_ns and not self.figures:
        self.finish(ending)                 # it was empty, and nothing was made in it since
        return
    seen, entries, self.seen = self.seen, self.entries, self.scan()
    if self.figures or self.seen != seen or self.entries != entries:
        need('copy_out')
        self.ending = ending
        self.sending = self.files_out(seen)  # noqa: from copy_out.py
    else:
        self.finish(ending)


def more(self):
    """Send files one piece at a time, as the channel takes them."""
    while self.sending is not None and len(self.outbox) < QUEUE_HIGH:
        try:
            next(self.sending)
        except StopIteration:
            self.finish(self.ending)


def cut_short(self, more):
    """Send no more files, but still report the end of the cell."""
    self.sending.close()
    self.sending, self.ending = iter(()), self.ending + more


def finish(self, ending):
    """Send the last frame of a request."""
    for fd in self.figures:
        posix.close(fd)
    if self.figure >= 0:
        self.drop_figure()
    self.sending, self.figures, now = None, {}, time.monotonic()
    if self.taken:
        ending += tlv(b'o', b'%d' % self.taken)
        self.taken = 0
    self.send(FROM_GUEST_END, self.nonce, ending + (tlv(b'i', b'1') if self.interrupted else b''))
    self.nonce = None
    task, self.task = self.task, b''
    if self.snapshots and task == TO_GUEST_RUN:
        self.ended += 1
        # Whoever waits for the result gets the processor first, unless the next cell would wait anyway.
        self.due = NEVER if OPTIONS['late'] else now + PAUSE if now - self.captured_at < INTERVAL else now


def scan(self):
    """Every file in the data folder, with values that change when the file does. Links are not followed;
    the number of entries, folders included, and the depth are bounded: a folder too deep is an entry."""
    found, todo, root, count = {}, [(b'', 0)], OPTIONS['data'].encode(), 0
    most = (int(OPTIONS['files']) or FILES_MOST) + FILES_OVER
    now, changed = file_clock(), posix.fstat(self.root).st_ctime_ns
    while todo and count <= most:
        rel, depth = todo.pop()
        try:
            with posix.scandir(root + b'/' + rel) as entries:
                for e in entries:
                    count += 1
                    if count > most:
                        break
                    if e.is_dir(follow_symlinks=False):
                        left_out = e.name[:1] == b'.' or e.name == b'__pycache__'
                        if depth < LEVELS_MOST and not left_out:
                            todo.append((rel + e.name + b'/', depth + 1))
                        if depth < LEVELS_MOST or left_out:
                            continue
                    st = e.stat(follow_symlinks=False)
                    found[rel + e.name] = (st.st_ino, st.st_size, st.st_mtime_ns, st.st_ctime_ns)
        except OSError:
            pass
    self.entries = count
    self.still = changed if not count and changed < now else 0      # else the next change may have that time
    return found


def figure_file():
    """A memory file of ours; -1 if none can be had. Python may be built for a C library without
    memfd_create."""
    try:
        return posix.memfd_create('figure')
    except (AttributeError, OSError):
        pass
    try:
        return posix.open('/tmp', posix.O_TMPFILE | posix.O_RDWR | posix.O_CLOEXEC, 0o600)
    except (AttributeError, OSError):
        return -1


Supervisor.take_figure, Supervisor.drop_figure = take_figure, drop_figure
Supervisor.keep_picture = keep_picture
Supervisor.collect, Supervisor.more, Supervisor.scan = collect, more, scan
Supervisor.cut_short, Supervisor.finish = cut_short, finish
