# go_on.py - part of a new worker, compiled in it in place of worker.py: becomes the interpreter that has
# written itself into a file (live_copy.py). What goes wrong before that point is said with the answer to the
# first message, and the supervisor starts another worker.
#
# ACTION, ALT_STACK, ANY, ARCH, ASIDE_AT, DATA_AT, KERNEL, MAP_ANONYMOUS: from live_copy.py
# MAP_FIXED, MAP_GROWSDOWN, MAP_NORESERVE, MAP_PRIVATE, MAP_SHARED, MMAP, MOVE: from live_copy.py
# MUNMAP, PRCTL, PROTECT, READ_AT, ROBUST, RSEQ, RSEQ_SIGN, TID_ADDRESS, TOP: from live_copy.py
# WORD, ZONE, Zone, memory_map, read_files, row, versions, what_is_mapped: from live_copy.py


def go_on(fd, sock, words):
    need('live_copy')
    high = {}
    try:
        become(fd, {'sock': sock.fileno(), 'words': words, 'out': 1, 'err': 2}, high)
    except BaseException as e:
        why = str(e) if type(e) is NoCopy else '%s: %s' % (type(e).__name__, e)     # noqa: from live_copy.py
        body = b'-' + why.encode('utf-8', 'replace')[:500]
        sock = _socket.socket(fileno=high['sock']) if high else sock
        nonce = sock.recv(1 << 16)[:16]
        posix.write(high.get('words', words), nonce + RECORD_RESULT + len(body).to_bytes(4, 'little') + body)
    posix._exit(71)


def become(fd, mine, high):
    import marshal
    head = posix.pread(fd, 16, 0)
    size, at = int.from_bytes(head[:8], 'little'), int.from_bytes(head[8:], 'little')
    text = posix.pread(fd, size, at)
    if not size or len(text) != size:
        raise NoCopy('it is not whole')
    parts, stack, kernel, ours, descriptors, files, cwd, known = marshal.loads(text)
    read_files(fd, files)
    if versions(parts) != known:
        raise NoCopy('its libraries are not those that are here')
    try:
        posix.chdir(cwd)
    except OSError:
        posix.chdir(OPTIONS['data'])
    fd = place_descriptors(fd, mine, high, ours, descriptors)
    mapped = memory_map(what_is_mapped())
    zone = Zone([part[:2] for part in parts] + [part[:2] for part in mapped])
    leave_rseq(zone)
    zone.fill(rows_to_become(zone, fd, parts, kernel, mapped), stack)
    zone.carry_out()                            # does not come back


def place_descriptors(fd, mine, high, ours, descriptors):
    """Give each descriptor that the interpreter knows its number. A file is opened anew, where it stood; what
    led to others is a pipe that has ended. Returns that of the copy."""
    top = max([64, fd, *mine.values()] + [one[0] for one in descriptors] + [one[0] for one in ours]) + 1
    copy = posix.dup2(fd, top, False)
    high.update({what: posix.dup2(n, top + 1 + i, False) for i, (what, n) in enumerate(sorted(mine.items()))})
    top += 1 + len(high)
    dead, end = posix.pipe()
    posix.dup2(dead, top, False)
    posix.close(end)
    posix.close(dead)
    for number, path, flags, position, inherited in descriptors:
        try:
            if path[:1] != '/' or path.endswith(' (deleted)'):
                raise OSError
            # neither made nor emptied; and what is no file may block
            opened = posix.open(path, flags & ~(posix.O_CREAT | posix.O_EXCL | posix.O_TRUNC)
                                | posix.O_NONBLOCK | posix.O_NOCTTY)
            if posix.fstat(opened).st_mode & 0o170000 == 0o100000:
                posix.lseek(opened, position, 0)
        except OSError:
            opened = posix.dup(top)
        if opened == number:
            posix.set_inheritable(number, inherited)
        else:
            posix.dup2(opened, number, inherited)
        if opened != number and opened not in [one[0] for one in descriptors]:
            posix.close(opened)
        posix.set_blocking(number, True)
    for number, what in ours:
        if what:
            posix.dup2(high[what], number, number in (1, 2))
    return copy


