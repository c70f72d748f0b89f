/* lease.c - one sandbox of a front: its runner, its use, its note. */
#include "front/lease.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/random.h"
#include "json/json.h"
#include "front/processes.h"
#include "front/queue.h"
#include "front/served.h"

#define POOL_IDLE_MS  10000 /* for which a sandbox in the pool outlives its runner */
#define WEAKER_MOST   16    /* lines on limits that are told */
#define POOL_AGAIN_MS 10000 /* to wait after a start in the pool has failed */

void lease_write_note(struct lease *h)
{
    struct error err = {0};

    if (h->rs->o.named && !h->once)
        (void)served_write(h->id,
                           &(struct served_sandbox){.conversation = h->conversation,
                                                    .client = (char *)(uintptr_t)owned_by(&h->row),
                                                    .outer = *h->outer ? h->outer : NULL,
                                                    .owner = h->rs->owner,
                                                    .created = h->created,
                                                    .ended = h->ended,
                                                    .expired = h->expired,
                                                    .until = h->until,
                                                    .paused = h->paused,
                                                    .facts = h->ended ? NULL : h->facts},
                           &err);
    xreplace(&h->unnoted, err.kind ? xstrdup(err.text) : NULL);
}

struct lease *lease_new(struct runners *rs, const char *id)
{
    struct lease *h = xcalloc(1, sizeof *h);

    h->rs = rs;
    if (id)
        snprintf(h->id, sizeof h->id, "%s", id);
    else
        random_hex(h->id, RUNNERS_ID);
    h->created = (int64_t)time(NULL);
    h->used = clock_ms();
    return h;
}

void lease_free(struct lease *h)
{
    processes_end(h, "the server is ending");
    free(h->conversation);
    free(h->unnoted);
    json_free(h->facts);
    free(h);
}

bool lease_in_pool(const struct lease *h)
{
    return !h->ended && !strcmp(owned_by(&h->row), POOL);
}

void lease_fail_in_pool(struct lease *h)
{
    h->rs->pool_at = clock_ms() + POOL_AGAIN_MS;
    owned_take(&h->rs->living, &h->row);
    lease_free(h);
}

static void on_gone(void *ctx, struct runner *r, bool replaced)
{
    struct lease *h = ctx;
    struct runners *rs = h->rs;

    processes_end(h, "the process that held the sandbox has ended");
    rs->counts.died++;
    if (replaced)
        return;
    runner_free(r);
    h->runner = NULL;
    h->again = true;
    if (lease_in_pool(h))
        lease_fail_in_pool(h);
    runners_plan(rs);
}

static void on_said(void *ctx, const struct json *said)
{
    processes_hear(ctx, said);
}

/* It can give way to another one from now on. */
static void on_idle(void *ctx)
{
    const struct lease *h = ctx;

    if (h->spare)
        queue_look(h->rs);
}

static bool was_told(const struct runners *rs, const char *text)
{
    for (size_t i = 0; i < rs->weaker.n; i++)
        if (!strcmp(rs->weaker.v[i], text))
            return true;
    return rs->weaker.n == WEAKER_MOST;
}

/* Says each line once, since all sandboxes have the same limits. */
static void tell_of_limits(struct runners *rs, const struct json *lines)
{
    for (const struct json *line = json_first(lines); rs->o.weaker && line; line = json_next(line))
        if (!was_told(rs, json_text(line))) {
            argv_push(&rs->weaker, json_text(line));
            rs->o.weaker(json_text(line));
        }
}

static void on_ready(void *ctx, struct runner *r, const struct error *err)
{
    struct lease *h = ctx;
    struct runners *rs = h->rs;

    if (!err)
        tell_of_limits(rs, json_get(runner_facts(r), "weaker"));
    if (!err || !lease_in_pool(h))
        return;
    runner_end(r);
    lease_fail_in_pool(h);
    runners_plan(rs);
}

/* Only once: a model would read it with each result. */
static char *on_notice(void *ctx)
{
    struct lease *h = ctx;

    if (h->warned)
        return NULL;
    char *text = lease_warning(h);
    h->warned = text != NULL;
    return text;
}

