/* runners.c - makes and finds sandboxes, ends those that are idle or expired, fills the pool, and makes room
 * for a new one.
 *
 * RULE: An id is never guessed, reused or handed out twice, and a killed front's sandboxes are found again
 *     (front/served.c).
 */
#include "front/runners.h"

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
#include "front/lease.h"
#include "front/processes.h"
#include "front/queue.h"
#include "front/served.h"

#define CONVERSATION_MAX 256
#define ENDED_MAX        1000  /* ids of ended sandboxes that are remembered, of one client */
#define ENDED_S          86400 /* and for so long */
#define PAUSE_AGAIN_S    2     /* until a busy one is paused */
#define FULL             "\ngo on in one of them, stop one that is not needed, or try again later"

static size_t held(const struct runners *rs)
{
    return rs->living.n - owned_count(&rs->living, POOL);
}

/* ---- the pool ---- */

static void fill_pool(struct runners *rs)
{
    if (clock_ms() < rs->pool_at)
        return;
    while (owned_count(&rs->living, POOL) < rs->o.pool && rs->living.n < rs->o.max) {
        struct lease *h = lease_new(rs, NULL);

        owned_add(&rs->living, POOL, &h->row);
        if (lease_start(h, NULL) < 0) {
            lease_fail_in_pool(h);
            return;
        }
    }
}

static int64_t readiness(const struct owned_row *row)
{
    return runner_facts(lease_at(row)->runner) ? 0 : 1;
}

/* Takes a sandbox that is up out of the pool, or else one that is starting. */
static struct lease *from_pool(struct runners *rs)
{
    struct owned_row *row = owned_oldest(&rs->living, POOL, readiness);

    if (row)
        owned_take(&rs->living, row);
    return row ? lease_at(row) : NULL;
}

/* ---- those that ended ---- */

static int64_t when_ended(const struct owned_row *row)
{
    return lease_at(row)->ended;
}

static bool ended_before(const struct owned_row *row, const void *when)
{
    return lease_at(row)->ended < *(const int64_t *)when;
}

static void forget_lease(struct runners *rs, struct owned_row *row)
{
    if (rs->o.named)
        served_remove(lease_at(row)->id);
    owned_take(&rs->ended, row);
    lease_free(lease_at(row));
}

static void forget_old(struct runners *rs)
{
    int64_t before = (int64_t)time(NULL) - ENDED_S;
    struct owned_row *row;

    while ((row = owned_find_of_all(&rs->ended, ended_before, &before)))
        forget_lease(rs, row);
}

/* Remembers one that has ended and is in no table. */
static void remember_ended(struct lease *h, const char *client)
{
    struct runners *rs = h->rs;

    owned_add(&rs->ended, client, &h->row);
    while (owned_count(&rs->ended, client) > ENDED_MAX)
        forget_lease(rs, owned_oldest(&rs->ended, client, when_ended));
}

static bool is_within(const struct owned_row *row, const void *id)
{
    return !strcmp(lease_at(row)->outer, id);
}

/* From when it is in the other table nobody finds it: those whose requests fail now would end it again. */
static void end_lease(struct lease *h, bool expired)
{
    struct runners *rs = h->rs;
    const char *client = owned_by(&h->row);
    struct owned_row *inner;

    while ((inner = owned_find(&rs->living, client, is_within, h->id)))
        end_lease(lease_at(inner), expired);
    processes_end(h, expired ? "the sandbox was not found: it reached its end"
                             : "the sandbox was not found: it was ended");
    h->ended = (int64_t)time(NULL);
    h->expired = expired;
    lease_write_note(h);
    free(steal(&h->conversation));
    if (h->runner && runner_lost(h->runner))
        runner_end(steal(&h->runner));
    if (!h->runner && !expired && !h->once)
        (void)lease_start(h, NULL); /* to remove the sandbox. One that expired ends by itself. */
    struct runner *last = steal(&h->runner);
    owned_take(&rs->living, &h->row);
    if (!h->once)
        remember_ended(h, client);
    queue_look(rs);
    rs->counts.expired += expired;
    rs->counts.stopped += !expired;
    runner_end(last);
    if (h->once)
        lease_free(h);
}

