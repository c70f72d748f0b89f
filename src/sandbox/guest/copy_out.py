# copy_out.py - part of the supervisor, compiled when a cell has made or changed files: sends them to the
# program, one piece at a time. The code chooses names and inodes. Every folder on the way is opened without
# following links, and only regular files on the data folder's own file system are read, so that a link cannot
# make us send a file that only we can open.

COUNT_MOST, LOST_NAMED = 100, 10              # files per cell; how many of those not sent are named
SMALL = 16 << 20                # bytes of a file that is copied even if files fill the memory
NOTES_MOST = 10                 # what is no regular file, or could not be read
ELOOP = 40                      # the errno where a link stands and none is followed
# The file names for forms of the cell's value, and of figures, that are not PNG. Every other form is a figure
# in PNG.
FORM_NAMES = {b'=svg': b'image-%d.svg', b'=html': b'value-%d.html', b'+svg': b'figure-%d.svg',
              b'+pdf': b'figure-%d.pdf'}
FIGURE = b'figure-%d.png'
IMAGES = (b'.png', b'.jpg', b'.jpeg', b'.svg', b'.pdf', b'.webp', b'.gif')


def open_beneath(root, path):
    """A descriptor for a regular file below root, or OSError. Never blocks on a FIFO."""
    flags = posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_NONBLOCK | posix.O_NOCTTY | posix.O_CLOEXEC
    folder = open_folder(root, path)            # noqa: from start.py
    try:
        return posix.open(path.rsplit(b'/', 1)[-1], flags, dir_fd=folder)
    finally:
        posix.close(folder)


def shown(path):
    # it will be quoted in one of our lines
    return ''.join(c if c.isprintable() else '\ufffd' for c in path.decode('utf-8', 'replace')[:200])


def beside_database(self, path):
    """Is it one that SQLite keeps beside a database here, and that holds nothing of it? Reading is enough to
    make them. A log that is not empty may hold what was written last."""
    base, _, kind = path.rpartition(b'-')
    if kind != b'shm' and (kind not in (b'wal', b'journal') or self.seen[path][1]):
        return False
    try:
        fd = open_beneath(self.root, base)
    except OSError:
        return False
    try:
        return posix.pread(fd, 16, 0) == b'SQLite format 3\0'
    except OSError:
        return False
    finally:
        posix.close(fd)


def files_out(self, before):
    """A generator: one frame per step. An interrupt closes it early."""
    changed = sorted(p for p, identity in self.seen.items() if before.get(p) != identity
                     and not p.startswith(PUT_NAME) and not beside_database(self, p))
    notes, lost, over, sent, total = [], [], [], 0, 0
    file_most, cell_most, why_large = self.file_most, self.cell_most, b'm'
    memory = int(OPTIONS['memory'])
    if file_most > SMALL and memory and memory_left() < memory // 8:    # noqa: from start.py
        file_most, why_large = SMALL, b'f'      # to copy a large one would be the end of the sandbox
    device = posix.fstat(self.root).st_dev
    fresh_images = sum(1 for p in changed if p.lower().endswith(IMAGES))
    figures, self.figures = self.figures, {}
    drawn = sum(1 for form in figures.values() if form not in FORM_NAMES)
    try:
        for fd, form in figures.items():
            # as many new images as figures: the code has saved them itself
            if form[:1] == b'=' and form in FORM_NAMES or fresh_images < drawn:
                st, name = posix.fstat(fd), FORM_NAMES.get(form, FIGURE)
                like = FIGURE if form[:1] == b'+' else name     # it has the number of its PNG
                self.named[like] = self.named.get(like, 0) + (like == name)
                name %= self.named[like]
                if st.st_mode & 0o170000 != 0o100000 or st.st_size < 1:
                    notes.append('%s: not a regular file' % shown(name))
                    continue
                kept = st.st_blocks * 512 >= st.st_size     # see take_figure()
                if not kept or st.st_size > file_most or total + st.st_size > cell_most:
                    lost.append((why_large if st.st_size > file_most else b't', st.st_size, name))
                    continue
                try:
                    posix.pread(fd, 1, 0)
                except OSError as e:            # a descriptor sent by the code that is not open for reading
                    notes.append('%s: %s' % (shown(name), e.strerror))
                    continue
                yield from send_file(self, fd, name, st.st_size, tlv(b'g', form))
                total += st.st_size
    finally:
        for fd in figures:
            posix.close(fd)
    for path in changed:
        fd = -1
        try:
            fd = open_beneath(self.root, path)
            st = posix.fstat(fd)
            if st.st_mode & 0o170000 == 0o040000:
                # LEVELS_MOST: from collect.py
                notes.append('%s: not saved: more than %d folders deep' % (shown(path), LEVELS_MOST))
            elif st.st_mode & 0o170000 != 0o100000 or st.st_dev != device:
                notes.append('%s: not a regular file' % shown(path))
            elif st.st_size > file_most or total + st.st_size > cell_most:
                lost.append((why_large if st.st_size > file_most else b't', st.st_size, path))
            elif sent == COUNT_MOST:
                over.append(path)
            else:
                yield from send_file(self, fd, path, st.st_size, b'')
                total += st.st_size
                sent += 1
        except FileNotFoundError:
            pass                                # already gone: a temporary file
        except OSError as e:
            why = 'not saved: it is a link, and links are not followed' if e.errno == ELOOP else e.strerror
            notes.append('%s: %s' % (shown(path), why))
        finally:
            if fd >= 0:
                posix.close(fd)
    if len(notes) > NOTES_MOST:
        notes[NOTES_MOST:] = ['... and %d more' % (len(notes) - NOTES_MOST)]
    limit = int(OPTIONS['files'])
    if limit and self.entries > limit:
        notes.append('/mnt/data has more than %d files, the limit (folders count): remove some' % limit)
    if over:
        lost.insert(0, (b'c', len(over), over[0]))      # in place of a size: the number of files
    self.ending += b''.join(tlv(b'l', why + b'%d ' % size + shown(path).encode()) for why, size,
                            path in lost[:LOST_NAMED])
    if len(lost) > LOST_NAMED:
        self.ending += tlv(b'm', b'%d' % (len(lost) - LOST_NAMED))
    if notes:
        self.send(FROM_GUEST_NOTE, self.nonce, '\n'.join(notes).encode('utf-8', 'replace')[:4096])


def send_file(self, fd, name, size, more):
    self.send(FROM_GUEST_FILE, self.nonce, tlv(b'n', name) + tlv(b's', b'%d' % size) + more)
    at = 0
    while at < size:
        data = posix.pread(fd, min(CHUNK, size - at), at)
        if not data:
            break                               # the file became shorter while we read it
        at += len(data)
        self.send(FROM_GUEST_DATA, self.nonce, data)
        yield
    self.send(FROM_GUEST_FILE_END, self.nonce)
    yield


Supervisor.files_out = files_out
