# profile_log.py - the part of file_profile.py for logs. It finds the format of the lines, the first and the
# last time, how often each level occurs, the most frequent kinds of messages, and the code that parses them.

LOG_LINE = 2000                 # characters of a line that are examined
LOG_SECONDS = 1.5
LOG_TAIL = 65536                # bytes at the end of a large file, for the last time in it
SHAPES_MOST, VALUES_KEPT = 3000, 1000
LEVELS = 'TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|SEVERE|CRIT(?:ICAL)?|ALERT|EMERG|FATAL|PANIC'
DAY_TIME = (r'\d{1,4}[-/.]\d\d?[-/.]\d{1,4},?[T ]\d\d?:\d\d:\d\d(?:[.,]\d+)?(?: [AP]M)?(?! [AP]M)'
            r'(?:Z|[+-]\d\d:?\d\d)?')

# The name of each format, an expression that matches its lines, and the format of its times for pandas (''
# where to_datetime needs none, None where there are no times). A row is tried before the rows below it. No
# expression backtracks without a bound.
LOG_FORMS = (
    ("nginx's or Apache's combined form",
     r'(?P<ip>\S+) \S+ (?P<user>\S+) \[(?P<time>[^]]+)\] "(?P<method>[A-Z]+) (?P<path>[^\s"]+)(?: [^"]*)?" '
     r'(?P<status>\d{3}) (?P<size>\d+|-) "(?P<referer>[^"]*)" "(?P<agent>[^"]*)"', '%d/%b/%Y:%H:%M:%S %z'),
    ("the web servers' common form",
     r'(?P<ip>\S+) \S+ (?P<user>\S+) \[(?P<time>[^]]+)\] "(?P<method>[A-Z]+) (?P<path>[^\s"]+)(?: [^"]*)?" '
     r'(?P<status>\d{3}) (?P<size>\d+|-)', '%d/%b/%Y:%H:%M:%S %z'),
    ("Apache's error log",
     r'\[(?P<time>[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ [\d:.]+ \d{4})\] '
     r'\[(?:\w*:)?(?P<level>\w+)\] (?P<message>.*)', ''),
    ("syslog's form (RFC 5424)",
     r'<(?P<pri>\d{1,3})>1 (?P<time>\S+) (?P<host>\S+) (?P<program>\S+) (?P<pid>\S+) \S+ '
     r'(?P<message>.*)', ''),
    ("syslog's form",
     r'(?:<\d+>)?(?P<time>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d) (?P<host>\S+) (?P<program>[^\s:[]+)'
     r'(?:\[(?P<pid>\d+)\])?: ?(?P<message>.*)', '%b %d %H:%M:%S'),
    ("syslog's form with ISO times",
     r'(?P<time>\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d)) (?P<host>\S+) (?P<program>[^\s:[]+)'
     r'(?:\[(?P<pid>\d+)\])?: (?P<message>.*)', ''),
    ("glog's form",
     r'(?P<level>[IWEF])(?P<time>\d{4} \d\d:\d\d:\d\d\.\d+) +(?P<thread>\d+) (?P<where>[^\s\]]+)\] '
     r'(?P<message>.*)', '%m%d %H:%M:%S.%f'),
    ("Ruby's form", r'[DIWEFA], \[(?P<time>[\dT:.-]+) #(?P<pid>\d+)\] +(?P<level>[A-Z]+) -- '
     r'(?P<program>[^:]*): (?P<message>.*)', ''),
    ('a level in each line',
     r'\[?(?P<time>%s)[] ](?P<where>.{0,80}?)\b(?P<level>%s)\b[] :|-]*(?P<message>.*)'
     % (DAY_TIME, LEVELS), ''),
    ('a level in each line',
     r'\[?(?P<time>%s)\]? (?P<where>.{0,80}?)\[?\b(?P<level>%s)(?:\]|:)\s*(?P<message>.*)'
     % (DAY_TIME, LEVELS.lower()), ''),
    ('a level in each line',
     r'\[?(?P<level>%s)\]?[ :]+\[?(?P<time>%s)\]?[ :-]*(?P<message>.*)' % (LEVELS, DAY_TIME), ''),
    ('a level in each line',
     r'(?P<time>\d\d:\d\d:\d\d(?:[.,]\d+)?) (?P<where>.{0,80}?)\b(?P<level>%s)\b[] :|-]*(?P<message>.*)'
     % LEVELS, None),
    ("Android's form (logcat)",
     r'(?P<time>\d\d-\d\d \d\d:\d\d:\d\d\.\d+) +(?P<pid>\d+) +(?P<thread>\d+) (?P<level>[VDIWEFA]) '
     r'(?P<program>[^:]{1,80}?)\s*: ?(?P<message>.*)', '%m-%d %H:%M:%S.%f'),
    ("HDFS's form", r'(?P<time>\d{6} \d{6}) (?P<thread>\d+) (?P<level>[A-Z]+) (?P<where>[^\s:]+): '
     r'(?P<message>.*)', '%y%m%d %H%M%S'),
    ("BlueGene's form",
     r'(?P<label>\S+) \d{10} [\d.]+ (?P<host>\S+) (?P<time>\d{4}-\d\d-\d\d-\d\d\.\d\d\.\d\d\.\d+) \S+ '
     r'(?P<program>\S+ \S+) (?P<level>[A-Z]+) (?P<message>.*)', '%Y-%m-%d-%H.%M.%S.%f'),
    ("OpenStack's form",
     r'(?P<file>\S+) (?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+) (?P<pid>\d+) (?P<level>[A-Z]+) '
     r'(?P<where>\S+) (?P<message>.*)', '%Y-%m-%d %H:%M:%S.%f'),
    ("Proxifier's form", r'\[(?P<time>\d\d\.\d\d \d\d:\d\d:\d\d)\] (?P<program>\S+)(?: \*64)? - '
     r'(?P<host>\S+) (?P<message>.*)', '%m.%d %H:%M:%S'),
    ("Windows's form (CBS)",
     r'(?P<time>%s), (?P<level>[A-Z][a-z]+) +(?P<program>[A-Z]+) +(?P<message>.*)' % DAY_TIME, ''),
    ("Thunderbird's form",
     r'(?P<label>\S+) (?P<time>\d{10}) \d{4}\.\d\d\.\d\d (?P<host>\S+) [A-Z][a-z]{2} +\d+ [\d:]{8} \S+ '
     r'(?P<program>[^\s:[]+)(?:\[(?P<pid>\d+)\])?: ?(?P<message>.*)', 's'),
    ('a time in seconds in each line',
     r'(?P<id>\d+) (?P<host>\S+) (?P<program>\S+) (?P<event>\S+) (?P<time>\d{10}) (?P<flag>\S+) '
     r'(?P<message>.*)', 's'),
    ("Android's form with bars",
     r'(?P<time>\d{8}-\d\d?:\d\d?:\d\d?:\d{1,3})\|(?P<program>[^|]+)\|(?P<pid>\d+)\|(?P<message>.*)',
     '%Y%m%d-%H:%M:%S:%f'),
    ("the kernel's form", r'(?:<\d+>)?\[ *(?P<time>\d+\.\d{6})\] (?P<message>.*)', None),
)
# Tried last, when the file is not a table either
TIMED_FORMS = (('a time in each line', r'\[?(?P<time>%s)\]?[ :-]+(?P<message>.*)' % DAY_TIME, ''),)
PAIRS = r'([A-Za-z_][\w.-]*)=("(?:[^"\\]|\\.)*"|[^\s"]*)'
VARIES = re.compile(r'"[^"]*"|\'[^\']*\'|\b[0-9a-fA-F]{8,}(?:-[0-9a-fA-F]+)*\b|0x[0-9a-fA-F]+'
                    r'|[^\s=:,()/\[\]]*\d[^\s=:,()/\[\]]*')
