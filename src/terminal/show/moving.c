/* moving.c - lines that a program writes again, such as progress bars: lines that change at a terminal, only
 * their last state elsewhere.
 */
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "show/lines.h"
#include "show/screen.h"
#include "show/show.h"

/* One state of a line, cut to the width so that it stays one. */
static void add_state(struct lines *l, const char *text, size_t len, struct buf *out)
{
    scrub_text(text, len, SCRUB_TERMINAL, out);
    for (size_t i = 0; i < out->len; i++)
        if (out->data[i] == '\n' || out->data[i] == '\t')
            out->data[i] = ' ';
    if (l->width > 0 && out->len)
        buf_cut(out, screen_fitting(out->data, l->width));
}

/* Remove the unfinished line, or the rows that are drawn. */
static void remove_drawn(struct lines *l)
{
    int above = l->drawn ? l->drawn - 1 : l->wraps;

    if (!l->mid)
        return;
    for (; above > 0; above--)
        buf_addstr(l->out, "\r\033[K\033[A");
    buf_addf(l->out, "%s\r\033[K", *l->style.sgr ? SGR_RESET : "");
    if (!l->drawn && l->cut && l->cut->lines)
        l->cut->lines--;
    l->mid = false;
    l->column = l->wraps = l->drawn = 0;
}

void lines_reflowed(struct lines *l, int width)
{
    int gutter = (int)strlen(l->style.gutter);
    size_t rows = l->drawn ? overwrite_rows(&l->moving) : 0;

    if (!show_reflows())
        return;
    if (!rows) {
        l->wraps = l->wraps * show_rows(gutter + l->width, width) + show_rows(gutter + l->column, width) - 1;
        return;
    }
    l->drawn = 0;
    for (size_t i = 0; i < rows; i++) {
        struct buf clean autorelease(buf_release) = BUF_INIT(0);

        add_state(l, buf_str(&l->moving.row[i]), l->moving.row[i].len, &clean);
        l->drawn += show_rows(gutter + utf8_columns(buf_str(&clean), clean.len), width);
    }
}

static void draw_moving(struct lines *l)
{
    size_t n = overwrite_rows(&l->moving);

    if (!l->moving.moving || (l->cut && l->cut->over))
        return;
    for (size_t i = 0; i < n; i++) {
        struct buf clean autorelease(buf_release) = BUF_INIT(0);

        add_state(l, buf_str(&l->moving.row[i]), l->moving.row[i].len, &clean);
        buf_addf(l->out, "%s%s%s%s%s", i ? "\n" : "", l->style.gutter, l->style.sgr, buf_str(&clean),
                 *l->style.sgr && i + 1 < n ? SGR_RESET : "");
        l->column = utf8_columns(buf_str(&clean), clean.len);
    }
    l->mid = true;
    l->drawn = (int)n;
}

/* A line that was held has passed. */
static void add_passed(struct lines *l, const char *text, size_t len)
{
    struct buf clean autorelease(buf_release) = BUF_INIT(0);

    add_state(l, text, len, &clean);
    if (!clean.len) /* an empty state has its gutter */
        buf_addch(&clean, ' ');
    lines_add(l, clean.data, clean.len);
    lines_feed(l, "\n", 1);
}

/* What has passed at a terminal, see base/overwrite.h. */
static void add_live(struct lines *l, const struct buf *out)
{
    const char *s = buf_str(out), *end = s + out->len;

    while (s < end) {
        const char *cr = memchr(s, '\r', (size_t)(end - s)), *stop = cr ? cr : end;

        if (stop > s)
            lines_feed(l, s, (size_t)(stop - s));
        if (!cr)
            break;
        s = cr + 1;
        if (s < end && *s == '\r') {
            remove_drawn(l);
            s++;
        } else {
            const char *nl = memchr(s, '\n', (size_t)(end - s));

            add_passed(l, s, (size_t)(nl - s));
            s = nl + 1;
        }
    }
}

static void add_to_lines(struct lines *l, const struct buf *out)
{
    if (l->drawn)
        remove_drawn(l);
    if (l->style.terminal)
        add_live(l, out);
    else if (out->len)
        lines_feed(l, out->data, out->len);
}

void lines_feed_moving(struct lines *l, const char *text, size_t len)
{
    struct buf out autorelease(buf_release) = BUF_INIT(0);

    overwrite_feed(&l->moving, text, len, &out);
    add_to_lines(l, &out);
    if (l->style.terminal)
        draw_moving(l);
}

void lines_settle_moving(struct lines *l)
{
    struct buf out autorelease(buf_release) = BUF_INIT(0);

    overwrite_settle(&l->moving, &out);
    if (l->drawn || out.len)
        add_to_lines(l, &out);
}

void lines_end_moving(struct lines *l)
{
    struct buf out autorelease(buf_release) = BUF_INIT(0);

    overwrite_end(&l->moving, &out);
    add_to_lines(l, &out);
    lines_end(l);
}
