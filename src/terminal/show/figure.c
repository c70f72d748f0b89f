/* figure.c - fits an image to the width, and has libchafa draw it in a child process, or kitty's protocol
 * carry it. */
#include "show/figure.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "process/child.h"
#include "show/chafa_load.h"
#include "show/figure_texts.h"
#include "show/kitty.h"
#include "show/through_tmux.h"

#define DRAWN_MAX  (16u << 20) /* bytes of one figure; base64 of the largest RGBA is 10 MB */
#define DRAWING_MS 30000

#define FULL_BLOCK     0x2588
#define INK_LEAST      60 /* of the distance to the paper's colour, 0 to 765 */
#define CONTRAST_LEAST 80 /* of brightness, 0 to 255, between a character and what is behind it */

/* A block's cell is taken as 8 x 16 pixels: enough for what its symbols can show. For sixel a cell that is
 * too small makes a smaller figure, and one that is too large would make it higher than it may be. */
static const struct way {
    ChafaPixelMode mode;
    int cell_width, cell_height; /* where the terminal does not tell */
    bool grows;                  /* a small image is drawn larger, so that it can be seen at all */
} ways[] = {
    [GRAPHICS_BLOCKS] = {CHAFA_PIXEL_MODE_SYMBOLS, 8, 16, true},
    [GRAPHICS_SIXEL] = {CHAFA_PIXEL_MODE_SIXELS, 6, 12, false},
    [GRAPHICS_ITERM2] = {CHAFA_PIXEL_MODE_ITERM2, 8, 16, false},
    /* chafa has no part in these */
    [GRAPHICS_PLACEHOLDERS] = {CHAFA_PIXEL_MODE_KITTY, 8, 16, false},
    [GRAPHICS_KITTY] = {CHAFA_PIXEL_MODE_KITTY, 8, 16, false},
};

struct fit { /* of a figure on the screen */
    enum graphics_way way;
    int cell_width, cell_height;
    int columns, rows; /* at most */
};

static struct fit fit_of(const struct figure_screen *s)
{
    struct fit f = {.way = graphics_way(s->graphics), .columns = s->columns, .rows = s->rows * 2 / 3};

    f.cell_width = ways[f.way].cell_width;
    f.cell_height = ways[f.way].cell_height;
    if (f.way != GRAPHICS_BLOCKS && s->graphics->cell_width) {
        f.cell_width = s->graphics->cell_width;
        f.cell_height = s->graphics->cell_height;
    } else if (f.way != GRAPHICS_BLOCKS && s->pixel_width >= 2 * s->columns
               && s->pixel_height >= 4 * s->rows) {
        f.cell_width = s->pixel_width / s->columns;
        f.cell_height = s->pixel_height / s->rows;
    }
    if (f.rows > FIGURE_ROWS)
        f.rows = FIGURE_ROWS;
    return f;
}

bool figure_ask(const struct figure_screen *s, struct pixels_ask *ask)
{
    struct fit f = fit_of(s);
    int32_t background = s->graphics->background;

    if (f.columns < 8 || f.rows < 4)
        return false;
    unsigned width = (unsigned)(f.columns * f.cell_width), height = (unsigned)(f.rows * f.cell_height);
    ask->width = width < PIXELS_WIDTH_MAX ? width : PIXELS_WIDTH_MAX;
    ask->height = height < PIXELS_HEIGHT_MAX ? height : PIXELS_HEIGHT_MAX;
    ask->background = background < 0 ? 0xffffff : (uint32_t)background;
    ask->texts = f.way == GRAPHICS_BLOCKS;
    return true;
}

void figure_cells(const struct figure_screen *s, int *columns, int *rows)
{
    struct fit f = fit_of(s);

    *columns = f.columns;
    *rows = f.rows;
}

/* The cells that the image takes: as many as it has pixels for, or fewer to fit, in its own shape. */
static void shrink(struct fit *f, unsigned width, unsigned height)
{
    double columns = (double)width / f->cell_width, rows = (double)height / f->cell_height;
    double x = f->columns / columns, y = f->rows / rows, scale = x < y ? x : y;

    if (scale > 1 && !ways[f->way].grows)
        scale = 1;
    int wide = (int)(columns * scale + 0.5), high = (int)(rows * scale + 0.5);
    f->columns = wide < 1 ? 1 : wide < f->columns ? wide : f->columns;
    f->rows = high < 1 ? 1 : high < f->rows ? high : f->rows;
}

bool figure_is_kitty(const struct figure_screen *s)
{
    enum graphics_way way = graphics_way(s->graphics);

    return way == GRAPHICS_KITTY || way == GRAPHICS_PLACEHOLDERS;
}

