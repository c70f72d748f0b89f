# profile_parts.py - the part of file_profile.py for several tables that are parts of one: files of a folder,
# files added one by one, members of an archive. The reading of the first, proposed on all of them, reads them
# all, and what is told is the frame that it makes.

import itertools
import os
import re
import shutil
import stat
import tempfile

ALL_PARTS = []                      # what stands for all parts, while the first of them is looked at
PARTS_MOST, PARTS_BYTES = 300, 8 << 20         # of one table: how many are compared, and how much is read
LISTED = 400                    # characters of a list of names; instead of a longer one stands a pattern
NAMES_MOST = 420                # characters of the names in a folder


class Parts:
    """paths: {name: path}, of which the first is looked at; variable: what they are read into; each: the
    expression that opens the part named f; listed: the one for all names."""

    def __init__(self, paths, variable, each, listed):
        self.paths, self.variable, self.each, self.listed = paths, variable, each, listed
        self.first, names = next(iter(paths.values())), {name.split('/')[-1] for name in paths}
        column = 'of_file' if re.search(r'\bfile\b', beginning_of(self.first), re.I) else 'file'
        self.label = column + ("=f.split('/')[-1]" if len(names) == len(paths) else '=f')
        sizes = itertools.accumulate(map(os.path.getsize, paths.values()))
        self.seen = [name for name, size in zip(paths, sizes) if size <= PARTS_BYTES][:PARTS_MOST]
        self.rows = None

    def reading(self, code, each, listed, concat='pd.concat'):
        """The code, of which the line that reads the first part reads all that are listed."""
        one = re.compile(r'^(.*\b\w+ = )(pd\.read_\w+\()%s(.*\))$' % re.escape(repr(self.first)), re.M)
        return one.sub(lambda m: '%s%s([%s.assign(%s) for f in %s], ignore_index=True)' % (
            m[1], concat, m[2] + each + m[3], self.label, listed), code)

    def concat(self, frames, ignore_index):
        """What pd.concat makes of all that are seen."""
        import pandas as pd
        if any(list(frame) != list(frames[0]) for frame in frames):
            raise ValueError('other columns')
        self.rows = sum(map(len, frames))
        return pd.concat(frames, ignore_index=True)

    def profile(self):
        """(the code that reads all, what is told of them); None: no line reads them all."""
        known = TROUBLE[:]
        ALL_PARTS.append(self)
        try:
            code, facts = code_and_facts(file_profile(self.first))
            whole, alone = self.reading(code, self.each, self.listed), self.rows is None
            if whole != code and alone:
                run(['import pandas as pd', code])      # have they the same columns?
            if self.rows is None:
                raise ValueError('no table')
        except Exception:
            TROUBLE[:] = known
            return None
        finally:
            ALL_PARTS.pop()
        title = '%d files with the same columns' % len(self.paths)
        if len(self.seen) < len(self.paths):
            title = '%d files that begin alike, looked at %d' % (len(self.paths), len(self.seen))
        title += '; %s alone' % clean(next(iter(self.paths)).split('/')[-1], 80) * alone
        imports = 'glob, pandas as pd' if 'glob.' in self.listed else 'pandas as pd'
        return whole.replace('pandas as pd', imports, 1), '%s:\n%s' % (title, facts)


def beginning_of(path):
    """What tells whether files are alike: the first line of a text, the keys of a JSON object. Whether those
    of other kinds are is seen when they are read."""
    with open(path, 'rb') as f:
        raw = f.read(65536)
    known = TROUBLE[:]
    text = decode_text(raw, False)[0]
    TROUBLE[:] = known
    if text is None:
        return 'not a text'
    line = text.lstrip('\ufeff').split('\n', 1)[0].strip()
    if line[:1] in ('{', '['):
        return ','.join(sorted(set(re.findall(r'"([^"\\]{1,60})"\s*:', text[:4096]))))
    return line


def begin_alike(paths):
    """({name: path} of those that begin as the first does, but for numbers; words for the others). Those for
    which there is no time are taken for alike, as are all behind PARTS_MOST."""
    begin = {name: beginning_of(path) for name, path in in_time(list(paths.items())[:PARTS_MOST], SECONDS)}
    first = re.sub(r'\d+', '0', next(iter(begin.values())))
    other = {name: said for name, said in begin.items() if re.sub(r'\d+', '0', said) != first}
    told_of = ['%s: %s' % (clean(n.split('/')[-1], 60), clean(said, 80)) for n, said in other.items()]
    return ({name: path for name, path in paths.items() if name not in other},
            ['with other columns: ' + clean('; '.join(told_of[:4]), 300)] * bool(other))


