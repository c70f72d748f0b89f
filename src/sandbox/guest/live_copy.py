# live_copy.py - part of the worker, compiled when first needed: writes all that the interpreter is into a
# memory file of the program's, and goes on from such a file in another sandbox, which has walls, limits and
# a supervisor of its own. Between the two nothing is shared but the pages of that file, which is sealed by
# then: whoever changes one gets a page of its own, as after a fork.
#
# The file: the lengths of two parts, the files of the data folder, the memory, and a description of both
# (marshal). Nobody outside reads it. Who goes on from it is as much the code's as the one that wrote it.
#
# A process cannot replace its own memory in Python, so both ways end in a list of system calls that a few
# instructions carry out one after another. They use no memory but the list: while it is carried out
# nothing changes that is being written, and everything else may be unmapped.
#
# RULE: A copy goes on in a sandbox of its own, and what it shares with others can be changed by none of them.

# push rbx, rbp, r12-r15; [rdi] = rsp; r12 = rdi
# for (rbx = rdi + 64; [rbx] != -1; rbx += 64)
#     if ([rbx] == -2) copy [rbx + 24] bytes from [rbx + 16] to [rbx + 8]
#     else [rbx] = syscall([rbx], [rbx + 8] ... [rbx + 48]); expect [rbx + 56] unless that is -1
# eax = 0; if ([r12 + 8]) rsp = [r12 + 8], eax = 1; pop r15-r12, rbp, rbx; ret
# not as expected: [r12 + 8] ? exit_group(71) : return -1
CARRY_OUT = bytes.fromhex(
    '535541544155415641574889274989fc488d5f40488b034883f8ff743d488b7b08488b7310488b53184c8b53204c8b43'
    '284c8b4b304883f8fe74140f05488903483b4338740e48837b38ff7529eb054889d1f3a44883c340ebba31c0498b4c24'
    '084885c974054889ccffc0415f415e415d415c5d5bc349837c240800b8ffffffff74e8bf47000000b8e70000000f05')
# system calls of x86-64
READ, SEEK, READ_AT, MMAP, PROTECT, MUNMAP, MOVE, BRK = 0, 8, 17, 9, 10, 11, 25, 12
ACTION, ALT_STACK, PRCTL, ARCH, TID_ADDRESS, ROBUST, RSEQ = 13, 131, 157, 158, 218, 273, 334
RSEQ_SIGN = 0x53053053
MAP_PRIVATE, MAP_SHARED, MAP_FIXED, MAP_ANONYMOUS = 2, 1, 16, 32
MAP_GROWSDOWN, MAP_NORESERVE, MAP_FIXED_NOREPLACE = 0x100, 0x4000, 0x100000
WORD = (1 << 64) - 1
ANY = END = WORD                # of a list: any result will do; it ends
MOVE_BYTES = WORD - 1
SMALL_PAGE, LIST_AT = 1 << 12, 1 << 12
ZONE = 32 << 20                 # bytes: the instructions, the list, then
LOOK_AT = 11 << 20              # another list, which reads /proc/self/maps
MAPS_AT = 12 << 20              # to here, or to behind it,
WINDOW_AT = 15 << 20            # a part of the file to write to,
DATA_AT = ZONE - (1 << 20)      # what the list refers to, and where what the kernel maps waits meanwhile
ASIDE_AT = DATA_AT + (1 << 18)
WINDOW = DATA_AT - WINDOW_AT
LOOKS = 256                     # of a page each
GAP = 1 << 16                   # bytes around what was touched that are written as well
READ_IN = 1 << 18               # what is smaller is read in, not mapped
TOP = 0x7ffffffff000
TRIES = 20
NO_ROOM = 'it takes more memory than its sandbox may have'
SPARE = 1 << 25                 # bytes of it: for a window, the list and what is not the worker's
KERNEL = b'[vdso', b'[vvar', b'[vsyscall'