UNCOUNTED = ('time', 'message', 'path', 'agent', 'referer', 'size', 'pid', 'where', 'thread', 'pri')


def message_shape(text):
    """The words of a message, with # in place of numbers, quoted text and the like: what differs between two
    messages of one kind."""
    return re.sub(r'#(?:[:./,]#)+', '#', VARIES.sub('#', text[:300])).strip()[:150]


class Log:
    """Counts what is in a log, record by record."""

    def __init__(self):
        self.n = 0
        self.first = self.last = ''
        self.counts, self.shapes, self.full = {}, {}, False

    def count(self, table, value, most):
        if value in table or len(table) < most:
            table[value] = table.get(value, 0) + 1
        else:
            self.full = True

    def feed(self, time_, fields, message):
        self.n += 1
        if time_:
            self.first, self.last = self.first or time_, time_
        for name, value in fields:
            if value:
                self.count(self.counts.setdefault(name, {}), value[:60], VALUES_KEPT)
        if message:
            self.count(self.shapes, message_shape(message), SHAPES_MOST)

    def span(self):
        return ', %s to %s' % (clean(self.first, 40), clean(self.last, 40)) if self.first else ''

    def fields(self):
        """'level: INFO 900, ERROR 12', a line for each field."""
        out = []
        for name, table in self.counts.items():
            if list(table) == ['-']:
                continue
            order = sorted(table, key=lambda v: (-table[v], v))
            shown = ', '.join('%s %d' % (clean(v, 30), table[v]) for v in order[:8 if len(order) < 13 else 3])
            many = '' if len(order) < 9 else '%s%d different, most often ' % (
                'over ' if len(order) >= VALUES_KEPT else '', len(order))
            out.append('%s: %s%s' % (name, many, shown))
        return out

    def common(self, left, what='messages'):
        """The most frequent shapes of messages that fit."""
        if not ROWS or not self.shapes:
            return []
        out = ['most frequent %s (# differs):' % what]
        left -= len(out[0])
        for s in sorted(self.shapes, key=lambda s: (-self.shapes[s], s))[:6]:
            line = '%7d  %s' % (self.shapes[s], clean(s, ROW))
            left -= len(line) + 1
            if left < 0:
                break
            out.append(line)
        return out if len(out) > 1 else []


