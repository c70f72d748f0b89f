/* runners.c - see runners.h. */
#include "runner/runners.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/random.h"
#include "json/json.h"
#include "process/loop.h"
#include "records/owner.h"
#include "records/record.h"
#include "records/registry.h"
#include "runner/past.h"
#include "runner/served.h"

#define PREFIX           "srv-"
#define CONVERSATION_MAX 256
#define POOL_IDLE_MS     10000 /* for which a sandbox in the pool outlives its runner */
#define POOL_AGAIN_MS    10000 /* to wait after a start in the pool has failed */
#define FULL             "\nstop one that is not needed, or try again later"

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

static void plan(struct runners *rs);

static unsigned count(const struct runners *rs, bool pooled)
{
    unsigned n = 0;

    for (const struct lease *h = rs->all; h; h = h->next)
        n += h->pooled == pooled;
    return n;
}

static void write_note(const struct lease *h, int64_t ended, bool expired)
{
    if (h->rs->o.named)
        served_write(h->id, &(struct served){.conversation = h->conversation,
                                             .client = h->client,
                                             .owner = h->rs->owner,
                                             .created = h->created,
                                             .ended = ended,
                                             .expired = expired});
}

/* ---- one sandbox ---- */

static struct lease *lease_new(struct runners *rs)
{
    struct lease *h = xcalloc(1, sizeof *h), **last = &rs->all;

    h->rs = rs;
    h->created = (int64_t)time(NULL);
    h->used = clock_ms();
    while (*last)
        last = &(*last)->next;
    *last = h;
    return h;
}

/* From now on nobody finds it. */
static void lease_hide(struct lease *h)
{
    struct lease **p = &h->rs->all;

    while (*p != h)
        p = &(*p)->next;
    *p = h->next;
}

static void lease_free(struct lease *h)
{
    free(h->conversation);
    free(h->client);
    free(h);
}

static void lease_remove(struct lease *h)
{
    lease_hide(h);
    lease_free(h);
}

static void on_gone(void *ctx, struct runner *r)
{
    struct lease *h = ctx;
    struct runners *rs = h->rs;

    runner_free(r);
    h->runner = NULL;
    h->again = true;
    rs->counts.died++;
    if (h->pooled) {
        lease_remove(h);
        rs->pool_at = clock_ms() + POOL_AGAIN_MS;
    }
    plan(rs);
}

static void on_ready(void *ctx, struct runner *r, const struct error *err)
{
    struct lease *h = ctx;
    struct runners *rs = h->rs;

    if (!err || !h->pooled)
        return;
    runner_end(r);
    lease_remove(h);
    rs->pool_at = clock_ms() + POOL_AGAIN_MS;
    plan(rs);
}

static int start(struct lease *h, struct error *err)
{
    struct runners *rs = h->rs;
    char name[sizeof PREFIX + RUNNERS_ID];

    snprintf(name, sizeof name, PREFIX "%s", h->id);
    h->runner = runner_start(&(struct runner_options){.loop = rs->o.loop,
                                                      .starter = rs->o.starter,
                                                      .name = rs->o.named ? name : NULL,
                                                      .idle_ms = h->pooled ? POOL_IDLE_MS : rs->o.ttl_ms,
                                                      .ready = on_ready,
                                                      .gone = on_gone,
                                                      .ctx = h},
                             err);
    if (h->runner && h->again)
        runner_ask(h->runner, "again", NULL, -1, &(struct runner_listener){0});
    h->again = false;
    return h->runner ? 0 : -1;
}

/* ---- the pool ---- */

static void fill_pool(struct runners *rs)
{
    unsigned waiting = count(rs, true), all = waiting + count(rs, false);

    if (clock_ms() < rs->pool_at)
        return;
    for (; waiting < rs->o.pool && all < rs->o.max; waiting++, all++) {
        struct lease *h = lease_new(rs);

        random_hex(h->id, RUNNERS_ID);
        h->pooled = true;
        if (start(h, NULL) < 0) {
            lease_remove(h);
            rs->pool_at = clock_ms() + POOL_AGAIN_MS;
            return;
        }
    }
}

/* Takes a sandbox that is up from the pool, or else one that is starting. */
static struct lease *from_pool(struct runners *rs)
{
    struct lease *found = NULL;

    for (struct lease *h = rs->all; h; h = h->next)
        if (h->pooled && (!found || (!runner_facts(found->runner) && runner_facts(h->runner))))
            found = h;
    return found;
}

/* ---- time ---- */

static bool is_busy(const struct lease *h)
{
    return h->runner && runner_busy(h->runner);
}

static int64_t idle_since(const struct lease *h)
{
    int64_t done = h->runner ? runner_done_at(h->runner) : 0;

    return done > h->used ? done : h->used;
}

