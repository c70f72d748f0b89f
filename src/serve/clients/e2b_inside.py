# e2b_inside.py - runs inside a sandbox, as a process of a client's: what E2B's SDK asks of files. The first
# line of stdin says what, as JSON; the content of files that are written follows. Python, standard library
# only.
import json
import os
import stat
import sys

MOST = 20000                    # entries of one answer
EVENTS_MOST = 1 << 20           # bytes of events that nobody has asked for
KINDS = {stat.S_IFREG: 'FILE', stat.S_IFDIR: 'DIRECTORY', stat.S_IFLNK: 'SYMLINK'}


class Refused(Exception):
    pass


def status_of(e):
    import errno
    return {errno.ENOENT: 404, errno.EEXIST: 409, errno.ENOSPC: 507, errno.EDQUOT: 507, errno.EACCES: 403,
            errno.EPERM: 403, errno.EROFS: 403}.get(e.errno, 400)


def owner(number, database, field):
    try:
        return getattr(__import__(database), 'get%sid' % field)(number)[0]
    except (ImportError, KeyError):
        return str(number)


def entry(path):
    import time
    st = os.lstat(path)
    when = time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(st.st_mtime))
    kind = stat.S_IFMT(st.st_mode)
    out = {'name': os.path.basename(path), 'path': path,
           'type': 'FILE_TYPE_' + KINDS.get(kind, 'UNSPECIFIED'),
           'size': st.st_size, 'mode': stat.S_IMODE(st.st_mode), 'permissions': stat.filemode(st.st_mode),
           'owner': owner(st.st_uid, 'pwd', 'pwu'), 'group': owner(st.st_gid, 'grp', 'grg'),
           'modifiedTime': '%s.%09dZ' % (when, st.st_mtime_ns % 1000000000)}
    if kind == stat.S_IFLNK:
        out['symlinkTarget'] = os.readlink(path)
        out['type'] = 'FILE_TYPE_' + ('DIRECTORY' if os.path.isdir(path) else 'FILE')
        out['isSymlink'] = True
    return out


def do_stat(path, **_):
    return {'entry': entry(path)}


def do_list(path, depth, **_):
    if not os.path.isdir(path):
        os.stat(path)
        raise Refused(400, '%s is not a folder' % path)
    entries = []

    def walk(folder, left):
        for name in sorted(os.listdir(folder)):
            one = os.path.join(folder, name)
            try:
                entries.append(entry(one))
            except OSError:
                continue                        # it has gone meanwhile
            if len(entries) > MOST:
                raise Refused(400, 'there are more than %d entries: ask for less depth' % MOST)
            if left > 1 and os.path.isdir(one) and not os.path.islink(one):
                try:
                    walk(one, left - 1)
                except OSError:
                    pass
    walk(path, depth or 1)
    return {'entries': entries}


def do_make(path, **_):
    if os.path.isdir(path):
        raise Refused(409, '%s exists already' % path)
    os.makedirs(path)
    return {'entry': entry(path)}


def do_move(path, to, **_):
    os.lstat(path)
    os.makedirs(os.path.dirname(to) or '/', exist_ok=True)
    os.rename(path, to)
    return {'entry': entry(to)}


def do_remove(path, **_):
    if os.path.realpath(path) in ('/', os.getcwd()):        # a path that is empty is meant by nobody
        raise Refused(400, '%s itself cannot be removed' % path)
    if os.path.isdir(path) and not os.path.islink(path):
        import shutil
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)
    return {}


# ---- content

def do_read(path, **_):
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        raise Refused(400, '%s is not a file' % path)
    data = os.read(fd, 1 << 16)
    say({'answer': {}})
    while data:
        while data:
            data = data[os.write(1, data):]
        try:
            data = os.read(fd, 1 << 16)
        except OSError:
            sys.exit(1)                         # no more can be told, but that it is not all
    sys.exit(0)


def do_write(files, gzip, **_):
    told, source = [], sys.stdin.buffer
    if gzip:
        import gzip as unzip
        source = unzip.GzipFile(fileobj=source)
    for path, size in files:
        if os.path.isdir(path):
            raise Refused(400, '%s is a folder' % path)
        os.makedirs(os.path.dirname(path) or '/', exist_ok=True)
        path = os.path.realpath(path)
        folder, name = os.path.split(path)
        part = os.path.join(folder, '.sandpiper.part-%d-%s' % (os.getpid(), os.urandom(4).hex()))
        mode = stat.S_IMODE(os.stat(path).st_mode) if os.path.exists(path) else 0o644
        try:
            with open(part, 'xb') as f:
                os.fchmod(f.fileno(), mode)
                while gzip or size:
                    data = source.read(1 << 16 if gzip else min(size, 1 << 16))
                    if not data and gzip:
                        break
                    if not data:
                        raise Refused(400, 'the content is cut short')
                    f.write(data)
                    size -= len(data)
            os.rename(part, path)               # whole, or not at all
        except BaseException:
            if os.path.lexists(part):
                os.unlink(part)
            raise
        told.append({'name': name, 'type': 'file', 'path': path})
    return told