/* ---- time ---- */

static int64_t expires(const struct lease *h)
{
    int64_t now = clock_ms(), since = lease_is_busy(h) ? now : lease_idle_since(h);

    if (h->until)
        return now + (h->until - (int64_t)time(NULL)) * 1000;
    return h->rs->o.ttl_ms > 0 && !lease_in_pool(h) ? since + h->rs->o.ttl_ms : INT64_MAX;
}

static bool has_expired(const struct owned_row *row, const void *now)
{
    return expires(lease_at(row)) <= *(const int64_t *)now;
}

/* Is it to be paused at its end? It is, or will be as soon as it is not busy. */
static bool pauses(struct lease *h)
{
    if (!json_bool(json_get(h->facts, "pauses"), false) || h->paused || !h->runner)
        return false;
    if (!lease_pause(h))
        lease_set_until(h, (int64_t)time(NULL) + PAUSE_AGAIN_S);
    return true;
}

/* Ends the sandboxes that nobody has used for their time, and fills the pool. */
static void end_idle(void *ctx)
{
    struct runners *rs = ctx;
    int64_t now = clock_ms();
    struct owned_row *row;

    forget_old(rs);
    while ((row = owned_find_of_all(&rs->living, has_expired, &now)))
        if (!pauses(lease_at(row)))
            end_lease(lease_at(row), true);
    fill_pool(rs);
    runners_plan(rs);
}

static void find_next(void *at, struct owned_row *row)
{
    int64_t *next = at, due = expires(lease_at(row));

    *next = due < *next ? due : *next;
}

