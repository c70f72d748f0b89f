# helper.py - part of the supervisor and of the worker, compiled when first needed: our own Python at work
# on a file (a profile, an image to be decoded) in a process of its own, which answers with a text and ends.
# A reader that uses up memory dies alone, and the user's interpreter stays untouched.
#
# The process is a fork of the supervisor; or, as long as no cell has run, a copy of the worker, which has
# imported pandas before: so the first cell, and every further file, finds it imported.

OOM_HELPER = 1000               # it ends first where memory runs out
EXAMINE_ROWS, EXAMINE_IN_COPY = 1, 2    # flags of a request, see docs/sandbox-protocol.md


class Refused(Exception):
    """Says in words for the user what a helper cannot do."""


def help_and_exit(work, out):
    """In that process: write the text that work() returns to the descriptor out, b'+' before it, or what went
    wrong, b'-' before it."""
    try:
        set_oom_score(OOM_HELPER)               # noqa: from start.py
        data = b'+' + work().encode('utf-8', 'replace')[:4096]
    except Refused as e:
        data = b'-' + str(e).encode('utf-8', 'replace')[:1000]
    except BaseException as e:
        data = b'-' + ('%s: %s' % (type(e).__name__, e)).encode('utf-8', 'replace')[:1000]
    try:
        posix.write(out, data)
    finally:
        posix._exit(0)


def examiner(parts):
    """The module that a request brings along: b'c', size, its compiled code, and its source, as in the first
    frame."""
    module, size = type(sys)('examiner'), int.from_bytes(parts[1:5], 'little')
    module.__dict__['__builtins__'] = __builtins__
    unpack_either(parts[5:5 + size], parts[5 + size:])      # noqa: from boot.py
    name, part = PARTS.popitem()
    exec(part[0](part[1]) if type(part) is tuple else compile(part, OURS + '%s>' % name, 'exec'),
         module.__dict__)
    return module


def examine(module, flags, path):
    module.ROWS = bool(flags & EXAMINE_ROWS)
    return module.profile(path)


# ---- in the worker

def examine_in_copy(self, extra, body):
    """Carry out one order: the parts come in a memory file, the copy's text goes into a pipe. If there can be
    no copy the pipe is closed without a word."""
    fds = received(extra)                       # noqa: from snapshot.py
    flags, path = body[0], body[1:].decode('utf-8', 'surrogateescape')
    try:
        if len(fds) == 2 and can_clone():       # noqa: from snapshot.py
            parts, out = fds
            if self.examiner is None:
                with _io.FileIO(parts, closefd=False) as f:
                    self.examiner = examiner(memoryview(f.read()))
            if self.examiner.wants_pandas(path):
                import_in_silence(self, 'pandas')
            if has_one_thread() and clone() == 0:   # noqa: from snapshot.py
                try:
                    leave_worker(self, out)
                    help_and_exit(lambda: examine(self.examiner, flags, path), out)
                finally:
                    posix._exit(EXIT_GAVE_UP)   # never continue as a second worker
    except Exception:
        pass                                    # memory ran out
    for fd in fds:
        posix.close(fd)


def import_in_silence(self, name):
    """What it prints, such as that a version is old, is no output of a cell."""
    import gc
    import warnings
    before = set(self.modules)
    to_null(1, 2)
    gc.disable()                                # an import makes no garbage: an eighth of pandas' time
    try:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            __import__(name)
    except BaseException:
        pass                                    # it is not there
    finally:
        gc.enable()
        posix.dup2(self.saved[0], 1)
        posix.dup2(self.saved[1], 2)
        self.silent.update(name for name, module in list(self.modules.items()) if name not in before
                           and '.' not in name and '-packages/' in str(getattr(module, '__file__', '')))


def leave_worker(self, out):
    """The copy closes what belongs to the worker, and says who it is."""
    posix.setsid()
    if not OPTIONS['alone']:
        prctl(1, 9)                             # noqa: from start.py
    to_null(0, 1, 2, *self.saved)
    self.sock.close()
    posix.close(self.words)
    sys.path[:] = [p for p in sys.path if p]    # the user's files are data here
    posix.write(out, b'%d\n' % posix.getpid())