void figure_draw_kitty(const struct figure_screen *s, const struct kitty_image *i, struct buf *out)
{
    struct fit f = fit_of(s);

    shrink(&f, i->width, i->height);
    if (f.way == GRAPHICS_PLACEHOLDERS) {
        through_tmux_draw(i, f.columns, f.rows, out);
        return;
    }
    autofree char *keys = xasprintf("c=%d,r=%d", f.columns, f.rows);
    kitty_send(i, keys, false, out);
    buf_addch(out, '\n');
}

static ChafaCanvasMode mode_of(int colours)
{
    return colours > 256  ? CHAFA_CANVAS_MODE_TRUECOLOR
           : colours > 16 ? CHAFA_CANVAS_MODE_INDEXED_240 /* the first 16 are the user's own to choose */
           : colours > 0  ? CHAFA_CANVAS_MODE_INDEXED_16
                          : CHAFA_CANVAS_MODE_FGBG;
}

static uint32_t paper_of(const struct figure_screen *s)
{
    return s->graphics->background < 0 ? 0 : (uint32_t)s->graphics->background;
}

static uint32_t ink_of(const struct figure_screen *s)
{
    return graphics_dark(s->graphics) || s->graphics->background < 0 ? 0xffffff : 0;
}

static ChafaCanvasConfig *config_of(const struct chafa_api *c, const struct figure_screen *s,
                                    const struct fit *f)
{
    ChafaCanvasConfig *config = c->canvas_config_new();
    ChafaSymbolMap *symbols = c->symbol_map_new();

    c->symbol_map_add_by_tags(symbols,
                              CHAFA_SYMBOL_TAG_SPACE | CHAFA_SYMBOL_TAG_BLOCK | CHAFA_SYMBOL_TAG_BORDER);
    c->canvas_config_set_symbol_map(config, symbols);
    c->symbol_map_unref(symbols);
    c->canvas_config_set_geometry(config, f->columns, f->rows);
    c->canvas_config_set_cell_geometry(config, f->cell_width, f->cell_height);
    c->canvas_config_set_canvas_mode(config, f->way == GRAPHICS_BLOCKS ? mode_of(s->colours)
                                                                       : CHAFA_CANVAS_MODE_TRUECOLOR);
    c->canvas_config_set_pixel_mode(config, ways[f->way].mode);
    /* a line of one pixel keeps its colour; an average would be pale */
    c->canvas_config_set_color_extractor(config, CHAFA_COLOR_EXTRACTOR_MEDIAN);
    c->canvas_config_set_bg_color(config, paper_of(s));
    c->canvas_config_set_fg_color(config, ink_of(s));
    return config;
}

/* Four bytes a pixel: libchafa 1.12 steps through rows in units of four bytes, whatever their length. */
static char *with_alpha(const struct pixels *p)
{
    size_t n = (size_t)p->width * p->height;
    char *rgba = xmalloc(4 * n);

    for (size_t i = 0; i < n; i++) {
        memcpy(rgba + 4 * i, p->rgb + 3 * i, 3);
        rgba[4 * i + 3] = (char)0xff;
    }
    return rgba;
}

/* Without colours only ink and paper can be told apart: all that differs from the corner is ink. */
static void make_ink(const struct figure_screen *s, const struct pixels *p, char *rgba)
{
    for (size_t i = 0, n = (size_t)p->width * p->height; i < n; i++) {
        const unsigned char *from = p->rgb + 3 * i;
        int far = abs(from[0] - p->rgb[0]) + abs(from[1] - p->rgb[1]) + abs(from[2] - p->rgb[2]);
        uint32_t colour = far < INK_LEAST ? paper_of(s) : ink_of(s);

        for (int k = 0; k < 3; k++)
            rgba[4 * i + (size_t)k] = (char)(colour >> (16 - 8 * k));
    }
}

static int brightness(int32_t colour)
{
    return (2 * (colour >> 16 & 255) + 5 * (colour >> 8 & 255) + (colour & 255)) / 8;
}

