/* overwrite.c - see overwrite.h. */
#include "base/overwrite.h"

#include <string.h>

void overwrite_release(struct overwrite *o)
{
    buf_release(&o->line);
    *o = (struct overwrite){0};
}

static void pass(struct overwrite *o, struct buf *out)
{
    buf_add(out, buf_str(&o->line), o->line.len);
    buf_clear(&o->line);
}

/* Text without \r and \n. */
static void add_text(struct overwrite *o, const char *text, size_t len, struct buf *out)
{
    if (o->cr && o->too_long)
        buf_addch(out, '\n'); /* what has passed cannot be replaced */
    if (o->cr) {
        buf_clear(&o->line);
        o->cr = o->too_long = false;
    }
    if (!o->too_long && o->line.len + len <= OVERWRITE_MAX) {
        buf_add(&o->line, text, len);
        return;
    }
    pass(o, out);
    buf_add(out, text, len);
    o->too_long = true;
}

void overwrite_feed(struct overwrite *o, const char *text, size_t len, struct buf *out)
{
    const char *end = text + len;

    while (text < end) {
        const char *lf = memchr(text, '\n', (size_t)(end - text)), *stop = lf ? lf : end;
        const char *cr = memchr(text, '\r', (size_t)(stop - text));

        stop = cr ? cr : stop;
        if (stop > text)
            add_text(o, text, (size_t)(stop - text), out);
        text = stop;
        if (text < end && *text == '\r') {
            o->cr = true;
            text++;
        } else if (text < end) {
            pass(o, out);
            buf_addch(out, '\n');
            o->cr = o->too_long = false;
            text++;
        }
    }
}

void overwrite_end(struct overwrite *o, struct buf *out)
{
    pass(o, out);
    o->cr = o->too_long = false;
}
