# profile_formats.py - the part of file_profile.py for values within values: JSON, and XML as a value like it.
# Told are one abridged sample of the whole, and the frame that pandas makes of each list of records in it.

import collections
import functools
import itertools
import re

DEPTH = 16                      # levels shown
KEYS_MOST = 40                  # of one object; one with more uses its keys as data
PLACES = 500                    # looked at, and at most so many values at each
VALUES = 20000
WALK_SECONDS = 1.0
LOOPS = 'abcdefghijklmnopqrstuvw'
WORDS = {dict: 'objects', list: 'lists', int: 'numbers', float: 'numbers', bool: 'true or false',
         type(None): 'null'}


class Place:
    """The values at one place: one, or those in every element of a list. value, loops: the code that leads to
    them; keys: [(name, code)] of what tells their owners apart; path: the names from the root; owners: the
    elements of lists that they are in, the last of which may be itself."""

    def __init__(self, values, value='data', loops=(), keys=(), path=(), owners=()):
        self.values = list(itertools.islice(values, VALUES))
        self.value, self.loops, self.keys, self.path = value, loops, keys, path
        self.owners = owners + (self,) if len(loops) > len(owners) else owners
        self.above = ()             # those of the owners whose values a frame of these has too
        self.objects = [v for v in self.values if type(v) is dict]
        self.lists = [v for v in self.values if type(v) is list]
        self.plain = list({WORDS.get(type(v), 'texts'): v for v in reversed(self.values)
                           if type(v) not in (dict, list)}.values())[::-1]

    def member(self, k):
        values = [v[k] for v in self.objects if k in v]
        value, keys = '%s[%r]' % (self.value, k), self.keys
        kind = next((type(v) for v in values if v is not None), None)
        if len([v for v in values if v is not None]) < len(self.objects):
            value = '(%s.get(%r) or %s)' % (self.value, k, '{}' if kind is dict else '[]')
        keys += self.own_key() if self.loops and kind is list else ()
        return Place(values, value, self.loops, keys, self.path + (k,), self.owners)

    def own_key(self):
        """The first key whose value is another one in each of these objects."""
        for k in self.objects[0]:
            held = [v.get(k) for v in self.objects]
            if all(type(v) in (str, int) for v in held) and len(set(held)) == len(held):
                return ((k, '%s[%r]' % (self.value, k)),)
        return ()

    def elements(self):
        name = LOOPS[len(self.loops)]
        return Place(itertools.chain.from_iterable(self.lists), name,
                     self.loops + ('for %s in %s' % (name, self.value),), self.keys, self.path, self.owners)

    def of_keys(self):
        name, key = LOOPS[len(self.loops)], 'key%s' % (len(self.keys) or '')
        title = self.path[-1] if self.path and self.path[-1] != '*' else key
        return Place((v for o in self.objects for v in o.values()), name,
                     self.loops + ('for %s, %s in %s.items()' % (key, name, self.value),),
                     self.keys + ((title, key),), self.path + ('*',), self.owners)

    @functools.cached_property
    def keys_are_data(self):
        """Are there many, or are all values alike?"""
        held = self.objects[:2000]
        often = collections.Counter(itertools.chain.from_iterable(held))
        rare = len(held) == 1 or often and 2 * max(often.values()) < len(held)
        if len(often) > (KEYS_MOST if rare else 5 * KEYS_MOST):
            return True
        first = {k: v for o in reversed(held[:200]) for k, v in o.items()}
        values = list(first.values())
        return len(values) > 2 and all(alike(values[0], v) for v in values[1:])

    def is_columns(self):
        """Is it one object of columns that are equally long, as lists or with the numbers of rows as keys?"""
        held = list(self.objects[0].values()) if not self.loops and self.objects else []
        kind = type(held[0]) if held else None
        if len(held) < 2 or kind not in (dict, list) or not all(
                type(v) is kind and 1 < len(v) == len(held[0]) for v in held):
            return False
        plain = not any(type(x) in (dict, list) for v in held for x in itertools.islice(v, 20))
        return plain and (kind is list or all('0' in v and v.keys() == held[0].keys() for v in held))

    def is_records(self):
        return any(self.objects) and len(self.objects) == len(self.values) and not self.keys_are_data

    def frame(self):
        """The expression that makes a frame of these records."""
        rows, both = self.value, self.above + (self,)
        known = {k for p in both for v in p.objects[:200] for k in v}
        parts = ['%r: %s' % (k if k not in known else 'of_%s' % k, code) for k, code in self.keys
                 if code[0] not in [p.value for p in self.above]]
        parts = ['**' + p.value for p in both] + parts
        if len(self.loops) == len(parts) == 1 and rows in 'a':
            rows = self.loops[0].partition(' in ')[2]
        elif self.loops:
            rows = '[%s %s]' % ('{%s}' % ', '.join(parts) if len(parts) > 1 else rows, ' '.join(self.loops))
        inner = [p.member(k) for p in both for k in {k for v in p.objects for k in v if type(v[k]) is dict}]
        deep = self.loops and inner and not any(m.keys_are_data for m in inner)
        lists = ['.'.join(p.path[len(o.path):]) for o, p in zip(both, both[1:])]
        return 'pd.%s(%s)' % ('json_normalize' if deep else 'DataFrame', rows) + (
            '.drop(columns=%r)' % lists if lists else '')

    def can_hold(self, owner, places):
        """Can a frame of these have the values of their owners as well? No name is in both, each owner has
        such a list, and no other one."""
        way = self.path[len(owner.path):]
        names = [{k for v in p.objects for k in v} for p in (*owner.above, owner, self)]
        return ('*' not in way and len(owner.values) < VALUES
                and sum(map(len, names)) == len(set.union(*names))
                and all(self in q.owners for q in places if owner in q.owners[:-1])
                and all(functools.reduce(lambda v, k: v.get(k) if type(v) is dict else None, way, o)
                        for o in owner.objects))

    def repeats(self):
        """What is said of the owners in a frame of these."""
        return ['each of the %d %s is repeated for each of its %s' % (
            len(o.values), next((k for k in reversed(o.path) if k != '*'), 'objects'), p.path[-1])
            for o, p in zip(self.above, self.above[1:] + (self,))]


