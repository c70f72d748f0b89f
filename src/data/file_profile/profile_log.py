# profile_log.py - the part of file_profile.py for logs. It finds the form of the lines, and proposes and runs
# the code that parses them. Beside the frame it tells how often words and kinds of messages occur in it.

LOG_HEAD = 1 << 19              # characters in which the form is sought
LOG_LINE = 2000                 # characters of a line that are examined
LOG_SECONDS = 1.5
LOG_NAMES, LOG_TIMES = 200, 2000         # most columns; times from which their form is proposed
DAY = r'\d{1,4}[-/.](?:\d\d?|[A-Z][a-z]{2})[-/.]\d{1,4},?[T ]'
DAY_CLOCK = r'\d\d?:\d\d:\d\d(?:[.,]\d+)?(?: [AP]M)?(?! [AP]M)(?:Z|[+-]\d\d:?\d\d)?'
WARNINGS = ('TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|SEVERE|CRIT(?:ICAL)?|ALERT|EMERG(?:ENCY)?|FATAL|'
            'PANIC|LOG|DETAIL|HINT|STATEMENT')        # the last four are PostgreSQL's
BEHIND = r'(?:[] :|]|-(?!\d))*'         # between a time or a level and a message, which may be -1

# {word} stands for a group of that name. What the groups match; where nothing is said, anything but blanks.
PIECES = {'time': '(?:%s)?%s' % (DAY, DAY_CLOCK), 'level': '(?i:%s)' % WARNINGS, 'message': '.*',
          'where': '.{0,80}?', 'program': r'[^\s:[]+', 'path': r'[^\s"]+', 'pid': r'\d+', 'thread': r'\d+'}
WEB = (r'{ip} \S+ {user} \[(?P<time>[^]]+)\] "(?P<method>[A-Z]+) {path}(?: [^"]*)?" '
       r'(?P<status>\d{3}) (?P<size>\d+|-)')
SAYS = r'{program}(?:\[{pid}\])?: ?{message}'
PAIR = r'([A-Za-z_][\w.-]*)=("(?:[^"\\]|\\.)*"|[^\s"]*)'

# The name of each form, an expression that matches its lines, and the format of its times for pandas, where
# these do not say it themselves. A row is tried before the rows below it. No expression backtracks without a
# bound.
LOG_FORMS = (
    ('logfmt', r'\s*%s\s+%s(?:\s|$)' % (PAIR, PAIR), ''),
    ("nginx's or Apache's combined form", WEB + ' "(?P<referer>[^"]*)" "(?P<agent>[^"]*)"', ''),
    ("the web servers' common form", WEB, ''),
    ("Apache's error log", r'\[(?P<time>[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ [\d:.]+ \d{4})\] '
     r'\[(?:\w*:)?(?P<level>\w+)\] {message}', ''),
    ("syslog's form (RFC 5424)",
     r'<(?P<pri>\d+)>1 (?P<time>\S+) {host} (?P<program>\S+) (?P<pid>\S+) \S+ {message}', ''),
    ("syslog's form",
     r'(?:<\d+>)?(?P<time>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d) {host} ' + SAYS, '%b %d %H:%M:%S'),
    ("syslog's form with ISO times",
     r'(?P<time>\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d)) {host} ' + SAYS, ''),
    ("glog's form", r'(?P<level>[IWEF])(?P<time>\d{4} \d\d:\d\d:\d\d\.\d+) +{thread} '
     r'(?P<where>[^\s\]]+)\] {message}', '%m%d %H:%M:%S.%f'),
    ("Ruby's form", r'[DIWEFA], \[(?P<time>\S+) #{pid}\] +(?P<level>[A-Z]+) -- (?P<program>[^:]*): {message}',
     ''),
    ('a level in each line',
     r'\[?{time}[] ]{where}\b{level}\b(?:(?<=[A-Z])|(?=[]:]))' + BEHIND + '{message}', ''),
    ('a level in each line', r'\[?{level}\]?[ :]+\[?{time}' + BEHIND + '{message}', ''),
    ("Android's form (logcat)", r'(?P<time>\d\d-\d\d \d\d:\d\d:\d\d\.\d+) +{pid} +{thread} '
     r'(?P<level>[VDIWEFA]) (?P<program>[^:]{1,80}?)\s*: ?{message}', '%m-%d %H:%M:%S.%f'),
    ("HDFS's form", r'(?P<time>\d{6} \d{6}) {thread} (?P<level>[A-Z]+) (?P<where>[^\s:]+): {message}',
     '%y%m%d %H%M%S'),
    ("BlueGene's form", r'{label} \d{10} [\d.]+ {host} (?P<time>\d{4}-\d\d-\d\d-\d\d\.\d\d\.\d\d\.\d+) \S+ '
     r'(?P<program>\S+ \S+) (?P<level>[A-Z]+) {message}', '%Y-%m-%d-%H.%M.%S.%f'),
    ("OpenStack's form", r'{file} {time} {pid} (?P<level>[A-Z]+) (?P<where>\S+) {message}', ''),
    ("Proxifier's form", r'\[(?P<time>\d\d\.\d\d \d\d:\d\d:\d\d)\] (?P<program>\S+)(?: \*64)? - '
     '{host} {message}', '%m.%d %H:%M:%S'),
    ("Windows's form (CBS)", r'{time}, (?P<level>[A-Z][a-z]+) +(?P<program>[A-Z]+) +{message}', ''),
    ("Thunderbird's form",
     r'{label} (?P<time>\d{10}) [\d.]+ {host} [A-Z][a-z]{2} +\d+ [\d:]{8} \S+ ' + SAYS, 's'),
    ('a time in seconds in each line',
     r'(?P<id>\d+) {host} (?P<program>\S+) {event} (?P<time>\d{10}) {flag} {message}', 's'),
    ("Android's form with bars", r'(?P<time>\d{8}-\d\d?:\d\d?:\d\d?:\d{1,3})\|(?P<program>[^|]+)\|{pid}\|'
     '{message}', '%Y%m%d-%H:%M:%S:%f'),
    ("the kernel's form", r'(?:<\d+>)?\[ *(?P<time>\d+\.\d{6})\] {message}', ''),
)
# Tried last, when the file is not a table either
TIMED_FORMS = (('a time in each line',
                r'\[?(?P<time>%s%s)(?=[] :-])%s{message}' % (DAY, DAY_CLOCK, BEHIND), ''),)
