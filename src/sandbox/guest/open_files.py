# open_files.py - files that the code has not closed, as csv.writer(open(...)) leaves one, and the end of code
# that is a program. Loaded when a cell has left a descriptor open.

import _weakref

FILES = _io.TextIOWrapper, _io.BufferedWriter, _io.BufferedRandom


def written_to(fd):
    """What tells a file of the disk that is open for writing from others. At a pipe, or a socket, somebody
    might have to be waited for."""
    import fcntl
    try:
        st = posix.fstat(fd)
        if st.st_mode & 0o170000 == 0o100000 and fcntl.fcntl(fd, fcntl.F_GETFL) & posix.O_ACCMODE:
            return fd, st.st_dev, st.st_ino
    except OSError:                             # it was that of the list
        pass
    return None


def flush_open_files(worker):
    """Flush them. The objects are looked for once for each descriptor, since that takes time: a database has
    none."""
    left = {key: [ref for ref in worker.left_open.get(key, ()) if ref() is not None]
            for key in map(written_to, map(int, posix.listdir('/proc/self/fd'))) if key}
    new = {key[0]: key for key in left if not left[key] and worker.left_open.get(key) != []}
    if new:
        import gc
        for o in gc.get_objects():
            if type(o) in FILES:
                try:
                    key = new.get(o.fileno())
                except Exception:               # it is closed, or detached, or has none
                    continue
                if key:
                    left[key].append(_weakref.ref(o))
    worker.left_open = left
    for refs in left.values():
        for ref in refs:
            try:
                ref().flush()
            except Exception:                   # the disk is full
                pass


def end_program(worker):
    """What python3 does then: it waits for threads, calls the functions of atexit and lets go of all objects,
    of which an archive is complete only then. Where a daemon thread still uses them, they stay."""
    import atexit
    threading = worker.modules.get('threading')
    if threading:
        threading._shutdown()
    try:
        atexit._run_exitfuncs()
    except Exception:                           # it was printed
        pass
    if not threading or threading.active_count() == 1:
        for name in 'last_exc', 'last_type', 'last_value', 'last_traceback':
            sys.__dict__.pop(name, None)
        worker.namespace.clear()
