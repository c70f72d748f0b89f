/* runners.h - all sandboxes of a front: their ids, how many there may be, how long an unused one is kept,
 * the pool of those that are started ahead, and those that an earlier front left behind when it was killed.
 *
 * An id is 128 random bits as 32 hex digits. It is never used again, and a sandbox is found by nothing
 * else. With options.named, a sandbox is the named sandbox srv-ID, so it outlives its runner and us.
 * Whatever the next front has to know of it is in a note (served.h). Nothing here waits.
 */
#ifndef FRONT_RUNNERS_H
#define FRONT_RUNNERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/histogram.h"
#include "front/runner.h"

struct error;
struct runners;
struct lease; /* one sandbox. A pointer to it is valid until the loop is served again. */

#define RUNNERS_ID 32 /* characters */

struct runners_options {
    struct loop *loop;
    int starter;      /* as in runner_options; borrowed */
    unsigned max;     /* the most sandboxes at once */
    int64_t ttl_ms;   /* a sandbox ends after so long without a request; 0: never */
    unsigned pool;    /* the number of sandboxes that are started ahead */
    int64_t queue_ms; /* how long a request waits where all are in use (queue.h); 0: not at all */
    bool named;       /* they are named, and so outlive us */
    /* Returns the most sandboxes that a client may have; 0: up to max. NULL: up to max for each. */
    unsigned (*most)(void *ctx, const char *client);
    /* Gets each line on a limit that is weaker than usual, once: for whoever runs us. May be NULL. */
    void (*weaker)(const char *line);
    void *ctx;
};

enum runners_absent { /* why there is no sandbox with that id */
                      RUNNERS_UNKNOWN,
                      RUNNERS_EXPIRED,  /* it was not used for ttl_ms; remembered for a day */
                      RUNNERS_STOPPED,  /* it was ended by runners_stop(); remembered for a day */
                      RUNNERS_GAVE_WAY, /* a spare one that was ended for another; remembered until the end */
};

/* Also takes over what a killed front left, and begins to fill the pool. */
struct runners *runners_new(const struct runners_options *o);
/* Ends the runners. orderly: their sandboxes end too. Otherwise named ones stay until their idle limit. */
void runners_free(struct runners *rs, bool orderly);

/* In what follows, client names the one on whose behalf something is done (at most 64 bytes). It is never
 * NULL; a front that does not tell its clients apart calls all of them "". A client finds no sandbox of
 * another one, and ends none but a spare one.
 * Returns the sandbox of the client's conversation (at most 256 bytes, or NULL for none), or else a new
 * one, whose start may still be under way; requests to its runner wait for that. When the client has as
 * many as it may have, or there are max, the spare one of its own that was not used for the longest time is
 * ended; where there are max, and it has no such one, that of a client that has at least two more. NULL with
 * ERROR_BUSY if there is none (code EDQUOT: it has as many as it may have), or with ERROR_SYSTEM. */
struct lease *runners_create(struct runners *rs, const char *client, const char *conversation_id,
                             struct error *err) __attribute__((nonnull(1, 2)));
/* A new one for one request. Nobody finds it again: it is not remembered when it ends, and it ends with its
 * runner and with the front, however these end (one out of the pool a second later). */
struct lease *runners_create_once(struct runners *rs, const char *client, struct error *err)
    __attribute__((nonnull(1, 2)));
/* As runners_create(), but within another one, for APIs where a sandbox has several interpreters: with
 * variables and files of its own. All count as used when one of them is used, and they end with the outer
 * one. */
struct lease *runners_create_within(struct runners *rs, const char *client, struct lease *outer,
                                    struct error *err) __attribute__((nonnull(1, 2, 3)));
/* NULL with *why, unless why is NULL. id may be any text. */
struct lease *runners_find(struct runners *rs, const char *client, const char *id, enum runners_absent *why)
    __attribute__((nonnull(1, 2, 3)));
struct lease *runners_find_conversation(struct runners *rs, const char *client, const char *conversation_id)
    __attribute__((nonnull(1, 2, 3)));
/* Ends the sandbox, and those within it. Their requests end with an error, and h must not be used any
 * more. */
void runners_stop(struct runners *rs, struct lease *h);

const char *lease_id(const struct lease *h);
const char *lease_conversation(const struct lease *h); /* NULL: it has none */
const char *lease_outer(const struct lease *h); /* the id of the outer one; NULL: it is nested in none */
/* Returns what is told when the next front would not find it, if we are killed, because its note could not be
 * written. NULL: it was. It is tried again with each use. The caller frees it. */
char *lease_warning(const struct lease *h);
int64_t lease_created(const struct lease *h); /* time() */
int64_t lease_idle_ms(const struct lease *h); /* time since the last request was done; 0: it is busy */
/* Returns its runner, and starts another one if the last has ended. This counts as a use (lease_use).
 * NULL with err. */
struct runner *lease_runner(struct runners *rs, struct lease *h, struct error *err);
/* Counts as a use of the sandbox, and of those that it ends with or that end with it. */
void lease_use(struct lease *h);
/* Returns the runner that it has, or NULL if that has ended. This does not count as a use. */
struct runner *lease_living(const struct lease *h);
/* A spare sandbox is one that its client may do without: it is ended when there is no room for another one
 * (runners_create()). Its next use ends this state. */
bool lease_spare(const struct lease *h);
void lease_set_spare(struct lease *h, bool spare);

/* What a client's API wants to know of the sandbox later: an object of at most LEASE_FACTS bytes as text,
 * which the next front knows too. {"pauses": true}: at its end it is paused. lease_set_facts() takes it;
 * false: it is too long, and nothing has changed. */
#define LEASE_FACTS 16384
const struct json *lease_facts(const struct lease *h); /* NULL: there are none */
bool lease_set_facts(struct lease *h, struct json *facts);
/* From now on it ends at that time(), and those within it too, whether used or not; 0: as others do. */
void lease_set_until(struct lease *h, int64_t until);
/* All that runs in it stands still, and it is kept for PAUSED_S, whether used or not. Its next use lets it go
 * on, and from then on it ends as others do. false: it is busy, or not up. */
#define PAUSED_S 86400
bool lease_pause(struct lease *h);
bool lease_paused(const struct lease *h);
int64_t lease_until(const struct lease *h); /* time() at which it ends if nobody uses it; 0: never */

/* Calls fn for each sandbox that a client has, oldest first. fn may end none. */
void runners_each(struct runners *rs, const char *client, void (*fn)(void *ctx, struct lease *h), void *ctx)
    __attribute__((nonnull(1, 2, 3)));

struct runners_counts {
    unsigned held, busy, pool, spare; /* at present; pool counts only those that are up */
    unsigned waiting;                 /* requests in the queue, at present */
    /* since the start of the front */
    uint64_t created, expired, stopped;
    uint64_t from_pool;      /* handed out of the pool */
    uint64_t found_again;    /* taken over from an earlier front */
    uint64_t died;           /* runners that ended by themselves */
    uint64_t gave_way;       /* spare ones that were ended for another one */
    struct histogram waited; /* how long each request for a new sandbox was in the queue, in seconds */
};
void runners_counts(const struct runners *rs, struct runners_counts *out);

#endif
