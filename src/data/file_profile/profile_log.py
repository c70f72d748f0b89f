# profile_log.py - the part of file_profile.py for logs. It finds the form of the lines, and proposes and runs
# the code that parses them. Beside the frame it tells how often words and kinds of messages occur in it.

LOG_HEAD = 1 << 19              # characters in which the form is sought
LOG_LINE = 2000                 # characters of a line that are examined
LOG_SECONDS = 1.5
LOG_NAMES, LOG_TIMES = 200, 2000         # most columns; times from which their form is proposed
DAY = (r'(?:\d{1,4}[-/.](?:\d\d?|[A-Z][a-z]{2})[-/.]\d{1,4}|\d\d? [A-Z][a-z]{2} \d{4}|'
       r'[A-Z][a-z]{2} +\d\d?(?:,? \d{4}|(?! [\d:.]+ \d{4}\b)))(?:,? +|[T:])')
DAY_CLOCK = (r'\d\d?:\d\d:\d\d(?:\.\d+|,\d{3,})?(?: [AP]M)?(?! [AP]M)'
             r'(?:(?:Z| ?[+-]\d\d:\d\d| ?\+\d{4}|-\d{4})\b)?')
DATED = r'(?:[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ [\d:.]+ \d{4}|%s%s)' % (DAY, DAY_CLOCK)
WARNINGS = ('(?i:TRACE|VERBOSE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|SEVERE|CRIT(?:ICAL)?|ALERT|FATAL|PANIC|'
            'EMERG(?:ENCY)?)|DBG|INF|WRN|ERR|FTL|[DIWEF](?= +[A-Z]+ )|'
            'LOG|DETAIL|HINT|CONTEXT|STATEMENT')        # the last five are PostgreSQL's
BEHIND = r'(?:[]\s:|]|-(?!\d))*'         # between a time or a level and a message, which may be -1

# {word} stands for a group of that name. What the groups match; where nothing is said, anything but blanks.
PIECES = {'time': r'%s|\d\d?:\d\d:\d\d(?:[.,]\d+)?' % DATED, 'level': WARNINGS, 'message': '.*',
          'path': r'[^\s"]+', 'program': r'[^\s:[]+', 'pid': r'\d+', 'thread': r'\d+'}
# {word?} stands for what only some logs have: it is left out where it matches nothing.
OPTIONAL = {'prefix': r'(?P<prefix>[^,;\t\n"\'|][^,;\t\n"\']{0,90}?)??',
            'zone': r'(?: (?P<zone>UTC|GMT|MSK|(?!CRIT)[A-Z]{2,3}T)\b)?',
            'pid': r'(?: (?:\[|#)(?P<pid>\d+)(?:-\d+)?\]:?)?', 'where': r'(?P<where>[^"\n]{0,100}?)'}
WEB = (r'{ip} \S+ {user} \[(?P<time>[^]]+)\] "(?P<method>[A-Z]+) {path}(?: [^"]*)?" '
       r'(?P<status>\d{3}) (?P<size>\d+|-)')
SAYS = r'{program}(?:\[{pid}\])?: ?{message}'
PAIR = r'([A-Za-z_][\w.-]*)=("(?:[^"\\]|\\.)*"|[^\s"]*)'
BEGINS = r'(?:[DIWEFA], )?{prefix?}(?<![\w.|-])\[?{time}(?=[]\s:-]|, |$){zone?}{pid?}'

