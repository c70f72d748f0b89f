/* show_file.c - prints the files that code made: figures drawn, one line each with the path, a folder for
 * many. Remembers them for the session, so that one can be shown again. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "conversation/bundle.h"
#include "show/kitty.h"
#include "show/private.h"
#include "show/through_tmux.h"

#define LINES_MOST   5 /* files of one cell that have a line each */
#define FIGURES_MOST 4 /* of one cell that are drawn; /plots shows the others */
#define SAVED_MOST   10000

void show_files_release(struct show_files *f)
{
    for (size_t i = 0; i < f->n; i++) {
        free(f->v[i].name);
        free(f->v[i].path);
    }
    free(f->v);
    *f = (struct show_files){0};
}

/* The entry of that name, made anew or updated: a file that was changed keeps its number. */
static struct show_saved *remember_shown(struct show_files *f, const struct event *e)
{
    struct show_saved *file = NULL;

    for (size_t i = 0; i < f->n && !file; i++)
        if (!strcmp(f->v[i].name, e->file.name))
            file = &f->v[i];
    if (!file && f->n == SAVED_MOST)
        return NULL;
    if (!file) {
        f->v = xreallocarray(f->v, f->n + 1, sizeof *f->v);
        file = &f->v[f->n++];
        *file = (struct show_saved){.name = xstrdup(e->file.name), .image = names_image(e->file.name)};
    }
    xreplace(&file->path, xstrdup(e->file.path));
    file->size = e->file.size;
    file->drawn = false;
    return file;
}

const struct show_saved *show_saved(const struct show *s, size_t i)
{
    return i < s->files.n ? &s->files.v[i] : NULL;
}

char *show_path(const struct show *show, const char *path)
{
    const struct screen *s = &show->screen;
    const char *below = s->terminal ? file_below_home(path) : NULL;
    autofree char *clean = screen_clean(s, below ? below : path);

    return xasprintf("%s%s", below ? "~" : "", clean);
}

/* Does the terminal have links? Those with such graphics have them. */
static bool has_links(const struct show *s, const char *path)
{
    return s->screen.terminal && *path == '/'
           && (show_has_hyperlinks() || s->graphics.kitty || s->graphics.iterm2);
}

/* The end of a path, with the last name at least, that is no wider than room. */
static char *path_end(const char *path, int room)
{
    const char *rest = path, *next;

    if (utf8_columns(path, strlen(path)) <= room)
        return xstrdup(path);
    while (*rest && (next = strchr(rest + 1, '/')) && utf8_columns(rest, strlen(rest)) >= room)
        rest = next;
    return xasprintf("\u2026%s", rest);
}

/* A path as it is called from the folder that the user is in, where that is shorter; or NULL. */
static char *from_here(const struct show *s, const char *path, int columns)
{
    autofree char *here = getcwd(NULL, 0), *clean = NULL;
    size_t n = here ? strlen(here) : 0;

    if (n < 2 || strncmp(path, here, n) != 0 || path[n] != '/' || !path[n + 1])
        return NULL;
    clean = screen_clean(&s->screen, path + n + 1);
    return utf8_columns(clean, strlen(clean)) < columns ? steal(&clean) : NULL;
}

/* Add the path of a file or folder, which is a link where the terminal has links. Then room columns are kept
 * to, for the link has all of it; else it is printed whole, to be copied, and from the current folder where
 * it would wrap. Returns its columns. */
static int add_link(struct show *show, const char *path, int room)
{
    struct screen *s = &show->screen;
    char host[256] = "";
    bool link = has_links(show, path);
    autofree char *whole = show_path(show, path), *near = NULL;
    int columns = utf8_columns(whole, strlen(whole));

    if (s->terminal && !link && columns > room)
        near = from_here(show, path, columns);
    autofree char *text = link ? path_end(whole, room) : xstrdup(near ? near : whole);

    if (link) {
        gethostname(host, sizeof host - 1);
        buf_addf(&s->out, "\033]8;;file://%s", host);
        for (const unsigned char *p = (const unsigned char *)path; *p; p++)
            if ((*p >= '0' && *p <= '9') || (*p >= 'A' && *p <= 'Z') || (*p >= 'a' && *p <= 'z')
                || strchr("/-._~", *p))
                buf_addch(&s->out, (char)*p);
            else
                buf_addf(&s->out, "%%%02X", *p);
        buf_addstr(&s->out, "\033\\");
    }
    buf_addstr(&s->out, text);
    if (link)
        buf_addstr(&s->out, "\033]8;;\033\\");
    return utf8_columns(text, strlen(text));
}

