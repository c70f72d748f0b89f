# profile_joins.py - the part of file_profile.py for tables that belong together: which column two of them
# share, and the result of joining on it.

import builtins
import itertools
import keyword
import os
import re
import stat

TAKEN = ('df', 'pd', 'json', 'data', 'both', 're', 'io', 'glob', 'gzip', 'zipfile') + tuple(dir(builtins))


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


def joins(a, b):
    """[(column of a, column of b, rows of the join)], the best first; in one of the two each value is
    unique."""
    out = []
    for i, x in enumerate(a.columns[:60]):
        for k, y in enumerate(b.columns[:60]):
            if not (related(x.name, a.name, y.name) or related(y.name, b.name, x.name)) or isinstance(x.name,
                                                                                                      int):
                continue
            kinds = {a.settled[i][0], b.settled[k][0]}
            both = x.values.keys() & y.values.keys()
            if not (x.once() or y.once()) or not both or kinds & {'float', 'bool', 'empty'} or len(kinds) > 1:
                continue
            if plain_name(x.name) == plain_name(y.name) in ('id', 'no', 'nr', 'number',
                                                            'index') and x.once() and y.once():
                continue                # both only number their own rows
            rows = sum(x.values[v][0] * y.values[v][0] for v in both)
            out.append((len(both) / min(len(x.values), len(y.values)), x, y, rows))
    out.sort(key=lambda j: -j[0])
    return [j[1:] for j in out if j[0] > 0.5]


def join_text(a, b, x, y, rows):
    """The statement that joins two tables, and how many rows of each are left out."""
    if y.once():
        a, b, x, y = b, a, y, x         # b has many rows for each row of a
    on = 'on=%r' % x.name if x.name == y.name else 'left_on=%r, right_on=%r' % (y.name, x.name)
    also = {c.name for c in a.columns} & {c.name for c in b.columns} - {x.name}
    code = 'both = %s.merge(%s, %s%s)' % (b.name, a.name, on, ', suffixes=("", "_%s")' % a.name if also
                                          else '')
    facts = []
    without = sum(y.values[v][0] for v in y.values.keys() - x.values.keys())
    unused = len(x.values.keys() - y.values.keys())
    if without:
        facts.append('%d of %s find%s none' % (without, b.name, 's' * (without == 1)))
    if unused:
        facts.append('%d of %s %s not in %s' % (unused, a.name, 'is' if unused == 1 else 'are', b.name))
    return code, '%d rows%s' % (rows, ''.join(', ' + f for f in facts))


DATA_ENDS = ('.csv', '.tsv', '.txt', '.dat', '.log', '.json', '.jsonl', '.ndjson', '.xlsx', '.xls',
             '.parquet')


def siblings(path):
    """[(time of the last change, path)] of the other files of data in the folder of this file, the newest
    first."""
    found = []
    try:
        with os.scandir(os.path.dirname(path) or '.') as entries:
            for e in itertools.islice(entries, 200):
                st = e.stat(follow_symlinks=False)
                if (e.name.lower().endswith(DATA_ENDS) and stat.S_ISREG(st.st_mode) and st.st_size
                        and e.name != os.path.basename(path)):
                    found.append((st.st_mtime_ns, os.path.join(os.path.dirname(path), e.name)))
    except OSError:
        return []
    return sorted(found, reverse=True)


def variable(path, alone):
    """What to call what a file is read into: by its own name, unless it is the only one."""
    if not siblings(path):
        return alone
    stem = os.path.basename(path).split('.', 1)[0]
    return identifier(stem, '') or identifier('%s_%s' % (alone, stem), alone + '2')


def own_names(path, said):
    """The profile, with variables in its code that the code of no other file overwrites."""
    lines = said.split('\n')
    n = next((i for i, s in enumerate(lines) if not re.match(r'import |for | |\w+ = |\w+\[', s)), len(lines))
    code, facts = '\n'.join(lines[:n]), '\n'.join(lines[n:])
    made = re.findall(r'(?:^|; )(df|data|text|rows) = ', code, re.M)
    for name in made if siblings(path) else ():
        own = variable(path, name) + ('_' + name if name != made[-1] else '')
        word = r'("(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\')|\b%s\b' % name
        code = re.sub(word, lambda m: m[1] or own, code)
        facts = re.sub(word + r'(?=\[)', lambda m: m[1] or own, facts)
    return '\n'.join(part for part in (code, facts) if part)


def joins_with_files(t, path):
    """The lines that join this table with an older one beside it, if they share a column; else none. Nothing
    else of that file is read."""
    changed = os.stat(path).st_mtime_ns
    tables = [other for time, other in siblings(path) if time <= changed
              and other.lower().endswith(('.csv', '.tsv')) and os.path.getsize(other) <= SAMPLE]
    for other in tables[:4] if has('pandas') else ():
        try:
            raw, size = read_start(other)
            known = TROUBLE[:]          # what is wrong with that file is said of that file
            text, encoding = decode_text(raw, True)
            TROUBLE[:] = known
            first = [plain_name(c) for c in re.split('[\t;,|]',
                                                     text[:4000].split('\n', 1)[0])] if text else []
            if not any(related(a, t.name, b) or related(b, '', a) for a in first
                       for b in [plain_name(c.name) for c in t.columns[:60]]):
                continue
            u = read_table(other, text, encoding, True, variable(other, 'df'), 0.5)
            found = joins(t, u) if u and u.whole and t.whole else []
        except (OSError, ValueError):
            continue
        if found:
            return u.code() + ['%s  # %s' % join_text(t, u, *found[0])]
    return []