void runners_plan(struct runners *rs)
{
    int64_t at = INT64_MAX, now = clock_ms();

    owned_each_of_all(&rs->living, find_next, &at);
    if (rs->o.pool > owned_count(&rs->living, POOL) && rs->living.n < rs->o.max) {
        int64_t due = rs->pool_at > now ? rs->pool_at : now;

        at = due < at ? due : at;
    }
    if (at < INT64_MAX)
        loop_timer(rs->o.loop, at, end_idle, rs);
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

/* Takes over a sandbox of an earlier front, or remembers that it has ended. */
static void adopt(void *ctx, const char *id)
{
    struct runners *rs = ctx;
    struct served_sandbox n autorelease(served_release) = {0};

    if (served_read(id, &n) < 0)
        return;
    enum owner_state front = n.ended ? OWNER_DEAD : owner_check(n.owner);
    if (front != OWNER_DEAD && front != OWNER_BEFORE_BOOT)
        return; /* another front, which still lives, has it */
    struct lease *h = lease_new(rs, id);
    h->conversation = steal(&n.conversation);
    snprintf(h->outer, sizeof h->outer, "%s", n.outer ? n.outer : "");
    h->created = n.created;
    h->ended = n.ended;
    h->expired = n.expired;
    h->until = n.until;
    h->paused = n.paused;
    h->facts = steal(&n.facts);
    if (!n.ended)
        registry_each(note_name, h);
    if (h->again) {
        owned_add(&rs->living, n.client, &h->row);
        rs->counts.found_again++;
    } else {
        if (!n.ended) {
            h->ended = (int64_t)time(NULL);
            h->expired = true;
        }
        remember_ended(h, n.client);
    }
    if (!n.ended)
        lease_write_note(h);
}

/* ---- the interface ---- */

struct runners *runners_new(const struct runners_options *o)
{
    struct runners *rs = xcalloc(1, sizeof *rs);

    rs->o = *o;
    rs->owner = owner_self();
    if (o->named) {
        served_each(adopt, rs);
        forget_old(rs);
    }
    fill_pool(rs);
    runners_plan(rs);
    return rs;
}

static bool is_any(const struct owned_row *row, const void *key)
{
    (void)row;
    (void)key;
    return true;
}

void runners_free(struct runners *rs, bool orderly)
{
    struct owned_row *row;

    if (!rs)
        return;
    loop_timer_stop(rs->o.loop, rs);
    while ((row = owned_find_of_all(&rs->living, is_any, NULL))) {
        struct lease *h = lease_at(row);

        if (orderly && !lease_in_pool(h)) {
            end_lease(h, false);
        } else {
            runner_free(steal(&h->runner));
            owned_take(&rs->living, row);
            lease_free(h);
        }
    }
    while ((row = owned_find_of_all(&rs->ended, is_any, NULL))) {
        owned_take(&rs->ended, row);
        lease_free(lease_at(row));
    }
    queue_free(rs);
    owned_release(&rs->living);
    owned_release(&rs->ended);
    argv_release(&rs->weaker);
    free(rs->owner);
    free(rs);
}

static bool has_conversation(const struct owned_row *row, const void *id)
{
    const char *conversation = lease_at(row)->conversation;

    return conversation && !strcmp(conversation, id);
}

struct lease *runners_find_conversation(struct runners *rs, const char *client, const char *conversation_id)
{
    struct owned_row *row = owned_find(&rs->living, client, has_conversation, conversation_id);

    return row ? lease_at(row) : NULL;
}

/* When a spare sandbox was last used. The others stay. */
static int64_t spare_since(const struct owned_row *row)
{
    const struct lease *h = lease_at(row);

    return h->spare && !lease_is_busy(h) ? lease_idle_since(h) : OWNED_STAYS;
}

static bool end_spare(struct runners *rs, struct owned_row *row)
{
    if (!row)
        return false;
    rs->counts.gave_way++;
    lease_at(row)->gave_way = true;
    end_lease(lease_at(row), false);
    return true;
}

static bool end_own_spare(struct runners *rs, const char *client)
{
    return end_spare(rs, owned_oldest(&rs->living, client, spare_since));
}

struct spare_of_others {
    const struct runners *rs;
    size_t own; /* sandboxes of the client that needs one */
    struct owned_row *oldest;
    int64_t since;
};

static void look_at_other(void *ctx, struct owned_row *row)
{
    struct spare_of_others *s = ctx;
    int64_t since = spare_since(row);

    if (since < s->since && owned_count(&s->rs->living, owned_by(row)) >= s->own + 2) {
        s->oldest = row;
        s->since = since;
    }
}

/* A client whose share is not its own alone (their numbers are more than there are) does not keep all for
 * conversations that nobody may come back to: but it is left with no fewer than the one that needs it. */
static bool end_spare_of_others(struct runners *rs, const char *client)
{
    struct spare_of_others s = {rs, owned_count(&rs->living, client), NULL, OWNED_STAYS};

    owned_each_of_all(&rs->living, look_at_other, &s);
    return end_spare(rs, s.oldest);
}

/* Makes sure that there may be another sandbox, in all and for this client. */
static int make_room(struct runners *rs, const char *client, struct error *err)
{
    unsigned most = rs->o.most ? rs->o.most(rs->o.ctx, client) : 0;

    if (most && owned_count(&rs->living, client) >= most && !end_own_spare(rs, client))
        return error_set(err, ERROR_BUSY, EDQUOT, "all sandboxes of this token are in use (%u)" FULL, most);
    if (held(rs) >= rs->o.max && !end_own_spare(rs, client) && !end_spare_of_others(rs, client))
        return error_set(err, ERROR_BUSY, 0, "all sandboxes are in use (%u)" FULL, rs->o.max);
    return 0;
}

/* Gives a client a sandbox from the pool, or a new one. From now on it outlives its runner. */
static struct lease *make_lease(struct runners *rs, const char *client, bool once, struct error *err)
{
    autojson struct json *arguments = json_object_of(
        {"idle_ms", json_integer(once ? ONCE_IDLE_MS : rs->o.ttl_ms)});
    struct lease *h;

    if (make_room(rs, client, err) < 0)
        return NULL;
    h = from_pool(rs);
    rs->counts.from_pool += h != NULL;
    if (!h)
        h = lease_new(rs, NULL);
    h->once = once;
    owned_add(&rs->living, client, &h->row);
    if (!h->runner && lease_start(h, err) < 0) {
        owned_take(&rs->living, &h->row);
        lease_free(h);
        return NULL;
    }
    h->created = (int64_t)time(NULL);
    h->used = clock_ms();
    runner_ask(h->runner, "hold", arguments, -1, &(struct runner_listener){0});
    rs->counts.created++;
    runners_plan(rs);
    return h;
}

struct lease *runners_create(struct runners *rs, const char *client, const char *conversation_id,
                             struct error *err)
{
    struct lease *h = conversation_id ? runners_find_conversation(rs, client, conversation_id) : NULL;

    if (h) {
        lease_use(h);
        return h;
    }
    if (conversation_id && strlen(conversation_id) > CONVERSATION_MAX)
        return error_null(err, ERROR_USAGE, 0, "conversation_id: must have at most %d bytes",
                          CONVERSATION_MAX);
    h = make_lease(rs, client, false, err);
    if (!h)
        return NULL;
    h->conversation = xstrdup(conversation_id);
    lease_write_note(h); /* before anybody knows the id, so that it is never used twice */
    return h;
}

struct lease *runners_create_once(struct runners *rs, const char *client, struct error *err)
{
    return make_lease(rs, client, true, err);
}

struct lease *runners_create_within(struct runners *rs, const char *client, struct lease *outer,
                                    struct error *err)
{
    lease_use(outer); /* and so it does not make room for the new one */
    struct lease *h = make_lease(rs, client, false, err);
    if (!h)
        return NULL;
    memcpy(h->outer, outer->id, sizeof h->outer);
    h->until = outer->until;
    lease_write_note(h);
    return h;
}

static bool has_id(const struct owned_row *row, const void *id)
{
    return !strcmp(lease_at(row)->id, id);
}

struct lease *runners_find(struct runners *rs, const char *client, const char *id, enum runners_absent *why)
{
    struct owned_row *row = owned_find(&rs->living, client, has_id, id), *ended;

    if (row)
        return lease_at(row);
    ended = owned_find(&rs->ended, client, has_id, id);
    if (why)
        *why = !ended                      ? RUNNERS_UNKNOWN
               : lease_at(ended)->expired  ? RUNNERS_EXPIRED
               : lease_at(ended)->gave_way ? RUNNERS_GAVE_WAY
                                           : RUNNERS_STOPPED;
    return NULL;
}

void runners_stop(struct runners *rs, struct lease *h)
{
    end_lease(h, false);
    runners_plan(rs);
}

struct each_lease {
    void (*fn)(void *ctx, struct lease *h);
    void *ctx;
};

static void each_one(void *ctx, struct owned_row *row)
{
    const struct each_lease *e = ctx;

    e->fn(e->ctx, lease_at(row));
}

void runners_each(struct runners *rs, const char *client, void (*fn)(void *ctx, struct lease *h), void *ctx)
{
    owned_each(&rs->living, client, each_one, &(struct each_lease){fn, ctx});
}

static void count_one(void *ctx, struct owned_row *row)
{
    const struct lease *h = lease_at(row);
    struct runners_counts *out = ctx;

    out->held += !lease_in_pool(h);
    out->spare += h->spare && !lease_is_busy(h);
    out->pool += lease_in_pool(h) && runner_facts(h->runner) != NULL;
    out->busy += !lease_in_pool(h) && lease_is_busy(h);
}

void runners_counts(const struct runners *rs, struct runners_counts *out)
{
    *out = rs->counts;
    out->waiting = (unsigned)rs->waiting.n;
    owned_each_of_all(&rs->living, count_one, out);
}
