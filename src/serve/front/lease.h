/* lease.h - the inside of runners.h: one sandbox of a front (lease.c), and the tables of all of them
 * (runners.c): those that live, and those that ended, whose ids are remembered.
 */
#ifndef FRONT_LEASE_H
#define FRONT_LEASE_H

#include "base/argv.h"
#include "base/owned.h"
#include "front/runners.h"

#define LEASE_PREFIX "srv-" /* of the names of named ones, before the id */
#define ONCE_IDLE_MS 1000   /* for which one out of the pool outlives its runner, if it is for one request */
#define POOL         "pool" /* the client of those that nobody has yet; no token's hash looks like it */

struct lease {
    struct owned_row row; /* the first member: in living or in ended */
    struct runners *rs;
    char id[RUNNERS_ID + 1];
    char outer[RUNNERS_ID + 1]; /* the id of the one that it ends with; "": none */
    char *conversation;         /* NULL: none */
    int64_t created;            /* time() */
    int64_t ended;              /* time(); 0: it lives */
    bool expired;               /* it ended because nobody used it; if not, it was stopped */
    bool gave_way;              /* or it was ended for another one */
    int64_t used;               /* clock_ms() when it was last used */
    struct runner *runner;      /* NULL: it has none, or that has ended */
    bool spare;                 /* see lease_set_spare() */
    bool once;                  /* see runners_create_once() */
    char *unnoted;              /* owned; why its note could not be written; NULL: it was */
    bool warned;                /* of that */
    bool again;                 /* the next runner is to attach to the sandbox of an earlier one */
    int64_t until;              /* time() at which it ends, used or not; 0: it ends when nobody uses it */
    bool paused;                /* all that runs in it stands still */
    struct client_process *processes; /* processes.c's own */
    uint32_t process_number;          /* of the last one */
    struct json *facts;               /* owned; see lease_set_facts(); NULL: there are none */
};

struct runners {
    struct runners_options o;
    struct owned living, ended;
    struct owned waiting;  /* for a sandbox: struct queue_place (queue.h) */
    uint64_t turn, number; /* of the one that got a sandbox last; of the one that came last */
    char *owner;
    struct argv weaker; /* what o.weaker was told */
    int64_t pool_at;    /* clock_ms() from which the pool may be filled; 0: at once */
    struct runners_counts counts;
};

static inline struct lease *lease_at(const struct owned_row *row)
{
    return (struct lease *)(uintptr_t)row;
}

/* Makes one that is in no table yet. id NULL: with a new id. */
struct lease *lease_new(struct runners *rs, const char *id);
void lease_free(struct lease *h); /* it must be in no table */
bool lease_in_pool(const struct lease *h);
/* One of the pool that did not start or has ended: removes it, and lets the pool rest for a while. */
void lease_fail_in_pool(struct lease *h);

int lease_start(struct lease *h, struct error *err); /* starts a runner for it */
bool lease_is_busy(const struct lease *h);
int64_t lease_idle_since(const struct lease *h); /* clock_ms() */
/* Writes its note (served.h). A failure is kept in unnoted. */
void lease_write_note(struct lease *h);

/* Sets the timer for the next sandbox that expires, or for the pool. */
void runners_plan(struct runners *rs);

#endif