static const char *done_to(const struct show *s)
{
    return s->o.unsaved ? "made: " : "saved: ";
}

/* "saved: ~/a.png (1.2 kB)", without the size where that does not fit. */
static void add_path(struct show *s, const struct show_saved *f)
{
    const struct short_text size = show_size(f->size);
    int left = s->screen.width - (int)strlen(done_to(s));

    buf_addf(&s->screen.out, "%s%s", screen_sgr(&s->screen, SGR_GREEN), done_to(s));
    left -= add_link(s, f->path, left);
    if (!s->screen.terminal || left >= (int)(strlen(" ()") + strlen(size.text)))
        buf_addf(&s->screen.out, " (%s)", size.text);
    buf_addf(&s->screen.out, "%s\n", screen_sgr(&s->screen, SGR_RESET));
}

/* "saved: 4 more in ~/folder" */
static void add_folder(struct show *s, const char *path, size_t more)
{
    autofree char *folder = xmemdup0(path, (size_t)(strrchr(path, '/') - path));
    autofree char *words = xasprintf("%s%zu more in ", done_to(s), more);

    buf_addf(&s->screen.out, "%s%s", screen_sgr(&s->screen, SGR_GREEN), words);
    add_link(s, folder, s->screen.width - (int)strlen(words));
    buf_addf(&s->screen.out, "%s\n", screen_sgr(&s->screen, SGR_RESET));
}

/* That a figure cannot be shown is no error: its file is there. */
static void tell_undrawn(struct show *s, const struct show_saved *f, const struct error *err)
{
    autofree char *clean = screen_clean(&s->screen, f->name), *why = error_message(err);
    /* that libchafa is missing concerns all of them, and is told once */
    autofree char *line = s->undrawable ? xstrdup(why) : xasprintf("%s is not shown: %s", clean, why);

    if (err->kind != ERROR_CANCELLED)
        show_line(s, NOTICE_INFO, line);
}

static struct figure_screen figure_screen_of(const struct show *s)
{
    struct figure_screen f = {.graphics = &s->graphics,
                              .columns = show_width_or(s->screen.fd, s->screen.width),
                              .colours = s->o.colour ? show_colours() : 0};

    show_screen_size(s->screen.fd, &f.rows, &f.pixel_width, &f.pixel_height);
    return f;
}

/* Is there any use in decoding a figure? */
static bool can_draw(const struct show *s)
{
    return s->o.decoder && s->screen.terminal && !s->o.quiet && !s->undrawable;
}

/* A PNG goes to kitty as it is. False: it does not, or cannot be read. A copy that the user put a link in the
 * place of is no longer the figure. */
static bool draw_png(const struct figure_screen *screen, const char *path, struct buf *out)
{
    struct buf file autorelease(buf_release) = BUF_INIT(KITTY_PNG_MOST);
    struct kitty_image image;
    struct error err = {0};
    autoclose int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    if (fd < 0 || file_read_open(fd, path, KITTY_PNG_MOST, &file, &err) < 0
        || !kitty_takes(buf_str(&file), file.len, &image))
        return false;
    figure_draw_kitty(screen, &image, out);
    return true;
}

struct show_figures show_figures(const struct show *s)
{
    struct show_figures f = {.background = -1};
    struct pixels_ask ask = {0};

    if (s->o.decoder && s->screen.terminal)
        f.background = s->graphics.background;
    if (!can_draw(s))
        return f;
    struct figure_screen screen = figure_screen_of(s);
    if (figure_ask(&screen, &ask) && ask.texts && (s->graphics.asked || !show_has_pixels()))
        figure_cells(&screen, &f.columns, &f.rows);
    return f;
}

