/* lease.h - the inside of runners.h: one sandbox of a front (lease.c), and the list of all of them
 * (runners.c).
 */
#ifndef RUNNER_LEASE_H
#define RUNNER_LEASE_H

#include "runner/past.h"
#include "runner/runners.h"

#define LEASE_PREFIX "srv-" /* of the names of named ones, before the id */

struct lease {
    struct lease *next;
    struct runners *rs;
    char id[RUNNERS_ID + 1];
    char *conversation, *client;
    int64_t created;       /* time() */
    int64_t used;          /* clock_ms() when it was last used */
    struct runner *runner; /* NULL: it has none, or that has ended */
    bool pooled;           /* it is in the pool, and no client has it yet */
    bool spare;            /* see lease_set_spare() */
    bool again;            /* the next runner is to attach to the sandbox of an earlier one */
};

struct runners {
    struct runners_options o;
    struct lease *all; /* oldest first */
    struct past past;
    char *owner;
    int64_t pool_at; /* clock_ms() from which the pool may be filled; 0: at once */
    struct runners_counts counts;
};

/* Adds an empty one to the list, which owns it. */
struct lease *lease_new(struct runners *rs);
/* From now on nobody finds it. The caller has it, for lease_free(). */
void lease_hide(struct lease *h);
void lease_free(struct lease *h);
void lease_remove(struct lease *h); /* both */
/* It was in the pool, and did not start or has ended: removes it, and lets the pool rest for a while. */
void lease_fail_in_pool(struct lease *h);

int lease_start(struct lease *h, struct error *err); /* starts a runner for it */
bool lease_is_busy(const struct lease *h);
int64_t lease_idle_since(const struct lease *h); /* clock_ms() */
/* Writes its note (served.h). ended: time(), or 0 while it lives. */
void lease_write_note(const struct lease *h, int64_t ended, bool expired);

/* Sets the timer for the next sandbox that expires, or for the pool. */
void runners_plan(struct runners *rs);

#endif
