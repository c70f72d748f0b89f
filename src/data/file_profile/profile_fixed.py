# profile_fixed.py - the part of file_profile.py for tables whose columns have a fixed width. It finds where
# the columns begin and end (from what is blank in every line, and from the header), and the code that reads
# them.

FIXED_WIDTH, FIXED_SECONDS = 4000, 0.5  # the longest line; for finding what is blank in all lines
FIRST_LINES = 100                       # lines that tell where the table begins
TITLES = 5                              # lines before the table
FIXED_MOST = 1 << 20                    # characters that are read
ODD = 50                                # one line in so many may be of another form


def spans(line):
    return [m.span() for m in re.finditer(r'\S+', line)]


def filled(lines, most_of=False):
    """[(begin, end)] of the columns in which lines have a character, or enough of them; lines examined."""
    counts, n = collections.Counter(), 0
    for n, s in enumerate(in_time(lines, FIXED_SECONDS), 1):
        counts.update(i for span in spans(s) for i in range(*span))
    out = []
    for i in sorted(i for i in counts if counts[i] > (max(n // ODD, n >= 10) if most_of else 0)):
        out[-1:] = [(out[-1][0], i + 1)] if out and out[-1][1] == i else [*out[-1:], (i, i + 1)]
    return out, n


def bounds_of(lines):
    """(bounds, lines of another form, such as a total): these have no blank between two columns. The first
    line may be a header, so it does not count."""
    loose, n = filled(lines[1:], True)
    most = max(n // ODD, n >= 10)
    gaps = [(a[1], b[0]) for a, b in zip(loose, loose[1:])]
    odd = {s for s in lines[1:n + 1] if any(s[a:b] and ' ' not in s[a:b] for a, b in gaps)}
    if len(odd) > 2 * most:
        odd = set()
    return filled([s for s in lines[:n + 1] if s not in odd])[0], sorted(odd)


def with_header(bounds, header, body):
    """Two columns with one blank between them are one where only the header has words in one of them
    ("Unit price" above 12.50), or only the body ("when" above a day and a time)."""
    out = []
    for begin, end in bounds:
        if out and begin - out[-1][1] == 1:
            before = out[-1]
            next_word = header[before[1] - 1:before[1]].strip() and header[begin:begin + 1].strip()
            if header[before[1] - 1:begin + 1].strip() and ' ' not in header[before[1] - 1:begin + 1]:
                out[-1] = (before[0], end)      # a word of the header stands over the gap
                continue
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
                if len(spans(lines[skip])) == len(bounds) > 2:
                    break               # one word above each column
        if self.bounds:
            self.above = lines[:self.skip]
            self.settle([s for s in lines[self.skip:] if s.strip()])

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
            self.skip -= self.first_is_row()
            self.bounds = day_and_time(self.bounds, cells(self.body[:50], self.bounds))


    def is_worse_than_words(self, lines):
        """Do all lines have as many words, which stand elsewhere from row to row, or below other names?"""
        words = [s.split() for s in lines if s.strip()]
        if len(set(map(len, words))) != 1 or any(CLOCK.fullmatch(w + ':00'[:8 - len(w)]) for w in words[-1]):
            return False
        more = len(words[0]) - len(self.bounds)
        return more > 0 or not more and (
            self.skip or not self.header or cells([self.names], self.bounds)[0] != words[0])

    def first_is_row(self):
        """May the line above the table be a row of it, with empty cells?"""
        above = spans(self.above[-1]) if self.above else []
        return len(above) > 2 and all(any(b <= begin and end <= e for b, e in self.bounds)
                                      for begin, end in above)


def is_table(t, bounds):
    """Not prose with a gap in it: the rows are full, and a column holds numbers or dates, or all gaps are
    wide."""
    some = t.frame.head(200)
    full = some.notna().sum().sum() if (some.notna().mean() > .5).sum() > 1 else 0
    behind = t.columns[t.columns[0].kind == 'datetime':]    # a time alone begins a log
    data = any(c.kind in ('int', 'float', 'datetime') or c.kind == 'text' != text_kind(c) for c in behind)
    mixed = sum(bool(c.kind == 'text' and nearly(c)) for c in t.columns)    # several tables in one
    wide = len(t.frame) >= 5 and not mixed and all(b[0] - a[1] > 1 for a, b in zip(bounds, bounds[1:]))
    return len(t.frame) > 1 and full * 2 > some.size and (data or wide)


class FixedProposal(OwnProposal):
    def __init__(self, lines, encoding, t):
        super().__init__({'colspecs': t.bounds}, encoding, ' | ', len(t.bounds))
        odd = [i for i, s in enumerate(lines) if s in set(t.odd)] if len(t.odd) <= 20 else []
        skip = list(range(t.skip)) + [t.skip + 1] * t.rule + [i for i in odd if i >= t.skip]
        if skip:
            self.args['skiprows'] = t.skip if len(skip) == t.skip else skip
        if not t.header:
            self.args['header'] = None
        before = [clean(s.strip(), ROW) for s in lines[:t.skip] if s.strip()]
        self.notes += ['before them: ' + ' / '.join(before)] * bool(before)
        if odd:
            self.notes.append('%d lines do not fit into the columns, the first: %s'
                              % (len(t.odd), clean(t.odd[0].strip(), 80)))


def fixed_width(path, text, encoding, whole):
    lines = [s.rstrip('\r') for s in (text if whole else text[:text.rfind('\n')]).split('\n')]
    if not has('pandas') or len(lines) < 3 or '\t' in text[:65536] or max(map(len, lines)) > FIXED_WIDTH:
        return None
    layout = Layout(lines)
    said = blank_separated(path, text, encoding, whole) if layout.is_worse_than_words(lines) else None
    if said:
        return said
    if not 1 < len(layout.bounds) <= 200 or not layout.body:
        return None
    sample = '\n'.join(lines) + '\n' if not whole or len(text) > FIXED_MOST else None
    if sample:
        sample = sample[:sample.rfind('\n', 0, FIXED_MOST) + 1].encode(encoding, 'replace')
    try:
        t = read_as(variable(path, 'df'), 'read_fwf', path, FixedProposal(lines, encoding, layout),
                    lambda: [(repr(path), io.BytesIO(sample))] if sample else [])
    except Exception:
        return None
    if not is_table(t, layout.bounds):
        return None
    if sample:
        t.total = 'about %d rows, looked at the first %d' % (
            max(count_rows(path) - layout.skip - layout.header - layout.rule, len(t.frame)), len(t.frame))
    return told(import_first(t.lines), t, 'fixed width, ')