# The name of each form, an expression that matches its lines, and the format of its times for pandas, where
# these do not say it themselves. A row is tried before the rows below it. No expression backtracks without a
# bound.
LOG_FORMS = (
    ('logfmt', r'\s*%s\s+%s(?:\s|$)' % (PAIR, PAIR), ''),
    ("nginx's or Apache's combined form", WEB + ' "(?P<referer>[^"]*)" "(?P<agent>[^"]*)"', ''),
    ("the web servers' common form", WEB, ''),
    ("syslog's form (RFC 5424)",
     r'<(?P<pri>\d+)>1 (?P<time>\S+) {host} (?P<program>\S+) (?P<pid>\S+) \S+ {message}', ''),
    ("syslog's form",
     r'(?:<\d+>)?(?P<time>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d)) '
     '{host} ' + SAYS, ''),
    ("glog's form", r'(?P<level>[IWEF])(?P<time>\d{4} \d\d:\d\d:\d\d\.\d+) +{thread} '
     r'(?P<where>[^\s\]]+)\] {message}', '%m%d %H:%M:%S.%f'),
    ('a level in each line',
     BEGINS + r'(?:[] :]|, ){where?}\b{level}\b(?:(?<=[A-Z])|(?=[]:/]|  ))(?! *[,;])' + BEHIND + '{message}',
     ''),
    ('a level in each line', r'\[?{level}\]?[ :]+\[?{time}' + BEHIND + '{message}', ''),
    ('JSON behind a prefix', r'(?P<prefix>[^{"]{1,90}?)[ |]*(?P<message>\{".*\})\s*$', ''),
    ("Kubernetes's form", r'{time} (?P<stream>stdout|stderr) [FP] {message}', ''),
    ('a level at the begin of each line', r'\[?{level}[]:][ :]*{message}', ''),
    ("Android's form (logcat)", r'(?P<time>\d\d-\d\d \d\d:\d\d:\d\d\.\d+) +{pid} +{thread} '
     r'(?P<level>[VDIWEFA]) (?P<program>[^:]{1,80}?)\s*: ?{message}', '%m-%d %H:%M:%S.%f'),
    ("HDFS's form", r'(?P<time>\d{6} \d{6}) {thread} (?P<level>[A-Z]+) (?P<where>[^\s:]+): {message}',
     '%y%m%d %H%M%S'),
    ("BlueGene's form", r'{label} \d{10} [\d.]+ {host} (?P<time>\d{4}-\d\d-\d\d-\d\d\.\d\d\.\d\d\.\d+) \S+ '
     r'(?P<program>\S+ \S+) (?P<level>[A-Z]+) {message}', '%Y-%m-%d-%H.%M.%S.%f'),
    ("Proxifier's form", r'\[(?P<time>\d\d\.\d\d \d\d:\d\d:\d\d)\] (?P<program>\S+)(?: \*64)? - '
     '{host} {message}', '%m.%d %H:%M:%S'),
    ("Thunderbird's form",
     r'{label} (?P<time>\d{10}) [\d.]+ {host} [A-Z][a-z]{2} +\d+ [\d:]{8} \S+ ' + SAYS, 's'),
    ('a time in seconds in each line',
     r'(?P<id>\d+) {host} (?P<program>\S+) {event} (?P<time>\d{10}) {flag} {message}', 's'),
    ("Android's form with bars", r'(?P<time>\d{8}-\d\d?:\d\d?:\d\d?:\d{1,3})\|(?P<program>[^|]+)\|{pid}\|'
     '{message}', '%Y%m%d-%H:%M:%S:%f'),
    ("the kernel's form", r'(?:<\d+>)?\[ *(?P<time>\d+\.\d{6})\] {message}', ''),
    ("strace's form", r'(?:\[pid +)?{pid}\]? +(?P<time>\d\d:\d\d:\d\d\.\d+) {message}', ''),
)
# Tried after the others, and not for a table whose first column is a time
TIMED_FORMS = (('a time in each line', BEGINS + r'(?! *[,;|]|\t(?! +\d))' + BEHIND + '{message}', ''),)
VARIES = re.compile(r'"[^"]*"|\'[^\']*\'|\b[0-9a-fA-F]{8,}(?:-[0-9a-fA-F]+)*\b|0x[0-9a-fA-F]+'
                    r'|[^\s=:,()/\[\]]*\d[^\s=:,()/\[\]]*')
YEARLESS = re.compile(r'[A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d(?:\.\d+)?')
COLOUR = r'\x1b\[[\d;]*[A-Za-z]'


def message_shape(text):
    """The words of a message, with # in place of numbers, quoted text and the like: what differs between two
    messages of one kind."""
    return re.sub(r'#(?:[:./,]#)+', '#', VARIES.sub('#', text[:300])).strip()[:150]


