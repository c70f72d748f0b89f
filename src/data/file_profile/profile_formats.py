# profile_formats.py - the part of file_profile.py for JSON.

import itertools
import re


# JSON: all elements of a list are merged into one, so that a key that only some have is seen too.

DEPTH = 10                      # levels shown
KEYS_MOST = 40                  # of one object; one with more uses its keys as data
LEAVES = 20000                  # values examined
LEAF_VALUES = 3000              # different values kept per leaf


class Node:
    """What occurs at one place of a JSON text: how often, objects with which keys, lists of what, which plain
    values."""
    __slots__ = ('n', 'keys', 'names', 'objects', 'items', 'lists', 'longest', 'values', 'kinds', 'sample',
                 'deep')

    def __init__(self):
        self.n = self.objects = self.lists = self.longest = 0
        self.keys, self.items, self.values, self.kinds = {}, None, {}, {}
        self.names, self.sample, self.deep = None, None, False


class Look:
    """One walk through a value, which stops after some ten thousand leaves: that is enough."""

    def __init__(self):
        self.left, self.whole = LEAVES, True

    def at(self, node, value, depth=0):
        node.n += 1
        kind = type(value)
        if kind is dict or kind is list:
            if depth >= DEPTH:
                node.deep = True
            elif kind is dict:
                self.object(node, value, depth)
            else:
                self.list(node, value, depth)
            return
        self.left -= 1
        node.kinds[kind] = node.kinds.get(kind, 0) + 1
        if kind is str and len(value) > 60:
            value = value[:60]
        if value in node.values:
            node.values[value] += 1
        elif len(node.values) < LEAF_VALUES:
            node.values[value] = 1

    def object(self, node, value, depth):
        node.objects += 1
        if len(value) > KEYS_MOST and node.names is None:
            node.names = {}
        for k, v in value.items():
            if self.left <= 0:
                self.whole = False
                return
            if node.names is not None:          # its keys are data, so all its values are merged
                if len(node.names) < LEAF_VALUES:
                    node.names[k] = None
                k = ''
            child = node.keys.get(k)
            if child is None:
                if len(node.keys) >= 2 * KEYS_MOST:
                    continue
                child = node.keys[k] = Node()
            self.at(child, v, depth + 1)

    def list(self, node, value, depth):
        node.lists += 1
        node.longest = max(node.longest, len(value))
        if node.items is None and value:
            node.items = Node()
        for v in value:
            if self.left <= 0:
                self.whole = False
                return
            self.at(node.items, v, depth + 1)


def merge(into, node):
    """Merge what is known of two places."""
    for name in ('n', 'objects', 'lists'):
        setattr(into, name, getattr(into, name) + getattr(node, name))
    into.longest, into.deep = max(into.longest, node.longest), into.deep or node.deep
    for counts, more in ((into.values, node.values), (into.kinds, node.kinds)):
        for k, n in more.items():
            if k in counts or len(counts) < LEAF_VALUES:
                counts[k] = counts.get(k, 0) + n
    if node.names is not None:
        into.names = dict(into.names or {}, **node.names)
    for k, child in node.keys.items():
        if k in into.keys:
            merge(into.keys[k], child)
        else:
            into.keys[k] = child
    if into.items is not None and node.items is not None:
        merge(into.items, node.items)
    into.items = into.items or node.items


def alike(a, b):
    """Do two places hold the same thing? Objects may lack some keys, and lists some elements."""
    if a.objects and b.objects and a.names is None and b.names is None:
        return 2 * len(a.keys.keys() & b.keys.keys()) > len(a.keys.keys() | b.keys.keys())
    if a.lists and b.lists:
        if a.items is None or b.items is None or alike(a.items, b.items):
            return True
        return bool(a.items.kinds and a.items.kinds.keys() == b.items.kinds.keys())
    return False


