/* sse.h - cuts a byte stream into server-sent events. Knows nothing of JSON or of any model service. Bytes
 * may arrive in pieces of any size; the same stream gives the same events however it is cut.
 *
 * It is laxer than the standard where services are: an "error:" field is an event of its own kind, white
 * space before the first field is skipped, and an event at the end of the stream that lacks its blank line is
 * still passed on (marked at_end).
 */
#ifndef WIRE_SSE_H
#define WIRE_SSE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct sse_event {
    const char *name; /* from the "event:" field; "" when there was none */
    const char *data; /* the data lines joined with \n; ends with a NUL, and may hold NULs */
    size_t len;
    bool error;  /* it came in an "error:" field */
    bool at_end; /* no blank line followed, so it may have been cut */
};

typedef void sse_fn(void *ctx, const struct sse_event *e);

struct sse {
    struct buf line, data, name;
    bool after_cr, begun, has_data, is_error;
    sse_fn *fn;
    void *ctx;
};

void sse_init(struct sse *s, size_t max_event, sse_fn *fn, void *ctx);
void sse_release(struct sse *s);
/* -1 when an event is larger than max_event; the rest of the stream is then lost */
int sse_feed(struct sse *s, const char *p, size_t n);
int sse_end(struct sse *s); /* Call this at the end of the stream. Returns as sse_feed does. */

#endif
