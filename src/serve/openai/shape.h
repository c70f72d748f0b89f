/* shape.h - what differs between OpenAI's two APIs, chat completions and Responses, as a row for each: how a
 * request is read (chat_request.h) and how an answer is written (openai_reply.h).
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
    /* Names of members of a request; "a.b" is the member b of the object a. */
    const char *messages, *effort, *form;
    const char *system; /* instructions beside the messages; NULL: the API has no such member */
    const char *id;     /* the beginning of each answer's id */
    const char *last;   /* bytes that are sent after a stream's last event; NULL: none */
    struct json *(*whole)(struct openai_reply *r, const struct openai_end *e); /* a new object */
    /* The rest are for streams. */
    void (*begin)(struct openai_reply *r);
    /* Sends a piece of the text. apart: it belongs to another reply of the model than the piece before. */
    void (*text)(struct openai_reply *r, const char *text, bool apart);
    void (*event)(struct openai_reply *r, const struct json *object); /* tells what the code does */
    void (*end)(struct openai_reply *r, const struct openai_end *e);
    void (*failed)(struct openai_reply *r, int status, const char *code, const char *detail);
};

extern const struct openai_shape openai_chat, openai_responses;

#endif
