/* sse.c - the cutter: lines by CR, LF or CRLF, fields, events. Lines that are whole in the fed piece are not
 * copied first. */
#include "wire/sse.h"

#include <string.h>

void sse_init(struct sse *s, size_t max_event, sse_fn *fn, void *ctx)
{
    *s = (struct sse){.fn = fn, .ctx = ctx};
    buf_init(&s->line, max_event + 16); /* room for the field's name and a blank besides the data */
    buf_init(&s->data, max_event);
    buf_init(&s->name, 256);
}

void sse_release(struct sse *s)
{
    if (!s)
        return;
    buf_release(&s->line);
    buf_release(&s->data);
    buf_release(&s->name);
}

static void dispatch(struct sse *s, bool at_end)
{
    if (s->has_data && (s->data.len || s->is_error)) {
        struct sse_event e = {.name = buf_str(&s->name),
                              .data = buf_str(&s->data),
                              .len = s->data.len,
                              .error = s->is_error,
                              .at_end = at_end};
        s->fn(s->ctx, &e);
    }
    buf_clear(&s->data);
    buf_clear(&s->name);
    s->has_data = s->is_error = false;
}

static bool is_field(const char *line, size_t len, const char *name)
{
    size_t n = strlen(name);
    return len >= n && !memcmp(line, name, n) && (len == n || line[n] == ':');
}

static bool take_value(struct sse *s, const char *line, size_t len, size_t name_len)
{
    const char *v = line + name_len, *end = line + len;
    if (v < end)
        v++; /* the colon */
    if (v < end && *v == ' ')
        v++;
    if (s->has_data && !buf_addch(&s->data, '\n'))
        return false;
    s->has_data = true;
    return buf_add(&s->data, v, (size_t)(end - v));
}

static int take_line(struct sse *s, const char *line, size_t len)
{
    if (!s->begun) {
        size_t skip = len >= 3 && !memcmp(line, "\xef\xbb\xbf", 3) ? 3 : 0;
        while (skip < len && (line[skip] == ' ' || line[skip] == '\t'))
            skip++;
        line += skip;
        len -= skip;
        s->begun = len > 0;
    }
    if (!len) {
        dispatch(s, false);
    } else if (is_field(line, len, "data")) {
        return take_value(s, line, len, 4) ? 0 : -1;
        /* llama.cpp before #16109 sends an error as a field, not as an event. */
    } else if (is_field(line, len, "error")) {
        if (s->has_data)
            dispatch(s, false);
        s->is_error = true;
        return take_value(s, line, len, 5) ? 0 : -1;
    } else if (is_field(line, len, "event")) {
        size_t skip = len > 5 ? 6 : 5;
        if (skip < len && line[skip] == ' ')
            skip++;
        buf_clear(&s->name);
        buf_add(&s->name, line + skip, len - skip);
    }
    return 0; /* comments and unknown fields are ignored */
}

static size_t line_length(const char *p, size_t n)
{
    const char *lf = memchr(p, '\n', n);
    size_t lim = lf ? (size_t)(lf - p) : n;
    const char *cr = memchr(p, '\r', lim);
    return cr ? (size_t)(cr - p) : lim;
}

int sse_feed(struct sse *s, const char *p, size_t n)
{
    const char *end = p + n;
    while (p < end) {
        bool second_half = s->after_cr && *p == '\n'; /* of a line's end */
        s->after_cr = false;
        if (second_half) {
            p++;
            continue;
        }
        size_t left = (size_t)(end - p), k = line_length(p, left);
        if (k == left)
            return buf_add(&s->line, p, k) ? 0 : -1;
        s->after_cr = p[k] == '\r';
        int rc;
        if (k > s->line.max)
            /* checked for lines that are not copied too, because how the bytes were cut must not matter */
            return -1;
        if (s->line.len) {
            if (!buf_add(&s->line, p, k))
                return -1;
            rc = take_line(s, s->line.data, s->line.len);
            buf_clear(&s->line);
        } else {
            rc = take_line(s, p, k);
        }
        if (rc)
            return rc;
        p += k + 1;
    }
    return 0;
}

int sse_end(struct sse *s)
{
    int rc = 0;
    if (s->line.len)
        rc = take_line(s, s->line.data, s->line.len);
    buf_clear(&s->line);
    dispatch(s, true);
    return rc;
}