def joined_with_owners(places):
    """These places without the owners of others whose frame has all that they hold. The records that the
    whole is a list of keep one of their own, since it is they that are counted."""
    left = list(places)
    for p in places:
        owner = p.owners[-2] if len(p.owners) > 1 else None
        if owner in left and p.can_hold(owner, places):
            p.above = owner.above + (owner,)
            if owner.path:
                left.remove(owner)
    return left


def alike(a, b):
    """Do two values hold the same kind of thing? Objects may lack some keys, and lists be empty."""
    if type(a) is dict and type(b) is dict:
        return 2 * len(a.keys() & b.keys()) > len(a.keys() | b.keys())
    if type(a) is not list or type(b) is not list:
        return False
    return not a or not b or alike(a[0], b[0]) or type(a[0]) is type(b[0]) not in (dict, list)


class Shape:
    """One walk through a value: its text is a sample of it, where lists have one element that is merged from
    all; its places are the lists of records."""

    def __init__(self, data):
        self.places, self.notes, self.seen = [], [], {}
        self.left, self.until = PLACES, clock() + WALK_SECONDS
        self.text = self.sample(Place([data]))

    def sample(self, p, depth=0):
        self.left -= 1
        if depth >= DEPTH or self.left < 0 or clock() > self.until:
            return '...'
        parts = [self.object(p, depth)] if p.objects else []
        parts += [self.list(p, depth)] if p.lists else []
        return ' or '.join(parts + [clean(repr(v), CELL) for v in p.plain])

    def object(self, p, depth):
        if p.is_columns():
            self.places.append(p)
        if p.keys_are_data:
            inner, held = p.of_keys(), p.objects[0]
            if inner.is_records() and p not in self.places:
                self.places.append(inner)
            names = [clean(repr(k), CELL) for k in itertools.islice(held, 8)]
            number = count(max(map(len, p.objects)), 'key')
            return '{%s: %s, and so on; %s%s: %s%s}' % (
                names[0], self.sample(inner, depth + 1), 'up to ' * (len(p.objects) > 1), number,
                ', '.join(names), ', ...' * (len(held) > 8))
        parts, members = [], {
            k: p.member(k) for k in dict.fromkeys(k for v in p.objects for k in v)}
        known = str([(k, len(m.objects) > 0, len(m.lists) > 0) for k, m in members.items()])
        if len(members) > 1 and len(known) > 80 and known in self.seen:
            return '{the same keys as in %s}' % self.seen[known]
        self.seen[known] = clean(repr(p.path[-1]), CELL) if p.path else 'the first'
        for k, m in members.items():
            some = ' (in %d of %d)' % (len(m.values), len(p.objects))
            parts.append('%s: %s%s' % (clean(repr(k), CELL), self.sample(m, depth + 1),
                                       some * (len(m.values) < len(p.objects))))
        return '{%s}' % ', '.join(parts)

    def list(self, p, depth):
        inner, longest = p.elements(), max(map(len, p.lists))
        if not longest:
            return '[]'
        if inner.is_records() and all(v.get('type') == 'Feature' for v in inner.objects):
            properties = inner.member('properties')
            self.places += [properties] * any(properties.objects)
            self.notes.append(extent(inner.member('geometry').objects))
        elif inner.is_records() and (len(inner.values) > 1 or not p.path):
            self.places.append(inner)
        kinds = collections.Counter(WORDS.get(type(v), 'texts') for v in inner.values)
        unlike = '; unlike things: ' + ', '.join('%d %s' % (n, word) for word, n in kinds.items())
        number = ', ... %d in all' % longest if len(p.lists) == 1 else ', ... up to %d' % longest
        return '[%s%s%s]' % (self.sample(inner, depth + 1), number * (longest > 1), unlike * (len(kinds) > 1))


