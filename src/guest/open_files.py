# open_files.py - files that the code has not closed, as csv.writer(open(...)) leaves one, and the end of code
# that is a program. Loaded at the end of a cell that leaves a file open.

FILES = _io.TextIOWrapper, _io.BufferedWriter, _io.BufferedRandom


def written_to(fd):
    """Is it one of the disk's? At a pipe, or a socket, somebody may have to be waited for."""
    import fcntl
    try:
        regular = posix.fstat(fd).st_mode & 0o170000 == 0o100000
        return regular and fcntl.fcntl(fd, fcntl.F_GETFL) & posix.O_ACCMODE
    except OSError:                             # it was that of the list
        return False


def flush_open_files():
    import gc
    open_ones = {int(fd) for fd in posix.listdir('/proc/self/fd') if written_to(int(fd))}
    for o in gc.get_objects() if open_ones else ():
        if type(o) in FILES:
            try:
                if o.fileno() in open_ones:
                    o.flush()
            except Exception:                   # it is closed, or the disk is full
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