/* Draw into out. Nothing of ours is on the screen's last line while the sandbox decodes: news may come
 * meanwhile. */
static int draw_file(struct show *s, struct show_saved *f, struct buf *out, struct error *err)
{
    struct pixels pixels = {0};
    struct pixels_ask ask = {.name = f->name, .path = f->path, .fd = -1};

    if (s->o.ready)
        s->o.ready(s->o.ready_ctx);
    else
        graphics_ask(&s->graphics, s->o.loop);
    through_tmux_ask(&s->graphics, s->o.loop);
    screen_follow_width(&s->screen);
    struct figure_screen screen = figure_screen_of(s);
    if (!figure_ask(&screen, &ask))
        return 0;
    if (figure_is_kitty(&screen) && draw_png(&screen, f->path, out)) {
        f->drawn = true;
        return 0;
    }
    if (s->o.decoder->pixels(s->o.decoder->ctx, &ask, &pixels, err) < 0)
        return -1;
    int r = 0;
    if (figure_is_kitty(&screen)) /* a JPEG, or more than its terminal should have to decode */
        figure_draw_kitty(&screen,
                          &(struct kitty_image){pixels.rgb, (size_t)3 * pixels.width * pixels.height, false,
                                                pixels.width, pixels.height},
                          out);
    else
        r = figure_draw_apart(&screen, &pixels, s->o.loop, out, &s->undrawable, err);
    f->drawn = r == 0;
    pixels_release(&pixels);
    return r;
}

/* Draw it on the screen. */
static int draw_here(struct show *s, struct show_saved *f, struct error *err)
{
    struct buf out autorelease(buf_release) = BUF_INIT(0);
    int r = draw_file(s, f, &out, err);

    screen_begin(&s->screen, NULL);
    buf_add(&s->screen.out, buf_str(&out), out.len);
    screen_flush(&s->screen);
    return r;
}

bool show_answer_image(void *ctx, const char *src, const char *alt, struct buf *out)
{
    static const char *const before[] = {"sandbox:", "file://", "/mnt/data/", "./"};
    struct show *s = ctx;
    struct error err = {0};

    (void)alt;
    for (size_t i = 0; i < countof(before); i++)
        if (!strncmp(src, before[i], strlen(before[i])))
            src += strlen(before[i]);
    for (size_t i = 0; i < s->files.n; i++) {
        struct show_saved *f = &s->files.v[i];

        if (f->image && !strcmp(f->name, src))
            return !f->drawn && can_draw(s) && draw_file(s, f, out, &err) == 0 && f->drawn;
    }
    return false;
}

void show_files_seen(struct show_files *f)
{
    for (size_t i = 0; i < f->n; i++)
        f->v[i].drawn = false;
}

void show_file(struct show *s, const struct event *e)
{
    struct show_saved *f = remember_shown(&s->files, e);
    struct show_saved now = {
        .name = (char *)e->file.name, .path = (char *)e->file.path, .size = e->file.size};
    struct error err = {0};

    /* a table was shown as text, so its file is worth a line only to those who want to know everything */
    if (s->o.quiet || (e->file.kind == FILE_VALUE_HTML && !s->o.verbose))
        return;
    if (e->file.index == 0)
        s->drawn = 0;
    if (f && f->image && s->drawn < FIGURES_MOST && can_draw(s)) {
        s->drawn++;
        if (draw_here(s, f, &err) < 0)
            tell_undrawn(s, f, &err);
    }
    screen_begin(&s->screen, NULL);
    if (e->file.index < LINES_MOST) {
        add_path(s, f ? f : &now);
    } else if (e->file.index + 1 == e->file.total) {
        add_folder(s, e->file.path, e->file.total - LINES_MOST);
    }
    screen_flush(&s->screen);
}

int show_figure(struct show *s, size_t i, struct error *err)
{
    struct show_saved *f = &s->files.v[i];

    if (can_draw(s) && draw_here(s, f, err) < 0) {
        if (!s->undrawable)
            return -1;
        tell_undrawn(s, f, err);
    }
    screen_begin(&s->screen, NULL);
    add_path(s, f);
    screen_flush(&s->screen);
    return 0;
}
