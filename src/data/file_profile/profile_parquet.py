# profile_parquet.py - the part of file_profile.py for Parquet. The file itself says how many rows it has and
# what its columns are; of their values as many are looked at as time allows, without threads.

import datetime
import json

PARQUET_COLUMNS = 200
# kinds of columns with a smallest and a greatest value, and what profile_column.py calls them
PARQUET_ENDS = {'int': 'int', 'float': 'float', 'decimal': 'float', 'time': 'date', 'day': 'date'}


def parquet_size(path):
    try:
        return '%d bytes' % os.stat(path).st_size
    except OSError:
        return 'unknown size'


def parquet(path):
    if not has('pyarrow'):
        TROUBLE.append('nothing in the sandbox reads Parquet: use --sandbox docker after "make image"')
        return ('a Parquet file, %s. No package here reads Parquet: pyarrow is missing. Tell the user: '
                'sandpiper --sandbox docker (after "make image") reads it, or bwrap once pyarrow is '
                'installed for the Python of this machine' % parquet_size(path))
    try:
        import pyarrow.parquet
        f = pyarrow.parquet.ParquetFile(path, pre_buffer=False)
        return parquet_table(path, f)
    except (OSError, ValueError, ArithmeticError, NotImplementedError, RuntimeError) as e:
        TROUBLE.append('it cannot be read as Parquet')
        return 'a Parquet file, %s, that cannot be read: %s' % (parquet_size(path), clean(e, 300))


def parquet_header(path):
    """What tells whether two files are alike; None without pyarrow."""
    if not has('pyarrow'):
        return None
    import pyarrow.parquet
    try:
        return ','.join('%s %s' % (clean(x.name, CELL), x.type) for x in pyarrow.parquet.read_schema(path))
    except (OSError, ValueError):
        return 'not readable'


def parquet_table(path, f):
    fields, total = list(f.schema_arrow), f.metadata.num_rows
    columns = [Column(x.name) for x in fields[:PARQUET_COLUMNS]]
    for c in columns:
        c.absent = ()           # text that says NA is not missing
    kinds = [parquet_kind(x.type) for x in fields[:PARQUET_COLUMNS]]
    head, seen = parquet_study(f, columns, kinds)
    if seen < total:
        parquet_statistics(f, columns, kinds)
    settled = [parquet_settled(c, kind) for c, kind in zip(columns, kinds)]
    index = parquet_index(f)
    lines = ['import pandas as pd; df = pd.read_parquet(%r)' % path if has('pandas') else
             'import pyarrow.parquet; rows = pyarrow.parquet.read_table(%r).to_pylist()' % path]
    if has('pandas'):
        # what pandas would leave as objects
        other = [('text', '') if kind == 'time' or c.name in index else s
                 for c, kind, s in zip(columns, kinds, settled)]
        lines += type_lines(columns, other, True)
        lines += ['df[%r] = df[%r].astype(float)' % (c.name, c.name) for c, kind in zip(columns, kinds)
                  if kind == 'decimal' and c.name not in index][:6]
    looked = '' if seen == total else ', looked at the first %d' % seen
    said = describe(columns, settled) if columns else 'none'
    if len(fields) > len(columns):
        said += ', and %d more' % (len(fields) - len(columns))
    lines.append('%d rows%s, columns: %s' % (total, looked, said))
    if index:
        lines.append('read as the index: ' + clean(', '.join(map(repr, index)), 200))
    left = MOST - sum(len(s) + 1 for s in lines)
    rows = first_rows(head, ' | ')
    lines.append(rows if len(rows) <= left else first_rows(head, ' | ', 1))
    return '\n'.join(lines)


def parquet_kind(kind):
    """'int', 'float', 'decimal', 'bool', 'time' (a date with pandas' own type), 'day' (one without), 'text';
    of others their own name."""
    from pyarrow import types
    if types.is_dictionary(kind):
        kind = kind.value_type
    for name, fits in (('int', types.is_integer), ('float', types.is_floating), ('bool', types.is_boolean),
                       ('decimal', types.is_decimal), ('time', types.is_timestamp), ('day', types.is_date),
                       ('text', types.is_string), ('text', types.is_large_string), ('empty', types.is_null)):
        if fits(kind):
            return name
    return clean(kind, CELL)


