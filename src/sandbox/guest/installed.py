# installed.py - finds the installed packages worth naming to a model, by the names in the package folders;
# nothing is imported. Also: which of them does not fit those of --with.


def find_packages():
    names, found = OPTIONS['packages'].split(','), {}
    for folder in sys.path:
        if folder.endswith('-packages'):
            try:
                entries = posix.listdir(folder)
            except OSError:
                continue
            for e in entries:
                stem, _, kind = e.rpartition('.')
                if kind in ('dist-info', 'egg-info'):
                    name, _, rest = stem.partition('-')
                    name = name.lower().replace('_', '-')
                    if name and name in names and name not in found:
                        found[name] = '%s %s' % (name, '.'.join(rest.split('-')[0].split('.')[:2]))
    return ', '.join(found[n] for n in names if n in found)


def own_versions():
    """The sandbox's own packages, not those of --with: lower case, with _ for -."""
    found = {}
    for folder in sys.path:
        if type(folder) is str and folder.endswith('-packages') and '.with-packages' not in folder:
            for e in posix.listdir(folder) if folder[:1] == '/' and posix.access(folder, posix.R_OK) else ():
                name, _, rest = e.rpartition('.')[0].partition('-')
                if e.endswith(('.dist-info', '.egg-info')) and rest:
                    found.setdefault(name.lower(), rest.split('-')[0])
    return found


def unfit_package(e, frames):
    """A package of --with wants another version of one that the sandbox has, or one that the sandbox has was
    built for another: what to ask for. Packages that are not called as their modules are not found."""
    if not any(type(p) is str and '.with-packages' in p for p in sys.path):
        return None
    text = safe_str(e).lower()                  # noqa: from explain.py
    own, words = own_versions(), ''.join(c if c.isalnum() or c == '_' else ' ' for c in text).split()
    for frame, _ in frames:
        _, _, inside = frame.f_code.co_filename.partition('-packages/')
        if inside and '.with-packages' not in frame.f_code.co_filename and 'binary' in words:
            words.insert(0, inside.split('/')[0].lower())
            break
    for name in words:
        if name in own:
            return ("%s %s is the sandbox's own, and does not fit: add a newer one with --with '%s>%s', "
                    "in a chat with /with" % (name, own[name], name, own[name]))
    return None
