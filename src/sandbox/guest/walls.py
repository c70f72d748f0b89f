# walls.py - finds which walls stand around the code, for "sandpiper doctor". It only looks: it sends no
# packet and makes no file. The supervisor's helper runs it, as it runs the profile. HERE, which is put in
# front of this text, names the doctor's own namespaces: whatever shares them is not in a sandbox.
#
# One finding per line: "+WALL what was seen" if the wall stands, "-WALL what is open", "=LIMIT number",
# "~what is weaker".

import errno
import os
import resource
import socket

# The machine's own namespaces have fixed numbers (linux/proc_ns.h).
INITIAL = {'user': 0xeffffffd, 'pid': 0xeffffffc}
IN_MEMORY = {'tmpfs', 'ramfs', 'proc', 'sysfs', 'devpts', 'mqueue', 'devtmpfs', 'cgroup', 'cgroup2',
             'securityfs', 'tracefs', 'debugfs', 'bpf', 'nsfs'}
OUTSIDE = ((socket.AF_INET, '192.0.2.1'), (socket.AF_INET, '169.254.169.254'),
           (socket.AF_INET6, '2001:db8::1'))
LOOKED_AT = 4000                # folders; those below the first ones hardly differ


def read(path):
    try:
        with open(path, errors='surrogateescape') as f:
            return f.read(1 << 20)
    except OSError:
        return ''


def shared(kind):
    """Are we in the doctor's own namespace, or in the machine's first one? None: unknown."""
    try:
        own = os.readlink('/proc/self/ns/' + kind)
    except OSError:
        return None
    first = '%s:[%d]' % (kind, INITIAL.get(kind, 0))
    return own in (HERE.get(kind), first)       # noqa: HERE is put in front


def shortened(names, most=4):
    return ', '.join(names[:most]) + (' and %d more' % (len(names) - most) if len(names) > most else '')


def network():
    """Connecting a datagram socket sends nothing: it only asks the kernel for a route."""
    ways = []
    for family, address in OUTSIDE:
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as s:
                s.connect((address, 9))
                ways.append(s.getsockname()[0])
        except OSError as e:
            if e.errno == errno.EACCES:
                ways.append('a route that a filter closes')
    sockets = read('/proc/net/tcp').splitlines()[1:] + read('/proc/net/tcp6').splitlines()[1:]
    listening = [line for line in sockets if line.split()[3] == '0A']
    if ways:
        return '-network it reaches the network (from %s)' % shortened(sorted(set(ways)))
    if shared('net'):
        return '-network it shares the network of the machine'
    if listening:
        return '-network it reaches %d services of the machine' % len(listening)
    return '+network no network'


def bound():
    """Does the process limit apply to us? It does not apply to root of the machine, whatever its uid in
    here."""
    limit = resource.getrlimit(resource.RLIMIT_NPROC)
    resource.setrlimit(resource.RLIMIT_NPROC, (0, limit[1]))
    try:
        pid = os.fork()
    except OSError:
        return True
    finally:
        resource.setrlimit(resource.RLIMIT_NPROC, limit)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return False


def root_around():
    """Is our uid root in the user namespace around ours? That may be one that bwrap made."""
    uid = os.geteuid()
    spans = [tuple(map(int, line.split())) for line in read('/proc/self/uid_map').splitlines()]
    return any(first <= uid < first + count and there + uid - first == 0 for first, there, count in spans)


def user():
    status = dict(line.split(':', 1) for line in read('/proc/self/status').splitlines() if ':' in line)
    capabilities = status.get('CapEff', '').strip()
    lines = []
    if os.geteuid() == 0:
        lines.append('-user it runs as root')
    elif root_around() and not bound():
        lines.append('-user it runs as root of the machine')
    elif capabilities.strip('0'):
        lines.append('-user it has capabilities (%s)' % capabilities)
    elif not capabilities:
        lines.append('-user its rights cannot be seen: there is no /proc')
    else:
        lines.append('+user not root')
    if status.get('NoNewPrivs', '').strip() == '0':
        lines.append('~programs with a set-user-ID bit can raise its rights (no_new_privs is not set)')
    if status.get('Seccomp', '').strip() == '0':
        lines.append('~no filter of system calls')
    return '\n'.join(lines)


