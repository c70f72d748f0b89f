/* text.c - model text for stdout: scrubbed and streamed, without blank lines at its beginning and end, and
 * with one newline at the end. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/out.h"
#include "show/private.h"

struct show_text {
    int fd;
    struct loop *loop;
    struct scrub scrub;
    struct buf clean, out;
    size_t newlines; /* read but held back, since they may be the last ones */
    bool any;        /* something was written since the last end */
    bool mid;        /* the last byte written was not a newline */
    /* the screen it shares, or NULL: anything else on the line must be cleared first */
    struct screen *screen;
};

struct show_text *show_text_new(int fd, bool terminal, struct loop *loop)
{
    struct show_text *t = xcalloc(1, sizeof *t);

    t->fd = fd;
    t->loop = loop;
    scrub_init(&t->scrub, terminal ? SCRUB_TERMINAL : SCRUB_PIPE);
    return t;
}

void show_text_free(struct show_text *t)
{
    if (!t)
        return;
    buf_release(&t->clean);
    buf_release(&t->out);
    free(t);
}

void show_share(struct show *s, struct show_text *t)
{
    t->screen = &s->screen;
}

/* Other output on the same screen may have ended our line. */
static void look_at_screen(struct show_text *t)
{
    if (!t->screen || !t->mid || t->screen->text_line)
        return;
    t->mid = false;
    t->newlines = t->newlines > 0 ? t->newlines - 1 : 0;
}

/* Hold newlines back until text follows them. */
static void add_clean(struct show_text *t)
{
    for (size_t i = 0; i < t->clean.len; i++) {
        char c = t->clean.data[i];

        if (c == '\n') {
            t->newlines += t->any;
            continue;
        }
        for (; t->newlines > 0; t->newlines--)
            buf_addch(&t->out, '\n');
        buf_addch(&t->out, c);
        t->any = t->mid = true;
    }
    buf_clear(&t->clean);
}

static int text_flush(struct show_text *t)
{
    int r = 0, saved;

    if (!t->out.len)
        return 0;
    if (t->screen) {
        screen_yield(t->screen);
        t->screen->text_line = t->mid;
    }
    r = out_write(t->fd, t->out.data, t->out.len, t->loop);
    saved = errno;
    buf_clear(&t->out);
    errno = saved;
    return r;
}

int show_text_feed(struct show_text *t, const char *text, size_t len)
{
    look_at_screen(t);
    scrub_feed(&t->scrub, text, len, &t->clean);
    add_clean(t);
    return text_flush(t);
}

int show_text_end(struct show_text *t)
{
    look_at_screen(t);
    scrub_end(&t->scrub, &t->clean);
    add_clean(t);
    if (t->mid)
        buf_addch(&t->out, '\n');
    t->newlines = 0;
    t->any = t->mid = false;
    return text_flush(t);
}

int show_text_whole(struct show_text *t, const char *text, size_t len)
{
    scrub_feed(&t->scrub, text, len, &t->clean);
    return show_text_end(t);
}
