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
#include "runner/lease.h"
#include "runner/served.h"

#define CONVERSATION_MAX 256
#define FULL             "\ngo on in one of them, stop one that is not needed, or try again later"

static unsigned count(const struct runners *rs, bool pooled)
{
    unsigned n = 0;

    for (const struct lease *h = rs->all; h; h = h->next)
        n += h->pooled == pooled;
    return n;
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
        if (lease_start(h, NULL) < 0) {
            lease_fail_in_pool(h);
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

static void end(struct lease *h, bool expired)
{
    struct runners *rs = h->rs;
    int64_t now = (int64_t)time(NULL);

    lease_write_note(h, now, expired);
    past_add(&rs->past, h->id, expired, now);
    lease_hide(h); /* those whose requests fail now would end it again */
    if (h->runner && runner_lost(h->runner))
        runner_end(steal(&h->runner));
    if (!h->runner && !expired)
        (void)lease_start(h, NULL); /* to remove the sandbox. One that expired ends by itself. */
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
        if (rs->o.ttl_ms > 0 && !h->pooled && !lease_is_busy(h) && now >= lease_idle_since(h) + rs->o.ttl_ms)
            end(h, true);
    }
    fill_pool(rs);
    runners_plan(rs);
}

void runners_plan(struct runners *rs)
{
    int64_t at = INT64_MAX, now = clock_ms();

    for (const struct lease *h = rs->all; h && rs->o.ttl_ms > 0; h = h->next)
        if (!h->pooled) {
            int64_t due = (lease_is_busy(h) ? now : lease_idle_since(h)) + rs->o.ttl_ms;

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

    if (strncmp(name, LEASE_PREFIX, strlen(LEASE_PREFIX)) != 0
        || strcmp(name + strlen(LEASE_PREFIX), h->id) != 0 || !r)
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
        lease_write_note(h, 0, false);
        rs->counts.found_again++;
        return h;
    }
    lease_write_note(h, now, true);
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
    runners_plan(rs);
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
        if (lease_start(h, err) < 0) {
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
        if (h->spare && is_for(h, client) && !lease_is_busy(h)
            && (!oldest || lease_idle_since(h) < lease_idle_since(oldest)))
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
    lease_write_note(h, 0, false); /* before anybody knows the id, so that it is never used twice */
    rs->counts.created++;
    runners_plan(rs);
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
    runners_plan(rs);
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
        out->busy += !h->pooled && lease_is_busy(h);
    }
}
