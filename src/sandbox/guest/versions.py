# versions.py - part of the worker: which packages the code has imported and in which versions, by which
# who runs it again knows what may differ; and where packages of --with are imported from.

VERSIONS_MOST = 7000            # bytes of all of them


def is_plain(text):
    return type(text) is str and 0 < len(text) < 100 and all('!' <= c <= '~' for c in text)


def version_of_module(worker, module):
    """Some make it when they are asked, and a few of these warn that one should not ask."""
    version, warnings = module.__dict__.get('__version__'), worker.modules.get('warnings')
    if version is None and warnings and '__getattr__' in module.__dict__:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter('ignore')
                version = module.__version__
        except Exception:
            pass
    return version


def new_packages(worker, code):
    """Those imported since it was asked last, a line each; first of all Python itself."""
    lines = [] if worker.packages else ['python ' + '.'.join(map(str, sys.version_info[:3]))]
    if any(name in code for name in worker.silent):
        worker.silent.clear()
    for name, module in list(worker.modules.items()):
        if '.' in name or name in worker.packages or name in worker.silent or type(module) is not type(sys):
            continue
        worker.packages.add(name)
        place = module.__dict__.get('__file__')
        if type(place) is str and '-packages/' in place and is_plain(name):
            version = version_of_module(worker, module)
            if is_plain(version):
                lines.append(name + ' ' + version)
    worker.packages.add('')                     # Python was told
    worker.n_modules = len(worker.modules)
    text = ''.join(line + '\n' for line in lines)
    return text.encode()[:VERSIONS_MOST].rpartition(b'\n')[0] + b'\n' if text else b''


def import_from(body):
    """Folders with packages, each ending with a NUL, the first with the most weight: behind Python's own
    modules, before the packages that are installed. site never looks at them, so nothing in them runs unless
    it is imported."""
    try:
        folders = [folder.decode() for folder in body.split(b'\0')[:-1]]
        if type(sys.path) is not list:
            return
        sys.path[:] = [place for place in sys.path if place not in folders]
        at = min([i for i, place in enumerate(sys.path)
                  if not place or type(place) is str and place.endswith('-packages')] or [len(sys.path)])
        sys.path[at:at] = folders
        sys.path_importer_cache.clear()
    except Exception:
        pass                                    # memory ran out, or the code made something else of it