def pattern_of(form, pieces, unused=()):
    """The regular expression that a form stands for."""
    def piece(m):
        if m[2]:
            return OPTIONAL[m[1]] if m[1] not in unused else r'\W*' * (m[1] == 'where')
        return '(?P<%s>%s)' % (m[1], pieces.get(m[1], r'\S+'))
    return re.sub(r'\{([a-z]+)(\??)\}', piece, form)


def time_shape(time):
    """An expression for this time and for others that are written like it."""
    shape = re.sub(' +', ' +', time.replace('.', '[.]').replace('+', '[+-]'))
    return re.sub(r'\d+', r'\\d+', re.sub('[A-Za-z]{2,}', r'\\w+', shape))


def narrowed(form, pieces, fit):
    """(the form's pattern for these lines, the begin of it as far as the time): without what matches nothing,
    and with the shape of their times, if all have one."""
    groups = [m.groupdict() for m in fit]
    unused = [k for k in OPTIONAL if not any(re.search(r'\w', g.get(k) or '') for g in groups)]
    shape = time_shape(groups[0].get('time') or '')
    for times in (shape, pieces['time']):
        pattern = pattern_of(form, dict(pieces, time=times), unused)
        again = map(re.compile(pattern).match, (m.string for m in fit))
        if all(m and m.groupdict() == {k: g[k] for k in m.groupdict()} for m, g in zip(again, groups)):
            break
    else:
        return pattern_of(form, pieces), ''
    begin = pattern.partition(shape)[0] + shape if times == shape and '{time}' in form else ''
    return pattern, re.sub(r'\(\?P<time>', '', begin).replace('?P<prefix>', '?:')


def is_cells(fit):
    """Do these have as many cells each beside the time, or nothing? Then they are of a table."""
    words = [((m['prefix'] or '') + m['message']).split() for m in fit]
    numeric = sum(all(map(number_like, column)) for column in zip(*words))
    tables = [words] * (2 * numeric > len(words[0]))
    tables += [[m['message'].split(sep) for m in fit] for sep in ',;|' if sep in fit[0]['message']]
    return 2 * sum(map(bool, words)) < len(fit) or any(
        10 * collections.Counter(map(len, rows)).most_common(1)[0][1] > 8 * len(fit) for rows in tables)


def log_form(text, forms):
    """(name, regular expression, format of its times, expression for the begin of a record) of the form that
    most of the first lines have. Lines that go on a message (a traceback, say) have none."""
    lines = re.sub(COLOUR, '', text[:LOG_HEAD]).split('\n')
    lines = [s[:LOG_LINE] for s in lines if s.strip()][:200]
    pieces = dict(PIECES, time=DATED) if forms is TIMED_FORMS else PIECES
    dated = re.compile('(?:%s)?' % OPTIONAL['prefix'] + r'\[?' + DATED).match
    for name, form, when in forms:
        pattern = pattern_of(form, pieces)
        found = list(map(re.compile(pattern).match, lines))
        fit = list(filter(None, found))
        other = [s for s, m in zip(lines, found) if not m and s[0] not in '# \t']
        if len(fit) < 3 or len(fit) < 4 * len(other) and (
                'time' not in form or found.index(fit[0]) > 5 and lines[0][0] != '#'
                or len(fit) < 4 * sum(map(bool, map(dated, other))) or 4 * len(fit) < len(other)):
            continue
        if forms is TIMED_FORMS and is_cells(fit):
            continue
        return name, *narrowed(form, pieces, fit), when
    return None


def raw_text(pattern):
    """A regular expression as a Python literal, raw if possible, in signs that can be seen."""
    return "r'%s'" % pattern if "'" not in pattern and pattern.isprintable() else repr(pattern)


