# profile_fixed.py - the part of file_profile.py for tables whose columns have a fixed width. It finds where
# the columns begin and end (from what is blank in every line, and from the header), and the code that reads
# them.

FIXED_WIDTH, FIXED_SECONDS = 4000, 0.5  # the longest line; for finding what is blank in all lines
FIRST_LINES = 100                       # lines that tell where the table begins
TITLES = 5                              # lines before the table
ODD = 50                                # one line in so many may be of another form


def spans(line):
    return [m.span() for m in re.finditer(r'\S+', line)]


def character_counts(lines):
    """(how many lines have a character there, lines examined)."""
    change, n = [0] * (max(map(len, lines), default=0) + 2), 0
    for s in in_time(lines, FIXED_SECONDS):
        for begin, end in spans(s):
            change[begin] += 1
            change[end] -= 1
        n += 1
    return list(itertools.accumulate(change)), n


def filled(counts, but=0):
    """[(begin, end)] of the columns that more than that many lines have a character in."""
    out, begin = [], None
    for i, n in enumerate(counts):
        if n > but and begin is None:
            begin = i
        elif n <= but and begin is not None:
            out.append((begin, i))
            begin = None
    return out


def bounds_of(lines):
    """(bounds, lines of another form, such as a total): these have no blank between two columns. The first
    line may be a header, so it does not count."""
    counts, n = character_counts(lines[1:])
    most = max(n // ODD, n >= 10)
    loose = filled(counts, most)
    gaps = [(a[1], b[0]) for a, b in zip(loose, loose[1:])]
    odd = {s for s in lines[1:n + 1] if any(s[a:b] and ' ' not in s[a:b] for a, b in gaps)}
    if len(odd) > 2 * most:
        odd = set()
    return filled(character_counts([s for s in lines[:n + 1] if s not in odd])[0]), sorted(odd)


def with_header(bounds, header, body):
    """Two columns with one blank between them are one where only the header has words in one of them
    ("Unit price" above 12.50), or only the body ("when" above a day and a time)."""
    out = []
    for begin, end in bounds:
        if out and begin - out[-1][1] == 1:
            before = out[-1]
            next_word = header[before[1] - 1:before[1]].strip() and header[begin:begin + 1].strip()
            both = all(any(s[a:b].strip() for s in body) for a, b in (before, (begin, end)))
            if next_word and not both or not header[begin:end].strip():
                out[-1] = (before[0], end)
                continue
        out.append((begin, end))
    return out


def day_and_time(bounds, rows):
    """Without a header a day and the time behind it are one column."""
    out = []
    for k, (begin, end) in enumerate(bounds):
        if out and begin - out[-1][1] == 1 and all(
                re.fullmatch(r'[\d./-]{8,10} \d\d:\d\d(:\d\d)?', r[k - 1] + ' ' + r[k]) for r in rows[:50]):
            out[-1] = (out[-1][0], end)
        else:
            out.append((begin, end))
    return out


def cells(lines, bounds):
    return [[s[begin:end].strip() for begin, end in bounds] for s in lines]


class Layout:
    """Where the columns of a table are, and its lines."""

    def __init__(self, lines):
        self.bounds, self.skip, self.rule, self.odd, self.header = [], 0, False, [], True
        firsts = range(min(TITLES + 1, max(0, len(lines) - 2)))
        ruled = next((k for k in firsts if lines[k].strip()
                      and re.fullmatch(r'[-=]+( +[-=]+)+ *', lines[k + 1])), None)
        if ruled is not None:           # "---- ------" below a header says where the columns are
            self.bounds, self.skip, self.rule = spans(lines[ruled + 1]), ruled, True
            self.names, self.body = lines[ruled], [s for s in lines[ruled + 2:] if s.strip()]
            return
        for skip in firsts:             # a title, or "total 2124" above a listing, has few of the columns
            part = [s for s in lines[skip:skip + FIRST_LINES] if s.strip()]
            bounds = bounds_of(part)[0] if len(part) > 2 else []
            named = sum(bool(c) for s in part[:1] for c in cells([s], bounds)[0])
            if named * 2 >= len(bounds) > max(1, len(self.bounds) + (skip > 0 and len(self.bounds) > 1)):
                self.bounds, self.skip = bounds, skip
        if self.bounds:
            self.settle([s for s in lines[self.skip:] if s.strip()])

    def before(self):
        """Lines before the body."""
        return self.skip + self.header + self.rule

    def settle(self, lines):
        self.bounds, self.odd = bounds_of(lines)
        odd = set(self.odd)
        self.names, self.body = lines[0], [s for s in lines[1:] if s not in odd]
        joined = with_header(self.bounds, self.names, self.body)
        self.header = has_header(cells([self.names] + self.body[:20], joined))
        if self.header:
            self.bounds = joined
        else:
            self.body.insert(0, self.names)
            self.bounds = day_and_time(self.bounds, cells(self.body[:50], self.bounds))


def is_table(settled, rows, bounds):
    """Not prose with a gap in it: the rows are full, and a column holds numbers or dates, or all gaps are
    wide."""
    full = sum(bool(c) for r in rows[:200] for c in r)
    data = {kind for kind, _ in settled} & {'int', 'float', 'date', 'code', 'amount'}
    wide = len(rows) >= 5 and all(b[0] - a[1] > 1 for a, b in zip(bounds, bounds[1:]))
    return len(rows) > 1 and full * 2 > len(rows[:200]) * len(settled) and (data or wide)


def fixed_width(path, text, encoding, whole):
    lines = log_lines(text, whole)
    lines = [s.rstrip('\r') for s in lines]
    if len(lines) < 3 or '\t' in text[:65536] or max(map(len, lines)) > FIXED_WIDTH:
        return None
    t = Layout(lines)
    if not 1 < len(t.bounds) <= 200 or not t.body:
        return None
    t.body = cells(t.body, t.bounds)
    names = unique(cells([t.names], t.bounds)[0]) if t.header else range(len(t.bounds))
    t.columns = [Column(n) for n in names]
    seen = study(t.columns, t.body)
    t.decimal = decimal_mark(t.columns, ';')
    t.settled = [c.settle(t.decimal) for c in t.columns]
    if not is_table(t.settled, t.body, t.bounds):
        return None
    if whole and seen == len(t.body):
        t.total = '%d rows' % seen
    else:
        t.total = 'about %d rows, looked at the first %d' % (max(count_rows(path) - t.before(), seen), seen)
    return fixed_said(path, encoding, t)


def fixed_code(path, encoding, t):
    if not has('pandas'):
        return ['rows = [[s[a:b].strip() for a, b in %r] for s in list(open(%r, encoding=%r))[%d:] '
                'if s.strip()]' % (t.bounds, path, encoding, t.before())]
    args = [repr(path), 'colspecs=%r' % t.bounds]
    if encoding != 'utf-8':
        args.append('encoding=%r' % encoding)
    if t.skip or t.rule:
        args.append('skiprows=%r' % (list(range(t.skip)) + [t.skip + 1] if t.rule else t.skip))
    grouped = t.decimal == '.' and any(c.kinds.get('grouped') for c in t.columns)
    args += column_arguments(t.header, t.decimal, grouped, t.columns, t.settled)
    read = 'import pandas as pd; df = pd.read_fwf(%s)' % ', '.join(args)
    return [read] + type_lines(t.columns, t.settled, False)


def fixed_said(path, encoding, t):
    lines = fixed_code(path, encoding, t)
    room = MOST - 300 - sum(len(s) + 1 for s in lines)
    lines.append('fixed width, %s, columns: %s' % (t.total, describe(t.columns, t.settled, t.decimal,
                                                                      min(COLUMNS_MOST, max(200, room)))))
    if t.odd:
        lines.append('%d lines do not fit into the columns, the first: %s'
                     % (len(t.odd), clean(t.odd[0].strip(), 80)))
    left = MOST - sum(len(s) + 1 for s in lines)
    rows = first_rows(t.body, ' | ')
    lines.append(rows if len(rows) <= left else first_rows(t.body, ' | ', 1))
    return '\n'.join(lines)