def fold(node):
    """An object whose values are all alike uses its keys as data; its values are then merged."""
    children = list(node.keys.values())
    for child in children + ([node.items] if node.items else []):
        fold(child)
    # So does one of a list where most keys occur in few of the objects.
    own = len(children) > KEYS_MOST and 2 * sum(c.n for c in children) < node.objects * len(children)
    if node.names is None and len(children) > 2 and (own or all(alike(children[0], c) for c in children[1:])):
        node.names = dict.fromkeys(node.keys)
        for child in children[1:]:
            merge(children[0], child)
        node.keys = {'': children[0]}


def signature(node, depth=0):
    """Equal for places that hold the same shape."""
    if depth > DEPTH:
        return ''
    kinds = ','.join(sorted(k.__name__ for k in node.kinds))
    inner = ','.join('%s:%s' % (clean(k, CELL), signature(node.keys[k], depth + 1))
                     for k in sorted(node.keys)) if node.objects else ''
    return '%s{%s}[%s]' % (kinds, inner, signature(node.items, depth + 1) if node.items else '')


class Shape:
    """Writes a node as a sample of itself. A shape that was already written is only named."""

    def __init__(self):
        self.seen = {}

    def text(self, node, name='', depth=0):
        parts = []
        if node.objects:
            parts.append(self.object(node, name, depth))
        if node.lists:
            parts.append(self.list(node, name, depth))
        if node.values:
            parts.append(' or '.join(leaf_samples(node)))
        if node.deep:
            parts.append('...')
        return ' or '.join(parts)

    def object(self, node, name, depth):
        if node.names is not None:
            names = [clean(repr(k), CELL) for k in itertools.islice(node.names, 8)]
            count = len(node.names)
            said = '%s%d keys' % ('over ' if count >= LEAF_VALUES else '' if node.objects == 1 else 'up to ',
                                  count)
            more = ', ...' if count > 8 else ''
            return '{%s: %s, and so on; %s: %s%s}' % (names[0], self.text(node.keys[''], name, depth + 1),
                                                      said, ', '.join(names), more)
        known = signature(node)
        if len(node.keys) > 1 and known in self.seen and len(known) > 40:
            return '{the same keys as in %s}' % self.seen[known]
        self.seen.setdefault(known, clean(repr(name), CELL) if name else 'the first')
        parts = []
        for k, child in node.keys.items():
            some = '' if child.n >= node.objects or not depth else ' (in %d of %d)' % (child.n, node.objects)
            parts.append('%s: %s%s' % (clean(repr(k), CELL), self.text(child, k, depth + 1), some))
        return '{%s}' % ', '.join(parts)

    def list(self, node, name, depth):
        if node.items is None:
            return '[]'
        count = '%d in all' % node.longest if node.lists == 1 else 'up to %d' % node.longest
        unlike = {'objects': node.items.objects, 'lists': node.items.lists}
        for kind, n in node.items.kinds.items():
            unlike[WORDS[kind]] = unlike.get(WORDS[kind], 0) + n
        unlike = ['%d %s' % (n, word) for word, n in unlike.items() if n]
        said = '; unlike things: ' + ', '.join(unlike) if len(unlike) > 1 else ''
        return '[%s%s%s]' % (self.text(node.items, name, depth + 1), ', ... ' + count if node.longest > 1
                             else '', said)


WORDS = {str: 'texts', int: 'numbers', float: 'numbers', bool: 'true or false', type(None): 'null'}


def leaf_samples(node):
    """One value of each kind."""
    out = {}
    for v in node.values:
        out.setdefault(WORDS.get(type(v)), clean(repr(v), CELL))
    return list(out.values())[:4]


def leaf_facts(node, whole):
    """'E, N, S, W', '2023-01-01 to 2023-12-31', '1.5 to 90.0'; '' if nothing short is useful."""
    values = [v for v in node.values if v is not None and v == v]
    missing = ', %d null' % node.kinds[type(None)] if type(None) in node.kinds and len(node.kinds) > 1 else ''
    kinds = {WORDS.get(type(v)) for v in values}
    if len(kinds) != 1 or node.n < 2:
        return missing[2:]
    if kinds == {'texts'}:
        few = ', '.join(clean(v, 24) for v in sorted(values))
        if len(values) <= (8 if len(values) * 2 <= node.n else 6) and len(few) <= 90:
            return few + missing
        return text_facts(values, len(values) if whole and len(values) < LEAF_VALUES else 'many',
                          missing, len(values) < node.n)
    if kinds == {'numbers'}:
        return '%s to %s%s' % (number_text(min(values)), number_text(max(values)),
                               missing) if len(values) > 1 else missing[2:]
    return missing[2:]