def log_times(times, when, whole):
    """The statement that turns texts into times. It loses what is no time, which is then told as missing."""
    if when == 's':
        return ["df['time'] = pd.to_datetime(df['time'].astype(float), unit='s')"]
    some = times[::len(times) // LOG_TIMES + 1]
    if YEARLESS.fullmatch(some[0]):
        when = '%b %d %H:%M:%S' + '.%f' * ('.' in some[0])
    days = {form: parsed(some, form, utc=True) for form in date_forms(some[0])}
    days = {form: d.max() - d.min() for form, d in days.items() if d.notna().all()}
    if len(days) > 1:                   # is 17/06/09 in June? Then the log is of the shortest time, or as
        when = min(days, key=lambda form: (days[form], form[:2] != '%y'))       # most loggers write it
    found = column_plan('time', dict.fromkeys(some, 1))
    zones = any(re.search(r'Z$|[+-]\d\d:?\d\d$', t) for t in some)
    code = found.code or 'pd.to_datetime({}%s)' % (', utc=True' * zones) * bool(date_forms(some[0]))
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
    name, pattern, begin, when = form
    if not whole:
        text = sampled(path, encoding).decode(encoding, 'replace')
    text = text.replace('\r\n', '\n')
    source, colour = 'open(%r, encoding=%r, errors="replace")' % (path, encoding), '\x1b[' in text
    text = re.sub(COLOUR, '', text) if colour else text
    goes_on = begin and re.search(r'\n(?!%s).' % begin, text)
    parts = r'\n(?=%s|$)' % begin if goes_on else r'\n'
    if goes_on or colour:
        source += '.read()'
        source = 're.split(%s, %s)' % (raw_text(parts), 're.sub(%s, "", %s)' % (raw_text(COLOUR), source)
                                       if colour else source)
    records = re.split(parts, text) if goes_on else [s[:LOG_LINE] for s in text.split('\n') if s.strip()]
    pattern = pattern.replace('(?P<message>.*)', '(?P<message>(?s:.*))') if goes_on else pattern
    matches = 'for m in map(re.compile(%s).match, %s) if m]' % (raw_text(pattern), source)
    rows, package, frame = '[m.groupdict() ' + matches, 're', 'DataFrame'
    if name == 'logfmt':
        rows = "[{k: v.strip('\"') for k, v in re.findall(%s, s)} for s in %s if s.strip()]" % (
            raw_text(PAIR), source)
    elif 'JSON' in name:
        rows, package, frame = "[{'prefix': m[1], **json.loads(m[2])} " + matches, 'json, re', \
            'json_normalize'
    rest = iter(records)
    try:
        given = [(source, in_time(rest, LOG_SECONDS))]
        items = run(['import %s; rows = %s' % (package, rows)], given)['rows']
    except ValueError:                  # what looked like JSON is none
        return None
    unread = len(list(rest))
    records = records[:len(records) - unread]
    seen = sum(s.count('\n') + 1 for s in records)
    if not 0 < len({k for r in items for k in r}) <= LOG_NAMES:
        return None
    total = count(len(items), 'row')
    if not whole or unread:
        where = ' at the beginning, in the middle and at the end' * (not whole)
        total = 'about %d rows, looked at %d%s' % (count_rows(path), len(items), where)
    if not has('pandas'):
        said = 'import %s; rows = %s\na log, %s, %s, all values text' % (package, rows, name, total)
        return log_facts(said, items)
    lines = ['import %s, pandas as pd; df = pd.%s(%s)' % (package, frame, rows)]
    times = [r['time'] for r in items if isinstance(r.get('time'), str)]
    lines += log_times(times, when, whole) if times else []
    if '<status>' in pattern:
        lines.append("for c in ['status', 'size']: df[c] = pd.to_numeric(df[c], errors='coerce')")
    made = run(lines, [(rows, items)])['df']
    t = table_of('df', lines, [('\n'.join(lines).partition('df = ')[2], made)])
    t.total = total
    if len(t.frame) and str(t.frame.get('time', [''])[0])[:5] == '1900-':
        t.remarks['time'] = 'without a year: pandas takes 1900'
    more = sum(r['message'].count('\n') for r in items) if goes_on else 0
    t.notes.append('%s with the rest of a message, which belong to it' % count(more, 'line') * (more > 0))
    left = seen - len(items) - more
    t.notes.append('%s of another form, left out' % count(left, 'line') * (left > 0))
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