def extent(geometries):
    """What GeoJSON holds, and between which degrees."""
    kinds = collections.Counter(clean(g.get('type'), 30) for g in geometries)
    said = 'GeoJSON: ' + ', '.join('%d %s' % (n, k) for k, n in list(kinds.items())[:8])
    found = [at for g in geometries[:5000] for at in points(g.get('coordinates'))]
    if not found:
        return said
    x, y = zip(*found)
    return said + ', longitude %g to %g, latitude %g to %g' % (min(x), max(x), min(y), max(y))


def points(at, depth=0):
    """The pairs of numbers in lists within lists."""
    if type(at) is list and len(at) > 1 and type(at[0]) in (int, float) and type(at[1]) in (int, float):
        yield at[:2]
    elif type(at) is list and depth < 5:
        for v in at[:5000]:
            yield from points(v, depth + 1)


def statements_for_text(frame):
    """[(statement's expression, names)] for the columns of text of a frame, and remarks. A number between
    quotes is text; only one with decimals is made a number, since a whole one may be a name."""
    found, remarks = {}, {}
    for i, name in enumerate(frame.columns[:COLUMNS_SEEN]):
        c = Column(name, frame.iloc[:, i])
        mixed = mixed_plan(c)
        kept = c.counts() if c.kind == 'text' else {}
        made = {'dates': 'pd.to_datetime({})', 'decimal': '{}.astype(float)'}.get(c.kind, mixed)
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


def mixed_plan(c):
    """The expression that makes a column of numbers, or of dates, of one that has a few texts as well; '' for
    any other."""
    counts = c.counts() if c.kind in ('numbers and text', 'objects') else {}
    texts = {v: n for v, n in counts.items() if isinstance(v, str)}
    others = {type(v).__name__ for v in counts if v not in texts}
    if not texts or not others:
        return ''
    if others <= {'int', 'float'}:
        p = column_plan(c.name, c.values)
        return "pd.to_numeric({}, errors='coerce')" * (p.kind in ('int', 'float') and '.str' not in p.code)
    if others <= {'datetime', 'Timestamp'}:
        p = column_plan(c.name, texts)
        code = p.code if p.kind == 'date' else 'pd.to_datetime({})'
        good = p.kind == 'date' or all(v.strip().lower() in MARKS for v in texts)
        # 13/04/2026 is a text where 03/04/2026 was taken for the 4th of March, so the dates are wrong too
        return tolerant(code) * (good and '.str' not in code and '%' not in code)
    return ''