def text_facts(values, count, missing, repeated):
    found = column_plan('', dict.fromkeys(values, 1)) if has('pandas') else Plan('text')
    if found.kind in ('int', 'float') and not found.code:
        numbers = [float(v) for v in values if v.strip() not in MISSING]
        return 'numbers as text, %s to %s%s' % (number_text(min(numbers)), number_text(max(numbers)), missing)
    if found.kind == 'date':
        days = parsed([v.strip() for v in values], found.form or None, utc=True).dropna()
        ends = [cell_text(d.tz_localize(None)) for d in (days.min(), days.max())] if len(days) else []
        form = 'dates %s, ' % found.form if found.form else ''
        return form + ' to '.join(ends) + missing
    return '%s different%s' % (count, missing) if repeated else missing[2:]


def record_lists(node, path, out, depth=0):
    """[(path, node)]: every list of objects and every object whose keys are data, with the expression that
    leads there."""
    if depth > DEPTH:
        return out
    if node.items is not None and node.items.objects:
        out.append((path, node.items))
        record_lists(node.items, path + '[i]', out, depth + 1)
    if node.names is not None and node.keys:
        if node.keys[''].objects:
            out.append((path + '.values()', node.keys['']))
        record_lists(node.keys[''], path + '[key]', out, depth + 1)
    else:
        for k, child in node.keys.items():
            record_lists(child, '%s[%s]' % (path, clean(repr(k), CELL)), out, depth + 1)
    return out


def leaves(node, path=''):
    for k, child in node.keys.items() if node.names is None else ():
        name = path + clean(str(k), CELL)
        if child.values:
            yield name, child
        if child.objects and path.count('.') < 3:
            yield from leaves(child, name + '.')


def list_facts(lists, whole):
    out = []
    for path, node in lists[:8]:
        facts = [(name, leaf_facts(leaf, whole)) for name, leaf in leaves(node)]
        facts = ['%s %s' % fact for fact in facts if fact[1]]
        if facts:
            out.append('in %s: %s' % (path, '; '.join(facts)))
    return out


class Shared:
    """The values of a list of records, of which other lists may hold some."""

    def __init__(self, path, name, found):
        import pandas as pd
        self.path, self.name = path, name
        self.columns = [Column(k, pd.Series(v, dtype=None if v else object)) for k, v in found.items()]


def list_joins(lists):
    """Lists of which one refers to elements of the other: orders with customer_id, customers with id."""
    tables = []
    for path, node in lists[:8] if has('pandas') else ():
        name = re.sub(r'\W+', ' ', path.replace('[i]', '')).split()[-1]
        found = {}
        for leaf_name, leaf in leaves(node):
            held = [v for v, n in leaf.values.items() for _ in range(n) if type(v) in (int, str)]
            found[leaf_name] = held if len(held) == leaf.n else []
        tables.append(Shared(path, name, found))
    return ['%r in %s is %r in %s: %d of %d are found there' % (
        key.name, many.path, of.name, one.path, rows, key.n)
            for many, key, one, of, rows, _ in references(tables)[:3]]


