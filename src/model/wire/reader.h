/* reader.h - reads one reply as bytes arrive: server-sent events or one JSON document, whichever it turns out
 * to be, in the shapes of chat completions, Workers AI and Responses. It passes on text and
 * reasoning as they come; calls, finish, usage and errors are in the struct at the end. It knows neither
 * dialects nor tools; reply.h decides what the text means.
 */
#ifndef WIRE_READER_H
#define WIRE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "json/json.h"
#include "wire/failure.h"
#include "wire/reasoning_items.h"
#include "calls/call_deltas.h"
#include "wire/sse.h"
#include "wire/types.h"

#define READER_EVENT_MAX (8u << 20)  /* bytes of data in one event */
#define READER_REPLY_MAX (64u << 20) /* bytes of a stream, most of which is not kept */
/* Bytes of an answer that is not a stream. The cap is lower because two copies exist while it is parsed. */
#define READER_DOCUMENT_MAX (16u << 20)

struct reader_sink {
    void *ctx;
    void (*text)(void *ctx, const char *s, size_t n);
    void (*reasoning)(void *ctx, const char *s, size_t n);
};

enum responses_thought { RESPONSES_NONE, RESPONSES_SUMMARY, RESPONSES_TEXT };

/* One output item, and what came of it so far. place is its output_index, or -1 for none. */
struct responses_item {
    int64_t place;
    bool said, thought;
};

struct reader {
    struct reader_sink sink;
    enum { READ_SNIFF, READ_JSON, READ_SSE, READ_OTHER } mode;
    struct buf body;
    size_t total; /* bytes fed so far */
    /* something was removed from its front, so a byte order mark can no longer come */
    bool trimmed;
    struct sse sse;
    struct call_deltas calls;
    struct json_joint text_joint, thought_joint;
    struct reasoning_items reasoning_items;
    struct {                         /* the state of a Responses reply */
        bool items;                  /* it announced an item, so what its end repeats is already known */
        bool said;                   /* text came */
        struct responses_item *item; /* the items that were announced; they may overlap */
        size_t n_items, at;          /* at: the item that an event without a place belongs to */
        bool gap, thought_gap;       /* an empty line goes before the next text, or thought */
        enum responses_thought thought;
    } responses;
    struct buf refusal;
    const char *reasoning_field; /* a literal, or NULL */
    char finish[32];
    bool finished, done, whole; /* finish_reason seen; [DONE] seen; one JSON document read */
    bool delta_seen;
    /* failure says why; after that only [DONE] is looked for in a stream */
    bool failed;
    /* set by the sink: nothing more is wanted, so further events are not read */
    bool stopped;
    bool broken; /* the stream can no longer be cut into events */
    struct failure failure;
    char *model;             /* the model that says that it answers, or NULL */
    char *failed_generation; /* the call that a failure of class TOOL_USE quotes, or NULL */
    struct llm_usage usage;
    uint64_t content; /* events so far that carried content */
    unsigned bad;     /* events that were not JSON and did not look like it */
};

void reader_init(struct reader *r, const struct reader_sink *sink);
void reader_release(struct reader *r);
void reader_feed(struct reader *r, const char *p, size_t n);
/* Call this when the body is over. lost: the connection broke, so half a document is not a protocol error. */
void reader_end(struct reader *r, bool lost);
/* After the end: true when the reply is known to be whole. */
bool reader_complete(const struct reader *r);

#endif
