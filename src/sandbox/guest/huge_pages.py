# huge_pages.py - part of the worker, compiled when a copy of it took long: puts memory that is full of small
# objects into huge pages. To make a copy, the kernel copies an entry for each page: 20 ms for 500 MB in pages
# of 4 KiB, 2 ms in pages of 2 MiB.
#
# Done before a copy is made, while no cell waits, and little at a time: what an older copy has in small pages
# exists twice until that one is ended, which the new copy brings about. Not at all where memory is short.

HUGE, PAGE = 1 << 21, 1 << 12
COLLAPSE = 25                   # MADV_COLLAPSE, Linux 6.1; an older kernel refuses it
AT_ONCE = 32                    # huge pages before one copy
FULL = HUGE // PAGE * 63 // 64  # a range with fewer pages would take more memory than before
_done = set()
_refusals = 0                   # below zero once a call has succeeded


def heap():
    """Start and end of each part of memory that is private, and of no file; the stack is left alone."""
    fd, text = posix.open('/proc/self/maps', posix.O_RDONLY | posix.O_CLOEXEC), []
    while len(text) < 1000 and (not text or text[-1]):
        text.append(posix.read(fd, 1 << 16))
    posix.close(fd)
    for line in b''.join(text).splitlines():
        words = line.split()
        if words[1:2] == [b'rw-p'] and (len(words) == 5 or words[5:] == [b'[heap]']):
            first, _, end = words[0].partition(b'-')
            yield int(first, 16), int(end, 16)


def is_full(fd, at):
    """Is memory in nearly each of its small pages? pagemap has eight bytes for each: bit 63 says that it is
    there, bit 56 that no other process has it."""
    tops = posix.pread(fd, HUGE // PAGE * 8, at // PAGE * 8)[7::8]
    return tops.count(0x80) + tops.count(0x81) >= FULL


def cell_waits(self):
    try:
        self.sock.recv(1, _socket.MSG_PEEK | _socket.MSG_DONTWAIT)
        return True
    except BlockingIOError:
        return False


def make_huge(self, collapse):
    """collapse: a call of madvise. True when nothing is left to do."""
    global _refusals
    left = memory_left()                            # noqa: from start.py
    if left and resident('self') + AT_ONCE * HUGE > left * 3 // 4:     # noqa: from start.py
        return True
    fd, most = posix.open('/proc/self/pagemap', posix.O_RDONLY | posix.O_CLOEXEC), AT_ONCE
    try:
        for first, end in heap():
            for at in range(-(-first // HUGE) * HUGE, end - HUGE + 1, HUGE):
                if at in _done:
                    continue
                if not most or cell_waits(self):
                    return _refusals >= AT_ONCE     # the kernel does not know the call
                if not is_full(fd, at):
                    _done.add(at)
                    continue
                most -= 1
                if collapse(at) == 0:
                    _done.add(at)
                    _refusals = -1
                elif _refusals >= 0:                # else a page was in use, and is not the next time
                    _refusals += 1
        _done.clear()           # addresses are used again
        return True
    finally:
        posix.close(fd)