int lease_start(struct lease *h, struct error *err)
{
    struct runners *rs = h->rs;
    char name[sizeof LEASE_PREFIX + RUNNERS_ID];

    snprintf(name, sizeof name, LEASE_PREFIX "%s", h->id);
    h->runner = runner_start(
        &(struct runner_options){.loop = rs->o.loop,
                                 .starter = rs->o.starter,
                                 .name = rs->o.named && !h->once ? name : NULL,
                                 .only = h->once,
                                 .again = h->again,
                                 .idle_ms = lease_in_pool(h) ? POOL_IDLE_MS : rs->o.ttl_ms,
                                 .ready = on_ready,
                                 .gone = on_gone,
                                 .idle = on_idle,
                                 .notice = on_notice,
                                 .process = on_said,
                                 .ctx = h},
        err);
    h->again = false;
    return h->runner ? 0 : -1;
}

bool lease_is_busy(const struct lease *h)
{
    return h->runner && (runner_busy(h->runner) || processes_watched(h));
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

const char *lease_outer(const struct lease *h)
{
    return *h->outer ? h->outer : NULL;
}

char *lease_warning(const struct lease *h)
{
    return h->unnoted
               ? xasprintf("if the server is killed, it will not find this sandbox again: %s", h->unnoted)
               : NULL;
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

bool lease_spare(const struct lease *h)
{
    return h->spare;
}

void lease_set_spare(struct lease *h, bool spare)
{
    h->spare = spare;
    if (spare)
        queue_look(h->rs);
}

const struct json *lease_facts(const struct lease *h)
{
    return h->facts;
}

bool lease_set_facts(struct lease *h, struct json *facts)
{
    autofree char *text = json_print(facts);

    if (strlen(text) > LEASE_FACTS) {
        json_free(facts);
        return false;
    }
    json_free(h->facts);
    h->facts = facts;
    lease_write_note(h);
    return true;
}

struct new_end {
    const struct lease *outer;
    int64_t until;
};

/* Those within it would otherwise end when nobody uses them. */
static void end_together(void *ctx, struct owned_row *row)
{
    const struct new_end *e = ctx;
    struct lease *h = lease_at(row);

    if (h != e->outer && strcmp(h->outer, e->outer->id) != 0)
        return;
    h->until = e->until;
    lease_write_note(h);
}

void lease_set_until(struct lease *h, int64_t until)
{
    owned_each(&h->rs->living, owned_by(&h->row), end_together, &(struct new_end){h, until});
    runners_plan(h->rs);
}

static void freeze(const struct lease *h, bool on)
{
    autojson struct json *m = json_object_of({"do", json_string("freeze")}, {"freeze", json_boolean(on)});

    if (h->runner)
        runner_process(h->runner, m);
}

bool lease_pause(struct lease *h)
{
    if (!h->runner || !runner_facts(h->runner) || runner_busy(h->runner))
        return false;
    freeze(h, true);
    h->paused = true;
    lease_set_until(h, (int64_t)time(NULL) + PAUSED_S);
    return true;
}

bool lease_paused(const struct lease *h)
{
    return h->paused;
}

/* It is used again. A runner that is only starting attaches to a sandbox that stands still. */
static void thaw(struct lease *h)
{
    freeze(h, false);
    h->paused = false;
    lease_set_until(h, 0);
}

int64_t lease_until(const struct lease *h)
{
    int64_t since = lease_is_busy(h) ? clock_ms() : lease_idle_since(h);

    if (h->until)
        return h->until;
    return h->rs->o.ttl_ms > 0 ? (int64_t)time(NULL) + (since + h->rs->o.ttl_ms - clock_ms()) / 1000 : 0;
}

static void use_one(void *ctx, struct owned_row *row)
{
    const char *outer = ctx;
    struct lease *h = lease_at(row);

    if (!strcmp(h->id, outer) || !strcmp(h->outer, outer))
        h->used = clock_ms();
}

void lease_use(struct lease *h)
{
    owned_each(&h->rs->living, owned_by(&h->row), use_one, *h->outer ? h->outer : h->id);
    h->spare = false;
}

struct runner *lease_runner(struct runners *rs, struct lease *h, struct error *err)
{
    lease_use(h);
    if (h->unnoted) /* there may be room now */
        lease_write_note(h);
    if (!h->runner && h->once)
        return error_null(err, ERROR_SANDBOX, 0, "the process that held the sandbox has ended");
    if (!h->runner)
        (void)lease_start(h, err);
    if (h->runner && h->paused)
        thaw(h);
    runners_plan(rs);
    return h->runner;
}
