/* moving.c - lines that a program overwrites with \r, such as progress bars: one line that changes at a
 * terminal, only the last state elsewhere.
 */
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "show/lines.h"
#include "show/screen.h"

#define BAR_MAX 4096 /* bytes of one state */

/* Draw the present state where the line stands. It is cut to the width, so that it stays one line. */
static void draw(struct lines *l)
{
    struct buf clean autorelease(buf_release) = BUF_INIT(0);
    struct scrub scrub;

    if (l->cut && l->cut->over)
        return;
    scrub_init(&scrub, SCRUB_TERMINAL);
    scrub_feed(&scrub, buf_str(&l->bar), l->bar.len, &clean);
    scrub_end(&scrub, &clean);
    for (size_t i = 0; i < clean.len; i++)
        if (clean.data[i] == '\n' || clean.data[i] == '\t')
            clean.data[i] = ' ';
    if (l->mid) {
        for (; l->wraps > 0; l->wraps--)
            buf_addstr(l->out, "\r\033[K\033[A");
        buf_addstr(l->out, "\r\033[K");
        buf_addstr(l->out, l->style.gutter);
        buf_addstr(l->out, l->style.sgr);
        l->column = 0;
    }
    size_t len = l->width > 0 ? screen_fitting(buf_str(&clean), l->width) : clean.len;
    lines_add(l, len ? buf_str(&clean) : " ", len ? len : 1); /* an empty state still has its gutter */
}

static void add_text(struct lines *l, const char *text, size_t len)
{
    if (l->cr) {
        l->moving = true;
        buf_release(&l->bar);
        buf_init(&l->bar, BAR_MAX);
        l->cr = false;
    }
    if (l->moving)
        buf_add(&l->bar, text, len);
    else
        lines_feed(l, text, len);
}

static void end_line(struct lines *l)
{
    if (l->moving)
        draw(l);
    l->cr = l->moving = false;
    lines_feed(l, "\n", 1);
}

/* Only the last state in this piece is drawn: a flood of them costs no more than their bytes. */
static void feed_terminal(struct lines *l, const char *text, size_t len)
{
    const char *end = text + len;

    while (text < end) {
        const char *lf = memchr(text, '\n', (size_t)(end - text)), *stop = lf ? lf : end;
        const char *cr = memchr(text, '\r', (size_t)(stop - text));

        stop = cr ? cr : stop;
        if (stop > text)
            add_text(l, text, (size_t)(stop - text));
        text = stop;
        if (text < end && *text++ == '\r')
            l->cr = true;
        else if (stop < end)
            end_line(l);
    }
    if (l->moving)
        draw(l);
}

void lines_feed_moving(struct lines *l, const char *text, size_t len)
{
    struct buf out autorelease(buf_release) = BUF_INIT(0);

    if (l->style.terminal) {
        feed_terminal(l, text, len);
        return;
    }
    overwrite_feed(&l->settled, text, len, &out);
    if (out.len)
        lines_feed(l, out.data, out.len);
}

void lines_end_moving(struct lines *l)
{
    struct buf out autorelease(buf_release) = BUF_INIT(0);

    overwrite_end(&l->settled, &out);
    if (out.len)
        lines_feed(l, out.data, out.len);
    l->cr = l->moving = false;
    buf_release(&l->bar);
    overwrite_release(&l->settled);
    lines_end(l);
}