class NoCopy(Exception):
    """Says in words for the user why there is none."""


def row(number, *words, expect=0):
    return b''.join((w & WORD).to_bytes(8, 'little')
                    for w in (number, *words, *(0,) * (6 - len(words)), expect))


class Zone:
    """Memory at an address that is free here and where the copy goes on."""

    def __init__(self, taken):
        import _ctypes

        class Word(_ctypes._SimpleCData):
            _type_ = 'P'

        class Byte(_ctypes._SimpleCData):
            _type_ = 'B'

        class Bytes(_ctypes.Array):
            _type_, _length_ = Byte, ZONE
        self.ctypes, self.word, self.at = _ctypes, Word, free_range(taken, ZONE)
        library = _ctypes.dlopen(None, 2)
        self.symbol = lambda name: _ctypes.dlsym(library, name)
        # the results are cut to 32 bits here, which do to tell whether it is the address that was asked for
        mapped = self.call(self.symbol('mmap'), self.at, ZONE, 3,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, WORD, 0)
        if mapped & 0xffffffff != self.at & 0xffffffff:
            raise NoCopy('there is no memory for it')
        self.bytes = memoryview(Bytes.from_address(self.at)).cast('B')
        self.bytes[:len(CARRY_OUT)] = CARRY_OUT
        if self.call(self.symbol('mprotect'), self.at, LIST_AT, 5):
            raise NoCopy('code cannot be made executable here')

    def call(self, address, *words):
        return self.ctypes.call_function(address, tuple(self.word(w & WORD) for w in words))

    def number(self, at):
        return int.from_bytes(self.bytes[at:at + 8], 'little')

    def fill(self, rows, stack=0, at=LIST_AT):
        """The list to be carried out. stack: where to go on behind it, in place of returning."""
        if len(rows) > LOOK_AT - LIST_AT - 128:
            raise NoCopy('its memory is in too many pieces')
        self.bytes[at:at + 64] = bytes(8) + stack.to_bytes(8, 'little') + bytes(48)
        self.bytes[at + 64:at + 64 + len(rows)] = rows
        self.bytes[at + 64 + len(rows):at + 128 + len(rows)] = row(END)

    def carry_out(self, at=LIST_AT):
        """0, -1 if a result was not as expected, or 1 in the copy."""
        return self.call(self.at, self.at + at)

    def prepare_look(self, maps, turn):
        """The next carry_out(LOOK_AT) reads what is mapped at that moment, into one of two places."""
        at = self.at + MAPS_AT + (turn & 1) * LOOKS * SMALL_PAGE
        rows = [row(SEEK, maps, 0, 0)]
        rows += [row(READ, maps, at + i * SMALL_PAGE, SMALL_PAGE, expect=ANY) for i in range(LOOKS)]
        self.fill(b''.join(rows), at=LOOK_AT)

    def looked(self, turn):
        """What it read, without a copy."""
        sizes = [self.number(LOOK_AT + 128 + 64 * i) for i in range(LOOKS)]
        used = sizes.index(0) if 0 in sizes else LOOKS
        if used == LOOKS or max(sizes) > SMALL_PAGE:
            raise NoCopy('its memory is in too many pieces')
        at = MAPS_AT + (turn & 1) * LOOKS * SMALL_PAGE
        return [self.bytes[at + i * SMALL_PAGE:at + i * SMALL_PAGE + sizes[i]] for i in range(used)]

    def ask(self, *words):
        """The result of one system call, in 64 bits."""
        self.fill(row(*words, expect=ANY))
        self.carry_out()
        return self.number(LIST_AT + 64)

    def window(self, fd, at):
        """The part of the file from there on. A write() to it would be held to the size of the code's files
        (RLIMIT_FSIZE)."""
        self.fill(row(MMAP, self.at + WINDOW_AT, WINDOW, 3, MAP_SHARED | MAP_FIXED, fd, at, expect=ANY))
        if self.carry_out() or self.number(LIST_AT + 64) != self.at + WINDOW_AT:
            raise NoCopy('there is no memory for it')
        return self.bytes[WINDOW_AT:DATA_AT]

    def pointer(self, name):
        """The value of a variable of the C library's; 0 where it has none."""
        try:
            return self.word.from_address(self.symbol(name)).value or 0
        except OSError:
            return 0

    def release(self):
        self.bytes = None
        self.call(self.symbol('munmap'), self.at, ZONE)