def shape_text(value, root='data'):
    """The whole shape once, then for every list in it the facts that decide questions."""
    look, node = Look(), Node()
    look.at(node, value)
    fold(node)
    said = [clean(Shape().text(node), MOST * 2 // 3)]
    lists = record_lists(node, root, [])
    more = list_joins(lists) if look.whole else []
    more += list_facts(lists, look.whole)
    if more and not look.whole:
        more.insert(0, 'of the values looked at:')
    left = MOST - 260 - len(said[0])
    for line in more:
        if left < 40:
            break
        said.append(clean(line, left - 3))
        left -= len(said[-1]) + 1
    return '\n'.join(said)


def shape(value):
    """One value alone, as a sample."""
    look, node = Look(), Node()
    look.at(node, value)
    fold(node)
    return Shape().text(node)


def flat_record(record, depth=0):
    """A record with the members of its objects as columns, 'client.device', as pandas makes them; None: it
    has a list, or is nested deeper."""
    out = {}
    for k, v in record.items():
        if isinstance(v, dict) and v:
            inner = flat_record(v, depth + 1) if depth < 3 else None
            if inner is None:
                return None
            out.update(('%s.%s' % (k, name), value) for name, value in inner.items())
        elif isinstance(v, (dict, list)):
            return None
        else:
            out[k] = v
    return out


LONG = 'parse_int=lambda n: n if len(n) > 15 else int(n)'     # a float would round such numbers


def long_with_gaps(items, names):
    """Has a column of numbers with more than 15 digits records without one?"""
    for name in names:
        seen = [r.get(name) for r in items]
        if any(type(v) is int and abs(v) > 10 ** 15 for v in seen) and None in seen:
            return True
    return False


def statements_for_text(frame):
    """[(statement's expression, names)] for the columns of text of a frame, and remarks. A number between
    quotes is text; only one with decimals is made a number, since a whole one may be a name."""
    found, remarks = {}, {}
    for i, name in enumerate(frame.columns[:COLUMNS_SEEN]):
        c = Column(name, frame.iloc[:, i])
        kept = c.counts() if c.kind == 'text' else {}
        made = {'dates': 'pd.to_datetime({})', 'decimal': '{}.astype(float)'}.get(c.kind)
        if made:
            found.setdefault(made, []).append(name)
        if not kept:
            continue
        p = column_plan(name, kept)
        code = p.code or ("pd.to_numeric({}, errors='coerce')" if p.kind == 'float' else '')
        if p.marks and 'coerce' not in code:
            code = code.replace('{}', '{}.mask({}.isin(%r))' % p.marks, 1)
        if p.remark:
            remarks[name] = p.remark
        if code:
            found.setdefault(code, []).append(name)
    return list(found.items()), remarks


def table_of(name, lines, given=(), first=''):
    """A Table from lines that make a frame, and then of statements for its columns of text."""
    frame = run([first] + lines, given)[name]
    statements, remarks = statements_for_text(frame)
    lines = lines + [statement(name, *s) for s in statements]
    if statements:
        try:
            frame = run([first] + lines, given)[name]
        except Exception:
            lines, remarks = lines[:-len(statements)], {}
    t = Table(name, lines, frame)
    t.remarks = remarks
    return t


def records(items, reader, what, loading=''):
    """Describes a list of records as a table. loading: the part of reader that loads them. None if it is not
    one."""
    if not items or not all(isinstance(r, dict) for r in items[:1000]) or not has('pandas'):
        return None
    names, nested = [], False
    for r in items[:200]:
        made = flat_record(r)
        if made is None:
            return None
        nested |= any(isinstance(v, dict) for v in r.values())
        names += [k for k in made if k not in names]
        if len(names) > (40 if nested else 200):
            return None                 # keys that are data
    if not names:
        return None
    if nested:
        reader = reader.replace('pd.DataFrame(', 'pd.json_normalize(')
    shown = [flat_record(r) for r in items[:2]]
    if loading and not nested and long_with_gaps(items, names):
        more = re.sub(r'(json\.loads?\((?:[^()]|\([^()]*\))*)\)', lambda m: m[1] + ', ' + LONG + ')', loading)
        reader, loading = reader.replace(loading, more), more
        items = [{k: str(v) if type(v) is int and abs(v) > 10 ** 15 else v for k, v in r.items()}
                         for r in items]
    try:
        t = table_of('df', [reader], [(loading, items)] if loading else ())
    except Exception:
        return None
    what = re.sub(r'^(\w+)s\b', r'\1', what) if len(items) == 1 else what
    lines = t.lines + ['%d %s, columns: %s' % (len(items), what, describe(t.columns, t.remarks))]
    if ROWS:
        lines.append(first_of([clean(repr(r), ROW) for r in shown]))
    return '\n'.join(lines)


def distinct(pairs):
    """An object of JSON; a key that it has twice is told, since all values of it but the last are lost."""
    value = dict(pairs)
    if len(value) < len(pairs) and not TROUBLE:
        keys = [k for k, _ in pairs]
        twice = clean(repr(next(k for k in value if keys.count(k) > 1)), 20)
        TROUBLE.append('an object has the key %s twice: the last value is read' % twice)
    return value


def json_text(path, text, encoding, whole):
    import json
    enc = '' if encoding == 'utf-8' else ', encoding=%r' % encoding
    read = 'import json; data = json.load(open(%r%s))' % (path, enc)
    try:
        if whole:
            value = json.loads(text, object_pairs_hook=distinct)
        else:
            with open(path, encoding=encoding) as f:
                value = json.loads(f.read(JSON_MOST + 1))
    except RecursionError:
        return read + '\nJSON, nested very deep'
    except ValueError:
        return json_start(read, text, whole)
    if isinstance(value, list):
        frame = read
        if has('pandas'):
            frame = 'import json, pandas as pd; df = pd.DataFrame(json.load(open(%r%s)))' % (path, enc)
        said = records(value, frame, 'records', 'json.load(open(%r%s))' % (path, enc))
        return said or '%s\na list of %d: %s' % (read, len(value), shape_text(value))
    if isinstance(value, dict):
        features = value.get('features')
        if value.get('type') == 'FeatureCollection' and isinstance(features, list):
            return geojson(read, features)
        return '%s\nan object of %s: %s' % (read, count(len(value), 'key'), shape_text(value))
    return '%s\none value: %s' % (read, shape(value))


def json_start(read, text, whole):
    """For JSON that is too large to load here: the first element, if it can be read. None for a whole file,
    which is then broken."""
    import json
    if whole:
        return None
    try:
        start = text.index('[') + 1
        value, _ = json.JSONDecoder().raw_decode(text[start:].lstrip()[:1 << 20])
        return '%s\na large list; the first element: %s' % (read, clean(shape(value), 1000))
    except (ValueError, RecursionError):
        return '%s\na large object; it begins: %s' % (read, clean(text[:600], 600))


JSON_LINES = '''import json; data = []
for s in open(%r%s):
    try: data.append(json.loads(s))
    except ValueError: pass
%s, left out'''


def json_lines(path, text, encoding, whole):
    import json
    lines = text.split('\n')
    if not whole:
        lines.pop()
    lines = [s for s in lines if s.strip()]
    items, bad = [], 0
    for s in in_time(lines, SECONDS):
        try:
            items.append(json.loads(s, object_pairs_hook=distinct))
        except (ValueError, RecursionError):
            bad += 1
            if bad > len(items):
                return None
    enc = '' if encoding == 'utf-8' else ', encoding=%r' % encoding
    read = 'import json; data = [json.loads(s) for s in open(%r%s) if s.strip()]' % (path, enc)
    if bad:
        words = '%d line%s not JSON' % (bad, ' is' if bad == 1 else 's are')
        TROUBLE.append(words)
        return '%s\n%d others: %s' % (JSON_LINES % (path, enc, words), len(items), shape_text(items))
    frame = read
    if has('pandas'):
        frame = read.replace('import json;', 'import json, pandas as pd;') + '; df = pd.DataFrame(data)'
    of = '' if whole else ', in the first %d MiB' % (SAMPLE >> 20)
    what = 'records, one a line' + (of if len(items) == len(lines) else ', of about %d' % count_rows(path))
    said = records(items, frame, what, '[json.loads(s) for s in open(%r%s) if s.strip()]' % (
        path, enc)) or '%s\n%d %s: %s' % (read, len(items), what, shape_text(items))
    return log_facts(said, items)