# ---- what changes in a folder

def scan(path, recursive):
    """What is in a folder: name -> what tells one state of it from another. (inotify is not for code.)"""
    seen, folders = {}, ['']
    for below in folders:
        try:
            names = os.listdir(os.path.join(path, below))
        except OSError:
            if not below:
                raise
            continue                            # it has gone meanwhile
        for name in names:
            name = os.path.join(below, name)
            try:
                st = os.lstat(os.path.join(path, name))
            except OSError:
                continue
            folder = stat.S_ISDIR(st.st_mode)
            seen[name] = st.st_ino, st.st_mode, None if folder else (st.st_mtime_ns, st.st_size)
            if folder and recursive and len(seen) < MOST:
                folders.append(name)
    return seen


def changes(path, recursive):
    """Names and kinds of changes below path, without end; at first None, once it is watched."""
    import time
    if not os.path.isdir(path):
        os.stat(path)
        raise Refused(400, '%s is not a folder' % path)
    before = scan(path, recursive)
    yield None
    while True:
        began = time.monotonic()
        now = scan(path, recursive)
        inodes = {state[0] for name, state in now.items() if name not in before}
        for name in sorted(before.keys() - now.keys()):
            yield name, 'RENAME' if before[name][0] in inodes else 'REMOVE'
        moved = {before[name][0] for name in before.keys() - now.keys()}
        for name in sorted(now):
            ino, mode, content = now[name]
            old = before.get(name)
            if old is None:
                yield name, 'CREATE'
            if content and ino not in moved and (old is None or old[2] != content):
                yield name, 'WRITE'
            if old is not None and old[1] != mode:
                yield name, 'CHMOD'
        before = now
        time.sleep(max(0.1, 10 * (time.monotonic() - began)))


def event(change):
    return {'name': change[0], 'type': 'EVENT_TYPE_' + change[1]}


def do_watch(path, recursive, **_):
    for change in changes(path, recursive):
        say({'start': {}} if change is None else {'filesystem': event(change)})


def kept_at(watcher):
    return '/tmp/.sandpiper-watch-' + watcher


def do_keep(path, recursive, watcher, **_):
    """A watch whose events are asked for later: they are kept in a file."""
    import fcntl
    for change in changes(path, recursive):
        if change is None:
            os.close(os.open(kept_at(watcher), os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600))
            say({'answer': {'watcherId': watcher}})
            continue
        with open(kept_at(watcher), 'ab') as f:
            fcntl.flock(f, fcntl.LOCK_EX)
            if f.tell() < EVENTS_MOST:
                f.write(json.dumps(event(change)).encode() + b'\n')


def do_events(watcher, forget=False, **_):
    import fcntl
    if forget:
        os.unlink(kept_at(watcher))
        return {}
    with open(kept_at(watcher), 'r+b') as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        events = [json.loads(line) for line in f]
        f.truncate(0)
    return {'events': events}


def say(what):
    """A name may be any bytes: those that are no UTF-8 are told as question marks."""
    data = json.dumps(what, ensure_ascii=False).encode('utf-8', 'replace') + b'\n'
    while data:
        data = data[os.write(1, data):]


def main():
    words = json.loads(sys.stdin.buffer.readline())
    try:
        answer = globals()['do_' + words.pop('do')](**words)
    except Refused as e:
        say({'failed': list(e.args)})
    except OSError as e:
        what, why = e.filename or words.get('path') or 'file', e.strerror or str(e)
        say({'failed': [status_of(e), '%s: %s' % (what, why.lower())]})
    except EOFError:
        say({'failed': [400, 'the content is cut short']})
    except RecursionError:
        say({'failed': [400, 'the folders are nested too deep: ask for less depth']})
    except Exception as e:                      # such as zlib.error, or a path with a NUL in it
        say({'failed': [400, '%s: %s' % (words.get('path', 'content'), e)]})
    else:
        say({'answer': answer})


main()
