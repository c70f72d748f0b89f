/* question_run.h - one question of a client while a runner answers it, whatever shape it came in: its
 * sandbox (that of its conversation, or a new one), what the code did, links to files, and how it ended.
 * Private to the files behind questions.h.
 */
#ifndef SERVER_QUESTION_RUN_H
#define SERVER_QUESTION_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "openai/chat_table.h"
#include "front/lease_call.h"
#include "server/private.h"

struct http_question;

struct question_shape {
    /* There is a sandbox, which is about to be asked; or NULL. */
    void (*begin)(struct http_question *qn);
    /* Receives each event of docs/events.schema.json, with links in place of paths. NULL: none are wanted. */
    void (*event)(struct http_question *qn, const struct json *object);
    /* After an answer: sets the names (qn->place.names) by which the conversation is found from now on.
     * NULL: it is found by the id of its sandbox alone. */
    void (*place)(struct http_question *qn, const struct json *result);
    /* Exactly one of these two is called, and answers the request. */
    void (*answered)(struct http_question *qn, const struct json *result);
    void (*failed)(struct http_question *qn, int status, const char *code, const char *detail);
    void (*silent)(struct http_question *qn); /* nothing was sent for QUESTION_SILENT_MS; or NULL */
    void (*release)(struct http_question *qn);
};

struct http_question { /* allocated on the heap, as the first member of a struct that the shape may extend */
    struct http_request *q;
    const struct question_shape *shape;
    struct chat_place place;     /* the place in its conversation from which it is asked */
    char parked[RUNNERS_ID + 1]; /* the sandbox that the conversation had, which gave way; or "" */
    char *asked;                 /* what is kept of the question (parked.h); owned */
    bool spare;             /* the sandbox is that of a conversation, and not one that the client asked for */
    struct lease_call call; /* made: the sandbox was made for this question */
    struct json *steps;     /* what the code did, for the answer; owned */
    struct json *step;      /* the step under way, which is one of steps; or NULL */
};

/* Asks the question in h or, where that is NULL, in a new sandbox, for which it may have to wait. Takes
 * arguments and qn, which is freed once it is answered. */
void question_ask(struct http_question *qn, struct lease *h, struct json *arguments);

/* Returns the files of a result as an array, with links. The caller frees it. */
struct json *question_files(const struct http_question *qn, const struct json *result);

#define QUESTION_SILENT_MS 15000

#endif
