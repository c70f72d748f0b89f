/* chat_reply.h - what OpenAI's clients are answered: a completion as a whole, or its chunks; usage; errors;
 * the list of models. What the code did is in the member "sandpiper" beside "choices", which clients that do
 * not know it pass over. Pure.
 */
#ifndef OPENAI_CHAT_REPLY_H
#define OPENAI_CHAT_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json;

struct chat_reply {
    const char *id;  /* "chatcmpl-..." */
    int64_t created; /* time() */
    const char *model;
    bool with_usage; /* chunks have a member for it, which is null but in the last */
};

/* Everything given as a struct json * is given away; NULL: without it. */
struct json *chat_completion(const struct chat_reply *r, const char *text, const char *finish,
                             struct json *usage, struct json *annotation);
/* One piece of the text; NULL: a chunk that only carries the annotation or the reason of the end. */
struct json *chat_chunk(const struct chat_reply *r, const char *text, size_t len, const char *finish,
                        struct json *annotation);
struct json *chat_first_chunk(const struct chat_reply *r, struct json *annotation);
struct json *chat_usage_chunk(const struct chat_reply *r, struct json *usage);

/* What our "usage" is there. */
struct json *chat_usage(const struct json *usage);
/* What a status of a question is there: "stop", "length"; NULL: there is no answer. */
const char *chat_finish(const char *status, const char *answer);

/* {"error": {...}}. param, code: NULL: null. */
struct json *chat_error(const char *message, const char *type, const char *param, const char *code);
const char *chat_error_type(int http_status);
struct json *chat_models(const char *const *names, size_t n, int64_t created);

#endif
