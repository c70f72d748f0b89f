/* call_deltas.h - collects the tool-call deltas of one reply. Services disagree on index, id and name; the
 * rules here decide which call a delta belongs to. It knows nothing of tools; calls.h decides what a
 * call means.
 */
#ifndef CALLS_CALL_DELTAS_H
#define CALLS_CALL_DELTAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct json;

#define CALL_DELTAS_MAX 256 /* further ones are dropped; the agent runs at most 32 */
/* Bytes of all calls of a reply as they were sent. A call that exceeds this is not run. */
#define CALL_DELTAS_BYTES  (8u << 20)
#define CALL_DELTAS_ID_MAX 256 /* a longer id is dropped, and the call gets one of ours */

struct partial_call {        /* one call as far as it has come */
    int64_t index;           /* the service's index, or -1 */
    char *id, *extra, *item; /* item: the id of the call's output item (Responses) */
    struct buf name, args;
    size_t last; /* where the latest fragment begins in args */
    unsigned fragments;
    bool cumulative; /* each fragment so far was a prefix of the next one */
    bool too_long;   /* part of it was not kept */
    bool escape;     /* the last byte counted was a backslash */
};

struct call_deltas {
    struct partial_call *v;
    size_t n, alloc;
    size_t bytes;   /* of arguments and extras */
    unsigned lines; /* ended in the arguments so far, as far as their pieces tell: for the status line */
};

void call_deltas_release(struct call_deltas *s);
/* Adds one element of a tool_calls array, or Workers AI's flat {"name","arguments"}. True when it carried
 * something. */
bool call_deltas_add(struct call_deltas *s, const struct json *d);
/* Adds a whole call from another shape (function_call, Responses). */
void call_deltas_add_whole(struct call_deltas *s, const char *id, const char *name, const struct json *args);
/* For Responses, where a call is an output item. event has the item's place and id (NULL: they are unknown);
 * done: the item is whole. True when it carried something. */
bool call_deltas_add_item(struct call_deltas *s, const struct json *event, const struct json *item,
                          bool done);
bool call_deltas_add_item_arguments(struct call_deltas *s, const struct json *event,
                                    const struct json *arguments, bool done);
/* Adds a deprecated function_call delta; all of them belong to the same call. */
bool call_deltas_add_function_call(struct call_deltas *s, const struct json *f);
/* All have come: puts together the characters that were cut by the ends of pieces (JSON_PIECES). */
void call_deltas_join(struct call_deltas *s);

#endif
