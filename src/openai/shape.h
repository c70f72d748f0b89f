/* shape.h - OpenAI has two APIs for one thing: chat completions and Responses. What differs between them, a
 * row each: how a request is read (chat_request.h), and how an answer is written (openai_reply.h).
 */
#ifndef OPENAI_SHAPE_H
#define OPENAI_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

struct json;
struct openai_end;
struct openai_reply;

enum openai_api { OPENAI_CHAT = 1, OPENAI_RESPONSES = 2 };

struct openai_shape {
    enum openai_api api;
    /* Members of a request. "a.b" is b of the object a. */
    const char *messages, *effort, *system; /* system: of instructions beside the messages; NULL: none */
    const char *id;                         /* how ids of answers begin */
    const char *last; /* what is sent behind a stream's last event, as it is; NULL: nothing */
    struct json *(*whole)(struct openai_reply *r, const struct openai_end *e);
    void (*begin)(struct openai_reply *r);
    /* A piece of the text. apart: what is said now is not the same reply of the model as before. */
    void (*text)(struct openai_reply *r, const char *text, bool apart);
    void (*event)(struct openai_reply *r, const struct json *object); /* what the code does */
    void (*end)(struct openai_reply *r, const struct openai_end *e);
    void (*failed)(struct openai_reply *r, int status, const char *code, const char *detail);
};

extern const struct openai_shape openai_chat, openai_responses;

#endif
