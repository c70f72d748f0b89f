/* call_deltas.h - collect the tool-call deltas of one reply. Services disagree on index, id and name; the
 * rules of WIRE 5.6 decide which call a delta belongs to. Knows nothing of tools: what a call means is
 * calls.h.
 */
#ifndef CALLS_CALL_DELTAS_H
#define CALLS_CALL_DELTAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct json;

#define CALL_DELTAS_MAX 256 /* more are dropped; the agent runs 32 at most */
/* of all calls of a reply, as they were sent; a call that goes beyond is not run */
#define CALL_DELTAS_BYTES  (8u << 20)
#define CALL_DELTAS_ID_MAX 256 /* a longer id is none: each call gets one of ours then */

struct partial_call {        /* as far as it has come */
    int64_t index;           /* as the service gave it, or -1 */
    char *id, *extra, *item; /* item: the id of the output item that is the call (Responses) */
    struct buf name, args;
    size_t last; /* where the latest fragment begins in args */
    unsigned fragments;
    bool cumulative; /* each fragment so far was a prefix of the next */
    bool too_long;   /* not all of it was kept */
};

struct call_deltas {
    struct partial_call *v;
    size_t n, alloc;
    size_t bytes; /* of arguments and extras */
};

void call_deltas_release(struct call_deltas *s);
/* One element of a tool_calls array; also Workers AI's flat {"name","arguments"}. True when it told
 * something. */
bool call_deltas_add(struct call_deltas *s, const struct json *d);
/* A whole call from another shape (function_call, Responses). */
void call_deltas_add_whole(struct call_deltas *s, const char *id, const char *name, const struct json *args);
/* Responses: a call is an output item. event has its place and id (NULL: it has none); done: the item is
 * whole. True when it told something. */
bool call_deltas_add_item(struct call_deltas *s, const struct json *event, const struct json *item,
                          bool done);
bool call_deltas_add_item_arguments(struct call_deltas *s, const struct json *event,
                                    const struct json *arguments, bool done);
/* Take over a deprecated function_call delta: always the same call. */
bool call_deltas_add_function_call(struct call_deltas *s, const struct json *f);

#endif
