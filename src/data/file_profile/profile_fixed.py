# profile_fixed.py - the part of file_profile.py for tables whose columns have a fixed width. It finds where
# the columns begin and end (from what is blank in every line, and from the header), and the code that reads
# them.

FIXED_WIDTH = 4000                      # the longest line
FIRST_LINES = 100                       # lines that tell where the table begins
TITLES = 5                              # lines before the table
FIXED_MOST = 1 << 20                    # characters that are read
ODD = 50                                # one line in so many may be of another form
DAY_AND_TIME = re.compile(r'[\d./-]{8,10} \d\d:\d\d(:\d\d)?')


def words_at(line):
    return [m.span() for m in re.finditer(r'\S+', line)]


def filled(lines, least=1):
    """[(begin, end)] of the columns in which so many lines have a character."""
    counts, out = collections.Counter(i for s in lines for span in words_at(s) for i in range(*span)), []
    for i in sorted(i for i in counts if counts[i] >= least):
        out[-1:] = [(out[-1][0], i + 1)] if out and out[-1][1] == i else [*out[-1:], (i, i + 1)]
    return out


def bounds_of(lines):
    """(bounds, lines of another form, such as a total): these have no blank between two columns. The first
    line may be a header, so it does not count."""
    most = max(len(lines) // ODD, len(lines) > 10)
    loose = filled(lines[1:], most + 1)
    gaps = [(a[1], b[0]) for a, b in zip(loose, loose[1:])]
    odd = {s for s in lines[1:] if any(s[a:b] and ' ' not in s[a:b] for a, b in gaps)}
    if len(odd) > 2 * most:
        odd = set()
    return filled([s for s in lines if s not in odd]), odd


def joined(bounds, header, body):
    """Two columns with one blank between them are one where only the header has words in one of them
    ("Unit price" above 12.50), or only the body ("when" above a day and a time). header: '' if there is
    none; then a day and the time behind it are one."""
    out = bounds[:1]
    for begin, end in bounds[1:]:
        first, last = out[-1]
        if header:
            words = header[last - 1:last].strip() and header[begin:begin + 1].strip()
            empty = any(not any(s[a:b].strip() for s in body) for a, b in (out[-1], (begin, end)))
            one = not header[begin:end].strip() or words and empty
        else:
            one = all(DAY_AND_TIME.fullmatch(s[first:end].strip()) for s in body[:50])
        if one and begin - last == 1:
            out[-1] = (first, end)
        else:
            out.append((begin, end))
    return out


def cells(lines, bounds):
    return [[s[begin:end].strip() for begin, end in bounds] for s in lines]


def place(lines):
    """(how many lines are before the table, is a rule below its header?)"""
    firsts, skip, most = range(min(TITLES + 1, max(0, len(lines) - 2))), 0, 1
    for k in firsts:                    # "---- ------" below a header says where the columns are
        if lines[k].strip() and re.fullmatch(r'[-=]+( +[-=]+)+ *', lines[k + 1]):
            return k, True
    for k in firsts:                    # a title, or "total 2124" above a listing, has few of the columns
        part = [s for s in lines[k:k + FIRST_LINES] if s.strip()]
        bounds = bounds_of(part)[0] if len(part) > 2 else []
        if len(bounds) > most and 2 * filled_cells(cells(part[:1], bounds)[0]) >= len(bounds):
            skip, most = k, len(bounds) + 1
            if len(part[0].split()) == len(bounds) > 2:
                break                   # one word above each column
    return skip, False


def is_table(t, bounds):
    """Not prose with a gap in it: the rows are full, and a column holds numbers or dates, or all gaps are
    wide."""
    some = t.frame.head(200)
    full = some.notna().sum().sum() if (some.notna().mean() > .5).sum() > 1 else 0
    behind = t.columns[t.columns[0].kind == 'datetime':]    # a time alone begins a log
    data = any(c.kind in ('int', 'float', 'datetime') or c.kind == 'text' != text_kind(c) for c in behind)
    mixed = sum(bool(c.kind == 'text' and nearly(c)) for c in t.columns)    # several tables in one
    wide = len(t.frame) >= 5 and not mixed and all(b[0] - a[1] > 1 for a, b in zip(bounds, bounds[1:]))
    words = t.columns[0].name == 0 and any(     # without a header, the words of a text below each other
        b[0] - a[1] == 1 and x.missing + y.missing and x.kind == y.kind == 'text'
        and text_kind(x) == text_kind(y) == 'text'
        for a, b, x, y in zip(bounds, bounds[1:], t.columns, t.columns[1:]))
    return len(t.frame) > 1 and full * 2 > some.size and (data or wide) and not words


class FixedProposal(OwnProposal):
    def __init__(self, lines, encoding):
        skip, rule = place(lines)
        rows = [s for s in lines[skip:] if s.strip()]
        bounds, odd = bounds_of(rows)
        names, body = rows[0], [s for s in rows[1 + rule:] if s not in odd]
        under = joined(bounds, names, body)
        header = rule or has_header(cells([names] + body[:20], under))
        if not header and skip:         # may the line above be a row too, with empty cells?
            above = words_at(lines[skip - 1])
            skip -= len(above) > 2 and all(any(b <= begin and end <= e for b, e in bounds)
                                           for begin, end in above)
        bounds = under if header else joined(bounds, '', [names] + body)
        super().__init__({'colspecs': bounds}, encoding, ' | ', len(bounds))
        others = [i for i, s in enumerate(lines) if i >= skip and s in odd] if len(odd) <= 20 else []
        if rule or others:
            self.args['skiprows'] = list(range(skip)) + [skip + 1] * rule + others
        elif skip:
            self.args['skiprows'] = skip
        if not header:
            self.args['header'] = None
        before = [clean(s.strip(), ROW) for s in lines[:skip] if s.strip()]
        self.notes += ['before them: ' + ' / '.join(before)] * bool(before)
        if others:
            self.notes.append('%d lines do not fit into the columns, the first: %s'
                              % (len(odd), clean(lines[others[0]].strip(), 80)))


def last_cell(header, line):
    """Where the words of a line are, if the last cell begins or ends below the last word of the header."""
    words, n = words_at(line), len(header)
    if n < 3 or len(words) < n:
        return None
    start, end = words[n - 1][0], words[-1][1]
    right = abs(end - header[-1][1]) < 3 and '  ' not in line[start:end]
    left = header[-1][0] - 3 < start <= header[-1][0] + 8
    return words if header[-2][1] <= start and (left or right) else None


def command_output(path, lines, encoding):
    """What ps, top or vmstat write: one word above each column, and blanks in the cells of the last alone."""
    lines, name = [s for s in lines if s.strip()], variable(path, 'df')
    for k, line in enumerate(lines[:TITLES + 4]):
        names, header, body = line.split(), words_at(line), lines[k + 1:]
        if len(set(names)) < len(names) or any(map(number_like, names)) or not body or not all(
                last_cell(header, s) for s in body):
            continue
        n = len(names)
        if not k and all(len(s.split()) == n for s in body):
            return None
        columns = zip(names, zip(*(s.split(None, n - 1) for s in body)))
        plans = [(column, numbers(cells, False)) for column, cells in columns]
        numeric = [column for column, plan in plans if plan and plan.kind != 'code']
        if not numeric:
            return None
        code = ['rows = [s.rstrip().split(None, %d) for s in open(%r, encoding=%r) if s.strip()][%d:]' % (
                n - 1, path, encoding, k), name + ' = pd.DataFrame(rows[1:], columns=rows[0])',
                statement(name, 'pd.to_numeric({})', numeric)]
        t = table_of(name, code, (), 'import pandas as pd')
        return told(import_first(t.lines), t)
    return None


def fixed_width(path, text, encoding, whole):
    part = text if whole and len(text) <= FIXED_MOST else text[:text.rfind('\n', 0, FIXED_MOST) + 1]
    lines = [s.rstrip('\r') for s in part.split('\n')]
    words = [s.split() for s in lines if s.strip()]
    if not has('pandas') or len(words) < 3 or '\t' in text[:65536] or max(map(len, lines)) > FIXED_WIDTH:
        return None
    said = command_output(path, lines, encoding) if part is text else None
    if said:
        return said
    if len(set(map(len, words))) == 1 and not any(CLOCK.fullmatch(w + ':00'[:8 - len(w)]) for w in words[-1]):
        said = blank_separated(path, text, encoding, whole)
        if said:
            return said
    p = FixedProposal(lines, encoding)
    if not 1 < p.width <= 200:
        return None
    sample = part.encode(encoding, 'replace') if part is not text else None
    try:
        t = read_as(variable(path, 'df'), 'read_fwf', path, p,
                    lambda: [(repr(path), io.BytesIO(sample))] if sample else [])
    except Exception:
        return None
    if not is_table(t, p.args['colspecs']):
        return None
    if sample:
        t.total = 'about %d rows, looked at the first %d' % (count_rows(path), len(t.frame))
    return told(import_first(t.lines), t, 'fixed width, ')
