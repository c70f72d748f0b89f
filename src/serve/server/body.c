/* body.c - the bodies of requests. A long one waits on the disk until all of it has come. Long ones are read
 * one after another, each in a few steps between which others are served: so a hundred of them take the
 * memory of one, and nobody waits long. When the handler was called, nothing of a body is left in memory.
 *
 * RULE: A long body takes disk, not memory, and nobody waits while it is read.
 */
#include <malloc.h>

#include "base/clock.h"
#include "base/error.h"
#include "process/loop.h"
#include "server/private.h"

static bool refuse_body(struct http_request *q, int status, const char *detail)
{
    q->c->close = true;
    q->status = status;
    connection_refuse(q->c, status, NULL, detail);
    return false;
}

bool body_take(struct http_request *q, const char *data, size_t size)
{
    struct error err;
    size_t all = size;

    for (const struct connection *c = q->s->connections; c; c = c->next)
        all += c->q && c->q->token == q->token ? c->q->size : 0;
    if (q->size + size > q->text.max)
        return refuse_body(q, 413, "the body is too large");
    if (all > BODIES_ONE && q->size + size > BODY_SMALL)
        return refuse_body(q, 429, "the requests of this token that are in progress are too large together");
    if (!http_request_takes_body(q))
        return true;
    q->size += size;
    if (spill_add(&q->text, data, size, &err) < 0)
        return refuse_body(q, 503, err.text);
    return true;
}

static void call_handler(struct http_request *q)
{
    http_request_waits(q, false);
    q->route->handle(q);
    json_free(q->body);
    q->body = NULL;
    spill_release(&q->text);
}

static void leave(struct http_request *q)
{
    struct http_request **at = &q->s->bodies.first;

    while (*at && *at != q)
        at = &(*at)->next_body;
    if (*at)
        *at = q->next_body;
    q->queued = false;
}

/* One step of the oldest long body: it is brought into memory, it is parsed, or what it asks is done. */
static void read_step(void *ctx)
{
    struct body_queue *r = ctx;
    struct http_request *q = r->first;
    int64_t began = clock_ms();

    if (q->text.fd >= 0 && !q->lost && spill_load(&q->text, NULL) == 0) {
        q->admitted = false;
    } else if (!q->lost && !q->admitted && admit_body(q)) {
        q->admitted = true;
    } else {
        leave(q);
        if (q->admitted && !q->lost)
            call_handler(q);
        http_request_watch(q);
        malloc_trim(0); /* a tree of many values leaves many pages that are empty */
    }
    if (r->first) { /* others, who may need several turns of the loop, get as much time as this took */
        int64_t now = clock_ms();
        loop_timer(r->loop, now + (now - began), read_step, r);
    }
}

void body_read(struct http_request *q)
{
    struct http_request **last = &q->s->bodies.first;

    if (q->text.len <= SPILL_MEMORY) {
        if (admit_body(q))
            call_handler(q);
        return;
    }
    while (*last)
        last = &(*last)->next_body;
    *last = q;
    q->next_body = NULL;
    q->queued = true;
    loop_timer(q->s->bodies.loop, clock_ms(), read_step, &q->s->bodies);
}

void body_release(struct http_request *q)
{
    leave(q);
    if (!q->s->bodies.first)
        loop_timer_stop(q->s->bodies.loop, &q->s->bodies);
    spill_release(&q->text);
    json_free(q->body);
}
