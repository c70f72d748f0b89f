# installed.py - finds the installed packages worth naming to a model, by the names in the package folders;
# nothing is imported.


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