def leave_rseq(zone):
    """The kernel writes to the place that the C library has registered, which is about to go."""
    if zone.pointer('__rseq_size') & 0xffffffff == 0:
        return
    at = thread_pointer(zone) + zone.pointer('__rseq_offset')
    for size in (32, zone.pointer('__rseq_size') & 0xffffffff):
        if zone.ask(RSEQ, at, size, 1, RSEQ_SIGN) == 0:
            return
    raise NoCopy('the kernel does not allow it')


def thread_pointer(zone):
    zone.ask(ARCH, 0x1003, zone.at + DATA_AT)
    return zone.number(DATA_AT)


def rows_to_become(zone, fd, parts, kernel, mapped):
    thread, tid_at, ends, rseq, actions, alt_stack = kernel
    rows, aside = kernel_aside(zone, mapped)
    rows += [row(MUNMAP, 0, zone.at), row(MUNMAP, zone.at + ZONE, TOP - zone.at - ZONE)]
    files = {}
    for first, end, protection, kind, offset, path, pieces in parts:
        size = end - first
        if kind == 'kernel':
            if path in aside and aside[path][1] == size:
                rows.append(row(MOVE, aside[path][0], size, size, 3, first, expect=first))
            elif path != b'[vsyscall]':
                raise NoCopy('the kernel is another one')
            continue
        # what is read in must be writable until then
        open_as = protection | 2 if any(piece[3] for piece in pieces) else protection
        if kind in ('own', 'lone'):
            how = MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS | MAP_NORESERVE
            how |= MAP_GROWSDOWN if path == b'[stack]' else 0
            rows.append(row(MMAP, first, size, open_as, how, WORD, 0, expect=first))
        else:
            how = MAP_FIXED | (MAP_SHARED if kind == 'shared' else MAP_PRIVATE)
            rows.append(row(MMAP, first, size, open_as, how, mapped_file(files, path, kind, protection),
                            offset, expect=first))
        for begin, stop, at, read_in in pieces:
            if read_in:
                rows.append(row(READ_AT, fd, begin, stop - begin, at, expect=stop - begin))
            else:
                rows.append(row(MMAP, begin, stop - begin, protection, MAP_PRIVATE | MAP_FIXED, fd, at,
                                expect=begin))
        if open_as != protection:
            rows.append(row(PROTECT, first, size, protection))
    # struct prctl_mm_map: the ends, no auxiliary vector, no other program
    ends = b''.join(n.to_bytes(8, 'little') for n in ends) + bytes(12) + b'\xff' * 4
    at = DATA_AT
    data = actions + alt_stack + ends
    zone.bytes[at:at + len(data)] = data
    at += zone.at
    rows += [row(ARCH, 0x1002, thread), row(TID_ADDRESS, tid_at, expect=ANY), row(ROBUST, 0, 24, expect=ANY),
             row(PRCTL, 35, 14, at + len(actions) + len(alt_stack), len(ends), 0)]     # PR_SET_MM_MAP
    # SIGKILL, SIGSTOP and two of the C library's own cannot be set
    rows += [row(ACTION, n, at + 32 * (n - 1), 0, 8, expect=ANY) for n in range(1, 65)]
    rows.append(row(ALT_STACK, at + len(actions), 0, expect=ANY))
    if rseq:
        rows.append(row(RSEQ, thread + rseq, 32, 0, RSEQ_SIGN, expect=ANY))
    return b''.join(rows)


def kernel_aside(zone, mapped):
    """Move what the kernel has mapped to where nothing is unmapped."""
    rows, aside, to = [], {}, zone.at + ASIDE_AT
    for first, end, _, _, _, path in mapped:
        if path.startswith(KERNEL) and path != b'[vsyscall]':
            rows.append(row(MOVE, first, end - first, end - first, 3, to, expect=to))
            aside[path] = to, end - first
            to += end - first
    return rows, aside


def mapped_file(files, path, kind, protection):
    """A descriptor for a file that is mapped."""
    key = path, kind == 'shared' and protection & 2
    if key not in files:
        try:
            files[key] = posix.open(path, posix.O_RDWR if key[1] else posix.O_RDONLY)
        except OSError:
            raise NoCopy('it has %s open, which is not here' % path.decode('utf-8', 'replace'))
    return files[key]
