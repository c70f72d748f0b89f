/* reader.h - read one reply as bytes arrive: server-sent events or one JSON document, whichever it is, in the
 * shapes of chat completions, Workers AI and Responses (WIRE 5). Gives text and reasoning as they come;
 * calls, finish, usage and errors lie in the struct at the end. Knows neither dialects nor tools; what the
 * text means is answer.h.
 */
#ifndef WIRE_READER_H
#define WIRE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "wire/failure.h"
#include "wire/reasoning_items.h"
#include "calls/call_deltas.h"
#include "wire/sse.h"

#define READER_EVENT_MAX (8u << 20)  /* data of one event */
#define READER_REPLY_MAX (64u << 20) /* of a stream, most of which is not kept */
#define READER_DOCUMENT_MAX \
    (16u << 20) /* of an answer that is no stream: there are two copies of it while it is parsed */

struct reader_sink {
    void *ctx;
    void (*text)(void *ctx, const char *s, size_t n);
    void (*reasoning)(void *ctx, const char *s, size_t n);
};

struct reader_usage {
    int64_t input, output, reasoning;
}; /* -1 unknown */

enum responses_thought { RESPONSES_NONE, RESPONSES_SUMMARY, RESPONSES_TEXT };

/* place: its output_index, -1 none; what came of it so far */
struct responses_item {
    int64_t place;
    bool said, thought;
};

struct reader {
    struct reader_sink sink;
    enum { READ_SNIFF, READ_JSON, READ_SSE, READ_OTHER } mode;
    struct buf body;
    size_t total; /* bytes fed */
    /* something was taken off its front: a byte order mark can no longer come */
    bool trimmed;
    struct sse sse;
    struct call_deltas calls;
    struct reasoning_items reasoning_items;
    struct {                         /* where a Responses reply is */
        bool items;                  /* it told of an item: what the end repeats is known */
        bool said;                   /* text came */
        struct responses_item *item; /* those that were told of: they may overlap */
        size_t n_items, at;          /* at: the one that an event without a place is about */
        bool gap, thought_gap;       /* an empty line goes before the next text, or thought */
        enum responses_thought thought;
    } responses;
    struct buf refusal;
    const char *reasoning_field; /* a literal, or NULL */
    char finish[32];
    bool finished, done, whole; /* finish_reason seen; [DONE] seen; one JSON document read */
    bool delta_seen;
    /* failure says why; of a stream only [DONE] is looked for behind it */
    bool failed;
    /* set by the sink: nothing more is wanted, further events are not read */
    bool stopped;
    bool broken; /* the stream can no longer be cut into events */
    struct failure failure;
    char *model;             /* that says that it answers, or NULL */
    char *failed_generation; /* the call that a failure of class TOOL_USE quotes, or NULL */
    struct reader_usage usage;
    uint64_t content; /* events so far that carried something */
    unsigned bad;     /* events that were no JSON and looked like none */
};

void reader_init(struct reader *r, const struct reader_sink *sink);
void reader_release(struct reader *r);
void reader_feed(struct reader *r, const char *p, size_t n);
/* The body is over. lost: the connection broke, so a half document is no protocol error. */
void reader_end(struct reader *r, bool lost);
/* After the end: the reply is known to be whole. */
bool reader_complete(const struct reader *r);

#endif
