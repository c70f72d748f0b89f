# vars.py - what /vars runs in the worker: prints each variable with its type, its size and its beginning.
exec("""
import sys

def size_of(value):
    try:
        n = value.memory_usage(index=True)
        return int(n if isinstance(n, int) else n.sum())
    except Exception:
        n = getattr(value, 'nbytes', None)
        return n if type(n) is int else sys.getsizeof(value)

def readable(n):
    for unit in ('bytes', 'kB', 'MB'):
        if n < 1000:
            return '%d bytes' % n if unit == 'bytes' else '%.1f %s' % (n, unit)
        n /= 1000
    return '%.1f GB' % n

def shape_of(value):
    shape = getattr(value, 'shape', None)
    if type(shape) is tuple:
        return ' x '.join(str(n) for n in shape)
    if isinstance(value, (str, bytes, bytearray, list, tuple, dict, set, frozenset)):
        return 'len %d' % len(value)
    if value is None or isinstance(value, (bool, int, float, complex)):
        text = repr(value)
        return text if len(text) <= 30 else text[:27] + '...'
    return ''

rows = []
for name, value in list(space.items()):
    kind = type(value).__name__
    if type(name) is not str or name[:1] == '_' or kind == 'module':
        continue
    try:
        row = (name, kind, shape_of(value), readable(size_of(value)))
    except Exception:
        row = (name, kind, '', '')
    rows.append(tuple(text if len(text) <= 40 else text[:37] + '...' for text in row))
wide = [max(len(row[i]) for row in rows) for i in range(3)] if rows else []
for row in rows[:500]:
    print('  '.join(text.ljust(n) for text, n in zip(row, wide)) + '  ' + row[3])
if len(rows) > 500:
    print('... and %d more' % (len(rows) - 500))
""", {"space": globals()})
