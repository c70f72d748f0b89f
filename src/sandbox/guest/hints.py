# hints.py - part of the worker, compiled with explain.py: hints to an exception, facts that whoever mends the
# code needs, never advice. Everything here touches objects of the code, as explain.py does.
#
# clip, safe_str, source_line, users_own: from explain.py

need_ast()                      # noqa: from worker.py

ALIASES = {'np': 'import numpy as np', 'pd': 'import pandas as pd', 'plt': 'import matplotlib.pyplot as plt',
           'sns': 'import seaborn as sns',
           'sp': 'import sympy as sp', 'dt': 'import datetime as dt',
           'datetime': 'from datetime import datetime',
           'Decimal': 'from decimal import Decimal', 'Fraction': 'from fractions import Fraction',
           'Path': 'from pathlib import Path',
           'Counter': 'from collections import Counter', 'defaultdict': 'from collections import defaultdict',
           'StringIO': 'from io import StringIO', 'sqrt': 'from math import sqrt',
           'reduce': 'from functools import reduce'}
STDLIB = ('math', 'os', 're', 'sys', 'json', 'time', 'random', 'csv', 'itertools', 'functools', 'collections',
          'statistics', 'string', 'io',
          'calendar', 'decimal', 'fractions', 'pathlib', 'numpy', 'pandas', 'sympy', 'scipy')

DEFINES_NAMES = ('math', 'datetime', 'itertools', 'collections', 'functools', 'statistics', 'fractions',
                 'decimal', 'calendar', 'random')

# The errnos that say that a limit of the sandbox was met, and that there is no network.
EAGAIN, EMFILE, EFBIG, ENOSPC, EADDRNOTAVAIL, ENETUNREACH = 11, 24, 27, 28, 99, 101


def names_text(names, most=30, like=None):
    """The first of these names, and of many those that are nearly the one that was meant before them."""
    first = near(like, names)[:5] if type(like) is str and len(names) > most else []
    first += [n for n in names[:most] if n not in first]
    said = ', '.join(clip(repr(n) if not isinstance(n, str) else n, 60) for n in first[:most])
    return said + (', ... (%d in all)' % len(names) if len(names) > most else '')


def near(name, names, cutoff=0.6):
    import difflib
    pool = [n for n in names if isinstance(n, str)][:3000]
    lower = {n.lower(): n for n in pool}
    found = [lower[name.lower()]] if name.lower() in lower else []
    for n in difflib.get_close_matches(name, pool, 5, cutoff):
        if n not in found:
            found.append(n)
    return found


def columns_of(value):
    """Column names if value is a pandas frame. It is recognised by its attributes; pandas is not imported for
    it."""
    if type(value).__module__.split('.')[0] == 'pandas' and hasattr(type(value), 'columns'):
        return list(value.columns)
    return None


def nodes_on(worker, frame, lineno, kind):
    """The subscripts (or attributes) of the failing line; the one that failed comes first, if Python says
    which."""
    name = frame.f_code.co_filename
    if name not in worker.sources:
        return []
    tree = compile(worker.sources[name], name, 'exec', ONLY_AST | TOP_AWAIT, True)
    todo, found = [tree], []
    while todo:
        node = todo.pop()
        for field in node._fields:
            value = getattr(node, field, None)
            for child in value if isinstance(value, list) else (value,):
                if isinstance(child, _ast.AST):
                    todo.append(child)
        if isinstance(node, kind) and node.lineno <= lineno <= (getattr(node, 'end_lineno', None)
                                                                or node.lineno):
            found.append(node)
    return found


