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

#define SLOTS_MAX 256 /* more are dropped; the agent runs 32 at most */
#define SLOTS_BYTES \
    (8u << 20)           /* of all calls of a reply, as they were sent; a call that goes beyond is not run */
#define SLOTS_ID_MAX 256 /* a longer id is none: each call gets one of ours then */

struct slot {
    int64_t index;           /* as the service gave it, or -1 */
    char *id, *extra, *item; /* item: the id of the output item that is the call (Responses) */
    struct buf name, args;
    size_t last; /* where the latest fragment begins in args */
    unsigned fragments;
    bool cumulative; /* each fragment so far was a prefix of the next */
    bool too_long;   /* not all of it was kept */
};

struct slots {
    struct slot *v;
    size_t n, alloc;
    size_t bytes; /* of arguments and extras */
};

void slots_release(struct slots *s);
/* One element of a tool_calls array; also Workers AI's flat {"name","arguments"}. True when it told
 * something. */
bool slots_delta(struct slots *s, const struct json *d);
/* A whole call from another shape (function_call, Responses). */
void slots_whole(struct slots *s, const char *id, const char *name, const struct json *args);
/* Responses: a call is an output item. event has its place and id (NULL: it has none); done: the item is
 * whole. True when it told something. */
bool slots_item(struct slots *s, const struct json *event, const struct json *item, bool done);
bool slots_item_arguments(struct slots *s, const struct json *event, const struct json *arguments, bool done);
/* Take over a deprecated function_call delta: always the one slot. */
bool slots_function_call(struct slots *s, const struct json *f);

#endif