/* Put a figure's texts over what is drawn: each on the colour that is behind it, and not in the same. */
static void write_texts(const struct chafa_api *c, ChafaCanvas *canvas, const struct fit *f,
                        const struct pixels *p, bool coloured)
{
    size_t n = (size_t)f->columns * (size_t)f->rows;
    struct figure_cell *grid = xcalloc(n, sizeof *grid);

    figure_texts_place(p->texts, p->texts_len, f->columns, f->rows, grid);
    for (int i = 0; i < (int)n; i++) {
        int x = i % f->columns, y = i / f->columns;
        int32_t colour = (int32_t)grid[i].colour, ink, ground;

        if (!grid[i].character || grid[i].character == FIGURE_CELL_BEHIND)
            continue;
        bool full = c->canvas_get_char_at(canvas, x, y) == FULL_BLOCK;
        c->canvas_set_char_at(canvas, x, y, grid[i].character);
        if (!coloured) /* libchafa 1.12 crashes when it is asked for colours that there are not */
            continue;
        c->canvas_get_colors_at(canvas, x, y, &ink, &ground);
        if (full)
            ground = ink;
        if (ground >= 0 && abs(brightness(colour) - brightness(ground)) < CONTRAST_LEAST)
            colour = brightness(ground) < 128 ? 0xffffff : 0;
        c->canvas_set_colors_at(canvas, x, y, colour, ground);
        if (x + 1 < f->columns && grid[i + 1].character == FIGURE_CELL_BEHIND)
            c->canvas_set_colors_at(canvas, x + 1, y, colour, ground);
    }
    free(grid);
}

int figure_draw(const struct figure_screen *s, const struct pixels *p, struct buf *out, struct error *err)
{
    const struct chafa_api *c = chafa_load(err);
    struct fit f = fit_of(s);

    if (!c)
        return -1;
    shrink(&f, p->width, p->height);
    ChafaCanvasConfig *config = config_of(c, s, &f);
    ChafaCanvas *canvas = c->canvas_new(config);
    ChafaTermInfo *term = c->term_db_get_fallback_info(c->term_db_get_default());
    autofree char *rgba = with_alpha(p);
    bool texts = f.way == GRAPHICS_BLOCKS && p->texts_len;
    if (texts && !s->colours)
        make_ink(s, p, rgba);
    c->canvas_draw_all_pixels(canvas, CHAFA_PIXEL_RGBA8_UNASSOCIATED, (const guint8 *)rgba, (gint)p->width,
                              (gint)p->height, (gint)p->width * 4);
    if (texts)
        write_texts(c, canvas, &f, p, s->colours > 0);
    GString *drawn = c->canvas_print(canvas, term);
    bool fits = drawn->len < DRAWN_MAX;
    if (fits) {
        buf_add(out, drawn->str, drawn->len);
        buf_addch(out, '\n');
    }
    c->string_free(drawn, TRUE);
    c->term_info_unref(term);
    c->canvas_unref(canvas);
    c->canvas_config_unref(config);
    return fits ? 0 : error_set(err, ERROR_SYSTEM, 0, "the figure is too large for the terminal");
}

struct drawing { /* what the child has of it */
    const struct figure_screen *screen;
    const struct pixels *pixels;
};

enum { DRAWN = 0, NOT_DRAWN = 1, NO_LIBRARY = 2 }; /* how the child ends; its error goes to stderr as it is */

static int draw_in_child(void *ctx)
{
    static const struct rlimit none = {0, 0};
    const struct drawing *d = ctx;
    struct buf out = BUF_INIT(0);
    struct error err = {0};
    int end = chafa_load(&err) ? DRAWN : NO_LIBRARY;

    setrlimit(RLIMIT_NOFILE, &none); /* from here on there is nothing to be had but the two pipes */
    if (end == DRAWN && figure_draw(d->screen, d->pixels, &out, &err) < 0)
        end = NOT_DRAWN;
    if (end == DRAWN)
        return fd_write_all(STDOUT_FILENO, out.data, out.len) == 0 ? DRAWN : NOT_DRAWN;
    fd_write_all(STDERR_FILENO, &err, sizeof err);
    return end;
}

int figure_draw_apart(const struct figure_screen *s, const struct pixels *p, struct loop *loop,
                      struct buf *out, bool *missing, struct error *err)
{
    struct drawing d = {s, p};
    char *argv[] = {(char *)"drawing", NULL};
    const struct child_options o = {
        .argv = argv,
        .watch.loop = loop,
        .deadline_ms = DRAWING_MS,
        .in = CHILD_NULL,
        .out = CHILD_KEPT,
        .err = CHILD_KEPT,
        .cap = DRAWN_MAX,
        .die_with_parent = true,
        .body = draw_in_child,
        .ctx = &d,
    };
    struct child *c = child_run(&o, err);
    int r = c ? 0 : -1;

    *missing = c && c->ended && WIFEXITED(c->status) && WEXITSTATUS(c->status) == NO_LIBRARY;
    if (child_ok(c) && !c->out_text.full)
        buf_add(out, buf_str(&c->out_text), c->out_text.len);
    else if (c && c->err_text.len == sizeof *err) {
        memcpy(err, c->err_text.data, sizeof *err);
        r = -1;
    } else if (c)
        r = error_set(err, ERROR_SYSTEM, 0, "drawing it %s", c->timed_out ? "took too long" : "failed");
    child_free(c);
    return r;
}