def log_lines(text, whole):
    lines = (re.sub(r'\x1b\[[\d;]*m', '', text) if '\x1b[' in text else text).split('\n')
    if not whole and len(lines) > 1:
        lines.pop()
    return lines


def log_form(lines, forms):
    """The format that most of the first lines have. Lines that continue a message (a traceback, say) have
    none, so if the first line matches, one line in five is enough."""
    head = [s[:LOG_LINE] for s in itertools.islice((s for s in lines if s.strip()), 200)]
    for name, pattern, when in forms:
        match = re.compile(pattern).match
        fit = sum(1 for s in head if match(s))
        if fit >= 3 and (fit >= 0.8 * len(head) or match(head[0]) and fit >= 0.2 * len(head)):
            return name, pattern, when
    return None


def last_time(path, encoding, match):
    """The last time in a file whose end was not examined."""
    with open(path, 'rb') as f:
        f.seek(max(0, os.fstat(f.fileno()).st_size - LOG_TAIL))
        lines = f.read(LOG_TAIL).decode(encoding, 'replace').split('\n')[1:]
    return next((m.group('time') for m in (match(s[:LOG_LINE]) for s in reversed(lines)) if m), '')


def log_dates(times, when):
    """The statement that turns texts into times."""
    if when is None or not has('pandas') or not times:
        return []
    if when == 's':                     # since 1970
        return ["df['time'] = pd.to_datetime(df['time'].astype(float), unit='s')"]
    if when and ('%y' not in when or increasing(times, when)) and parsed(times, when).notna().all():
        return ["df['time'] = pd.to_datetime(df['time'], format=%r)" % when]
    found = column_plan('time', dict.fromkeys(times, 1))
    return [statement('df', found.code or "pd.to_datetime({}, errors='coerce')", ['time'])]


def log_frame(rows, imports):
    """The line of code that turns text into records: a table, or a list where pandas is not installed."""
    if has('pandas'):
        return 'import %s, pandas as pd; df = pd.DataFrame([%s])' % (imports, rows)
    return 'import %s; rows = [%s]' % (imports, rows)


def log_said(lines, log, total, told, more=(), what='messages'):
    """The whole profile of a log, cut to the space there is. lines: the code; told: what precedes the
    times."""
    lines = lines + ['%s, %s%s' % (told, total, log.span())] + [s for s in more if s]
    for s in log.fields()[:6]:
        if sum(len(x) + 1 for x in lines) + len(s) < MOST - 100:
            lines.append(s)
    lines += log.common(MOST - 20 - sum(len(s) + 1 for s in lines), what)
    return '\n'.join(lines)


