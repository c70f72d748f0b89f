# profile_joins.py - the part of file_profile.py for tables that belong together: which column two of them
# share, and the result of joining on it.
#
# RULE: Each of several files is read into a variable of its own, also the first, which was described when it
#     was alone.

import builtins
import collections
import contextlib
import functools
import itertools
import keyword
import os
import re
import stat

TAKEN = ('df', 'pd', 'json', 'data', 'both', 'together', 're', 'io', 'glob', 'gzip',
         'zipfile') + tuple(dir(builtins))


def identifier(text, default):
    """A variable's name made from the name of a file or a sheet."""
    name = re.sub(r'\W+', '_', text.lower()).strip('_')[:40]
    free = name.isidentifier() and not keyword.iskeyword(name) and name not in TAKEN
    return name if free else default


def plain_name(text):
    return re.sub(r'[\W_]+', '', str(text).lower())


def related(key, owner, other):
    """Does a column named other probably refer to the column key of the table owner, as customer_id does to
    id of customers?"""
    key, owner, other = plain_name(key), plain_name(owner), plain_name(other)
    if key == other:
        return True
    single = owner[:-3] + 'y' if owner.endswith('ies') else owner.rstrip('s')
    if len(single) < 3 or not other.startswith(single):
        return False
    return other in (single, single + key) or key in ('id', 'key', 'no', 'nr', 'code', 'number')


def has_zeros_in_front(column):
    values = column.counts() if column.kind == 'text' else ()
    return all(v.isdigit() for v in values) and any(v[0] == '0' != v for v in values)


def keys_of(x, y):
    """The values of two columns as they are compared: 007 is 7, if only one of them has zeros in front."""
    if has_zeros_in_front(x) == has_zeros_in_front(y):
        return x.values, y.values
    return [{v.lstrip('0') or '0': n for v, n in c.values.items()} for c in (x, y)]


def comparable(x, y):
    kinds = {x.kind, y.kind}
    if kinds == {'text', 'int'} and not x.missing + y.missing:
        return has_zeros_in_front(x) or has_zeros_in_front(y)
    return len(kinds) == 1 and not kinds & {'float', 'bool', 'empty', 'lists', 'objects'}


Reference = collections.namedtuple('Reference', 'many key one unique rows unused')


def reference(a, b):
    """The best pair of columns of two tables of which one holds keys of the other, where each is once; how
    many rows find theirs, and how many keys nothing refers to. None: there is no such pair."""
    found, best = None, 0.5
    names, others = ({c.name for c in t.columns} for t in (a, b))
    if 3 * len(names & others) > 2 * max(len(names), len(others)) > 2:
        return None                     # they are parts of one
    for x, y in itertools.product(a.columns[:60], b.columns[:60]):
        refer = related(x.name, a.name, y.name) or related(y.name, b.name, x.name)
        if isinstance(x.name, int) or not refer or not comparable(x, y) or not (x.once() or y.once()):
            continue
        of_x, of_y = keys_of(x, y)
        both = of_x.keys() & of_y.keys()
        if plain_name(x.name) == plain_name(y.name) in ('id', 'no', 'nr', 'number', 'index') and (
                x.once() and y.once()):
            continue                    # both only number their own rows
        if both and len(both) / min(len(of_x), len(of_y)) > best:
            best, rows = len(both) / min(len(of_x), len(of_y)), sum(of_x[v] * of_y[v] for v in both)
            found = (Reference(a, x, b, y, rows, len(of_y) - len(both)) if y.once()
                     else Reference(b, y, a, x, rows, len(of_x) - len(both)))
    return found


def references(tables):
    return [r for r in itertools.starmap(reference, itertools.combinations(tables, 2)) if r]


JOINS = 3                       # statements that join the tables of one file or folder


def merging(r, many, one, frames):
    """The expression that joins two of these frames, given by their names."""
    x, y = r.unique.name, r.key.name
    on = 'on=%r' % x if x == y else 'left_on=%r, right_on=%r' % (y, x)
    if (set(frames[many]) & set(frames[one])) - ({x} & {y}):
        on += ', suffixes=("", "_%s")' % one
    number, text = '.astype({%r: int})', (has_zeros_in_front(r.key), has_zeros_in_front(r.unique))
    many += number % y * (text == (True, False))        # the other table has numbers
    one += number % x * (text == (False, True))
    return '%s.merge(%s, %s)' % (many, one, on)