def lost_notes(before, columns):
    """What is said of the values of a frame that these columns made of it have not."""
    lost = [(c, before.iloc[:, i][c.cells.isna() & before.iloc[:, i].notna()]) for i, c in enumerate(columns)]
    notes = []
    for kind, some in itertools.groupby([item for item in lost if len(item[1])], lambda item: item[0].kind):
        some = list(some)
        names = clean(', '.join(repr(c.name) for c, _ in some), 60)
        odd = dict.fromkeys(v for _, values in some for v in values)
        notes.append('%s: %d could not be read as %s and are missing then, such as %s' % (
            names if len(some) < 4 else count(len(some), 'column'), sum(len(v) for _, v in some), kind,
            ', '.join(clean(repr(v), 24) for v in sorted(odd, key=lambda v: not str(v).strip())[:3])))
    return notes


def table_of(name, lines, given=(), first=''):
    """A Table from lines that make a frame, and then of statements for its columns of text."""
    frame = run([first] + lines, given)[name]
    before = frame.copy(deep=False)     # the statements change one that is given
    statements, remarks = statements_for_text(frame)
    lines = lines + [statement(name, *s) for s in statements]
    if statements:
        try:
            frame = run([first] + lines, given)[name]
        except Exception:
            lines, remarks = lines[:-len(statements)], {}
    t = Table(name, lines, frame)
    t.remarks = remarks
    t.notes = lost_notes(before, t.columns) if 'coerce' in ''.join(lines) else []
    return t


RECORDS_MOST = 6                # lists of records that are read as frames


def frames(places, code, first, given):
    """[Table] of the largest of these places. code: what gives the expression for one."""
    found = [(p, code(p)) for p in places]
    largest = sorted([p for p, line in found if line], key=lambda p: -len(p.values))[:RECORDS_MOST]
    tables, until = [], clock() + SECONDS
    for p, line in found:
        if p not in largest or tables and clock() > until:
            continue
        title = next((str(k) for k in reversed(p.path) if k != '*'), '')
        name = identifier(title.rpartition(':')[2], 'table%d' % (len(tables) + 1))
        name = 'df' if not title or len(largest) == 1 else name
        while name in [t.name for t in tables]:
            name += '_'
        try:
            tables.append(table_of(name, ['%s = %s' % (name, line)], given, first))
            tables[-1].notes += p.repeats()
            tables[-1].held = any(p in q.above for q in places)
        except Exception:
            pass                        # unlike things are not one table
    while len(tables) > 1 and sum(LEAST + sum(map(len, t.code())) for t in tables) > MOST - 3 * LEAST:
        tables.remove(min(tables, key=lambda t: len(t.frame)))
    return tables


def rounded(c):
    """Does a column hold whole numbers that are too long for a float, which it has for a gap among them?"""
    return (c.kind == 'float' and c.missing and len(c.held) and c.held.abs().max() > 1e15
            and (c.held % 1 == 0).all())


LONG = ', parse_int=lambda n: n if len(n) > 15 else int(n)'


