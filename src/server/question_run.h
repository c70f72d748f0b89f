/* question_run.h - one question of a client while a runner answers it, whatever shape it came in: its sandbox
 * (that of its conversation, or a new one), what the code did, files as links, how it ended. Private to
 * the files of questions.h.
 */
#ifndef SERVER_QUESTION_RUN_H
#define SERVER_QUESTION_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "openai/chat_table.h"
#include "runner/runners.h"
#include "server/private.h"

struct http_question;

struct question_shape {
    /* An object of docs/events.schema.json, with links in place of paths. NULL: nobody wants them. */
    void (*event)(struct http_question *qn, const struct json *object);
    /* It was answered: name the place where the conversation stands now (qn->place.names). */
    void (*place)(struct http_question *qn, const struct json *result);
    /* One of these is the last call, and answers. */
    void (*answered)(struct http_question *qn, const struct json *result);
    void (*failed)(struct http_question *qn, int status, const char *code, const char *detail);
    void (*silent)(struct http_question *qn); /* nothing came for a while; or NULL */
    void (*release)(struct http_question *qn);
};

struct http_question { /* the first member of what a shape has of its own; on the heap */
    struct visit *q;
    const struct question_shape *shape;
    struct chat_place place; /* where it is asked, as it was when it was taken */
    bool made;               /* the sandbox was made for this question */
    struct runner *runner;
    uint64_t request;
    struct json *steps, *step; /* what the code did, for the answer; the one under way, which steps owns */
};

/* A new sandbox for it. If all are taken, the conversation that nobody has gone on with for the longest time
 * loses its own. NULL with err. */
struct held *question_room(struct visit *q, struct error *err);
/* Ask in h. arguments are given away, qn too: from here on it is released by itself. */
void question_ask(struct http_question *qn, struct held *h, struct json *arguments);

/* The files of a result, with links; what the code did (given away); the members that both shapes have. */
struct json *question_files(const struct http_question *qn, const struct json *result);

#define QUESTION_SILENT_MS 15000

#endif
