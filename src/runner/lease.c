/* lease.c - see lease.h. */
#include "runner/lease.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "runner/served.h"

#define POOL_IDLE_MS  10000 /* for which a sandbox in the pool outlives its runner */
#define POOL_AGAIN_MS 10000 /* to wait after a start in the pool has failed */

void lease_write_note(const struct lease *h, int64_t ended, bool expired)
{
    if (h->rs->o.named)
        served_write(h->id, &(struct served){.conversation = h->conversation,
                                             .client = h->client,
                                             .owner = h->rs->owner,
                                             .created = h->created,
                                             .ended = ended,
                                             .expired = expired});
}

struct lease *lease_new(struct runners *rs)
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

void lease_hide(struct lease *h)
{
    struct lease **p = &h->rs->all;

    while (*p != h)
        p = &(*p)->next;
    *p = h->next;
}

void lease_free(struct lease *h)
{
    free(h->conversation);
    free(h->client);
    free(h);
}

void lease_remove(struct lease *h)
{
    lease_hide(h);
    lease_free(h);
}

void lease_fail_in_pool(struct lease *h)
{
    h->rs->pool_at = clock_ms() + POOL_AGAIN_MS;
    lease_remove(h);
}

static void on_gone(void *ctx, struct runner *r)
{
    struct lease *h = ctx;
    struct runners *rs = h->rs;

    runner_free(r);
    h->runner = NULL;
    h->again = true;
    rs->counts.died++;
    if (h->pooled)
        lease_fail_in_pool(h);
    runners_plan(rs);
}

static void on_ready(void *ctx, struct runner *r, const struct error *err)
{
    struct lease *h = ctx;
    struct runners *rs = h->rs;

    if (!err || !h->pooled)
        return;
    runner_end(r);
    lease_fail_in_pool(h);
    runners_plan(rs);
}

int lease_start(struct lease *h, struct error *err)
{
    struct runners *rs = h->rs;
    char name[sizeof LEASE_PREFIX + RUNNERS_ID];

    snprintf(name, sizeof name, LEASE_PREFIX "%s", h->id);
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

bool lease_is_busy(const struct lease *h)
{
    return h->runner && runner_busy(h->runner);
}

int64_t lease_idle_since(const struct lease *h)
{
    int64_t done = h->runner ? runner_done_at(h->runner) : 0;

    return done > h->used ? done : h->used;
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
    return lease_is_busy(h) ? 0 : clock_ms() - lease_idle_since(h);
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
        (void)lease_start(h, err);
    runners_plan(rs);
    return h->runner;
}
