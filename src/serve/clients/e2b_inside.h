/* e2b_inside.h - what E2B's SDK asks of files is done inside the sandbox, by e2b_inside.py: a process beside
 * the interpreter, as confined as any code, which ends with its request. It is told what to do by JSON, may
 * be fed content, and answers {"answer": ...} or {"failed": [status, text]}.
 */
#ifndef CLIENTS_E2B_INSIDE_H
#define CLIENTS_E2B_INSIDE_H

#include "clients/e2b.h"

struct inside_job; /* one that is under way */

struct inside_shape {
    /* Answers with what it has said, once it has ended. NULL: as JSON. */
    void (*answer)(struct http_request *q, const struct json *answer);
    void (*line)(struct http_request *q, const struct json *line); /* what it says is a stream of objects */
    bool bytes; /* behind its first line, {"answer": {}}, the content of a file follows */
    bool stays; /* it goes on after the answer, which is its first line */
    bool rpc;   /* a failure is the end of a stream of envelopes */
};

/* Takes words, {"do": "stat", "path": ...}. content is copied. Answers the request, also where it cannot be
 * done. */
void inside_do(struct http_request *q, const struct inside_shape *shape, struct json *words,
               const char *content, size_t len);

#endif