def free_range(taken, size):
    end = 1 << 40
    for first, last in sorted(taken) + [(0x700000000000, 0)]:
        if first >= end + size + (2 << 20):
            return end + (1 << 20)
        end = max(end, last)
    raise NoCopy('there is no address for it')


def what_is_mapped():
    fd, text = posix.open('/proc/self/maps', posix.O_RDONLY | posix.O_CLOEXEC), []
    while not text or text[-1]:
        text.append(posix.read(fd, 1 << 16))
    posix.close(fd)
    return text


def memory_map(text):
    """What is mapped: start, end, protection, whether it is shared, offset in the file, its path."""
    out = []
    for line in b''.join(text).splitlines():
        words = line.split(None, 5)
        first, _, end = words[0].partition(b'-')
        mode = words[1]
        protection = (mode[:1] == b'r') + 2 * (mode[1:2] == b'w') + 4 * (mode[2:3] == b'x')
        out.append((int(first, 16), int(end, 16), protection, mode[3:4] == b's', int(words[2], 16),
                    words[5].rstrip() if len(words) > 5 else b''))
    return out


def touched(pages, first, end, own):
    """Ranges of pages with something in them; own: of those, what is not that of the file. pagemap has eight
    bytes for each page: bit 63 says that it is there, bit 62 that it is swapped out, 61 that it is the
    file's."""
    import re
    at, stop, tops, found = first // SMALL_PAGE * 8, end // SMALL_PAGE * 8, [], []
    while at < stop:
        data = posix.pread(pages, min(stop - at, 1 << 20), at)
        if not data:
            break
        tops.append(data[7::8])
        at += len(data)
    form = rb'[\x40-\x5f\x80-\x9f\xc0-\xdf]+' if own else rb'[\x40-\xff]+'
    for match in re.finditer(form, b''.join(tops)):
        begin, stop = first + match.start() * SMALL_PAGE, first + match.end() * SMALL_PAGE
        if not own:                             # room for what is touched between this look and the copy
            begin, stop = max(first, begin - GAP), min(end, stop + GAP)
        if found and not own and begin <= found[-1][1]:
            found[-1][1] = stop
        else:
            found.append([begin, stop])
    return found


def plan_memory(zone, text, at):
    """What of the memory goes where in the file, from offset at on: (the parts, the end)."""
    parts = []
    pages = posix.open('/proc/self/pagemap', posix.O_RDONLY | posix.O_CLOEXEC)
    for first, end, protection, shared, offset, path in memory_map(text):
        if zone.at <= first < zone.at + ZONE:
            continue
        kind, pieces = 'own', []
        if path.startswith(KERNEL):
            kind = 'kernel'
        elif path[:1] == b'/' and path[-10:] != b' (deleted)':
            kind = 'shared' if shared else 'file'
            if protection & 1 and not shared:
                pieces = touched(pages, first, end, True)
        elif not protection & 1:
            pass                                # nobody can read what may be there
        elif path[:1] == b'/' or path == b'[stack]':
            kind, pieces = 'lone' if shared else kind, [(first, end)]   # of a file without a name, or all
        else:
            pieces = touched(pages, first, end, False)
        placed = []
        for begin, stop in pieces:
            read_in = stop - begin < READ_IN or protection & 4 or path == b'[stack]'
            placed.append((begin, stop, at, read_in))
            at += stop - begin
        parts.append((first, end, protection, kind, offset, path, tuple(placed)))
    posix.close(pages)
    return parts, at


