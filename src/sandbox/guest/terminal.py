# terminal.py - part of the worker, compiled when the program first says to which terminal output goes: makes
# tables, arrays and figures fit it. Imports none of the modules concerned: those that are loaded are told
# now, the others once a cell has loaded them. What the code itself has set is left alone.

COLUMNS = [80, 80]              # of the terminal; what the modules were told last
GROUND = [None]                 # colour of the background if it is dark
FIGURE_CELLS = [None]           # columns and rows for a figure that is drawn by characters
# What is dark on a light ground, and by default black.
INK = ('text.color', 'axes.edgecolor', 'axes.labelcolor', 'xtick.color', 'ytick.color', 'lines.color',
       'patch.edgecolor', 'hatch.color', 'boxplot.boxprops.color', 'boxplot.capprops.color',
       'boxplot.flierprops.color', 'boxplot.flierprops.markeredgecolor', 'boxplot.whiskerprops.color')
PAPER = ('figure.facecolor', 'axes.facecolor', 'figure.edgecolor')
BRIGHT = ('#8dd3c7', '#feffb3', '#bfbbd9', '#fa8174', '#81b1d2', '#fdb462', '#b3de69', '#bc82bd', '#ccebc4',
          '#ffed6f')


def set_terminal(worker, body):
    known = dict(tagged(body))
    COLUMNS[0], ground = int(known.get(b'w', b'80')), int(known.get(b'b', b'%d' % 0xffffff))
    light = 299 * (ground >> 16) + 587 * (ground >> 8 & 255) + 114 * (ground & 255)
    GROUND[0] = '#%06x' % ground if light < 127500 else None
    columns, rows = int(known.get(b'c', b'0')), int(known.get(b'r', b'0'))
    FIGURE_CELLS[0] = (columns, rows) if columns and rows else None
    posix.environ[b'COLUMNS'] = b'%d' % COLUMNS[0]     # for os, if it is not imported yet
    posix.putenv(b'COLUMNS', posix.environ[b'COLUMNS'])
    modules = {'numpy': fit_numpy, 'pandas': fit_pandas, 'matplotlib': fit_figures}
    if FIGURE_CELLS[0]:
        modules['matplotlib.figure'] = follow_saving    # noqa: from worker.py
    Loaded.then.update(modules)
    for name, fit in {'os': fit_os, **modules}.items():
        if name in worker.modules:
            fit(worker.modules[name])
    COLUMNS[1] = COLUMNS[0]


def careful(fit):
    """The module may be the code's own, or be half loaded."""
    def call(module):
        try:
            fit(module)
        except Exception:
            pass
    return call


@careful
def fit_os(module):
    module.environ['COLUMNS'] = str(COLUMNS[0])


@careful
def fit_numpy(module):
    if module.get_printoptions()['linewidth'] in (75, COLUMNS[1] - 5):
        module.set_printoptions(linewidth=COLUMNS[0] - 5)


@careful
def fit_pandas(module):
    show_columns(module)                        # noqa: from worker.py
    if module.get_option('display.width') in (80, COLUMNS[1]):
        module.set_option('display.width', COLUMNS[0])


@careful
def fit_figures(module):
    """Light ink on the ground of the terminal if that is dark; otherwise as matplotlib does it."""
    params, default = module.rcParams, module.rcParamsDefault
    dark = {**dict.fromkeys(INK, '#e0e0e0'), **dict.fromkeys(PAPER, GROUND[0]), 'grid.color': '#606060',
            'axes.prop_cycle': module.cycler('color', BRIGHT)} if GROUND[0] else {}
    for name in INK + PAPER + ('grid.color', 'axes.prop_cycle'):
        if name in DARK and params[name] == DARK[name] or params[name] == default[name]:
            params[name] = dark.get(name, default[name])
            DARK[name] = params[name]


DARK = {}                       # what fit_figures() has set
