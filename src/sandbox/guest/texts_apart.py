# texts_apart.py - part of the worker, compiled when a figure is drawn and the terminal has no pixels: draws
# it a second time, laid out by matplotlib for the terminal's cells, with lines that can be seen there and
# without its texts, which are told with their places. The code's figure is afterwards as it was. What cannot
# be drawn so is left out: the PNG is there.

CELL_SIZE = 8, 16                    # pixels of a cell in the picture
STRETCH = 1.6                   # how much wider or higher than the figure the picture may be
TEXTS_MOST, TEXT_MOST, TEXTS_BYTES = 500, 200, 65536
WHOLE = 10000                   # width and height of the picture, in which places are told
LINE_LEAST, EDGE_LEAST = 3.0, 1.6       # points: of a line, and of what has an area
SPENT_MOST = 1.5                # seconds of the processor, of a cell, for such pictures
UPRIGHT = '_sandpiper_upright'  # marks the font of a text that is written downwards
RAISED = dict(zip('0123456789+-\u2212=()nix', '\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079'
                  '\u207a\u207b\u207b\u207c\u207d\u207e\u207f\u2071\u02e3'))
LOWERED = dict(zip('0123456789+-\u2212=()xijk', '\u2080\u2081\u2082\u2083\u2084\u2085\u2086\u2087\u2088\u2089'
                   '\u208a\u208b\u208b\u208c\u208d\u208e\u2093\u1d62\u2c7c\u2096'))
SPENT = [None, 0.0]             # the cell's nonce, and the seconds of the processor that it has used


def screen_columns(text):
    """Of a terminal."""
    if text.isascii():
        return len(text)
    import unicodedata
    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in 'WF') for c in text)


def without_math(text, math):
    """Text as a terminal shows it: of a formula what can be written in a line."""
    import re
    if math and '$' in text:
        parts = re.split(r'(?<!\\)\$', text)
        text = ''.join(plain_formula(re, part) if i % 2 else part for i, part in enumerate(parts))
        text = text.replace('\\$', '$')
    return ' '.join(text.split())[:TEXT_MOST]


def plain_formula(re, text):
    try:
        from matplotlib._mathtext_data import tex2uni
    except ImportError:
        tex2uni = {}
    text = re.sub(r'\\(?:math[a-z]+|text[a-z]*|operatorname|left|right|displaystyle)(?![a-z])|\\!', '', text)
    text = re.sub(r'\\[,;: ]|~', ' ', text)
    for _ in range(4):                          # from the inside out
        text = re.sub(r'\\[dt]?frac\{([^{}]*)\}\{([^{}]*)\}', r'\1/\2', text)
        text = re.sub(r'\\sqrt\{([^{}]*)\}', '\u221a(\\1)', text)
        text = re.sub(r'([\^_])(?:\{([^{}]*)\}|(\\[A-Za-z]+|\w))',
                      lambda m: moved(m[1], m[2] or m[3] or ''), text)
        text = re.sub(r'(?<![\^_])\{([^{}]*)\}', r'\1', text)
    return re.sub(r'\\([A-Za-z]+) ?', lambda m: chr(tex2uni[m[1]]) if m[1] in tex2uni else m[1], text)


def moved(way, text):
    table = RAISED if way == '^' else LOWERED
    if text == r'\circ':
        return '\u00b0'
    if all(c in table for c in text):
        return ''.join(table[c] for c in text)
    return way + (text if len(text) == 1 else '(%s)' % text)