def rows_to_write(zone, parts, fd, memory):
    """Each piece is written, and then mapped from the file in its place: so memory is there once. memory:
    /proc/self/mem, from where a file that is shorter by now cannot kill us."""
    rows, window = [], zone.at + WINDOW_AT
    for _, _, protection, kind, _, path, pieces in parts:
        for begin, stop, at, read_in in pieces:
            while begin < stop:
                size = min(WINDOW, stop - begin)
                rows.append(row(MMAP, window, size, 3, MAP_SHARED | MAP_FIXED, fd, at, expect=window))
                if path[:1] == b'/' and kind != 'file':
                    rows.append(row(READ_AT, memory, window, size, begin, expect=size))
                else:
                    rows.append(row(MOVE_BYTES, window, begin, size))
                if not read_in and kind != 'lone':      # that may have children of the code's behind it
                    rows.append(row(MMAP, begin, size, protection, MAP_PRIVATE | MAP_FIXED, fd, at,
                                    expect=begin))
                begin, at = begin + size, at + size
    return b''.join(rows)


# ---- files

def each_file(folder, path=b''):
    """What is in the data folder: path, what it is, and the entry."""
    with posix.scandir(folder + b'/' + path) as entries:
        for entry in entries:
            name, st = path + entry.name, entry.stat(follow_symlinks=False)
            kind = st.st_mode & 0o170000
            if kind == 0o040000:
                yield name, kind, st
                for inner in each_file(folder, name + b'/'):
                    yield inner
            elif kind in (0o100000, 0o120000):
                yield name, kind, st


def data_of(fd, at, end):
    """(start, end) of what is no hole."""
    while at < end:
        try:
            at = posix.lseek(fd, at, 3)         # SEEK_DATA
            stop = min(end, posix.lseek(fd, at, 4))     # SEEK_HOLE
        except OSError:
            return                              # only a hole is left
        if at < stop:
            yield at, stop
        at = stop


def write_bytes(zone, fd, at, source, size):
    for begin, stop in data_of(source, 0, size):
        while begin < stop:
            page = (at + begin) % SMALL_PAGE
            window = zone.window(fd, at + begin - page)[page:page + stop - begin]
            n = posix.preadv(source, [window], begin)
            if not n:
                return                          # it was cut meanwhile
            begin += n


