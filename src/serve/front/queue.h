/* queue.h - the waiting place of a front: who needs a sandbox while all are in use waits for one in turn. The
 * clients take turns, and each one's own requests go in the order in which they came. Who has waited for
 * runners_options.queue_ms, or leaves, is out of it. Nothing here waits: end() is called by the loop.
 */
#ifndef FRONT_QUEUE_H
#define FRONT_QUEUE_H

#include "base/owned.h"
#include "front/runners.h"

/* Requests of one client that wait: of 512 workers, as trainings have, all but those that run. */
#define QUEUE_MAX 520

struct queue_want {            /* borrowed for the time of the call */
    const char *client;        /* on whose behalf (runners.h) */
    const char *conversation;  /* its sandbox, or else a new one; NULL: a new one */
    const struct lease *outer; /* as of runners_create_within(); NULL: none */
    bool once;                 /* as of runners_create_once() */
};

struct queue_place { /* one that waits; the caller owns it, as a part of its own */
    struct owned_row row;
    struct runners *rs; /* NULL: it does not wait */
    char outer[RUNNERS_ID + 1];
    char *conversation;
    uint64_t turn, number; /* whose turn it is; of those with the same turn the first that came */
    bool once;
    bool passed;   /* its client can have no more at present */
    int64_t since; /* clock_ms() */
    /* Set by the caller. Called once when there is a sandbox, which was made or not, or with err when there
     * will be none; never from inside queue_take(). */
    void (*end)(void *ctx, struct lease *h, bool made, const struct error *err);
    void *ctx;
};

/* Returns a sandbox at once, as runners_create() does; *made: it is new. If there is none and p waits for one
 * now, that is NULL without an error (p->rs is set). NULL with err: as runners_create(), and ERROR_BUSY where
 * QUEUE_MAX of this client wait already. */
struct lease *queue_take(struct runners *rs, struct queue_place *p, const struct queue_want *w, bool *made,
                         struct error *err);
void queue_leave(struct queue_place *p); /* it may be one that does not wait */
/* Call this when a sandbox has ended, or may now be ended for another one. */
void queue_look(struct runners *rs);
void queue_free(struct runners *rs); /* nobody may wait any more */

#endif