def make_canvas():
    """A class of canvas whose renderer draws no texts but keeps them."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg

    class Renderer(RendererAgg):
        def __init__(self, *size):
            super().__init__(*size)
            self.groups, self.texts, self.headings, self.upright_labels = [], [], (), {}
            for name in 'draw_markers', 'draw_path_collection':
                setattr(self, name, self.without_ticks(getattr(self, name)))

        def without_ticks(self, draw):
            """The small lines at an axis are specks in cells."""
            return lambda *args, **how: None if self.in_tick() else draw(*args, **how)

        def in_tick(self):
            return 'xtick' in self.groups or 'ytick' in self.groups

        def open_group(self, s, gid=None):
            self.groups.append(s)

        def close_group(self, s):
            if self.groups:
                self.groups.pop()

        def get_text_width_height_descent(self, s, prop, ismath):
            columns = screen_columns(without_math(s, ismath))
            if hasattr(prop, UPRIGHT):          # one character below the other
                return min(columns, self.height // CELL_SIZE[1] // 3) * CELL_SIZE[1], CELL_SIZE[0], 0
            # lines of a text are as high as cells, with the space that matplotlib adds between them
            return columns * CELL_SIZE[0], 0.86 * CELL_SIZE[1], 0.18 * CELL_SIZE[1]

        def draw_path(self, gc, path, transform, rgbFace=None):
            least = LINE_LEAST if rgbFace is None and 'line2d' in self.groups else EDGE_LEAST
            if 0 < gc.get_linewidth() < least and not self.in_tick():       # there it is the grid
                thick = self.new_gc()
                thick.copy_properties(gc)
                thick.set_linewidth(least)
                gc = thick
            super().draw_path(gc, path, transform, rgbFace)

        def draw_text(self, gc, x, y, s, prop, angle, ismath=False, mtext=None):
            text = without_math(s, ismath)
            if not text or len(self.texts) >= 4 * TEXTS_MOST or gc.get_alpha() == 0:
                return
            import math
            width, height, descent = self.get_text_width_height_descent(s, prop, ismath)
            if hasattr(prop, UPRIGHT) and screen_columns(text) * CELL_SIZE[1] > width:
                text = text[:max(int(width) // CELL_SIZE[1] - 1, 1)] + '\u2026'
            up, along = height / 2 - descent, width / 2
            cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
            x, y = x + cos * along - sin * up, y - sin * along - cos * up
            at, rank = mtext.get_ha()[:1] if mtext is not None else 'c', self.rank(mtext)
            axes = self.upright_labels.get(mtext)
            if axes and screen_columns(text) * CELL_SIZE[1] > axes.bbox.height:
                # a label that is longer than its axis is high goes above it
                left = max(x - CELL_SIZE[0] / 2, 0)
                x, y, at, angle, rank = left + along, self.height - axes.bbox.y1 - CELL_SIZE[1] / 2, 'l', 0, 1
            self.texts.append((rank, x, y, width, int(angle) % 360, at, gc.get_rgb(), text))

        draw_tex = draw_text

        def rank(self, mtext):
            """What of the texts that are in each other's way is kept: 0 before all others."""
            groups = self.groups
            if 'legend' in groups:
                return 1
            if self.in_tick():
                return 2
            return 0 if mtext in self.headings or any(g.startswith('matplotlib.axis') for g in groups) else 3

    class Canvas(FigureCanvasAgg):
        def get_renderer(self, cleared=None):
            if getattr(self, 'own', None) is None:
                self.own = Renderer(*(int(v + 0.5) for v in self.figure.bbox.size), self.figure.dpi)
            return self.own
    return Canvas


def headings_of(figure):
    found = [getattr(figure, name, None) for name in ('_suptitle', '_supxlabel', '_supylabel')]
    for axes in figure.axes:
        found += [getattr(axes, name, None) for name in ('title', '_left_title', '_right_title')]
    return [text for text in found if text is not None]


def straighten(figure):
    """No terminal turns characters: labels of the x axis that are turned are written along it where there is
    room for all, else downwards. Returns what to undo."""
    turned = []
    for axes in figure.axes:
        labels = [t for t in axes.get_xticklabels() if t.get_visible() and t.get_text()]
        if all(t.get_rotation() % 180 == 0 for t in labels):
            continue
        widest = max(screen_columns(t.get_text()) for t in labels) + 1
        along = widest * len(labels) * CELL_SIZE[0] <= 1.15 * axes.bbox.width
        for t in labels:
            turned.append((t, t.get_rotation(), t.get_ha(), t.get_rotation_mode()))
            t.set(rotation=0 if along else 90, ha='center', rotation_mode='default')
            if not along:
                setattr(t.get_fontproperties(), UPRIGHT, True)
    return turned


def turn_back(turned):
    for t, rotation, align, mode in turned:
        t.set(rotation=rotation, ha=align, rotation_mode=mode)
        t.get_fontproperties().__dict__.pop(UPRIGHT, None)


