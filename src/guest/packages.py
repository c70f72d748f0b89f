# packages.py - what is there that is worth naming to a model, found by the names in the package folders; nothing is imported.


def find_packages():
    names, found = ('numpy', 'pandas', 'matplotlib', 'scipy', 'scikit_learn', 'sympy', 'openpyxl', 'pillow'), {}
    for folder in sys.path:
        if folder.endswith('-packages'):
            try:
                entries = posix.listdir(folder)
            except OSError:
                continue
            for e in entries:
                if e.endswith(('.dist-info', '.egg-info')):
                    name, _, rest = e[:-10].partition('-')
                    name = name.lower()
                    if name in names and name not in found:
                        found[name] = '%s %s' % (name.replace('_', '-'), '.'.join(rest.split('-')[0].split('.')[:2]))
    return ', '.join(found[n] for n in names if n in found)
