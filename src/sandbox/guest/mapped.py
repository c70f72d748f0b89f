# mapped.py - files that the code writes through a memory map. In a tmpfs that changes no time of the file, so
# the supervisor would not find it changed. While such a map lives, the content is compared after each cell,
# and a file whose content has changed is touched. Loaded by the import of mmap.

SHARED_READ, PRIVATE = 1, 3     # mmap.ACCESS_READ, ACCESS_COPY: nothing is written to the file


class Mapped:
    def __init__(self, folder):
        self.folder = folder
        self.files = {}                         # path -> ((device, inode), checksum, or None: not known yet)

    def on_event(self, event, args):
        """An audit hook: it sees every map that Python makes, also those of numpy.memmap."""
        if event != 'mmap.__new__':
            return
        try:
            fd, _, access, _ = args
            import fcntl
            if access in (SHARED_READ, PRIVATE) or not fcntl.fcntl(fd, fcntl.F_GETFL) & posix.O_ACCMODE:
                return
            path = posix.readlink('/proc/self/fd/%d' % fd)
            if path.startswith(self.folder + '/'):
                self.files[path] = identity(posix.fstat(fd)), None
        except BaseException:
            pass                                # an anonymous map; or one that fails anyway

    def touch_changed(self):
        if not self.files:
            return
        alive = shared_inodes()
        for path, (known, before) in list(self.files.items()):
            try:
                if identity(posix.lstat(path)) != known:
                    raise FileNotFoundError     # another one has its name
                now = checksum(path)
                if now != before:
                    posix.utime(path)
                self.files[path] = known, now
                if known[1] not in alive:
                    del self.files[path]
            except OSError:
                del self.files[path]


def identity(st):
    return st.st_dev, st.st_ino


def shared_inodes():
    """The inodes that this process has mapped shared."""
    with open('/proc/self/maps', 'rb') as lines:
        return {int(line.split(None, 5)[4]) for line in lines if line.split(None, 2)[1][3:] == b's'}


def checksum(path):
    import zlib
    value = 0
    with open(path, 'rb', 0) as f:
        while True:
            piece = f.read(1 << 20)
            if not piece:
                return value
            value = zlib.crc32(piece, value)


def watch_maps(worker):
    mapped = Mapped(OPTIONS['data'])
    sys.addaudithook(mapped.on_event)
    worker.touch_changed = mapped.touch_changed