def join_all(tables):
    """([tables], [statements]): those that belong together are joined one after the other, so that the last
    join has the columns of all. It has a row for each row of the table with the most detail."""
    left, frames = references([t for t in tables if t.whole]), {t.name: t.frame for t in tables}
    joined, lines, detail = [], [], None
    while len(lines) < JOINS:
        r = next((r for r in left if not joined or (r.many in joined) != (r.one in joined)
                  and (r.many in joined or r.one is detail)), None)
        if not r:
            break
        left.remove(r)
        code = merging(r, *('both' if t in joined else t.name for t in (r.many, r.one)), frames)
        try:
            made = eval(code, dict(frames))
        except Exception:
            continue
        if made.empty:
            continue
        frames['both'] = made
        detail = r.many if not joined or r.one is detail else detail
        joined += [t for t in (r.many, r.one) if t not in joined]
        facts = [count(len(frames['both']), 'row')]
        for n, of, other in ((r.key.n - r.key.missing - r.rows, r.many, r.one), (r.unused, r.one, r.many)):
            facts += ['%d of %s %s not in %s' % (n, of.name, 'is' if n == 1 else 'are', other.name)] * bool(n)
        lines.append('both = %s  # %s' % (code, ', '.join(facts)))
    return joined, lines


DATABASE_ENDS = ('.db', '.sqlite', '.sqlite3')
DATA_ENDS = ('.csv', '.tsv', '.txt', '.dat', '.log', '.json', '.jsonl', '.ndjson', '.xlsx', '.xls',
             '.parquet') + DATABASE_ENDS


@functools.lru_cache
def data_files(folder):
    """[(time of the last change, path)] of the files of data in a folder, the newest first; listed once for a
    profile."""
    found = []
    try:
        with os.scandir(folder) as entries:
            for e in itertools.islice(entries, 200):
                st = e.stat(follow_symlinks=False)
                if e.name.lower().endswith(DATA_ENDS) and stat.S_ISREG(st.st_mode) and st.st_size:
                    found.append((st.st_mtime_ns, e.path))
    except OSError:
        return []
    return sorted(found, reverse=True)


def siblings(path):
    """The same of the other files in the folder of this file."""
    name = os.path.basename(path)
    return [found for found in data_files(os.path.dirname(path) or '.')
            if os.path.basename(found[1]) != name]


def variable(path, alone):
    """What to call what a file is read into: by its own name, unless it is the only one."""
    if ALL_PARTS or not siblings(path):
        return ALL_PARTS[0].variable if ALL_PARTS else alone
    stem = re.sub(r'(\.[A-Za-z]\w*)+$', '', os.path.basename(path))
    return identifier(stem, '') or identifier('%s_%s' % (alone, stem), alone + '2')


def code_and_facts(said):
    """The statements that a profile begins with, and the rest."""
    lines = said.split('\n')
    n = next((i for i, s in enumerate(lines) if not re.match(r'import |for | |\w+ = |\w+\[', s)), len(lines))
    return '\n'.join(lines[:n]), '\n'.join(lines[n:])


def own_names(path, said):
    """The profile, with variables in its code that the code of no other file overwrites."""
    code, facts = code_and_facts(said)
    made = re.findall(r'(?:^|; )(df|data|text|rows|con) = ', code, re.M)
    for name in made if siblings(path) else ():
        own = variable(path, name) + ('_' + name if name != made[-1] or name == 'con' else '')
        word = r'("(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\')|\b%s\b' % name
        code = re.sub(word, lambda m: m[1] or own, code)
        facts = re.sub(word + r'(?=\[)', lambda m: m[1] or own, facts)
        facts = ('%s: ' % own if name == 'df' and re.match(r'\d', facts) else '') + facts
    return '\n'.join(part for part in (code, facts) if part)


def joins_with_files(t, path):
    """The lines that join this table with older ones beside it, if they share columns; else none. Nothing
    else of those files is read, and nothing of the large ones."""
    changed, tables, room, until = os.stat(path).st_mtime_ns, [t], SAMPLE, clock() + SECONDS
    older = [other for time, other in siblings(path) if time <= changed
             and other.lower().endswith(('.csv', '.tsv')) and os.path.getsize(other) <= SAMPLE]
    together = parts_of_one(t, path, older) if older and not ALL_PARTS else []
    known = TROUBLE[:]                  # that of the others is none of this file
    for other in older[:4] if not together + ALL_PARTS else ():
        room -= os.path.getsize(other)
        if room < 0 or clock() > until:
            break
        with contextlib.suppress(OSError, ValueError):
            text, encoding = decode_text(read_start(other)[0], True)
            u = read_table(other, text or '', encoding, True, variable(other, 'df'))
            tables += [u] * bool(u)
    TROUBLE[:] = known
    joined, lines = join_all(tables)
    others = [line for u in joined if u is not t for line in u.code()]
    return together or (others + lines if t in joined else [])


def table_form(title, names):
    """What tables have in common that are parts of one, such as one for each month; None: it cannot be told,
    since two columns may be the keys and names of anything."""
    period = re.search(r'\d', title) or title[:3].lower() in MONTHS
    return names if len(names) > 1 + (not period) and type(names[0]) is str else None
