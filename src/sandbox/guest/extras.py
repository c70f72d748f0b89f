# extras.py - part of the worker, compiled when a cell first needs it: long values, top-level await, figures,
# large output, stdin. Touches objects of the code, as explain.py does.


def begin(text):
    """So much of it that what is said of the rest fits behind it."""
    return text.encode('utf-8', 'backslashreplace')[:VALUE_MOST - 100].decode('utf-8', 'ignore')


def big_repr(value):
    kind = type(value)
    if kind in (str, bytes, bytearray) and len(value) > VALUE_MOST:
        return begin(repr(value[:VALUE_MOST // 2])) + ' ... [%d in all]' % len(value)
    if kind in (list, tuple, set, frozenset, dict) and len(value) > 1000:
        part = []
        for item in (value.items() if kind is dict else value):
            part.append(item)
            if len(part) == 1000:
                break
        text = repr(dict(part) if kind is dict else kind(part))
        return '%s, ... [%d items in all]' % (begin(text[:-1]), len(value))
    return repr(value)


def set_loop(worker, asyncio):
    if worker.loop is None or worker.loop.is_closed():
        worker.loop = asyncio.new_event_loop()
    asyncio.set_event_loop(worker.loop)
    return worker.loop


def take_tasks(worker, asyncio):
    """What wants a running loop, in a cell that waits for nothing: a task goes on in the next cell that does,
    since all of them have one loop."""
    def wrap(make):
        def made(*args, **how):
            if asyncio._get_running_loop() is None:
                loop = set_loop(worker, asyncio)
                if make.__name__ == 'create_task':
                    return loop.create_task(*args, **how)
            return make(*args, **how)
        made.__name__, made.__doc__ = make.__name__, make.__doc__
        return made
    for name in 'create_task', 'ensure_future', 'gather', 'shield':
        setattr(asyncio, name, wrap(getattr(asyncio, name)))


def run_in_loop(worker, parts):
    """Both parts of a cell, since what stands before a last "await task" may have made the task."""
    import asyncio

    async def run():
        value = None
        for part in parts:
            value = eval(part, worker.namespace)
            if part.co_flags & 0x80:            # CO_COROUTINE
                value = await value
        return value
    task = set_loop(worker, asyncio).create_task(run())
    try:
        return worker.loop.run_until_complete(task)
    except BaseException:
        if not task.done():
            task.cancel()
            try:
                worker.loop.run_until_complete(task)
            except BaseException:
                pass
        raise


PIECE = 4000                    # an interrupt is handled between two pieces, never within one


def send_figure(worker, form, data):
    """form: how the file is to end. '=' before it: a form of the cell's value; '+': another form of the
    figure before."""
    if posix.getpid() != worker.pid:            # a fork of the code's: the figure is its parent's
        return
    worker.say(RECORD_FIGURE, form)
    for at in range(0, len(data), PIECE):
        worker.say(RECORD_FIGURE_DATA, data[at:at + PIECE])
    worker.say(RECORD_FIGURE_END, b'')


def draw_figure(worker, figure):
    if figure.axes or figure.texts or figure.images:
        import time
        import warnings
        began = time.thread_time()
        with warnings.catch_warnings(record=True) as warned:
            out = _io.BytesIO()
            figure.savefig(out, format='png', dpi=100, bbox_inches='tight')
            send_figure(worker, b'png', out.getvalue())
            draw_for_cells(figure, out.getvalue(), time.thread_time() - began)
            for form in OPTIONS['figures'].split(',') if OPTIONS['figures'] else ():
                out = _io.BytesIO()
                figure.savefig(out, format=form, bbox_inches='tight')
                send_figure(worker, b'+' + form.encode(), out.getvalue())
        tell_warnings(worker, [str(w.message) for w in warned])


def draw_for_cells(figure, file, took):
    """Once more, where the terminal draws figures by characters. took: seconds of the processor for file."""
    if 'FIGURE_CELLS' in globals() and FIGURE_CELLS[0]:     # noqa: from terminal.py
        need('texts_apart')
        draw_apart(WORKER, figure, file, took)  # noqa: from texts_apart.py


def tell_warnings(worker, texts):
    """Of drawing a figure: the code has no line for it. Each character that no font has is one warning."""
    import re
    glyphs = [re.match(r'Glyph (\d+) ', text) for text in texts]
    lost = ''.join(dict.fromkeys(chr(int(m[1])) for m in glyphs if m))
    for text in dict.fromkeys(text for text, m in zip(texts, glyphs) if not m):
        print('[figure: %s]' % text, file=worker.stderr)
    if lost:
        print('[figure: no font here has %s]' % lost, file=worker.stderr)


def wrap_savefig(module):
    """What the code saves as name.png comes as name.svg and name.pdf too, where those are wanted; and it is
    drawn for the terminal."""
    save = module.Figure.savefig
    if hasattr(save, 'saves'):                  # ours
        return

    def savefig(self, fname, *args, **how):
        import time
        began = time.thread_time()
        done = save(self, fname, *args, **how)
        try:
            path = fname if isinstance(fname, str) else fname.__fspath__()
            took = time.thread_time() - began
            if path[-4:].lower() == '.png' and how.get('format', 'png') == 'png':
                how.pop('format', None)
                for form in OPTIONS['figures'].split(',') if OPTIONS['figures'] else ():
                    save(self, path[:-3] + form, *args, **how)
            if path[-4:].lower() in ('.png', '.jpg', 'jpeg', 'webp'):
                with open(path, 'rb') as file:
                    draw_for_cells(self, file.read(), took)
        except Exception:                       # the PNG is there, and nobody asked this code for more
            pass
        return done
    savefig.saves = save
    module.Figure.savefig = savefig


def keep_font_families(rcsetup):
    """Letters that the first font lacks are taken from the others that matplotlibrc names; a style that sets
    a font of its own (seaborn's do) would lose those."""
    check = getattr(rcsetup, '_validators', {}).get('font.family')
    if check is None:                           # the code's own module, or another matplotlib
        return

    def families(value):
        known = getattr(sys.modules.get('matplotlib'), 'rcParamsOrig', {}).get('font.family', ())
        names = check(value)
        return names + [name for name in known[1:] if name not in names]
    rcsetup._validators['font.family'] = families


def save_figures(worker, draw=True):
    """Send the figures that are still open, and close them, so that the next cell draws on none of them."""
    plt, failed = worker.modules['matplotlib.pyplot'], None
    numbers = getattr(plt, 'get_fignums', list)()       # the code may have put anything in its place
    for i, number in enumerate(numbers):
        figure = plt.figure(number)
        try:
            if draw and i < 20:
                draw_figure(worker, figure)
        except Exception as e:
            failed = failed or e
        finally:
            plt.close(figure)
    if len(numbers) > 20:
        print('[only the first 20 of %d open figures are kept]' % len(numbers), file=worker.stderr)
    if failed:
        raise failed


RICH = ('_repr_html_', '_repr_png_', '_repr_svg_', '_repr_mimebundle_')     # as Jupyter calls them


def keep_forms(worker, value):
    """A value may have other forms than its text: asked of its class, which most classes deny at once."""
    kind = type(value)
    try:
        rich = [True for name in RICH if hasattr(kind, name)]
        figure = getattr(worker.modules.get('matplotlib.figure'), 'Figure', None)
        free = figure is not None and isinstance(value, figure)
    except Exception:
        return
    if rich or free:
        need('rich')
        (send_free_figure if free else send_forms)(worker, value)   # noqa: from rich.py


def buffer_output(worker):
    """A million lines are a million system calls. So after the first two thousand lines of a cell its stdout
    is buffered, and a thread flushes it 20 times a second, so that output still appears promptly. The thread
    ends with the cell; a fork of the worker has none."""
    import _thread
    stop, stopped, stdout = _thread.allocate_lock(), _thread.allocate_lock(), worker.stdout
    stop.acquire()
    stopped.acquire()

    def flush():
        try:
            stdout.reconfigure(line_buffering=False)
            while not stop.acquire(True, 0.05):
                stdout.flush()
        except BaseException:
            pass
        stopped.release()

    def end():
        worker.flooding = None
        stop.release()
        stopped.acquire(True, 1)
        try:
            stdout.reconfigure(line_buffering=True)
        except BaseException:
            pass

    # Both sides of a fork would otherwise write what is still buffered.
    if not worker.hooked:
        posix.register_at_fork(before=lambda: worker.flooding and worker.flooding())
        worker.hooked = True
    try:
        _thread.start_new_thread(flush, ())
        worker.flooding = end
    except RuntimeError:                        # no thread can be started: keep one system call per line
        pass


# ---- stdin

def read_from(worker, name):
    """The following cells read that file of the data folder as their standard input, from its beginning; an
    empty name: they have none."""
    try:
        fd = posix.open(OPTIONS['data'].encode() + b'/' + name if name else b'/dev/null',
                        posix.O_RDONLY | posix.O_CLOEXEC)
    except OSError:
        return                                  # the code has removed it
    posix.dup2(fd, 0)
    posix.close(fd)
    worker.open_stdin()