static void end(struct lease *h, bool expired)
{
    struct runners *rs = h->rs;
    int64_t now = (int64_t)time(NULL);

    write_note(h, now, expired);
    past_add(&rs->past, h->id, expired, now);
    lease_hide(h); /* those whose requests fail now would end it again */
    if (h->runner && runner_lost(h->runner))
        runner_end(steal(&h->runner));
    if (!h->runner && !expired)
        (void)start(h, NULL); /* to remove the sandbox. One that expired ends by itself. */
    runner_end(h->runner);
    lease_free(h);
    rs->counts.expired += expired;
    rs->counts.stopped += !expired;
}

static void on_time(void *ctx)
{
    struct runners *rs = ctx;
    int64_t now = clock_ms();

    past_forget_old(&rs->past);
    for (struct lease *h = rs->all, *next; h; h = next) {
        next = h->next;
        if (rs->o.ttl_ms > 0 && !h->pooled && !is_busy(h) && now >= idle_since(h) + rs->o.ttl_ms)
            end(h, true);
    }
    fill_pool(rs);
    plan(rs);
}

/* Sets the timer for the next sandbox that expires, or for the pool. */
static void plan(struct runners *rs)
{
    int64_t at = INT64_MAX, now = clock_ms();

    for (const struct lease *h = rs->all; h && rs->o.ttl_ms > 0; h = h->next)
        if (!h->pooled) {
            int64_t due = (is_busy(h) ? now : idle_since(h)) + rs->o.ttl_ms;

            at = due < at ? due : at;
        }
    if (rs->o.pool > count(rs, true)) {
        int64_t due = rs->pool_at > now ? rs->pool_at : now;

        at = count(rs, true) + count(rs, false) < rs->o.max && due < at ? due : at;
    }
    if (at < INT64_MAX)
        loop_timer(rs->o.loop, at, on_time, rs);
    else
        loop_timer_stop(rs->o.loop, rs);
}

/* ---- what an earlier front left ---- */

static void note_name(void *ctx, const char *name, const struct registry_holder *holder,
                      const struct record *r)
{
    struct lease *h = ctx;

    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || strcmp(name + strlen(PREFIX), h->id) != 0 || !r)
        return;
    h->again = true;
    if (holder->pid <= 0 && holder->since > 0) {
        int64_t idle = (int64_t)time(NULL) - holder->since;

        h->used = clock_ms() - (idle > 0 ? idle * 1000 : 0);
    }
}

/* Takes over a sandbox of an earlier front, if it still lives. */
static struct lease *adopt(struct runners *rs, const char *id)
{
    struct served n autorelease(served_release) = {0};
    int64_t now = (int64_t)time(NULL);

    if (served_read(id, &n) < 0)
        return NULL;
    if (n.ended) {
        past_add(&rs->past, id, n.expired, n.ended);
        return NULL;
    }
    enum owner_state front = owner_check(n.owner);
    if (front != OWNER_DEAD && front != OWNER_BEFORE_BOOT)
        return NULL; /* another front, which still lives, has it */
    struct lease *h = lease_new(rs);
    snprintf(h->id, sizeof h->id, "%s", id);
    h->conversation = steal(&n.conversation);
    h->client = steal(&n.client);
    h->created = n.created;
    registry_each(note_name, h);
    if (h->again) {
        write_note(h, 0, false);
        rs->counts.found_again++;
        return h;
    }
    write_note(h, now, true);
    past_add(&rs->past, id, true, now);
    lease_remove(h);
    return NULL;
}

static void adopt_one(void *ctx, const char *id)
{
    adopt(ctx, id);
}

/* ---- the interface ---- */

struct runners *runners_new(const struct runners_options *o)
{
    struct runners *rs = xcalloc(1, sizeof *rs);

    rs->o = *o;
    rs->past.noted = o->named;
    rs->owner = owner_self();
    if (o->named) {
        served_each(adopt_one, rs);
        past_sort(&rs->past);
        past_forget_old(&rs->past);
    }
    fill_pool(rs);
    plan(rs);
    return rs;
}

void runners_free(struct runners *rs, bool orderly)
{
    if (!rs)
        return;
    loop_timer_stop(rs->o.loop, rs);
    while (rs->all) {
        struct lease *h = rs->all;

        if (orderly && !h->pooled)
            end(h, false);
        else {
            runner_free(steal(&h->runner));
            lease_remove(h);
        }
    }
    past_release(&rs->past);
    free(rs->owner);
    free(rs);
}

static bool is_for(const struct lease *h, const char *client)
{
    return !h->pooled && (!client || !h->client || !strcmp(h->client, client));
}

struct lease *runners_find_conversation(struct runners *rs, const char *client, const char *conversation_id)
{
    for (struct lease *h = rs->all; h && conversation_id; h = h->next)
        if (is_for(h, client) && h->conversation && !strcmp(h->conversation, conversation_id))
            return h;
    return NULL;
}