def mounts():
    """(place, writable, type) of each mount; the last one mounted at a place counts."""
    found = {}
    for line in read('/proc/self/mountinfo').splitlines():
        left, _, right = line.partition(' - ')
        fields = left.split()
        # a blank, a tab, a newline and a backslash are written as octal numbers there
        place = os.fsdecode(os.fsencode(fields[4]).decode('unicode_escape').encode('latin-1'))
        found[place] = place, 'rw' in fields[5].split(','), right.split()[0]
    return sorted(found.values())


def writable_below(place, device, budget):
    """The topmost writable folders at place, two levels down."""
    todo = [(place, 0)]
    while todo and budget[0] > 0:
        path, depth = todo.pop()
        budget[0] -= 1
        try:
            if os.stat(path).st_dev != device:
                continue
            if os.access(path, os.W_OK):
                yield path
            elif depth < 2:
                with os.scandir(path) as entries:
                    todo += [(e.path, depth + 1) for e in entries if e.is_dir(follow_symlinks=False)]
        except OSError:
            pass


def reachable_files():
    all_mounts, budget, found = mounts(), [LOOKED_AT], []
    if not all_mounts:
        return '-files what it can write to cannot be seen: there is no /proc'
    for place, writable, kind in all_mounts:
        if 'mounts' in HERE and place.startswith(HERE['mounts']):       # noqa: as the user wants it
            continue
        if not writable or (kind in IN_MEMORY and not shared('mnt')) or place.startswith(('/proc', '/sys')):
            continue
        try:
            if os.path.isdir(place):
                found += writable_below(place, os.stat(place).st_dev, budget)
            elif os.access(place, os.W_OK) and kind not in IN_MEMORY:
                found.append(place)
        except OSError:
            pass
    found = sorted(set(found))
    homes = []
    users = os.listdir('/home') if os.access('/home', os.R_OK) else []
    for folder in ['/root'] + ['/home/' + name for name in users]:
        try:
            homes += [folder] if os.listdir(folder) else []
        except OSError:
            pass
    lines = ['-files it can write to the disk: ' + shortened(found)] if found else []
    lines += ['-files it can read home folders: ' + shortened(homes)] if homes else []
    return '\n'.join(lines) or '+files no folder on a disk can be written to, no home can be read'


def processes():
    state = shared('pid')
    if state is None:
        return '-processes whether it has processes of its own cannot be seen: there is no /proc'
    if state or read('/proc/2/comm') == 'kthreadd\n':
        return '-processes it shares the processes of the machine'
    return '+processes its own processes'


def number(path):
    text = read(path).split()
    return int(text[0]) if text and text[0].isdigit() and int(text[0]) < 1 << 60 else None


def limits():
    """What control groups and process limits say, as far as they can be seen from inside."""
    own = [line.split(':', 2)[2].rstrip('/') for line in read('/proc/self/cgroup').splitlines()]
    lines = []
    for group in ['/sys/fs/cgroup' + name for name in own + ['', '/memory', '/pids', '/cpu']]:
        for name in 'memory.max', 'memory.limit_in_bytes', 'pids.max':
            n = number(group + '/' + name)
            lines += ['=%s %d' % (name.split('.')[0], n)] if n is not None else []
        cpu = read(group + '/cpu.max').split()
        if len(cpu) == 2 and cpu[0].isdigit() and cpu[1].isdigit():
            lines.append('=cpus %.3g' % (int(cpu[0]) / int(cpu[1])))
        quota, period = number(group + '/cpu.cfs_quota_us'), number(group + '/cpu.cfs_period_us')
        if quota and period:
            lines.append('=cpus %.3g' % (quota / period))
    each = [resource.getrlimit(what)[0] for what in (resource.RLIMIT_DATA, resource.RLIMIT_AS)]
    each = [n for n in each if 0 <= n < 1 << 60]
    if each:
        lines.append('=each %d' % min(each))
    nproc = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    if nproc >= 0 and bound():
        lines.append('=pids %d' % nproc)
    st = os.statvfs('.')
    return '\n'.join(lines + ['=data %d' % (st.f_blocks * st.f_frsize)])


def profile(path):
    return '\n'.join(look() for look in (network, user, reachable_files, processes, limits))
