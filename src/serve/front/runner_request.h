/* runner_request.h - one request to a runner, in the queue of runner.c. */
#ifndef FRONT_RUNNER_REQUEST_H
#define FRONT_RUNNER_REQUEST_H

#include "base/spill.h"
#include "front/runner.h"

struct pending {
    struct pending *next;
    uint64_t number;
    /* the message; kept until the answer, for the process may end without having read it. A long one waits on
     * the disk: many may wait for one sandbox. */
    struct spill line;
    int fd;      /* owned; -1: none, or it was passed on */
    bool passed; /* fd was passed on, so the message cannot be sent once more */
    struct runner_listener listener;
    bool forgotten, dropped;
    bool again;      /* the first request to a process that replaces another one */
    unsigned deaths; /* of processes while it was the first in the queue */
};

/* arguments are borrowed, and may be NULL. */
struct pending *request_new(uint64_t number, const char *operation, const struct json *arguments,
                            bool events);
void request_free(struct pending *a);

#endif
