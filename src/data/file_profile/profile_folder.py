# profile_folder.py - the part of file_profile.py for folders: what is in one, and files of one kind profiled
# once, with what differs.

ALIKE_MOST, ALIKE_SECONDS = 500, 2.0    # files compared with the first of their kind, and for how long
NAMES_MOST = 420                # characters of the list of names


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


def first_line(path):
    """What tells whether files are alike: the header of a table, the keys of a JSON object. None: unknown."""
    with open(path, 'rb') as f:
        raw = f.read(65536)
    if raw[:4] == b'PAR1':
        return parquet_header(path)
    text = decode_text(raw, False)[0]
    if text is None:
        return None
    line = text.lstrip('\ufeff').split('\n', 1)[0].strip()
    if line[:1] in ('{', '['):
        return ','.join(sorted(set(re.findall(r'"([^"\\]{1,60})"\s*:', text[:4096]))))
    return line


def differences(path, names):
    """One line: whether the other files begin as the first one does."""
    first, unlike, until = first_line(os.path.join(path, names[0])), [], clock() + ALIKE_SECONDS
    seen = 1
    if first is None:
        return False, ''
    for name in names[1:ALIKE_MOST]:
        if clock() > until:
            break
        if first_line(os.path.join(path, name)) != first:
            unlike.append(name)
        seen += 1
    some = '' if seen == len(names) else ' (%d were looked at)' % seen
    kind = '%d %s files%s' % (len(names) - 1, kind_of(names[0]), some)
    kind = kind_of(names[0]) + ' file' if len(names) == 2 else kind
    if not unlike:
        return True, 'The other %s: the same columns' % kind
    return False, 'The other %s: %d with other columns: %s' % (
        kind, len(unlike),
        clean('; '.join('%s: %s' % (clean(n, 60), clean(first_line(os.path.join(path, n)), 80))
                        for n in unlike[:3]), 300))


def read_all(path, names, said):
    """The line that reads the first file, made into one that reads all of its kind."""
    line = said.split('\n', 1)[0]
    one = repr(os.path.join(path, names[0]))
    call = re.search(r'(\w+) = (pd\.read_\w+\(.*\))$', line)
    if not call or line.count(one) != 1:
        return said
    deep = any('/' in n for n in names)
    pattern = os.path.join(path, '**' if deep else '', '*' + os.path.splitext(names[0])[1])
    code, facts = code_and_facts(said)
    rest = re.sub(r'\b%s\[' % call.group(1), 'df[', code[len(line):])
    rest += '\n%s alone: %s' % (clean(names[0], 80), facts)
    return ('import glob, pandas as pd; '
            'df = pd.concat([%s.assign(file=f) for f in sorted(glob.glob(%r%s))])%s'
            % (call.group(2).replace(one, 'f'), pattern, ', recursive=True' if deep else '', rest))


def folder(path):
    found = files_below(path)
    kinds = {}
    for name, _ in found:
        kinds.setdefault(kind_of(name), []).append(name)
    order = sorted(kinds, key=lambda k: (-len(kinds[k]), k))
    shown = clean(', '.join('%s (%d)' % (clean(n, 60), size) for n, size in found[:60]), NAMES_MOST)
    lines = ['%d files: %s' % (len(found), ', '.join('%d %s' % (len(kinds[k]), k or 'without extension')
                                                     for k in order[:8])),
             'names and bytes: ' + shown]
    for kind in order[:3]:
        names = kinds[kind]
        left = MOST - 60 - sum(len(s) + 1 for s in lines)
        if left < 200:
            break
        said = file_profile(os.path.join(path, names[0]))
        shaped = len(names) > 1 and re.search(r', columns: |^an object of |^a list of ', said, re.M)
        same, told = differences(path, names) if shaped else (False, '')
        if same:
            said = read_all(path, names, said)
        lines.append(('%s:\n%s' % (clean(names[0], 80), said))[:left - len(told)]
                     if not same or not said.startswith('import glob')
                     else said[:left - len(told)])
        if told:
            lines.append(told)
    return '\n'.join(lines)
