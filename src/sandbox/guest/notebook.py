# notebook.py - part of the worker, compiled when code first uses what notebooks have and Python has not:
# display(), the commands that near_python.py makes calls of, and what is imported of IPython where there is
# none. Touches objects of the code, as extras.py does.

import re

SIZES = ((1, 's'), (1e-3, 'ms'), (1e-6, '\u00b5s'), (1e-9, 'ns'))
INSTALL = re.compile(r'(?:(?:python3? -m |uv )?pip3?|conda|mamba|apt|apt-get)\b(?:\s+-\S+)*\s+(.*)')


# ---- display()

def show_values(*values, raw=False, display_id=None, **_):
    """display() of a notebook: each value as the last of a cell would be shown."""
    for value in values:
        own = getattr(type(value), '_ipython_display_', None)
        if raw and isinstance(value, dict):
            value = Bundle(value)
        if own is not None:
            own(value)
        else:
            print(display(value).decode('utf-8', 'replace'))
    return Handle() if display_id else None


class Handle:
    """What display(display_id=True) returns: nothing that was shown can be changed here."""
    display = update = staticmethod(lambda *values, **how: show_values(*values))


class Bundle:
    def __init__(self, forms):
        self.forms = forms

    def __repr__(self):
        return str(self.forms.get('text/plain', 'an object with the forms ' + ', '.join(self.forms)))

    def _repr_mimebundle_(self, include=None, exclude=None):
        return self.forms


class Shown:
    """The objects of IPython.display: data, or the file or address that has it."""
    binary = False

    def __init__(self, data=None, url=None, filename=None, **how):
        path = filename
        if self.binary and isinstance(data, str) and path is None and '://' not in data:
            data, path = None, data             # Image('plot.png')
        if data is None and path is not None:
            with open(path, 'rb' if self.binary else 'r') as f:
                data = f.read()
        self.data, self.url, self.filename, self.metadata = data, url, path, how

    def __repr__(self):
        return '<IPython.core.display.%s object>' % type(self).__name__


class Text(Shown):
    def __repr__(self):
        return str(self.data)


class HTML(Shown):
    def _repr_html_(self):
        return self.data


class SVG(Shown):
    def _repr_svg_(self):
        return self.data


class Image(Shown):
    binary = True

    def _repr_png_(self):
        if not self.data or self.data[:8] == b'\x89PNG\r\n\x1a\n':
            return self.data
        from PIL import Image as pictures
        out = _io.BytesIO()
        pictures.open(_io.BytesIO(self.data)).convert('RGB').save(out, 'PNG')
        return out.getvalue()


SHOWN = {'DisplayObject': Shown, 'TextDisplayObject': Text, 'HTML': HTML, 'SVG': SVG, 'Image': Image}
for kinds, base in ((('Markdown', 'Latex', 'Math', 'Pretty', 'JSON', 'Code', 'Javascript'), Text),
                    (('Audio', 'Video', 'IFrame', 'YouTubeVideo', 'FileLink', 'FileLinks'), Shown)):
    SHOWN.update((kind, type(kind, (base,), {})) for kind in kinds)


# ---- commands