def parquet_settled(column, kind):
    if kind == 'text':
        said = column.settle('.')
        return said if said[0] == 'date' else ('text', '')
    return {'decimal': ('float', ''), 'time': ('date', 'iso'), 'day': ('date', 'iso')}.get(kind, (kind, ''))


def parquet_text(value):
    """A value as it would stand in a table of text."""
    if isinstance(value, datetime.datetime):
        text = value.replace(tzinfo=None).isoformat(' ')[:19]
        return text[:10] if text.endswith(' 00:00:00') else text
    return str(value)


def parquet_plain(array, kind):
    """The column as Arrow can count and compare it. Time is in microseconds at most, for which pandas is not
    needed, and in UTC."""
    import pyarrow
    if pyarrow.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if kind == 'time':
        return array.cast(pyarrow.timestamp(array.type.unit)).cast(pyarrow.timestamp('us'), safe=False)
    return array.cast(pyarrow.float64()) if kind in ('float', 'decimal') else array


def parquet_feed(column, array, kind):
    """What a part of a column holds. Each different value goes through Python once, and no more of them
    than are of use."""
    from pyarrow import compute
    column.missing += array.null_count
    if kind == 'float':
        column.missing += compute.sum(compute.is_nan(array)).as_py() or 0
    if kind in PARQUET_ENDS:
        ends = compute.min_max(array).as_py()
        if ends['min'] is not None:
            parquet_extend(column, kind, ends['min'], ends['max'])
    if kind == 'int' and not column.more or kind == 'text' and len(column.more) < 10 * VALUES_MOST:
        counts = compute.value_counts(array.drop_null())
        for value, n in zip(counts.field(0).to_pylist(), counts.field(1).to_pylist()):
            column.feed(str(value), n)
        column.n += array.null_count
    else:
        column.n += len(array)


def parquet_extend(column, kind, low, high):
    if PARQUET_ENDS[kind] == 'date':
        low, high = parquet_text(low), parquet_text(high)
        known = column.ends.setdefault('date', [low, high])
        known[:] = min(known[0], low), max(known[1], high)
    elif low == low and high == high:
        for value in (low, high):
            column.extend('int' if isinstance(value, int) else 'float', value)


def parquet_study(f, columns, kinds):
    """Feed rows to columns until the time is up: (the first three rows, how many were seen)."""
    until, head, seen = clock() + SECONDS, [], 0
    step = max(16, 262144 // max(1, len(columns)))
    names = [c.name for c in columns] if len(f.schema_arrow) > len(columns) else None
    for batch in f.iter_batches(batch_size=step, columns=names, use_threads=False):
        if not head:
            first = [parquet_plain(a.slice(0, 3), 'time' if kind == 'time' else '').to_pylist()
                     for a, kind in zip(batch.columns, kinds)]
            head = [['' if v is None else parquet_text(v) for v in row] for row in zip(*first)]
        for c, array, kind in zip(columns, batch.columns, kinds):
            parquet_feed(c, parquet_plain(array, kind), kind)
        seen += batch.num_rows
        if clock() > until:
            break
    return head, seen


def parquet_statistics(f, columns, kinds):
    """What the file says of all its rows, where not all were looked at. Nothing holds it to the truth, but it
    is what other readers go by."""
    places = {f.metadata.schema.column(i).path: i for i in range(len(f.metadata.schema))}
    for c, kind in zip(columns, kinds):
        at = places.get(c.name)
        if at is None or f.metadata.num_row_groups > 2000:
            continue
        groups = [f.metadata.row_group(i).column(at).statistics for i in range(f.metadata.num_row_groups)]
        if not all(g is not None and g.has_null_count for g in groups):
            continue
        c.missing = max(c.missing, sum(g.null_count for g in groups))
        for g in groups:
            if kind in PARQUET_ENDS and g.has_min_max \
                    and isinstance(g.min, datetime.date) == (PARQUET_ENDS[kind] == 'date'):
                parquet_extend(c, kind, *(float(v) if kind == 'decimal' else v for v in (g.min, g.max)))


def parquet_index(f):
    """The columns that pandas makes the index, which are then no columns of df."""
    try:
        said = json.loads((f.schema_arrow.metadata or {})[b'pandas'])['index_columns']
        return [name for name in said if isinstance(name, str)][:8]
    except (KeyError, ValueError, TypeError):
        return []
