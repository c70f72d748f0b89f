# elsewhere.py - part of the supervisor, compiled when a cell has made something in a folder of which nothing
# is kept: its files are named, so that no result is lost in silence. Only names are looked at, and only in
# the folders that have changed.

import re

# UNKEPT, changed_at: from collect.py
# shown: from copy_out.py

# What libraries put there for themselves: hidden names, those of tempfile, and their own.
SCRATCH = re.compile(r'\.|tmp(?=[a-z_]*\d)[a-z0-9_]{8}(\.|$)|'
                     r'(sem|psm|pym|pymp|loky|joblib|matplotlib|torch|ray|dask|numba)[-_.]')
ENTRIES_MOST, FOLDERS_MOST, DEPTH_MOST, NAMED_MOST = 1000, 64, 5, 5


def look_elsewhere(self):
    if len(self.told_of) > 10000:
        self.told_of.clear()
    todo = [path for path, when in self.elsewhere.items() if not when or changed_at(path) != when]
    names, left, user = [], ENTRIES_MOST, posix.getuid()
    for path in todo:                           # grows by the folders that are new
        when = changed_at(path)
        if when is None:
            if path not in UNKEPT:
                del self.elsewhere[path]
            continue
        self.elsewhere[path] = when
        try:
            with posix.scandir(path) as entries:
                for e in entries:
                    left -= 1
                    if left < 0:
                        break
                    st = e.stat(follow_symlinks=False)
                    kind, key = st.st_mode & 0o170000, (e.path, st.st_ino)
                    if SCRATCH.match(e.name) or st.st_uid != user or st.st_ctime_ns < self.began:
                        continue
                    if kind == 0o040000 and e.path not in self.elsewhere and e.path.count('/') < DEPTH_MOST:
                        if len(self.elsewhere) < FOLDERS_MOST:
                            todo.append(e.path)
                    elif kind == 0o100000 and st.st_size and key not in self.told_of:
                        self.told_of.add(key)
                        names.append(e.path)
        except OSError:
            pass
    if names:
        need('copy_out')
        named = [name.encode('utf-8', 'surrogateescape') for name in sorted(names)[:NAMED_MOST]]
        said = ', '.join(map(shown, named))
        if len(names) > NAMED_MOST:
            said += ' and %d more' % (len(names) - NAMED_MOST)
        said += ' %s not kept: write to %s' % ('is' if len(names) == 1 else 'are', OPTIONS['data'])
        self.send(FROM_GUEST_NOTE, self.nonce, said.encode('utf-8', 'replace'))


Supervisor.look_elsewhere = look_elsewhere