def described(read, load, what, more='', code=None):
    """The profile of a value that holds others. read: the code that reads it into data, in two parts between
    which LONG fits; load: what does the same; code: what gives the expression for a frame of a Place, if that
    is not made of data."""
    for long in ({}, {'parse_int': lambda n: n if len(n) > 15 else int(n)}):
        data = load(**long)
        shape = Shape(data)
        places = shape.places if code else joined_with_owners(shape.places)
        first, given = 'import pandas as pd; data = _data', [('_data', data)]
        tables = frames(places, code or Place.frame, first, given) if has('pandas') else []
        if not any(rounded(c) for t in tables for c in t.columns):
            break
    lines = [(LONG if long else '').join(read)] + [line for t in tables for line in t.code()]
    if tables:
        lines[0] = re.sub('^(import [^;]*);', r'\1, pandas as pd;', lines[0])
    if len(tables) == len(shape.places) == 1 and not shape.places[0].path and not {'lists', 'objects'} & {
            c.kind for c in tables[0].columns}:
        tables[0].total += more
        return told(lines, tables[0])
    lines += join_all([t for t in tables if not t.held])[1]
    room = MOST - sum(len(s) + 1 for s in lines) - len(what) - 60
    share = (room - min(len(shape.text), room // 5)) // max(1, len(tables))
    facts = [fact for t in tables for fact in [t.said(max(LEAST, share))] + t.notes] + shape.notes
    sample = clean(shape.text, max(LEAST, room - sum(len(s) + 1 for s in facts)))
    return '\n'.join(lines + ['%s%s: %s' % (what, more, sample)] + facts)


def distinct(pairs):
    """An object of JSON; a key that it has twice is told, since all values of it but the last are lost."""
    value = dict(pairs)
    if len(value) < len(pairs) and not TROUBLE:
        keys = [k for k, _ in pairs]
        twice = clean(repr(next(k for k in value if keys.count(k) > 1)), 20)
        TROUBLE.append('an object has the key %s twice: the last value is read' % twice)
    return value


NEXT = r'}\s*\n\s*{'            # between objects; never within a text, which has no line end


def json_text(path, text, encoding, whole):
    import json
    enc = '' if encoding == 'utf-8' else ', encoding=%r' % encoding
    read = 'import json; data = json.load(open(%r%s)' % (path, enc), ')'
    if not whole:
        with open(path, encoding=encoding) as f:
            text = f.read(JSON_MOST + 1)

    behind = re.sub(NEXT, '},{', text) if whole and re.search(NEXT, text) else ''
    try:
        try:
            value = json.loads(text, object_pairs_hook=distinct)
        except json.JSONDecodeError:
            if not behind:
                raise
            text = '[%s]' % behind
            value = json.loads(text, object_pairs_hook=distinct)
            read = ("import json, re; data = json.loads('[' + re.sub(%r, '},{', open(%r%s).read()) + ']'" % (
                NEXT, path, enc), ')')
    except RecursionError:
        return ''.join(read) + '\nJSON, nested very deep'
    except ValueError:
        return None if whole else json_start(''.join(read), text)
    what = ('a list of %d' % len(value) if isinstance(value, list) else
            'an object of ' + count(len(value), 'key') if isinstance(value, dict) else 'one value')
    return described(read, lambda **how: json.loads(text, **how) if how else value, what)


def json_start(read, text):
    """For JSON that is too large to load here: the first element, if it can be read."""
    import json
    try:
        start = text.index('[') + 1
        value, _ = json.JSONDecoder().raw_decode(text[start:].lstrip()[:1 << 20])
        return '%s\na large list; the first element: %s' % (read, clean(Shape(value).text, 1000))
    except (ValueError, RecursionError):
        return '%s\na large object; it begins: %s' % (read, clean(text[:600], 600))


def json_lines(path, text, encoding, whole):
    import json
    lines = text.split('\n')
    if not whole:
        lines.pop()
    lines = [s for s in lines if s.strip()]
    items, good, bad = [], [], 0
    for s in in_time(lines, SECONDS):
        try:
            items.append(json.loads(s, object_pairs_hook=distinct))
            good.append(s)
        except (ValueError, RecursionError):
            bad += 1
            if bad > len(items):
                return None
    enc = '' if encoding == 'utf-8' else ', encoding=%r' % encoding
    strict = ', strict=False' * any('NUL' in t for t in TROUBLE)        # which open() leaves in the text
    read = 'import json; data = [json.loads(s' + strict, ') for s in open(%r%s) if s.strip()]' % (path, enc)
    more = '' if whole else ', in the first %d MiB' % (SAMPLE >> 20)
    more = more if len(items) + bad == len(lines) else ', of about %d' % count_rows(path)
    if bad:
        read = ('import json; data = []\nfor s in open(%r%s):' % (path, enc) +
                '\n    try: data.append(json.loads(s' + strict, '))\n    except ValueError: pass')
        TROUBLE.append('%d line%s not JSON' % (bad, ' is' if bad == 1 else 's are'))
        more += '; %s, left out' % TROUBLE[-1]
    said = described(read, lambda **how: [json.loads(s, **how) for s in good] if how else items,
                     '%d values, one a line' % len(items), more)
    return log_facts(said, items)


def xml_text(path, text, encoding, whole):
    """XML is described as JSON would be whose keys are its elements and, with an @, their attributes."""
    import xml.etree.ElementTree as ET
    read = 'import xml.etree.ElementTree as ET; root = ET.parse(%r).getroot()' % path
    if '<!ENTITY' in text:
        return read + '\nXML that declares entities, so it was not looked into'
    builder = ET.TreeBuilder()
    parser = ET.XMLParser(target=builder)
    try:
        parser.feed(text)
        root = parser.close() if whole else builder.close()
    except ET.ParseError as e:
        if whole:
            TROUBLE.append('its XML is broken: ' + clean(e, 60))
        root = None if whole else builder.close()
    if root is None:
        return None
    names = {}
    for prefix, uri in re.findall(r'\sxmlns(?::([\w.-]+))?="([^"]+)"', text):
        names.setdefault(uri, prefix or 'x')
    repeated = {(e.tag, tag) for e in root.iter()
                for tag, n in collections.Counter(child.tag for child in e if len(e) > 1).items() if n > 1}

    def name(tag):
        uri, _, local = tag.rpartition('}')
        return '%s:%s' % (names[uri[1:]], local) if uri[1:] in names else local

    def value(e, depth=0):
        made = {'@' + name(k): v for k, v in e.attrib.items()}
        for child in e if depth < DEPTH else ():
            if (e.tag, child.tag) in repeated:
                made.setdefault(name(child.tag), []).append(value(child, depth + 1))
            else:
                made[name(child.tag)] = value(child, depth + 1)
        words = (e.text or '').strip()
        return dict(made, **{'#text': words} if words else {}) if made else words

    def frame(p):
        """Elements of which most have the same fields are records."""
        keys = {k for v in p.objects for k in v}
        if len(keys) == 1 and not p.lists:
            return frame(p.member(*keys))
        plain = sum(type(x) is str or type(x) is list and type(x[0]) is str for v in p.objects
                    for x in v.values())
        if not whole or len(keys) < 2 or 2 * plain < len(keys) * len(p.objects):
            return ''
        own = {k: uri for uri, k in names.items() if any(step.startswith(k + ':') for step in p.path[1:])}
        args = (', namespaces=%r' % own) * bool(own) + (', encoding=%r' % encoding) * (encoding != 'utf-8')
        cells = {k: [v[k] for v in p.objects if type(v.get(k)) is str and v[k]] for k in sorted(keys)}
        plans = {k: held and numbers(held, len(held) < len(p.objects)) for k, held in cells.items()}
        texts = [re.sub('^@?(.*:)?', '', k) for k, plan in plans.items() if plan and plan.kind == 'code']
        args += ', dtype=' + dtypes(texts) if texts else ''
        lost = ', '.join(dict.fromkeys(k for v in p.objects for k in v if type(v[k]) is list))
        lost = '  # of each of these only the last is kept: ' + clean(lost, ROW) if lost else ''
        return "pd.read_xml(%r, xpath=%r%s, parser='etree')%s" % (
            path, './' + '/'.join(p.path[1:]), args, lost)

    of = '' if whole else ', the first %d MiB' % (SAMPLE >> 20)
    return described((read, ''), lambda: {name(root.tag): value(root)}, 'XML' + of, code=frame)