def failed_first(nodes, tb):
    """Python 3.11 and later know the columns of the instruction that raised."""
    try:
        place = list(tb.tb_frame.f_code.co_positions())[tb.tb_lasti // 2]
    except (AttributeError, IndexError):
        return nodes
    return sorted(nodes, key=lambda n: (n.lineno, n.end_lineno, n.col_offset, n.end_col_offset) != place)


NOTHING = object()


def looked_up(node, frame):
    """(source text, value) of a name or of a chain of subscripts of plain containers. No code of the user's
    runs for it."""
    if isinstance(node, _ast.Name):
        for scope in (frame.f_locals, frame.f_globals):
            if node.id in scope:
                return node.id, scope[node.id]
    elif isinstance(node, _ast.Subscript):
        name, value = looked_up(node.value, frame)
        # before Python 3.9
        index = node.slice.value if type(node.slice).__name__ == 'Index' else node.slice
        text, key = (repr(index.value), index.value) if isinstance(index, _ast.Constant) else looked_up(index,
                                                                                                        frame)
        if type(value) is dict and type(key) in (str, int) and key in value:
            return '%s[%s]' % (name, clip(text, 40)), value[key]
        if type(value) in (list, tuple) and type(key) is int and -len(value) <= key < len(value):
            return '%s[%s]' % (name, text), value[key]
    return '', NOTHING


def subscripted(worker, frame, lineno, kind=_ast.Subscript, tb=None):
    """Containers on the failing line that were subscripted (or asked for an attribute)."""
    for node in failed_first(nodes_on(worker, frame, lineno, kind), tb):
        name, value = looked_up(node.value, frame)
        if value is not NOTHING:
            yield name, value


def below(name, value):
    """One line for each object one level below, where the key may be instead."""
    lines = []
    for k in list(dict.keys(value))[:40]:
        inner, path = dict.__getitem__(value, k), '%s[%s]' % (name, clip(repr(k), 40))
        if type(inner) in (list, tuple) and inner:
            inner, path = inner[0], path + '[0]'
        if type(inner) is dict and inner:
            lines.append('keys of %s: %s' % (path, names_text(list(inner), 12)))
    return lines[:1] + lines[1:4] * (len(lines) <= 4)


def variables(scopes):
    """[(name, value, depth 0)], to which what is found in them can be added."""
    return [(n, v, 0) for scope in scopes for n, v in list(scope.items())[:500]
            if isinstance(n, str) and not n.startswith('_')]


def holders(key, scopes, failed):
    """Other variables that contain the key, up to three levels down: 'country is in customers'."""
    found, seen, todo = [], set(), variables(scopes)
    for name, value, depth in todo:             # grows while it is read, so near objects come first
        if id(value) in seen or value is failed or len(found) >= 3 or len(seen) > 3000:
            continue
        seen.add(id(value))
        columns = columns_of(value)
        if columns is not None:
            if key in columns:
                found.append(name)
        elif type(value) is dict:
            if key in value:
                found.append(name)
            elif depth < 3:
                inner = [(k, v) for k, v in list(value.items())[:40] if type(v) in (dict, list, tuple)]
                todo += [('%s[%s]' % (name, clip(repr(k), 40)), v, depth + 1) for k, v in inner]
        elif type(value) in (list, tuple) and value and depth < 4 and type(value[0]) in (dict, list, tuple):
            todo.append((name + '[0]', value[0], depth + 1))
    return '%s is in %s' % (clip(key if type(key) is str else repr(key), 60),
                            ', '.join(found)) if found else ''


def written(key):
    return clip(repr(key), 60)


SEARCH_MOST = 1000000           # values of all columns: a tenth of a second


def holding_values(key, scopes):
    """Where the missing key is a value: in a column, or in a plain object, six levels down."""
    seen, todo, left = set(), variables(scopes), SEARCH_MOST
    never = 'fcbmM' + 'iu' * (type(key) is str)     # kinds of columns without such values
    for name, value, depth in todo:             # grows while it is read: what is near comes first
        if id(value) in seen or len(seen) > 5000:
            continue
        seen.add(id(value))
        for column in columns_of(value) or ():
            cells = value[column]
            if getattr(cells, 'ndim', 0) != 1 or cells.dtype.kind in never:
                continue
            part = cells[:min(200000, left)].tolist()
            left -= len(part)
            if any(type(v) is type(key) and v == key for v in part):
                place, value = '%s[%s]' % (name, written(column)), written(key)
                return '%s is a value in %s; its rows: %s[%s == %s]' % (value, place, name, place, value)
        if type(value) is dict:
            inner = list(value.items())[:200]
        elif type(value) in (list, tuple):
            inner = list(enumerate(value[:200]))
        else:
            continue
        for k, v in inner:
            if type(v) is type(key) and v == key and type(value) is dict:
                return '%s is the value of %s in %s' % (written(key), written(k), name)
            if depth < 6 and type(v) in (dict, list, tuple):
                todo.append(('%s[%s]' % (name, clip(repr(k), 40)), v, depth + 1))
    return ''


def key_facts(name, value, key, scopes):
    keys = list(dict.keys(value))
    lines = ['keys of %s: %s' % (name, names_text(keys, like=key))] + below(name, value)
    there = holders(key, scopes, value) if type(key) in (str, int) else ''
    return '\n'.join(lines + [there] * bool(there))


def innermost(e, frames):
    """The traceback entry of the innermost frame of the user's code."""
    tb, last = e.__traceback__, None
    while tb is not None:
        if users_own(tb.tb_frame.f_code.co_filename):
            last = tb
        tb = tb.tb_next
    return last


def missing_key(worker, e, frames):
    key, tb = e.args[0] if e.args else None, innermost(e, frames)
    if type(key) is str and key.startswith('Column not found: '):      # raised by a pandas group
        key = key[18:]
    hints = [key_owner(worker, key, tb, frames)]
    # a small number is a value of anything
    if tb is not None and (type(key) is str or type(key) is int and abs(key) > 9):
        try:
            hints.append(holding_values(key, scopes_of(worker, tb)))
        except Exception:                       # the columns are the code's own objects
            pass
    return '\n'.join(h for h in hints if h)


def scopes_of(worker, tb):
    frame = tb.tb_frame
    return [frame.f_locals] if frame.f_locals is worker.namespace else [frame.f_locals, worker.namespace]


def column_facts(name, columns, keys, scopes, failed):
    """What a frame has, and where else there are columns of these names."""
    like = keys[0] if keys else None
    lines = ['columns%s: %s' % (name and ' of ' + name, names_text(columns, like=like))]
    inner = ['%s[%r]' % (name, c) for key in keys[:3] for c in columns if str(c).startswith(key + '.')]
    if inner and name:
        return lines[0] + '\nof %s there are %s' % (keys[0], ', '.join(inner[:8]))
    lines += [holders(key, scopes, failed) for key in keys[:3] if key not in columns]
    return '\n'.join(line for line in lines if line)


def names_in(key):
    """The names of columns in pandas' errors: one, or "['a', 'b'] not in index"."""
    ends = ('not in index', 'not found in axis', 'in the columns', 'in the [columns]')
    if type(key) is str and key.endswith(ends):
        import re
        return re.findall(r"'([^']*)'", key.partition('dtype=')[0])
    return [key] if type(key) is str else []


def frames_inside(frames):
    """The frames that methods of pandas looked into, the outermost first."""
    for frame, _ in frames:
        if not users_own(frame.f_code.co_filename):
            for name in ('self', 'df', 'obj', 'data'):
                value = frame.f_locals.get(name)
                # what a group is of; one that is only being made has no attributes, but a __getattr__
                inner = getattr(value, '__dict__', {}).get('obj')
                yield from (v for v in (value, inner) if columns_of(v) is not None)


def name_of(value, scopes):
    return next((n for n, v, _ in variables(scopes) if v is value), '')


def key_owner(worker, key, tb, frames):
    """What the object on the failing line has instead of the key."""
    keys, scopes = names_in(key), []
    if tb is not None:
        frame, scopes = tb.tb_frame, scopes_of(worker, tb)
        for name, value in subscripted(worker, frame, tb.tb_lineno, tb=tb):
            columns = columns_of(value)
            if columns is not None:
                row = not keys and hasattr(type(key), '__index__') and key in value.index
                return column_facts(name, columns, keys, scopes, value) + (
                    '\n%s[%s] would be a column; the row is %s.loc[%s]' % (name, key, name, key)) * bool(row)
            if isinstance(value, dict) and type(key) in (str, int) and not dict.__contains__(value, key):
                need('value_hints')
                some = some_have(key, name, value, scopes)      # noqa: from value_hints.py
                return key_facts(name, value, key, scopes) + '\n' * bool(some) + some
    inside = list(frames_inside(frames))
    without = [v for v in inside if not all(k in columns_of(v) for k in keys)]
    for value in without[:1] or inside[-1:]:
        return column_facts(name_of(value, scopes), columns_of(value), keys, scopes, value)
    return None


def with_keys(value):
    return 'an object with the keys ' + names_text(list(value), 20)


def wrong_index(worker, e, frames):
    """A list or a text was used like an object: say what it is, and what is in it."""
    tb = innermost(e, frames)
    for name, value in subscripted(worker, tb.tb_frame, tb.tb_lineno, tb=tb) if tb is not None else ():
        if type(value) is str:
            return '%s is the text %s' % (name, clip(repr(value), 60))
        if type(value) in (list, tuple) and value:
            first = value[0]
            said = with_keys(first) if type(first) is dict else 'of the type ' + type(first).__name__
            return '%s is a list of %d; %s[0] is %s' % (name, len(value), name, said)
    return None


def object_as_key(worker, e, frames):
    """An object was used where a key or a member of a set must be: say what is in it."""
    tb = innermost(e, frames)
    for node in nodes_on(worker, tb.tb_frame, tb.tb_lineno, _ast.expr) if tb is not None else ():
        for field in ('key', 'elt', 'slice', 'elts', 'keys', 'args'):
            used = getattr(node, field, None)
            for one in used if type(used) is list else (used,):
                name, value = looked_up(one, tb.tb_frame)
                if type(value) is dict and value:
                    return '%s is %s' % (name, with_keys(value))
    return None


def attribute_elsewhere(obj, name):
    """A module taken for a class in it, or a class for its module: datetime.strptime, datetime.timedelta."""
    if isinstance(obj, type(sys)):
        for inner, value in list(obj.__dict__.items()):
            own = isinstance(value, type) and value.__module__ == obj.__name__ and not inner.startswith('_')
            if own and name in value.__dict__:
                return 'it is %s.%s.%s' % (obj.__name__, inner, name)
    elif isinstance(obj, type):
        module = sys.modules.get(obj.__module__)
        if module is not None and obj.__module__ not in ('builtins', '__main__') and name in module.__dict__:
            return 'not imported: from %s import %s' % (obj.__module__, name)
    return ''


def missing_attribute(worker, e, frames):
    obj, name = getattr(e, 'obj', None), getattr(e, 'name', None)
    # Python before 3.10 does not name it; look up a name on that line
    if name is None:
        parts = safe_str(e).split("'")
        name = parts[-2] if len(parts) > 2 else ''
        for target, value in subscripted(worker, *frames[-1], kind=_ast.Attribute) if frames else ():
            if parts[1:2] == [value.__name__ if isinstance(value, type(sys)) else type(value).__name__]:
                obj = value
    if obj is None:
        return 'the value is None' if "'NoneType'" in safe_str(e) else None
    elsewhere = attribute_elsewhere(obj, name)
    if elsewhere:
        return elsewhere
    names = [n for n in dir(obj) if not n.startswith('_')]
    close = near(name, names)
    columns, tb = columns_of(obj), innermost(e, frames)
    if columns is not None and tb is not None:
        scopes = scopes_of(worker, tb)
        said = column_facts(name_of(obj, scopes), columns, [name], scopes, obj)
        close = [n for n in close if n not in columns]
        return said + ('\ntype %s has: %s' % (type(obj).__name__, names_text(close)) if close else '')
    what = 'module %s' % obj.__name__ if isinstance(obj, type(sys)) else 'type %s' % type(obj).__name__
    if close:
        return '%s has: %s' % (what, names_text(close))
    return '%s has: %s' % (what, names_text(names, 20)) if len(names) <= 40 else None


def element_of(name, scopes):
    """A loop over the list of which this was to be an element was forgotten: patient, of ward['patients']."""
    several = (name + 's', name + 'es', name[:-1] + 'ies')
    for variable, value, depth in variables(scopes):
        for key in several if type(value) is dict else ():
            if type(value.get(key)) in (list, dict):
                path = '%s[%r]' % (variable, key)
                each = path if type(value[key]) is list else path + '.values()'
                return '%s has many: for %s in %s' % (path, name, each)
        if variable in several and type(value) is list:
            return '%s has many: for %s in %s' % (variable, name, variable)
    return ''


def missing_name(worker, e, frames):
    name = getattr(e, 'name', None)
    if name is None:
        parts = safe_str(e).split("'")
        name = parts[1] if len(parts) > 1 else ''
    if name in ALIASES:
        return 'not imported: ' + ALIASES[name]
    if name in STDLIB or name in getattr(sys, 'stdlib_module_names', ()):      # since Python 3.10
        return 'not imported: import ' + name
    if name == '__file__':
        return 'the code is not in a file; it runs in ' + posix.getcwd()
    for module in DEFINES_NAMES if name[:1] != '_' else ():
        if hasattr(__import__(module), name):
            return 'not imported: from %s import %s' % (module, name)
    local = frames[-1][0].f_locals if frames else {}
    mine = [n for n in list(local) + list(worker.namespace) if isinstance(n, str) and not n.startswith('__')]
    one = element_of(name, [local, worker.namespace])
    if one:
        return one
    close = near(name, mine) + near(name, [n for n in builtins.__dict__ if not n.startswith('_')], 0.75)
    if close:
        return 'names like it: ' + names_text(close)
    kept = [n for n in worker.namespace if not n.startswith('_')]
    return 'variables there are: ' + names_text(kept) if kept else 'no variables are defined yet'


def bad_syntax(e):
    """Python says "use an 0o prefix", for those who wanted octal: the line without the zeros in front."""
    import re
    if 'leading zeros' not in safe_str(e.msg) or type(e.text) is not str:
        return None
    line = re.sub(r'(?<![\w.])0+([1-9][0-9]*)\b(?!\.)', r'\1', e.text.strip())
    return 'a number is written without zeros in front: ' + clip(line, 200)


def times_of_day(worker, e, frames):
    """15:00 - 8:30 is what everybody tries first: the line as it can be."""
    import re
    text, tb = safe_str(e), innermost(e, frames)
    if "'datetime.time'" not in text or 'operand' not in text or tb is None:
        return None
    line = source_line(worker, tb.tb_frame.f_code.co_filename, tb.tb_lineno).strip()
    times = set()
    for node in nodes_on(worker, tb.tb_frame, tb.tb_lineno, _ast.Name):
        value = looked_up(node, tb.tb_frame)[1]
        if type(value).__name__ == 'time' and type(value).__module__ == 'datetime':
            times.add(node.id)
    changed = re.sub(r'(?<![\w.])\w+\b(?!\s*=[^=])',
                     lambda m: 'dt.datetime.combine(dt.date.min, %s)' % m[0] if m[0] in times else m[0], line)
    fact = 'a datetime.time cannot be added or subtracted'
    if changed == line:
        return fact
    return '%s; a datetime can:\nimport datetime as dt\n%s' % (fact, clip(changed, 400))


def size_text(size):
    for unit in ('bytes', 'KiB', 'MiB', 'GiB'):
        if size < 1024 or unit == 'GiB':
            return '%g %s' % (round(size, 1), unit)
        size /= 1024


def limit_met(e):
    """Which limit an OSError met, and how large it is."""
    # fork's error and that of a non-blocking descriptor are described without a number
    if e.errno == EAGAIN:
        most = OPTIONS.get('told_pids', 'no more')
        return 'if this was to be a new process: the sandbox may have %s processes and threads in all' % most
    if e.errno == ENOSPC:
        folder = OPTIONS['data']
        for other in ('/tmp', '/dev/shm'):
            if isinstance(e.filename, str) and e.filename.startswith(other + '/'):
                folder = other
        st = posix.statvfs(folder)
        if st.f_bavail and st.f_files and not st.f_ffree:
            return '%s has its most files: %d' % (folder, st.f_files)
        return '%s holds %s in all, %s are free' % (folder, size_text(st.f_blocks * st.f_frsize),
                                                    size_text(st.f_bavail * st.f_frsize))
    import resource
    if e.errno == EMFILE:
        return 'a process may have %d open files' % resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 'a file may have at most ' + size_text(resource.getrlimit(resource.RLIMIT_FSIZE)[0])


BEGINNINGS = ((b'\x1f\x8b', 'gzip'), (b'7z\xbc\xaf', '7-Zip'), (b'Rar!', 'RAR'), (b'%PDF', 'PDF'),
              (b'BZh', 'bzip2'), (b'\xfd7zXZ', 'xz'), (b'PK', 'a ZIP archive cut short'),
              (b'\xd0\xcf\x11\xe0', 'an Office file before 2007'),
              (b'<', 'HTML or XML'), (b'{', 'JSON'), (b'[', 'JSON'))


def no_archive(frames):
    """What a file is by its first bytes that was opened as a ZIP archive (also .xlsx, .docx)."""
    for frame, _ in frames:
        archive = frame.f_locals.get('self')
        name = getattr(archive, 'filename', None) if type(archive).__name__ == 'ZipFile' else None
        if type(name) is str:
            try:
                with open(name, 'rb') as f:
                    head = f.read(512).lstrip(b'\xef\xbb\xbf \t\r\n')
            except OSError:
                return None
            kind = next((kind for begins, kind in BEGINNINGS if head.startswith(begins)), 'no archive')
            return '%s is %s: it %s' % (clip(name, 200), kind,
                                        'begins with %r' % head[:16] if head else 'is empty')
    return None


def hint_for(worker, e, frames):
    if isinstance(e, KeyError):
        return missing_key(worker, e, frames)
    if isinstance(e, TypeError) and 'indices must be' in safe_str(e):
        return wrong_index(worker, e, frames)
    if isinstance(e, TypeError) and "unhashable type: 'dict'" in safe_str(e):
        return object_as_key(worker, e, frames)
    if isinstance(e, TypeError) and "'datetime.time'" in safe_str(e):
        return times_of_day(worker, e, frames)
    if (isinstance(e, ImportError) and not isinstance(e, ModuleNotFoundError)
            or 'binary incompatib' in safe_str(e)):
        need('installed')
        unfit = unfit_package(e, frames)        # noqa: from installed.py
        if unfit:
            return unfit
    if isinstance(e, (TypeError, ValueError)) or ' accessor with ' in safe_str(e):
        need('value_hints')
        return wrong_type(worker, e, frames)    # noqa: from value_hints.py
    if isinstance(e, IndexError):
        for frame, lineno in reversed(frames):
            if users_own(frame.f_code.co_filename):
                for name, value in subscripted(worker, frame, lineno):
                    if isinstance(value, (list, tuple, str)):
                        return '%s has %d items' % (name, len(value))
                break
        return None
    if isinstance(e, AttributeError):
        return missing_attribute(worker, e, frames)
    if isinstance(e, SyntaxError):
        return bad_syntax(e)
    if isinstance(e, NameError):
        return missing_name(worker, e, frames)
    if type(e).__name__ == 'BadZipFile':
        return no_archive(frames)
    # pandas has words of its own for a module that it can do without
    if isinstance(e, ModuleNotFoundError) or isinstance(e, ImportError) and 'install' in safe_str(e):
        need('installed')
        found = find_packages() or 'the standard library only'    # noqa: from installed.py
        return ('nothing can be installed: there is no network. Installed: ' + found
                + '. The user can add packages: --with NAME, in a chat /with NAME')
    if isinstance(e, FileNotFoundError):
        names = sorted(posix.listdir(OPTIONS['data']))
        return 'files in %s: %s' % (OPTIONS['data'], names_text(names) if names else 'none')
    if isinstance(e, EOFError):
        return 'the code has no stdin; nobody can answer input()'
    if isinstance(e, OSError) and e.errno in (EAGAIN, EMFILE, EFBIG, ENOSPC):
        return limit_met(e)
    if isinstance(e, RuntimeError) and "start new thread" in safe_str(e):
        return 'the sandbox may have %s processes and threads in all' % OPTIONS.get('told_pids', 'no more')
    if OPTIONS['net'] and isinstance(e, OSError) and 'CERTIFICATE_VERIFY_FAILED' in safe_str(e):
        return ('the host was reached, and its certificate is not trusted here; an image without the package '
                'ca-certificates trusts none')
    if isinstance(e, OSError) and (e.errno in (EADDRNOTAVAIL, ENETUNREACH) or type(e).__name__ in (
            'gaierror', 'URLError', 'ConnectionError', 'ConnectTimeout')):
        return ('hosts are reached through the proxy in HTTP_PROXY alone, and only those that the user allows'
                if OPTIONS['net'] else 'the sandbox has no network')
    if isinstance(e, MemoryError):
        return 'the memory of the sandbox is limited' + (': it has ' + size_text(int(OPTIONS['told_memory']))
                                                         if 'told_memory' in OPTIONS else '')
    return None