def cells_for(figure, columns, rows):
    """The shape of the picture: as much of columns x rows as it may be stretched to."""
    width, height = figure.get_size_inches()
    natural = width / height * CELL_SIZE[1] / CELL_SIZE[0]        # columns for a row
    wide = min(columns, rows * natural * STRETCH)
    high = min(rows, columns / natural * STRETCH)
    return max(int(wide), 8), max(int(high), 4)


def drawn_apart(figure, columns, rows):
    """The renderer, with the picture and the texts."""
    columns, rows = cells_for(figure, columns, rows)
    canvas, size, dpi = figure.canvas, figure.get_size_inches().copy(), figure.dpi
    pars = figure.subplotpars
    before = {name: getattr(pars, name) for name in ('left', 'right', 'bottom', 'top', 'wspace', 'hspace')}
    turned = []
    places = [(axes, axes.get_position(True).frozen(), axes.get_position().frozen()) for axes in figure.axes]
    try:
        own = make_canvas()(figure)
        figure.dpi = 100
        figure.set_size_inches(columns * CELL_SIZE[0] / 100, rows * CELL_SIZE[1] / 100, forward=False)
        renderer = own.get_renderer()
        renderer.headings = headings_of(figure)
        renderer.upright_labels = {axes.yaxis.label: axes for axes in figure.axes
                                   if axes.yaxis.label.get_rotation() == 90}
        turned = straighten(figure)
        engine = figure.get_layout_engine() if hasattr(figure, 'get_layout_engine') else None
        if getattr(engine, 'adjust_compatible', True):
            fit_layout(figure)
            renderer.texts.clear()
            renderer.clear()
        figure.draw(renderer)
        return renderer
    finally:
        turn_back(turned)
        figure.set_canvas(canvas)
        figure.dpi = dpi
        figure.set_size_inches(size, forward=False)
        pars.update(**before)
        for axes, original, active in places:
            axes._set_position(original, which='original')
            axes._set_position(active, which='active')


def fit_layout(figure):
    """Room for texts that are larger than the code has reckoned with."""
    import warnings
    try:
        from matplotlib.layout_engine import TightLayoutEngine
    except ImportError:
        return
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        TightLayoutEngine(pad=0.4, h_pad=0.4, w_pad=0.8).execute(figure)


def words_of(renderer):
    """A line for each text, the most important ones first: docs/sandbox-protocol.md."""
    width, height, lines, left = renderer.width, renderer.height, [], TEXTS_BYTES
    for _, x, y, length, angle, at, colour, text in sorted(renderer.texts, key=lambda t: t[0])[:TEXTS_MOST]:
        places = [int(v * WHOLE) for v in ((x - length / 2) / width, (x + length / 2) / width, y / height)]
        if all(-WHOLE <= v <= 2 * WHOLE for v in places):
            red, green, blue = (min(max(int(c * 255), 0), 255) for c in colour[:3])
            line = '%d %d %d %d %s %02x%02x%02x %s' % (*places, angle, at, red, green, blue, text)
            lines.append(line.replace('\0', '').encode('utf-8', 'replace') + b'\0')
            left -= len(lines[-1])
            if left < 0:
                return b''.join(lines[:-1])
    return b''.join(lines)


def draw_apart(worker, figure, file, took):
    """file: the bytes of the image, which finds the picture again; took: seconds of the processor for it."""
    import threading
    import time
    if posix.getpid() != worker.pid or threading.current_thread() is not threading.main_thread():
        return                                  # what two say at a time would be mixed up
    if SPENT[0] != worker.nonce:
        SPENT[:] = worker.nonce, 0.0
    if SPENT[1] + took > SPENT_MOST:
        return
    began = time.thread_time()
    try:
        import binascii
        import numpy
        renderer = drawn_apart(figure, *FIGURE_CELLS[0])        # noqa: from terminal.py
        words = words_of(renderer)
        if words:
            picture = numpy.ascontiguousarray(numpy.asarray(renderer.buffer_rgba())[:, :, :3]).tobytes()
            sizes = renderer.width, renderer.height, len(words)
            form = b'#%d %d %d %d %d' % (len(file), binascii.crc32(file), *sizes)
            send_figure(worker, form, picture + words)      # noqa: from extras.py
    except Exception:
        pass
    SPENT[1] += time.thread_time() - began
