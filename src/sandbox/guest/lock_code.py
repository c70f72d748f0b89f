# lock_code.py - part of the supervisor, run once: keeps the interpreter's machine code in memory, for the
# worker too, which is the same program.
#
# When a cell fills the sandbox's memory, the kernel first drops what it can read from disk again: the machine
# code, which every process here needs at once. If the cell then asks for little at a time, that code is read
# and dropped over and over. Nothing moves any more, the supervisor included, and nothing is killed either:
# measured, for as long as we waited. With the code locked the kernel has nothing to drop, and kills the
# worker.


def lock_code(self):
    """The code first, then the constants it reads, as far as the limit allows (LOCKED_MOST in
    engine/plan.h)."""
    self.locked = True
    try:
        import _ctypes

        class Word(_ctypes._SimpleCData):
            _type_ = 'P'
        mlock = _ctypes.dlsym(_ctypes.dlopen(None, 2), 'mlock')
        with open('/proc/self/maps', 'rb') as file:
            maps = [line.split(None, 5) for line in file]
        for kind in (b'r-xp', b'r--p'):
            for line in maps:
                if line[1] == kind and line[-1][:1] == b'/':
                    first, end = (int(address, 16) for address in line[0].split(b'-'))
                    _ctypes.call_function(mlock, (Word(first), Word(end - first)))
    except Exception:
        pass                                    # only a cell that runs out of memory would notice


Supervisor.lock_code = lock_code
