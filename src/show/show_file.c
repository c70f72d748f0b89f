/* show_file.c - prints the files that code made: figures drawn, one line each with the path, a folder for
 * many. Remembers them for the session, so that one can be shown again. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "show/private.h"

#define LINES_MOST   5 /* files of one cell that have a line each */
#define FIGURES_MOST 4 /* of one cell that are drawn; /plots shows the others */
#define SAVED_MOST   10000

static bool is_image(const char *name)
{
    static const char *const ends[] = {".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp"};
    const char *dot = strrchr(name, '.');

    for (size_t i = 0; dot && i < countof(ends); i++)
        if (!strcasecmp(dot, ends[i]))
            return true;
    return false;
}

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
static struct show_saved *remember(struct show_files *f, const struct event *e)
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
        *file = (struct show_saved){.name = xstrdup(e->file.name), .image = is_image(e->file.name)};
    }
    free(file->path);
    file->path = xstrdup(e->file.path);
    file->size = e->file.size;
    file->drawn_in = 0;
    return file;
}

const struct show_saved *show_saved(const struct show *s, size_t i)
{
    return i < s->files.n ? &s->files.v[i] : NULL;
}

/* "~/plots/a.png" on a terminal, where nobody copies it into a script's quotes. */
static char *short_path(const struct screen *s, const char *path)
{
    const char *home = getenv("HOME");
    size_t n = home ? strlen(home) : 0;

    while (n > 1 && home[n - 1] == '/')
        n--;
    bool below = s->terminal && n > 1 && !strncmp(path, home, n) && path[n] == '/';
    autofree char *clean = screen_clean(s, below ? path + n : path);
    return xasprintf("%s%s", below ? "~" : "", clean);
}

/* text, which links to the file path where the terminal has links. */
static void add_link(struct screen *s, const char *path, const char *text)
{
    char host[256] = "";
    bool link = s->terminal && *path == '/' && show_has_links();

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
}

static void add_path(struct show *s, const struct show_saved *f)
{
    autofree char *path = short_path(&s->screen, f->path);
    char size[32];

    show_size(f->size, size);
    buf_addf(&s->screen.out, "%ssaved: ", screen_sgr(&s->screen, SGR_GREEN));
    add_link(&s->screen, f->path, path);
    /* the path is one line wherever it can be */
    int columns = show_columns(path, strlen(path)) + (int)(strlen("saved:  ()") + strlen(size));
    if (!s->screen.terminal || columns <= s->screen.width)
        buf_addf(&s->screen.out, " (%s)", size);
    buf_addf(&s->screen.out, "%s\n", screen_sgr(&s->screen, SGR_RESET));
}

/* That a figure cannot be shown is no error: its file is there. */
static void tell_undrawn(struct show *s, const struct show_saved *f, const struct error *err)
{
    autofree char *clean = screen_clean(&s->screen, f->name), *why = error_message(err);
    autofree char *line = xasprintf("%s is not shown: %s", clean, why);

    if (err->kind != ERROR_CANCELLED)
        show_line(s, NOTICE_INFO, line);
}

static struct figure_screen figure_screen_of(struct show *s)
{
    struct figure_screen f = {.graphics = &s->graphics, .colours = figure_colours(s->o.colour)};

    screen_follow_width(&s->screen);
    f.columns = s->screen.width;
    show_screen_size(s->screen.fd, &f.rows, &f.pixel_width, &f.pixel_height);
    return f;
}

int32_t show_background(const struct show *s)
{
    return s->o.decoder && s->screen.terminal ? s->graphics.background : -1;
}

/* Is there any use in decoding a figure? A missing libchafa is told once. */
static bool can_draw(struct show *s)
{
    struct error err = {0};

    if (!s->o.decoder || !s->screen.terminal || s->o.quiet || s->undrawable)
        return false;
    s->undrawable = figure_load(&err) < 0;
    if (s->undrawable) {
        autofree char *line = error_message(&err);

        show_line(s, NOTICE_INFO, line);
    }
    return !s->undrawable;
}

/* Nothing of ours is on the screen's last line while the sandbox decodes: news may come meanwhile. */
static int draw(struct show *s, const struct show_saved *f, struct error *err)
{
    struct pixels pixels = {0};
    struct pixels_ask ask;
    int r = 0;

    if (s->o.ready)
        s->o.ready(s->o.ready_ctx);
    else
        graphics_ask(&s->graphics, s->o.loop);
    struct figure_screen screen = figure_screen_of(s);
    if (!figure_ask(&screen, &ask))
        return 0;
    if (s->o.decoder->pixels(s->o.decoder->ctx, f->name, f->path, &ask, &pixels, err) < 0)
        return -1;
    screen_begin(&s->screen, NULL);
    r = figure_draw(&screen, &pixels, &s->screen.out, err);
    screen_flush(&s->screen);
    pixels_release(&pixels);
    return r;
}

void show_file(struct show *s, const struct event *e)
{
    struct show_saved *f = remember(&s->files, e);
    struct show_saved now = {
        .name = (char *)e->file.name, .path = (char *)e->file.path, .size = e->file.size};
    struct error err = {0};

    if (s->o.quiet)
        return;
    if (e->file.index == 0)
        s->drawn = 0;
    if (f && f->image && s->drawn < FIGURES_MOST && can_draw(s)) {
        s->drawn++;
        f->drawn_in = e->question;
        if (draw(s, f, &err) < 0)
            tell_undrawn(s, f, &err);
    }
    screen_begin(&s->screen, NULL);
    if (e->file.index < LINES_MOST) {
        add_path(s, f ? f : &now);
    } else if (e->file.index + 1 == e->file.total) {
        autofree char *folder = xmemdup0(e->file.path, (size_t)(strrchr(e->file.path, '/') - e->file.path));
        autofree char *shown = short_path(&s->screen, folder);

        buf_addf(&s->screen.out, "%ssaved: %zu more in ", screen_sgr(&s->screen, SGR_GREEN),
                 e->file.total - LINES_MOST);
        add_link(&s->screen, folder, shown);
        buf_addf(&s->screen.out, "%s\n", screen_sgr(&s->screen, SGR_RESET));
    }
    screen_flush(&s->screen);
}

int show_figure(struct show *s, size_t i, struct error *err)
{
    const struct show_saved *f = show_saved(s, i);

    if (can_draw(s) && draw(s, f, err) < 0)
        return -1;
    screen_begin(&s->screen, NULL);
    add_path(s, f);
    screen_flush(&s->screen);
    return 0;
}