VARIES = re.compile(r'"[^"]*"|\'[^\']*\'|\b[0-9a-fA-F]{8,}(?:-[0-9a-fA-F]+)*\b|0x[0-9a-fA-F]+'
                    r'|[^\s=:,()/\[\]]*\d[^\s=:,()/\[\]]*')
COLOUR = r'\x1b\[[\d;]*m'


def message_shape(text):
    """The words of a message, with # in place of numbers, quoted text and the like: what differs between two
    messages of one kind."""
    return re.sub(r'#(?:[:./,]#)+', '#', VARIES.sub('#', text[:300])).strip()[:150]


def log_form(text, forms):
    """The form that most of the first lines have. Lines that continue a message (a traceback, say) have none,
    so if the first line matches, one line in five is enough."""
    head = re.sub(COLOUR, '', text[:LOG_HEAD]).split('\n')
    head = [s[:LOG_LINE] for s in head if s.strip() and s[0] != '#'][:200]
    for name, pattern, when in forms:
        pattern = re.sub(r'\{([a-z]+)\}', lambda m: '(?P<%s>%s)' % (m[1], PIECES.get(m[1], r'\S+')), pattern)
        match = re.compile(pattern).match
        fit = sum(1 for s in head if match(s))
        if fit >= 3 and (fit >= 0.8 * len(head)
                         or '<message>' in pattern and match(head[0]) and fit >= 0.2 * len(head)):
            return name, pattern, when
    return None


def raw_text(pattern):
    """A regular expression as a Python literal, raw if possible."""
    return "r'%s'" % pattern if "'" not in pattern else repr(pattern)