def log_by(path, text, encoding, whole, forms):
    lines = log_lines(text, whole)
    form = log_form(lines, forms)
    if not form:
        return None
    name, pattern, when = form
    match, log, times, seen = re.compile(pattern).match, Log(), {}, 0
    other, counted = 0, [g for g in re.compile(pattern).groupindex if g not in UNCOUNTED]
    for s in in_time(lines, LOG_SECONDS):
        seen += 1
        m = match(s[:LOG_LINE])
        if not m:
            other += bool(s.strip())
            continue
        d = m.groupdict()
        at = d['time']
        if when == 's':
            at = str(datetime.datetime.fromtimestamp(int(at), datetime.timezone.utc))[:19]
        log.feed(at, [(k, d[k]) for k in counted], d.get('message') or d.get('path'))
        times[d['time']] = None
    rest = not whole or seen < len(lines)
    total = '%d lines' % (seen - (not lines[-1])) if not rest else 'about %d lines' % count_rows(path)
    if rest:
        log.last = last_time(path, encoding, match) or log.last
    source = 'open(%r, encoding=%r, errors="replace")' % (path, encoding)
    if '\x1b[' in text:
        source = r"(re.sub(r'\x1b\[[\d;]*m', '', s) for s in %s)" % source
    code = [log_frame('m.groupdict() for m in map(re.compile(%s).match, %s) if m'
                      % (raw_text(pattern), source), 're')] + log_dates(list(times), when)
    return log_said(code, log, total, 'a log, ' + name, (
        'counts below: of the first %d lines' % seen if rest else '',
        'no year in its times: pandas takes 1900' if when and not re.search('%[Yy]|^s', when) else '',
        '%d lines of another form (such as the rest of a message) are left out' % other if other else ''),
        'paths' if '<path>' in pattern else 'messages')


def raw_text(pattern):
    """A regular expression as a Python literal, raw if possible."""
    return "r'%s'" % pattern if "'" not in pattern else repr(pattern)


def log_text(path, text, encoding, whole):
    return logfmt(path, text, encoding, whole) or log_by(path, text, encoding, whole, LOG_FORMS)


def log_timed(path, text, encoding, whole):
    return log_by(path, text, encoding, whole, TIMED_FORMS)


# Records whose fields have names: JSON lines, logfmt. These are the usual names of the
# time, the level and the message.

LOG_KEYS = (('time', ('time', 'timestamp', 'ts', '@timestamp', 'datetime', 't')),
            ('level', ('level', 'lvl', 'severity', 'levelname', 'loglevel', 'log.level')),
            ('message', ('message', 'msg', 'event')))


def log_keys(items):
    """{'time': its key, ...} if these are the records of a log, which have a time, and a level or a message;
    else None."""
    found, head = {}, items[:100]
    for what, names in LOG_KEYS:
        for k in names:
            if 2 * sum(k in r for r in head if isinstance(r, dict)) > len(head):
                found[what] = k
                break
    return found if 'time' in found and len(found) > 1 else None


def log_facts(said, items):
    """said is the profile of the records as a table; what matters in a log replaces its first rows."""
    keys = log_keys(items)
    if not keys or not said:
        return said
    log, counted = Log(), [keys['level']] if 'level' in keys else []
    for r in in_time(items, LOG_SECONDS):
        if isinstance(r, dict):
            log.feed(str(r.get(keys['time'], '')), [(k, str(r[k])) for k in counted if k in r],
                     str(r.get(keys.get('message'), '') or ''))
    begun = said.split('\nfirst ')[0]
    lines = [begun[:MOST - 500], 'a log%s' % log.span()] + log.fields()
    return '\n'.join(lines + log.common(MOST - 20 - sum(len(s) + 1 for s in lines)))


def logfmt(path, text, encoding, whole):
    lines = [s[:LOG_LINE] for s in log_lines(text, whole) if s.strip()]
    pair = re.compile(PAIRS)
    head = lines[:50]
    if len(head) < 2 or any(len(pair.findall(s)) < 2 or 5 * len(pair.sub('', s).replace(' ', '')) > len(s)
                            for s in head):
        return None
    items = [{k: v.strip('"') for k, v in pair.findall(s)} for s in in_time(lines, LOG_SECONDS / 2)]
    rows = ('{k: v.strip(\'"\') for k, v in re.findall(r\'%s\', s)} '
            'for s in open(%r, encoding=%r, errors="replace") if s.strip()' % (PAIRS, path, encoding))
    read = log_frame(rows, 're')
    what = 'lines of logfmt (all values are text)' + ('' if whole and len(items) == len(lines) else
                                                      ', of about %d' % count_rows(path))
    said = records(items, read, what, '[%s]' % rows)
    return log_facts(said or '%s\n%d %s' % (read, len(items), what), items)