def listing(paths, most=LISTED):
    """The expression for a list of files: their paths, or a pattern if these are long and it fits; None."""
    import glob
    (folder, name), end = os.path.split(os.path.commonprefix(paths)), os.path.splitext(paths[0])[1]
    deep = any(os.path.dirname(path) != folder for path in paths)
    pattern = os.path.join(glob.escape(folder), ('**/' if deep else glob.escape(name)) + '*' + end)
    if len(repr(paths)) > most and set(glob.glob(pattern, recursive=deep)) == set(paths):
        return 'sorted(glob.glob(%r%s))' % (pattern, ', recursive=True' * deep)
    return repr(paths) if len(repr(paths)) <= LISTED else None


def files_below(path):
    """[(path below the folder, size)], sorted."""
    found = []
    for where, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            full = os.path.join(where, name)
            try:
                st = os.lstat(full)
            except OSError:
                continue
            if stat.S_ISREG(st.st_mode):
                found.append((os.path.relpath(full, path), st.st_size))
        if len(found) > 20000:
            break
    return found


def kind_of(name):
    return os.path.splitext(name)[1].lower()


def folder(path):
    """What is in a folder, and of each frequent kind the files that are alike, or the first one."""
    found = files_below(path)
    kinds = {}
    for name, _ in found:
        kinds.setdefault(kind_of(name), []).append(os.path.join(path, name))
    order = sorted(kinds, key=lambda k: (-len(kinds[k]), k))
    shown = clean(', '.join('%s (%d)' % (clean(n, 60), size) for n, size in found[:60]), NAMES_MOST)
    codes, facts = [], ['%d files: %s' % (len(found), ', '.join(
        '%d %s' % (len(kinds[k]), k or 'without extension') for k in order[:8])), 'names and bytes: ' + shown]
    for kind in order[:3]:
        left = MOST - 60 - sum(len(s) + 1 for s in codes + facts)
        if left < 200:
            break
        same, other = begin_alike({p: p for p in kinds[kind]})
        listed = listing(list(same), 60) if len(same) > 1 else None
        made = Parts(same, 'df', 'f', listed).profile() if listed else None
        if not made:
            name, said = os.path.relpath(kinds[kind][0], path), file_profile(kinds[kind][0])
            code, told_of = code_and_facts(said)
            shaped = re.search(r', columns: |^an object of |^a list of ', said, re.M)
            begins = '%d files begin alike; ' % len(same) * bool(shaped and len(same) > 1)
            made, other = (code, '%s%s:\n%s' % (begins, clean(name, 80), told_of)), other if shaped else []
        if len(made[0]) > left:
            break
        codes += [made[0]] * bool(made[0])
        facts += [made[1][:left - len(made[0]) - sum(map(len, other))]] + other
    return '\n'.join(codes + facts)


def parts_of_one(t, path, older):
    """The lines that put this file below all older ones of the same columns, such as one for each month."""
    paths = {p: p for p in (path, *older) if kind_of(p) == kind_of(path)}
    same = list(begin_alike(paths)[0]) if table_form(t.title, [c.name for c in t.columns]) else []
    listed = listing(same[::-1]) if len(same) > 1 else None
    parts = Parts({p: p for p in same}, 'together', 'f', listed) if listed else None
    made = parts and parts.profile()
    if not made:
        return []
    lines = re.sub('^import pandas as pd; |, pandas as pd', '', made[0], count=1).split('\n')
    shape = re.sub(r'\d+', '0', os.path.basename(path))
    other = [os.path.basename(p) for p in paths if p not in same
             and re.sub(r'\d+', '0', os.path.basename(p)) == shape]
    facts = [count(parts.rows, 'row')] * (len(parts.seen) == len(same))
    facts += ['without those with other columns: ' + clean(', '.join(other), 80)] * bool(other)
    lines[0] += '  # ' * bool(facts) + ', '.join(facts)
    return lines
