/* openai_reply.h - writes one answer in one of OpenAI's shapes (shape.h), as a whole or as events while it
 * comes. What the code did is in the member "sandpiper" of the answer, which other clients ignore. A client
 * of Responses that asks for the tool code_interpreter also gets it as calls of that tool. Pure: what is to
 * be sent is passed to a function.
 */
#ifndef OPENAI_OPENAI_REPLY_H
#define OPENAI_OPENAI_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "openai/shape.h"

struct chat_request;

struct openai_reply {
    const struct openai_shape *shape;
    /* Sends one event of a stream; object is borrowed. event is its name, or NULL for none. The function
     * itself is NULL when the answer is wanted as a whole. */
    void (*send)(void *ctx, const char *event, const struct json *object);
    void *ctx;
    char id[48];
    int64_t created; /* time() */
    char *model;
    const char *container; /* the sandbox's id, as the client may know it; borrowed */
    bool with_usage;       /* each chunk has the member "usage", which is null in all but the last */
    bool code, logs;       /* the client wants the calls of code_interpreter, and what they printed */
    bool begun;            /* the first event was sent */
    struct buf text;       /* the part of the answer that was sent so far */
    int64_t part;          /* the number of the model's reply that is being sent */
    /* Only for Responses: the members of the request that its answer repeats, the items that are done, and
     * the item that is under way, or NULL. That one is a call, or a message whose text so far is in words. */
    struct json *repeated, *output, *item;
    struct buf words;
    int64_t sequence; /* the number of the next event */
};

/* How an answer ended. Everything is borrowed. */
struct openai_end {
    const char *answer;
    const char *finish;            /* "stop", "length" or "tool_calls" */
    const struct json *calls;      /* of the client's tools, as {id, name, arguments}; or NULL */
    const struct json *usage;      /* as in docs/events.schema.json */
    const struct json *annotation; /* the member "sandpiper"; its "steps" tell what the code did */
};

/* random holds hex digits that no other answer has. model is copied. body is the request, which is read only
 * during this call. The caller then fills in send, ctx, created and container. */
void openai_reply_init(struct openai_reply *r, const struct openai_shape *shape, const char *random,
                       const char *model, const struct chat_request *request, const struct json *body);
void openai_reply_release(struct openai_reply *r);

/* Passes on an event of docs/events.schema.json. The answer begins with the first event that the client sees;
 * until then a failure can still have an HTTP status of its own. */
void openai_reply_event(struct openai_reply *r, const struct json *object);
void openai_reply_begin(struct openai_reply *r); /* does nothing if it has begun */
void openai_reply_end(struct openai_reply *r, const struct openai_end *e);

/* Returns the finish reason for the status of a question; NULL when there is no answer.
 */
const char *openai_finish(const char *status, const char *answer);
/* Makes {"error": {...}}. param and code may be NULL, and are null then. */
struct json *openai_error(const char *message, const char *type, const char *param, const char *code);
const char *openai_error_type(int http_status);
struct json *openai_model(const char *name);
struct json *openai_models(const char *const *names, size_t n);
/* For the shapes: a number of our usage by its name, 0 if it is unknown; and all tokens together. */
struct json *openai_tokens(const struct json *usage, const char *key);
struct json *openai_total(const struct json *usage);

#endif
