# explain.py - part of the worker, compiled at the first exception: the report of an exception.
# Everything here touches objects of the code, whose __repr__, __dir__ and __str__ may do anything. So it runs
# inside the worker's guard and is cut to a size, and a failure here only makes the report poorer.

EXCEPTION_MOST, TRACE_MOST, HINT_MOST = 2000, 12000, 1500


def clip(text, most):
    return text if len(text) <= most else text[:most] + ' ... [%d characters in all]' % len(text)


def safe_str(value):
    try:
        return str(value)
    except BaseException as e:
        return '<no text: its __str__ raised %s>' % type(e).__name__


def encode(text, most):
    data = clip(text, most).encode('utf-8', 'backslashreplace')
    return data if len(data) <= 2 * most else data[:2 * most].decode('utf-8', 'ignore').encode()


# ---- exceptions

def report(worker, e, name):
    """The result of a cell that raised: what the model and the user read."""
    if isinstance(e, SystemExit):
        code = e.code
        if code is not None and not isinstance(code, int):
            print(safe_str(code), file=worker.stderr)
            code = 1
        code = int(code or 0)
        # Python itself would end in these cases
        return tlv(b's', b'exit') + tlv(b'x', b'%d' % (code if -1 << 31 < code < 1 << 31 else -1))
    frames = walk(e.__traceback__)
    line = next((lineno for frame, lineno in reversed(frames) if frame.f_code.co_filename == name), 0)
    if isinstance(e, SyntaxError) and e.filename == name:
        line = e.lineno or 0
    head = headline(e)
    result = tlv(b's', b'interrupted' if isinstance(e, KeyboardInterrupt) else b'exception')
    result += tlv(b'e', encode(head, EXCEPTION_MOST))
    trace = []
    try:
        trace = chain(worker, e, 0)
    except BaseException:
        pass
    if trace:
        result += tlv(b't', encode('\n'.join(trace), TRACE_MOST))
    if line:
        result += tlv(b'l', b'%d' % line)
    hint = ''
    try:
        worker.busy = True                      # an interrupt must be able to end dir() of a hostile object
        need('hints')
        hint = hint_for(worker, e, frames)      # noqa: from hints.py
    except BaseException:
        pass
    worker.busy = False
    if hint:
        result += tlv(b'h', encode(hint, HINT_MOST))
    return result


def headline(e):
    kind = type(e)
    name = kind.__name__ if kind.__module__ in ('builtins', '__main__') else '%s.%s' % (kind.__module__,
                                                                                        kind.__qualname__)
    if isinstance(e, SyntaxError) and e.msg:
        text = safe_str(e.msg)
    else:
        text = clip(safe_str(e), EXCEPTION_MOST)
    for note in getattr(e, '__notes__', ())[:5]:
        text += '\n' + safe_str(note)
    return '%s: %s' % (name, text) if text else name


def walk(tb):
    frames = []
    while tb is not None and len(frames) < 5000:
        frames.append((tb.tb_frame, tb.tb_lineno))
        tb = tb.tb_next
    return frames


def source_line(worker, name, line):
    if name in worker.sources and line:
        lines = worker.sources[name].split('\n')
        if line <= len(lines):
            return lines[line - 1].rstrip('\r')
    elif users_own(name) and line:
        try:
            with open(name, 'rb') as f:
                return f.read(1 << 20).split(b'\n')[line - 1].decode('utf-8', 'replace')
        except (OSError, IndexError):
            pass
    return ''


def users_own(name):
    # Cython names the sources of compiled libraries by relative paths.
    if name.endswith(('.pyx', '.pxd', '.pxi')):
        return False
    return name.startswith(('<cell ', OPTIONS['data'] + '/', './')) or not name.startswith(('/', '<'))


def library_frames(count):
    return ['  ... %d frame%s of library code' % (count, '' if count == 1 else 's')] if count else []


def chain(worker, e, depth):
    """Lines of a traceback, causes first; frames of libraries are counted instead of shown."""
    lines = []
    if depth < 4:
        if e.__cause__ is not None:
            lines = chain(worker, e.__cause__, depth + 1) + [
                '', 'The above exception was the direct cause of the following exception:', '']
        elif e.__context__ is not None and not e.__suppress_context__:
            lines = chain(worker, e.__context__, depth + 1) + [
                '', 'During handling of the above exception, another exception occurred:', '']
    shown, skipped = [], 0
    for frame, lineno in walk(e.__traceback__):
        code = frame.f_code
        if code.co_filename.startswith(OURS):
            continue
        if not users_own(code.co_filename):
            skipped += 1
            continue
        shown += library_frames(skipped)
        skipped = 0
        where = '' if code.co_name == '<module>' else ', in ' + code.co_name
        text = source_line(worker, code.co_filename, lineno).strip()
        shown.append('  File "%s", line %d%s' % (code.co_filename, lineno, where)
                     + ('\n    ' + clip(text, 300) if text else ''))
    shown += library_frames(skipped)
    if len(shown) > 20:
        shown[8:-8] = ['  ... %d more frames' % (len(shown) - 16)]
    if isinstance(e, SyntaxError) and e.lineno:
        shown.append('  File "%s", line %d' % (e.filename, e.lineno))
        text = (e.text or source_line(worker, e.filename or '', e.lineno)).rstrip('\n')
        if text:
            bare = text.lstrip()
            shown.append('    ' + clip(bare, 300))
            if e.offset and e.offset > 0:
                shown.append('    ' + ' ' * min(300, max(0, e.offset - 1 - (len(text) - len(bare)))) + '^')
    if shown:
        lines += ['Traceback (most recent call last):'] + shown
    lines.append(headline(e))
    inner = getattr(e, 'exceptions', None)
    if isinstance(inner, tuple) and depth < 2:
        for one in inner[:5]:
            if isinstance(one, BaseException):
                lines += ['  | ' + text for part in chain(worker, one, depth + 2)
                          for text in part.split('\n')]
    return lines