def write_files(zone, fd, at, most):
    folder, files = OPTIONS['data'].encode(), []
    for path, kind, st in each_file(folder):
        what = b'', 0
        if kind == 0o120000:
            what = posix.readlink(folder + b'/' + path), 0
        elif kind == 0o100000:
            try:
                source = posix.open(folder + b'/' + path,
                                    posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_NONBLOCK | posix.O_CLOEXEC)
            except OSError:
                continue                        # the code cannot read it either
            try:
                if at + st.st_size > most:
                    raise NoCopy(NO_ROOM)
                write_bytes(zone, fd, at, source, st.st_size)
            finally:
                posix.close(source)
            what = at, st.st_size
            at += -(-st.st_size // SMALL_PAGE) * SMALL_PAGE
        files.append((path, kind, st.st_mode & 0o7777, st.st_mtime_ns, what))
    return files, at


def read_files(fd, files):
    """The folders' times last: what is made in them changes those."""
    folder = OPTIONS['data'].encode() + b'/'
    for path, kind, mode, mtime, (at, size) in files:
        if kind == 0o040000:
            posix.mkdir(folder + path, 0o755)
        elif kind == 0o120000:
            posix.symlink(at, folder + path)
        else:
            to = posix.open(folder + path,
                            posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL | posix.O_CLOEXEC, 0o644)
            for begin, stop in data_of(fd, at, at + size):
                while begin < stop:
                    posix.lseek(to, begin - at, 0)
                    begin += posix.sendfile(to, fd, begin, stop - begin)
            posix.ftruncate(to, size)
            posix.fchmod(to, mode)
            posix.close(to)
    for path, kind, mode, mtime, what in reversed(files):
        if kind != 0o120000:
            posix.chmod(folder + path, mode)
            posix.utime(folder + path, ns=(mtime, mtime))


def open_descriptors(ours):
    """(number, path, flags, position, inherited) of what the code has open."""
    found = []
    for name in posix.listdir('/proc/self/fd'):
        fd = int(name)
        try:
            path = posix.readlink('/proc/self/fd/' + name)
            with open('/proc/self/fdinfo/' + name, 'rb') as f:
                words = f.read().split()
            if fd not in ours:
                found.append((fd, path, int(words[3], 8), int(words[1]), posix.get_inheritable(fd)))
        except OSError:
            pass                                # that of the listing itself
    return found


# ---- who writes

def state_of_kernel(zone):
    """What the kernel knows of us beside the memory."""
    with open('/proc/self/stat', 'rb') as f:
        stat = f.read().rsplit(b')', 1)[1].split()
    field = lambda n: int(stat[n - 3])          # as proc(5) counts them
    box, here, actions = zone.at + DATA_AT, DATA_AT, b''
    for number in range(1, 65):
        zone.bytes[here:here + 32] = bytes(32)
        zone.ask(ACTION, number, 0, box, 8)
        actions += bytes(zone.bytes[here:here + 32])
    zone.ask(ALT_STACK, 0, box)
    alt_stack = bytes(zone.bytes[here:here + 24])
    zone.ask(ARCH, 0x1003, box)                 # ARCH_GET_FS
    thread = zone.number(here)
    if zone.ask(PRCTL, 40, box):                # PR_GET_TID_ADDRESS
        raise NoCopy('the kernel does not allow it')
    tid_at = zone.number(here)
    ends = [field(n) for n in (26, 27, 45, 46, 47)] + [zone.ask(BRK, 0)] + [field(n) for n in
                                                                           (28, 48, 49, 50, 51)]
    rseq = zone.pointer('__rseq_offset') if zone.pointer('__rseq_size') & 0xffffffff else 0
    return thread, tid_at, ends, rseq, actions, alt_stack


def own_memory():
    """Bytes that are not of a file."""
    with open('/proc/self/status', 'rb') as f:
        return 1024 * int(f.read().partition(b'RssAnon:')[2].split(None, 1)[0])


def write_copy(self, fd):
    """Write us into the file. In the copy, which goes on from here: where the C library has its thread's
    number, and which descriptors there are; here None."""
    if posix.uname()[4] != 'x86_64' or sys.maxsize < 1 << 32 or not sys.platform.startswith('linux'):
        raise NoCopy('it can be made on x86-64 only')
    if not (has_one_thread() or soon_has_one_thread()):     # noqa: from snapshot.py
        raise NoCopy('threads are running')
    import re                                   # noqa: what is needed later is there before we look
    try:
        cwd = posix.getcwdb()
    except OSError:
        cwd = OPTIONS['data'].encode()
    ours = {self.sock.fileno(): 'sock', self.words: 'words', 1: 'out', 2: 'err', self.saved[0]: 'out',
            self.saved[1]: 'err', fd: ''}
    descriptors = open_descriptors(ours)
    zone = Zone([part[:2] for part in memory_map(what_is_mapped())])
    memory, maps = [posix.open('/proc/self/' + name, posix.O_RDONLY | posix.O_CLOEXEC)
                    for name in ('mem', 'maps')]
    tid_at = None
    try:
        tid_at = write_with(zone, memory, maps, fd, (ours, descriptors, cwd))
    finally:
        if tid_at is None:                      # in the copy none of them is there
            posix.close(memory)
            posix.close(maps)
            zone.release()
    return tid_at and (tid_at, set(ours).union(one[0] for one in descriptors) - {fd})


def write_with(zone, memory, maps, fd, known):
    """Returns, in the copy alone, where the C library has its thread's number."""
    import marshal
    ours, descriptors, cwd = known
    most = posix.fstat(fd).st_size - SPARE      # what files may take of the sandbox's memory
    files, begin = write_files(zone, fd, SMALL_PAGE, most - own_memory())
    kernel = state_of_kernel(zone)
    # To plan takes memory, too: until a plan is what the one before it was, so that whatever planning touches
    # is in it, and what is mapped is what was planned for. The last look is taken in the way in which the
    # list is carried out (Python maps memory for a call that goes deeper than any before), and nothing that
    # might map memory comes between the two.
    before, outcome, plan, settled = None, None, None, False
    for turn in range(TRIES):
        zone.prepare_look(maps, turn)
        zone.carry_out(LOOK_AT)
        now = zone.looked(turn)
        if settled and now == before:
            outcome = zone.carry_out()
            break
        last, plan = plan, plan_memory(zone, now, begin)
        settled = plan == last
        parts, end = plan
        # what is read in stays where it is as well
        if end + sum(stop - at for part in parts for at, stop, _, read_in in part[6] if read_in) > most:
            raise NoCopy(NO_ROOM)
        zone.fill(rows_to_write(zone, parts, fd, memory))
        before = now
    if outcome is None:
        raise NoCopy('its memory does not come to rest')
    if outcome > 0:
        return kernel[1]
    stack = zone.number(LIST_AT)
    if outcome < 0:
        raise NoCopy('there is no memory for it')
    text = marshal.dumps((parts, stack, kernel, list(ours.items()), descriptors, files, cwd, versions(parts)))
    if len(text) > WINDOW:
        raise NoCopy('its memory is in too many pieces')
    zone.window(fd, end)[:len(text)] = text
    zone.window(fd, 0)[:16] = len(text).to_bytes(8, 'little') + end.to_bytes(8, 'little')
    return None


def versions(parts):
    """What tells whether a file is the one that is mapped, of those that are not the code's."""
    found = {}
    for _, _, _, kind, _, path, _ in parts:
        if kind == 'file':
            st = posix.stat(path)
            found[path] = st.st_size, st.st_mtime_ns
    return found


def copy_out(self, extra):
    """Carry out one order: the descriptor of the file comes with it. Without one, say that we are there."""
    fds, why, woken = received(extra), b'', None    # noqa: from snapshot.py
    if not fds:
        self.say(RECORD_RESULT, b'+' + self.inventory())
        return
    import gc
    collects = gc.isenabled()
    gc.disable()                                # nothing may go while it is written
    try:
        woken = write_copy(self, fds[0])
    except NoCopy as e:
        why = str(e).encode()
    except MemoryError:
        why = b'there is no memory for it'
    except BaseException as e:
        why = ('%s: %s' % (type(e).__name__, e)).encode('utf-8', 'replace')[:500]
    if collects:
        gc.enable()
    if woken:
        wake(self, *woken)
        return
    for fd in fds:
        posix.close(fd)
    self.say(RECORD_RESULT, b'-' + why if why else b'+' + self.inventory())


def wake(self, tid_at, keep):
    """In the copy, as the worker of another sandbox."""
    import _ctypes

    class Number(_ctypes._SimpleCData):
        _type_ = 'I'
    self.pid = posix.getpid()
    Number.from_address(tid_at).value = self.pid    # the C library's notion of us
    for name in posix.listdir('/proc/self/fd'):
        if int(name) not in keep:
            try:
                posix.close(int(name))
            except OSError:
                pass
    self.mended, self.loop, self.spare = False, None, spare_descriptor()
    for module, what in (('threading', lambda m: m.main_thread()._set_native_id()),
                         ('random', lambda m: m._inst.seed())):     # as after os.fork()
        try:
            what(sys.modules[module])
        except Exception:
            pass