def log_times(times, when, whole):
    """The statement that turns texts into times. It loses what is no time, which is then told as missing."""
    if when == 's':
        return ["df['time'] = pd.to_datetime(df['time'].astype(float), unit='s')"]
    some = times[::len(times) // LOG_TIMES + 1]
    days = {form: parsed(some, form, utc=True) for form in date_forms(some[0])}
    days = {form: d.max() - d.min() for form, d in days.items() if d.notna().all()}
    if len(days) > 1:                   # is 17/06/09 in June? Then the log is of the shortest time
        when = min(days, key=days.get)
    found = column_plan('time', dict.fromkeys(some, 1))
    code = found.code or 'pd.to_datetime({})' * bool(date_forms(some[0]))
    if when:
        code = 'pd.to_datetime({}, format=%r)' % when
    elif whole and len({t[-5:] for t in times}) == 1:       # hours of the day as they were there
        code = code.replace(', utc=True', '')
    code = code and tolerant(code)
    return [statement('df', code, ['time'])] * bool(code)


def log_text(path, text, encoding, whole, forms=LOG_FORMS):
    form = log_form(text, forms)
    if not form:
        return None
    name, pattern, when = form
    if not whole:
        text = sampled(path, encoding).decode(encoding, 'replace')
    lines = [s[:LOG_LINE] for s in text.split('\n') if s.strip()]
    source = 'open(%r, encoding=%r, errors="replace")' % (path, encoding)
    plain_lines = source
    if '\x1b[' in text:
        plain_lines = "(re.sub(%s, '', s) for s in %s)" % (raw_text(COLOUR), source)
    rows = '[m.groupdict() for m in map(re.compile(%s).match, %s) if m]' % (raw_text(pattern), plain_lines)
    if name == 'logfmt':
        rows = "[{k: v.strip('\"') for k, v in re.findall(%s, s)} for s in %s if s.strip()]" % (
            raw_text(PAIR), plain_lines)
    rest = iter(lines)
    items = run(['import re; rows = ' + rows], [(source, in_time(rest, LOG_SECONDS))])['rows']
    seen, names = len(lines) - len(list(rest)), {k for r in items for k in r}
    if not 0 < len(names) <= LOG_NAMES:
        return None
    total = count(len(items), 'row')
    if not whole or seen < len(lines):
        where = ' at the beginning, in the middle and at the end' * (not whole)
        total = 'about %d rows, looked at %d%s' % (count_rows(path), len(items), where)
    if not has('pandas'):
        return log_facts('import re; rows = %s\na log, %s, %s, all values text' % (rows, name, total), items)
    lines = ['import re, pandas as pd; df = pd.DataFrame(%s)' % rows]
    times = [r['time'] for r in items if r.get('time')]
    lines += log_times(times, when, whole) if times else []
    if '<status>' in pattern:
        lines.append("for c in ['status', 'size']: df[c] = pd.to_numeric(df[c], errors='coerce')")
    frame = run(lines, [(rows, items)])['df']
    t = table_of('df', lines, [('\n'.join(lines).partition('df = ')[2], frame)])
    t.total = total
    if when and not re.search('%[Yy]|^s', when):
        t.remarks['time'] = 'without a year: pandas takes 1900'
    if len(items) < seen:
        t.notes.append('%s of another form (such as the rest of a message), left out'
                       % count(seen - len(items), 'line'))
    return log_facts(told(t.lines, t, 'a log, %s, ' % name), items)


log_timed = functools.partial(log_text, forms=TIMED_FORMS)


# The usual names of the time, the level and the message in records
LOG_KEYS = (('time', ('time', 'timestamp', 'ts', '@timestamp', 'datetime', 't')),
            ('level', ('level', 'lvl', 'severity', 'levelname', 'loglevel', 'log.level')),
            ('message', ('message', 'msg', 'event', 'path')))


def log_keys(items):
    """{'time': its key, ...} if these are the records of a log, which have a time, and a level or a message;
    else None."""
    found, head = {}, [r for r in items[:100] if isinstance(r, dict)]
    for what, names in LOG_KEYS:
        found[what] = next((k for k in names if 2 * sum(k in r for r in head) > len(head)), None)
    return found if found['time'] and (found['level'] or found['message']) else None


def how_often(items, key, always):
    """'level: INFO 900, ERROR 12', where words recur under a key of records; always: numbers too."""
    found = (r.get(key) for r in items)
    words = collections.Counter(str(v)[:60] for v in found
                                if v and (always or type(v) is str and not v.isdigit()))
    if len(words) < 2 or 2 * len(words) > sum(words.values()):
        return ''
    shown = ['%s %d' % (clean(v, 30), n) for v, n in words.most_common(8 if len(words) < 13 else 3)]
    return '%s: %s%s' % (key, 'most often ' * (len(words) > len(shown)), ', '.join(shown))


def log_facts(said, items):
    """said is the profile of the records as a table; what matters in a log replaces its first rows."""
    items = [r for r in items if isinstance(r, dict)]
    keys = log_keys(items)
    if not keys or not said:
        return said
    level, message = keys['level'], keys['message']
    names = dict.fromkeys(k for r in items[:100] for k in r if k not in (keys['time'], message))
    more = [how_often(items, k, k in (level, 'status')) for k in sorted(names, key=lambda k: k != level)]
    shapes = collections.Counter(message_shape(str(r[message])) for r in in_time(items, LOG_SECONDS / 2)
                                 if r.get(message)).most_common(6 if ROWS else 0)
    if shapes:
        more.append('most frequent %ss (# differs):' % ('path' if message == 'path' else 'message'))
    more += ['%7d  %s' % (n, clean(shape, ROW)) for shape, n in shapes]
    said = said.partition('\nfirst ')[0]
    for line in filter(None, more):
        if len(said) + len(line) > MOST - 20:
            break
        said += '\n' + line
    return said