def where():
    """(name, line) of the code that is running: what a command runs has its lines."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename in WORKER.sources:
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return '<command>', 1


def run_here(code, more=0):
    """Run code as if it stood where the command does, more lines below it."""
    name, line = where()
    text = WORKER.sources.get(name)
    try:
        return WORKER.evaluate('\n' * (line - 1 + more) + code, name)
    finally:
        WORKER.sources[name] = text


def span(seconds):
    size, unit = next((s for s in SIZES if seconds >= s[0]), SIZES[-1])
    return '%.3g %s' % (seconds / size, unit)


def time_code(line, body=None):
    import time
    cpu, begin = time.process_time(), time.perf_counter()
    value = run_here(line) if body is None else run_here(body, 1)
    taken = time.perf_counter() - begin
    print('CPU times: %s\nWall time: %s' % (span(time.process_time() - cpu), span(taken)))
    return value


def repeat_code(line, body=None):
    import statistics
    import timeit
    most = dict(re.findall(r'(?<!\S)-([nr])\s*(\d+)', line))
    line = re.sub(r'(?<!\S)-(?:[nr]\s*\d+|[otcqp])(?!\S)\s*', '', line)
    timer = timeit.Timer(line if body is None else body, 'pass' if body is None else line or 'pass',
                         globals=WORKER.namespace)
    loops = int(most.get('n', 0))
    if not loops:
        loops = 1
        while timer.timeit(loops) < 0.02:
            loops *= 10
    runs = [taken / loops for taken in timer.repeat(int(most.get('r', 7)), loops)]
    print('%s \u00b1 %s per loop (mean \u00b1 std. dev. of %d runs, %d loops each)'
          % (span(statistics.mean(runs)), span(statistics.pstdev(runs)), len(runs), loops))


def told_packages(line):
    """pip install: what is there already, and how others come in."""
    from importlib import metadata
    words = line.split()
    if words[:1] != ['install']:
        print('[there is no package manager in the sandbox]', file=sys.stderr)
        return
    missing = []
    for word in words[1:]:
        name = re.match(r'[\w.-]*', word)[0]
        if not name or name[0] == '-':
            continue
        try:
            print('[%s %s is installed already]' % (name, metadata.version(name)), file=sys.stderr)
        except metadata.PackageNotFoundError:
            missing.append(name)
    if missing:
        print('[%s cannot be installed: the sandbox has no network. Start sandpiper with --with %s, or '
              'with an image that has it (--image NAME)]' % (', '.join(missing), ','.join(missing)),
              file=sys.stderr)


def expanded(command):
    """{expression} and $name of the code's, as IPython has them in a command; all else is the shell's."""
    def value(m):
        try:
            return str(eval(m[1], WORKER.namespace)) if m[1] else str(WORKER.namespace[m[2]])
        except Exception:
            return m[0]
    return re.sub(r'(?<![$\\])\{([^{}]+)\}|(?<!\\)\$([A-Za-z_]\w*)', value, command)


def shell(command, capture=False):
    """Run by a shell. Its output, if that is to be captured."""
    import subprocess
    command = expanded(command)
    packages = INSTALL.fullmatch(command.strip())
    if packages:
        told_packages(packages[1])
        return ''
    sys.stdout.flush()
    sys.stderr.flush()
    capture = capture or sys.stdout is not WORKER.stdout
    how = {'stdout': subprocess.PIPE, 'stderr': subprocess.STDOUT} if capture else {}
    name = '/bin/bash' if posix.access('/bin/bash', posix.X_OK) else '/bin/sh'
    done = subprocess.run([name, '-c', command], stdin=subprocess.DEVNULL, **how)
    WORKER.namespace['_exit_code'] = done.returncode
    return (done.stdout or b'').decode('utf-8', 'replace')


class Lines(list):
    """files = !ls"""
    l = list = property(lambda self: self)      # noqa: E741 - IPython's name
    n = nlstr = property('\n'.join)
    s = spstr = property(' '.join)


def explain_object(line, source=False):
    import inspect
    try:
        value = eval(line, WORKER.namespace)
    except Exception:
        print('Object `%s` not found.' % line)
        return
    try:
        print('Signature: %s%s' % (line, inspect.signature(value)))
    except (TypeError, ValueError):
        pass
    print('Type: %s' % TYPE_NAME(type(value)))
    if not callable(value) and not inspect.ismodule(value):
        print('Value: ' + display(value).decode('utf-8', 'replace'))
    try:
        said = 'Source:\n' + inspect.getsource(value) if source else ''
    except (TypeError, OSError):
        said = ''
    print(said or 'Docstring:\n' + str(inspect.getdoc(value)))


def write_file(line, body):
    words = line.split()
    path = words[-1]
    mode = 'a' if '-a' in words[:-1] or '--append' in words[:-1] else 'w'
    print(('Appending to ' if mode == 'a' else 'Writing ') + path)
    with open(path, mode) as f:
        f.write(body)


def run_script(line):
    import runpy
    words = line.split()
    before, sys.argv = sys.argv, words
    try:
        WORKER.namespace.update((k, v) for k, v in runpy.run_path(words[0], run_name='__main__').items()
                                if k[:2] != '__')
    finally:
        sys.argv = before


def set_variable(line):
    import os
    name, _, value = line.replace('=', ' ', 1).partition(' ')
    if not name:
        return dict(os.environ)
    if not value:
        return os.environ.get(name)
    os.environ[name] = expanded(value.strip())
    return None


def change_folder(line):
    import os
    os.chdir(os.path.expanduser(line.strip('\'"') or '~'))
    print(os.getcwd())


def print_names(line):
    names = [n for n in WORKER.namespace if type(n) is str and n[:1] != '_']
    print('\n'.join('%s  (%s)' % (n, TYPE_NAME(type(WORKER.namespace[n]))) for n in names) or 'no variables')


def forget_all(line):
    for name in [n for n in WORKER.namespace if type(n) is str and n[:1] != '_']:
        del WORKER.namespace[name]


def capture_output(line, body):
    import contextlib
    out = _io.StringIO()
    with contextlib.redirect_stdout(out):
        run_here(body, 1)
    if line:
        WORKER.namespace[line.split()[-1]] = Text(out.getvalue())
        WORKER.namespace[line.split()[-1]].stdout = out.getvalue()


def run_python(line, body):
    import subprocess
    sys.stdout.flush()
    subprocess.run([sys.executable, '-'], input=body.encode())


def query(line, body=None):
    need('sql')
    return run_sql(line if body is None else body)      # noqa: from sql.py


def nothing(line, body=None):
    """Settings of a notebook that change nothing here: figures are shown in any case."""
    return run_here(body, 1) if body is not None else None


LINE_COMMANDS = {
    'sql': query,
    'time': time_code, 'timeit': repeat_code, 'run': run_script, 'cd': change_folder, 'reset': forget_all,
    'pwd': lambda line: posix.getcwd(), 'prun': lambda line: run_here(line),
    'uv': lambda line: shell('uv ' + line),
    **dict.fromkeys(('pip', 'pip3', 'conda', 'mamba'), told_packages),
    **dict.fromkeys(('env', 'set_env'), set_variable), **dict.fromkeys(('who', 'whos'), print_names),
    **dict.fromkeys(('sx', 'system'), lambda line: getoutput(line)),
    **dict.fromkeys(('pinfo', 'pdoc'), explain_object),
    **dict.fromkeys(('pinfo2', 'psource'), lambda line: explain_object(line, True)),
    **dict.fromkeys(('matplotlib', 'pylab', 'config', 'load_ext', 'reload_ext', 'autoreload', 'autosave',
                     'precision', 'colors', 'xmode', 'pdb', 'debug', 'gui', 'pprint', 'automagic',
                     'doctest_mode', 'aimport'), nothing),
    **{name: lambda line, name=name: print(shell(name + ' ' + line), end='')
       for name in ('ls', 'cat', 'cp', 'mv', 'rm', 'mkdir', 'rmdir', 'head', 'tail', 'less', 'more')}}
CELL_COMMANDS = {
    'sql': query,
    'time': time_code, 'timeit': repeat_code, 'capture': capture_output,
    'prun': lambda line, body: run_here(body, 1),
    **dict.fromkeys(('writefile', 'file'), write_file), **dict.fromkeys(('python', 'python3'), run_python),
    **dict.fromkeys(('bash', 'sh', 'script', '!'), lambda line, body: print(shell(body), end='')),
    **{name: lambda line, body, kind=kind: show_values(SHOWN[kind](body))
       for name, kind in (('html', 'HTML'), ('HTML', 'HTML'), ('markdown', 'Markdown'), ('latex', 'Latex'),
                          ('svg', 'SVG'), ('javascript', 'Javascript'), ('js', 'Javascript'))}}


def getoutput(command, *_, **how):
    return Lines(shell(command, True).splitlines())


class Notebook:
    """What get_ipython() returns in a cell."""
    config = {}
    user_ns = property(lambda self: WORKER.namespace)
    getoutput = staticmethod(getoutput)

    def system(self, command):
        print(shell(command), end='')

    def run_line_magic(self, name, line, *_, **how):
        if name not in LINE_COMMANDS:
            raise RuntimeError('there is no command %%%s here' % name)
        return LINE_COMMANDS[name](line)

    def run_cell_magic(self, name, line, cell):
        if name in CELL_COMMANDS:
            return CELL_COMMANDS[name](line, cell)
        if LINE_COMMANDS.get(name) is nothing:
            return nothing(line, cell)
        raise RuntimeError('there is no command %%%%%s here' % name)

    def magic(self, line):
        name, _, rest = line.lstrip('%').partition(' ')
        return self.run_line_magic(name, rest.strip())

    def run_cell(self, code, *_, **how):
        return run_here(code)

    def ev(self, expression):
        return eval(expression, self.user_ns)

    def ex(self, code):
        exec(code, self.user_ns)

    def push(self, names, *_, **how):
        self.user_ns.update(names)


NOTEBOOK = Notebook()


# ---- import IPython

class InteractiveShell(Notebook):
    ast_node_interactivity = 'last_expr'

    @classmethod
    def instance(cls, *_, **how):
        return NOTEBOOK

    @classmethod
    def initialized(cls):
        return False


def ask_notebook():
    """get_ipython() as it is imported: None for a library that wants to know where it runs."""
    return NOTEBOOK if sys._getframe(1).f_globals is WORKER.namespace else None


def ignored(*_, **how):
    return None


DISPLAYED = dict(SHOWN, display=show_values, update_display=show_values, DisplayHandle=Handle,
                 **dict.fromkeys(('clear_output', 'set_matplotlib_formats', 'set_matplotlib_close'), ignored),
                 **{'display_' + kind: show_values
                    for kind in ('html', 'markdown', 'svg', 'png', 'latex', 'pretty', 'json', 'jpeg')})
MODULES = {'IPython': {'get_ipython': ask_notebook, 'InteractiveShell': InteractiveShell}, 'IPython.core': {},
           **dict.fromkeys(('IPython.display', 'IPython.core.display', 'IPython.core.display_functions'),
                           DISPLAYED),
           'IPython.core.getipython': {'get_ipython': ask_notebook},
           'IPython.core.interactiveshell': {'InteractiveShell': InteractiveShell}}


class Given:
    """Loader of these modules."""
    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        module.__dict__.update(MODULES[module.__name__])
        if module.__name__ == 'IPython':
            __import__('IPython.display')


def ipython_spec(name):
    from importlib.machinery import ModuleSpec
    package = name in ('IPython', 'IPython.core')
    return ModuleSpec(name, Given, is_package=package) if name in MODULES else None


def adapt_ipython(module):
    """IPython is installed: its display() and get_ipython() are to know the worker."""
    for name in 'display', 'get_ipython':
        if hasattr(module, name):
            setattr(module, name, show_values if name == 'display' else ask_notebook)
