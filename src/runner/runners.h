/* runners.h - all sandboxes of a front: their ids, how many there may be, how long one that nobody asks
 * anything of is kept, those that wait ready, and those that an earlier front, which was killed, left behind.
 *
 * An id is 128 random bits as 32 hex digits. It is never used again, and nothing else finds a sandbox. With
 * options.named, a sandbox is the named sandbox srv-ID, so it outlives its runner and us; what has to be
 * known of it then is a note of ours: RUNTIME/served/ID. Nothing here waits.
 */
#ifndef RUNNER_RUNNERS_H
#define RUNNER_RUNNERS_H

#include <stdbool.h>
#include <stdint.h>

#include "runner/runner.h"

struct error;
struct runners;
struct held; /* one sandbox, valid until the loop is served again */

#define RUNNERS_ID 32 /* characters */

struct runners_options {
    struct loop *loop;
    int starter;    /* as in runner_options; borrowed */
    unsigned max;   /* sandboxes at once */
    int64_t ttl_ms; /* without a request, then a sandbox ends; 0: never */
    unsigned pool;  /* sandboxes that wait ready, at most so many */
    bool named;     /* they outlive us */
    /* How many of them a client may have; 0, or NULL: no fewer than max. */
    unsigned (*most)(void *ctx, const char *client);
    void *ctx;
};

enum runners_absent { /* why there is no sandbox of that id */
                      RUNNERS_UNKNOWN,
                      RUNNERS_EXPIRED, /* nobody asked anything of it for ttl_ms; remembered for a day */
                      RUNNERS_STOPPED, /* by runners_stop(); likewise */
};

/* Also finds what a killed front left, and begins to fill the pool. */
struct runners *runners_new(const struct runners_options *o);
/* Ends the runners. orderly: their sandboxes too; else named ones stay until their idle limit. */
void runners_free(struct runners *rs, bool orderly);

/* client: on whose behalf; the sandboxes of another one do not exist for it. NULL: everybody's. At most 64
 * bytes.
 *
 * A new sandbox, or that of the client's conversation, if it has one (at most 256 bytes; NULL: none).
 * ERROR_BUSY: there are max already, or as many as the client may have, none of them spare; ERROR_SYSTEM. Its
 * start may be under way: what is asked of its runner waits. */
struct held *runners_create(struct runners *rs, const char *client, const char *conversation_id,
                            struct error *err);
/* NULL with *why (may be NULL). id may be any text. */
struct held *runners_find(struct runners *rs, const char *client, const char *id, enum runners_absent *why);
struct held *runners_find_conversation(struct runners *rs, const char *client, const char *conversation_id);
/* End and forget it. Its requests end with an error. */
void runners_stop(struct runners *rs, struct held *h);

const char *held_id(const struct held *h);
const char *held_conversation(const struct held *h); /* or NULL */
int64_t held_created(const struct held *h);          /* time() */
int64_t held_idle_ms(const struct held *h);          /* since the last request was done; 0: busy */
/* Its runner; starts another one if the last has ended. What is asked of it counts as use. NULL with err. */
struct runner *held_runner(struct runners *rs, struct held *h, struct error *err);

/* The runner that it has; NULL: that has ended. No use of it. */
struct runner *held_living(const struct held *h);
/* Perhaps nobody will ask anything of it again: when there are max, it makes room for another one of its
 * client. Until its next use. */
void held_set_spare(struct held *h, bool spare);

/* The sandboxes that were created, oldest first; not those that wait ready. */
void runners_each(struct runners *rs, const char *client, void (*fn)(void *ctx, struct held *h), void *ctx);

struct runners_counts {
    unsigned held, busy, pool;          /* now; pool: that are up */
    uint64_t created, expired, stopped; /* since the start */
    uint64_t from_pool, found_again,
        died; /* handed out of the pool; of an earlier front; runners that died */
};
void runners_counts(const struct runners *rs, struct runners_counts *out);

#endif
