/* openai_reply.h - one answer in a shape of OpenAI's (shape.h), as a whole or as events while it comes. What
 * the code did is in the member "sandpiper" of the answer, which clients that do not know it pass over; a
 * client of Responses that asks for the tool code_interpreter has it as that tool's calls too. Pure: what is
 * to be sent is given to a function.
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
    /* One event of a stream. event NULL: it has no name. */
    void (*send)(void *ctx, const char *event, const struct json *object);
    void *ctx;
    char id[48];
    int64_t created; /* time() */
    char *model;
    const char *container; /* the sandbox, as the client may know it; borrowed */
    bool with_usage;       /* chunks have a member for it, which is null but in the last */
    bool code, logs;       /* the client wants the calls of code_interpreter, and what they printed */
    bool begun;
    struct buf text; /* what was sent of the answer so far */
    int64_t part;    /* the number of the model's reply that is being sent */
    /* Responses: what the request said that an answer repeats; the items that are done; the one that is not
     * (NULL: none), which is a message whose text is in words, or a call. */
    struct json *repeated, *output, *item;
    struct buf words;
    int64_t sequence;
};

/* How it ended. usage is ours (docs/events.schema.json). annotation: the member "sandpiper"; its "steps" are
 * what the code did. */
struct openai_end {
    const char *answer;
    const char *finish; /* "stop", "length" */
    const struct json *usage, *annotation;
};

/* random: hex digits that no other answer has. model is copied; body: the request, which is only read now.
 * What else the caller fills in: send, ctx (NULL: a whole), created, container. */
void openai_reply_init(struct openai_reply *r, const struct openai_shape *shape, const char *random,
                       const char *model, const struct chat_request *request, const struct json *body);
void openai_reply_release(struct openai_reply *r);

/* An object of docs/events.schema.json. Sends the beginning before the first that is to be seen: until
 * then a failure can have a status of its own. */
void openai_reply_event(struct openai_reply *r, const struct json *object);
void openai_reply_begin(struct openai_reply *r); /* if it has not begun */
void openai_reply_end(struct openai_reply *r, const struct openai_end *e);

/* What a status of a question is: "stop", "length"; NULL: there is no answer. */
const char *openai_finish(const char *status, const char *answer);
/* {"error": {...}}. param, code: NULL: null. */
struct json *openai_error(const char *message, const char *type, const char *param, const char *code);
const char *openai_error_type(int http_status);
struct json *openai_models(const char *const *names, size_t n, int64_t created);
/* The tokens of our usage by name, 0 if they are not known; and {key: n}. For the shapes. */
int64_t openai_tokens(const struct json *usage, const char *key);
struct json *openai_detail(const char *key, int64_t n);

#endif
