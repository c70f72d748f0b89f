/* text.c - model text for stdout: scrubbed and streamed, rendered or not, without blank lines at its
 * beginning and end, and with one newline at the end. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "markdown/markdown.h"
#include "process/out.h"
#include "show/private.h"

struct show_text {
    int fd;
    struct loop *loop;
    struct scrub scrub;
    struct buf clean, out;
    size_t newlines; /* read but held back, since they may be the last ones */
    bool any;        /* something was written since the last end */
    bool mid;        /* the last byte written was not a newline */
    int column;      /* where its line ends; -1: not known */
    uint32_t before; /* the line's last character */
    /* the screen it shares, or NULL: anything else on the line must be cleared first */
    struct screen *screen;
    struct show *show;         /* that of the screen */
    struct markdown *markdown; /* or NULL: the text is shown as it is */
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
    markdown_free(t->markdown);
    buf_release(&t->clean);
    buf_release(&t->out);
    free(t);
}

static bool draw_image(void *ctx, const char *src, const char *alt, struct buf *out)
{
    struct show_text *t = ctx;

    return t->show && show_answer_image(t->show, src, alt, out);
}

void show_text_render(struct show_text *t, const char *render, const char *color)
{
    struct markdown_options o = {.flow = {.colour = show_wants_colour(t->fd, color),
                                          .many = show_colours() >= 256,
                                          .hyperlink = show_has_hyperlinks()},
                                 .image = draw_image,
                                 .image_ctx = t};

    if (!show_is_terminal(t->fd) || (render && !strcmp(render, "plain")))
        return;
    if (color && !strcmp(color, "never"))
        o.flow.hyperlink = false;
    t->markdown = markdown_new(&o, &t->out);
}

void show_share(struct show *s, struct show_text *t)
{
    t->screen = &s->screen;
    t->show = s;
    s->screen.spaced = t->markdown != NULL;
}

/* Other output on the same screen may have ended our line. */
static void look_at_screen(struct show_text *t)
{
    if (t->screen)
        screen_look(t->screen);
    if (!t->screen || !t->mid || t->screen->text_line)
        return;
    t->mid = false;
    t->column = 0;
    t->newlines = t->newlines > 0 ? t->newlines - 1 : 0;
    if (t->markdown)
        markdown_line_lost(t->markdown);
}

/* Follow the cursor, as far as it can be known: the terminal wraps what is wider than itself. */
static void follow(struct show_text *t, const char *s, size_t len)
{
    int columns = utf8_columns_behind(&t->before, s, len);

    if (t->column >= 0)
        t->column = memchr(s, '\t', len) || t->column + columns >= show_width(t->fd) ? -1
                                                                                     : t->column + columns;
}

/* Hold newlines back until text follows them. */
static void add_clean(struct show_text *t)
{
    const char *s = buf_str(&t->clean), *end = s + t->clean.len;

    while (s < end) {
        const char *nl = memchr(s, '\n', (size_t)(end - s)), *stop = nl ? nl : end;

        if (stop > s) {
            for (; t->newlines > 0; t->newlines--) {
                buf_addch(&t->out, '\n');
                t->column = 0;
                t->before = 0;
            }
            buf_add(&t->out, s, (size_t)(stop - s));
            follow(t, s, (size_t)(stop - s));
            t->any = t->mid = true;
        }
        t->newlines += nl && t->any;
        s = stop + (nl != NULL);
    }
    buf_clear(&t->clean);
}

static int text_flush(struct show_text *t)
{
    if (!t->out.len)
        return 0;
    if (t->screen) {
        screen_yield(t->screen);
        screen_section(t->screen, SECTION_ANSWER);
        screen_flush(t->screen);
        t->screen->text_line = t->mid;
        t->screen->text_column = t->markdown ? markdown_column(t->markdown) : t->column;
        t->screen->last_write = clock_ms();
    }
    int r = out_write(t->fd, t->out.data, t->out.len, t->loop);
    buf_clear(&t->out);
    return r;
}

/* What is scrubbed goes out. */
static void add_scrubbed(struct show_text *t)
{
    if (!t->markdown) {
        add_clean(t);
        return;
    }
    markdown_width(t->markdown, show_width(t->fd));
    markdown_feed(t->markdown, buf_str(&t->clean), t->clean.len);
    buf_clear(&t->clean);
    t->mid = markdown_mid(t->markdown);
}

static int feed_piece(struct show_text *t, const char *text, size_t len)
{
    look_at_screen(t);
    scrub_feed(&t->scrub, text, len, &t->clean);
    add_scrubbed(t);
    return text_flush(t);
}

int show_text_feed(struct show_text *t, const char *text, size_t len)
{
    const char *nl;

    while (t->show && t->show->n_held && (nl = memchr(text, '\n', len))) {
        size_t n = (size_t)(nl - text) + 1;

        if (feed_piece(t, text, n) < 0)
            return -1;
        if (!t->mid || t->newlines) /* the line has ended */
            show_held(t->show);
        text += n;
        len -= n;
    }
    return len ? feed_piece(t, text, len) : 0;
}

static int text_end(struct show_text *t)
{
    if (t->mid)
        buf_addch(&t->out, '\n');
    t->newlines = 0;
    t->any = t->mid = false;
    t->column = 0;
    return text_flush(t);
}

int show_text_end(struct show_text *t)
{
    look_at_screen(t);
    scrub_end(&t->scrub, &t->clean);
    add_scrubbed(t);
    if (t->markdown) {
        markdown_end(t->markdown);
        t->mid = false;
    }
    int r = text_end(t);
    if (t->show)
        show_held(t->show);
    return r;
}

int show_text_verbatim(struct show_text *t, const char *text, size_t len)
{
    scrub_feed(&t->scrub, text, len, &t->clean);
    scrub_end(&t->scrub, &t->clean);
    add_clean(t);
    return text_end(t);
}

int show_text_whole(struct show_text *t, const char *text, size_t len)
{
    scrub_feed(&t->scrub, text, len, &t->clean);
    return show_text_end(t);
}