/* Gives a client a sandbox from the pool, or a new one. From now on it outlives its runner. */
static struct lease *make_one(struct runners *rs, struct error *err)
{
    autojson struct json *arguments = json_object_of({"idle_ms", json_integer(rs->o.ttl_ms)});
    struct lease *h = from_pool(rs);

    rs->counts.from_pool += h != NULL;
    if (!h) {
        h = lease_new(rs);
        random_hex(h->id, RUNNERS_ID);
        if (start(h, err) < 0) {
            lease_remove(h);
            return NULL;
        }
    }
    h->pooled = false;
    h->created = (int64_t)time(NULL);
    h->used = clock_ms();
    runner_ask(h->runner, "hold", arguments, -1, &(struct runner_listener){0});
    return h;
}

/* Ends the spare sandbox that was not used for the longest time. False: there is none. */
static bool end_spare(struct runners *rs, const char *client)
{
    struct lease *oldest = NULL;

    for (struct lease *h = rs->all; h; h = h->next)
        if (h->spare && is_for(h, client) && !is_busy(h) && (!oldest || idle_since(h) < idle_since(oldest)))
            oldest = h;
    if (oldest)
        end(oldest, false);
    return oldest != NULL;
}

static unsigned count_of(const struct runners *rs, const char *client)
{
    unsigned n = 0;

    for (const struct lease *h = rs->all; h && client; h = h->next)
        n += !h->pooled && h->client && !strcmp(h->client, client);
    return n;
}

/* Makes sure that there may be another sandbox, in all and for this client. */
static int make_room(struct runners *rs, const char *client, struct error *err)
{
    unsigned most = rs->o.most ? rs->o.most(rs->o.ctx, client) : 0;

    if (most && count_of(rs, client) >= most && !end_spare(rs, client))
        return error_set(err, ERROR_BUSY, EDQUOT, "all sandboxes of this token are in use (%u)" FULL, most);
    if (count(rs, false) >= rs->o.max && !end_spare(rs, client))
        return error_set(err, ERROR_BUSY, 0, "all sandboxes are in use (%u)" FULL, rs->o.max);
    return 0;
}

struct lease *runners_create(struct runners *rs, const char *client, const char *conversation_id,
                             struct error *err)
{
    struct lease *h = runners_find_conversation(rs, client, conversation_id);

    if (h) {
        h->used = clock_ms();
        return h;
    }
    if (conversation_id && strlen(conversation_id) > CONVERSATION_MAX)
        return error_null(err, ERROR_USAGE, 0, "conversation_id: must have at most %d bytes",
                          CONVERSATION_MAX);
    if (make_room(rs, client, err) < 0 || !(h = make_one(rs, err)))
        return NULL;
    h->conversation = xstrdup(conversation_id);
    h->client = xstrdup(client);
    write_note(h, 0, false); /* before anybody knows the id, so that it is never used twice */
    rs->counts.created++;
    plan(rs);
    return h;
}

struct lease *runners_find(struct runners *rs, const char *client, const char *id, enum runners_absent *why)
{
    if (why)
        *why = RUNNERS_UNKNOWN;
    for (struct lease *h = rs->all; h; h = h->next)
        if (is_for(h, client) && !strcmp(h->id, id))
            return h;
    const struct ended *e = past_find(&rs->past, id);
    if (e && why)
        *why = e->expired ? RUNNERS_EXPIRED : RUNNERS_STOPPED;
    return NULL;
}

void runners_stop(struct runners *rs, struct lease *h)
{
    end(h, false);
    plan(rs);
}

const char *lease_id(const struct lease *h)
{
    return h->id;
}

const char *lease_conversation(const struct lease *h)
{
    return h->conversation;
}

int64_t lease_created(const struct lease *h)
{
    return h->created;
}

int64_t lease_idle_ms(const struct lease *h)
{
    return is_busy(h) ? 0 : clock_ms() - idle_since(h);
}

struct runner *lease_living(const struct lease *h)
{
    return h->runner;
}

void lease_set_spare(struct lease *h, bool spare)
{
    h->spare = spare;
}

struct runner *lease_runner(struct runners *rs, struct lease *h, struct error *err)
{
    h->used = clock_ms();
    h->spare = false;
    if (!h->runner)
        (void)start(h, err);
    plan(rs);
    return h->runner;
}

void runners_each(struct runners *rs, const char *client, void (*fn)(void *ctx, struct lease *h), void *ctx)
{
    for (struct lease *h = rs->all, *next; h; h = next) {
        next = h->next;
        if (is_for(h, client))
            fn(ctx, h);
    }
}

void runners_counts(const struct runners *rs, struct runners_counts *out)
{
    *out = rs->counts;
    for (const struct lease *h = rs->all; h; h = h->next) {
        out->held += !h->pooled;
        out->pool += h->pooled && runner_facts(h->runner) != NULL;
        out->busy += !h->pooled && is_busy(h);
    }
}
