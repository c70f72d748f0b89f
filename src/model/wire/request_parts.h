/* request_parts.h - the parts from which the bodies of all APIs are made. Private to api.c and the
 * request_*.c files. */
#ifndef WIRE_REQUEST_PARTS_H
#define WIRE_REQUEST_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "wire/request.h"

struct json;

struct request_out {
    const struct llm_request *q;
    const struct request_shape *s;
    struct json *body;
    struct json *messages; /* what was said, in order; body takes ownership of it */
    struct buf user;       /* blocks dialect: a user message that may still grow */
    struct json *images;   /* parts of a user message that was not written yet; or NULL */
    /* An assistant's text is sent as a list of parts, because llama.cpp takes it in no other form as
     * Responses input. */
    bool parts;
    size_t question; /* index of the turn with the latest question */
    size_t prompt;   /* bytes that the model will read */
};

/* One turn of the conversation while it is being written. */
struct request_turn {
    const struct turn *t;
    size_t index; /* in the conversation; for a result, the index of the turn with its call */
    bool own;     /* it came from the endpoint and model that are being asked */
    bool open;    /* the question that it belongs to is not answered yet */
};

struct request_style { /* how messages are written for chat completions */
    bool thoughts;     /* reasoning goes back to the service that it came from */
    bool names;        /* a tool message names its tool */
};

/* request_images.c. Returns the text of a turn, with a line for each of its images that is not sent (any
 * more); nothing is added for a model that does not see. The caller frees it. */
char *request_text(const struct request_out *o, const struct turn *t);
/* Adds the images of a turn that are sent to o->images, each behind a part that names it. */
void request_images(struct request_out *o, const struct turn *t);
/* Adds a user message with that text (NULL: none) and what is in o->images. */
void request_user(struct request_out *o, const char *text);
/* Takes o->images with that text as the first part, where there are any; or NULL. */
struct json *request_parts_of(struct request_out *o, const char *text);
/* Adds {role, content} and returns it. */
struct json *request_message(struct request_out *o, const char *role, const char *content);
/* The i-th turn. */
struct request_turn request_turn(const struct request_out *o, size_t i);
/* Returns the id of a call of this turn. An id from another service is changed to a form that all services
 * accept, the same in the call and in its result. */
struct json *request_id(const char *id, const struct request_turn *t);
/* Returns the call of a turn that has this id, or NULL. */
const struct call *request_call(const struct turn *t, const char *id);
/* Parses JSON that was kept as text. NULL: text is NULL, or not JSON. The caller frees it. */
struct json *request_parsed(const char *text);
bool request_in_blocks(const struct request_out *o);
/* Returns the dialect's system prompt; NULL: none. */
const char *request_system(const struct request_out *o);
void request_messages(struct request_out *o, struct request_style style);
/* Appends a reply that is being asked about, and the question about it. */
void request_nudge(struct request_out *o);
void request_blocks(struct request_out *o);
struct json *request_schema(struct request_out *o, const struct llm_tool *t);
void request_tools(struct request_out *o);
void request_temperature(struct request_out *o);
void request_thinking(struct request_out *o);

/* Each writes the whole body for one API, and puts messages into it. */
void request_chat(struct request_out *o);
void request_responses(struct request_out *o);
void request_workers_ai(struct request_out *o);

#endif
