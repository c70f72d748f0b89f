/* queue.c - who waits for a sandbox, whose turn it is, and for how long.
 *
 * RULE: Nobody who waits for a sandbox is overtaken by a request of the same client that came later, and no
 *     client waits while another one gets two.
 */
#include "front/queue.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "front/lease.h"
#include "process/loop.h"

static struct queue_place *queue_place_at(const struct owned_row *row)
{
    return (struct queue_place *)(uintptr_t)row;
}

/* ---- whose turn it is ---- */

struct first_of {
    struct queue_place *place; /* NULL: none so far */
};

static bool goes_first(const struct queue_place *a, const struct queue_place *b)
{
    return a->turn < b->turn || (a->turn == b->turn && a->number < b->number);
}

static void find_first(void *ctx, struct owned_row *row)
{
    struct first_of *f = ctx;
    struct queue_place *p = queue_place_at(row);

    if (!p->passed && (!f->place || goes_first(p, f->place)))
        f->place = p;
}

static struct queue_place *first_in_turn(const struct runners *rs)
{
    struct first_of f = {NULL};

    owned_each_of_all(&rs->waiting, find_first, &f);
    return f.place;
}

static void set_passed(void *ctx, struct owned_row *row)
{
    queue_place_at(row)->passed = ctx != NULL;
}

static bool any_place(const struct owned_row *row, const void *key)
{
    (void)row;
    (void)key;
    return true;
}

/* The turn of a newcomer: one after the last of its client's own that wait, and not before those to whom a
 * sandbox was given already. */
static uint64_t next_turn(const struct runners *rs, const char *client)
{
    const struct owned_row *last = owned_find(&rs->waiting, client, any_place, NULL); /* the newest */
    uint64_t turn = last ? queue_place_at(last)->turn : 0;

    return (turn > rs->turn ? turn : rs->turn) + 1;
}

/* ---- in and out ---- */

static void on_queue_time(void *ctx);

static void since_when(void *ctx, struct owned_row *row)
{
    int64_t *first = ctx, since = queue_place_at(row)->since;

    *first = since < *first ? since : *first;
}

static void plan_queue(struct runners *rs)
{
    int64_t first = INT64_MAX;

    owned_each_of_all(&rs->waiting, since_when, &first);
    if (first < INT64_MAX)
        loop_timer(rs->o.loop, first + rs->o.queue_ms, on_queue_time, &rs->waiting);
    else
        loop_timer_stop(rs->o.loop, &rs->waiting);
}

static void count_wait(struct runners *rs, int64_t since)
{
    histogram_add(&rs->counts.waited, HISTOGRAM_SECONDS, (double)(clock_ms() - since) / 1000);
}

static void queue_out(struct queue_place *p)
{
    struct runners *rs = steal(&p->rs);

    owned_take(&rs->waiting, &p->row);
    count_wait(rs, p->since);
    free(steal(&p->conversation));
}

static struct lease *create(struct runners *rs, const struct queue_want *w, struct error *err)
{
    struct lease *outer = w->outer ? runners_find(rs, w->client, w->outer->id, NULL) : NULL;

    return outer     ? runners_create_within(rs, w->client, outer, err)
           : w->once ? runners_create_once(rs, w->client, err)
                     : runners_create(rs, w->client, w->conversation, err);
}

/* What it waits for, if that can be had now. NULL with err. */
static struct lease *try_to_take(struct queue_place *p, bool *made, struct error *err)
{
    struct runners *rs = p->rs;
    const char *client = owned_by(&p->row);
    struct lease *outer = *p->outer ? runners_find(rs, client, p->outer, NULL) : NULL;

    *made = !p->conversation || !runners_find_conversation(rs, client, p->conversation);
    if (*p->outer && !outer)
        return error_null(err, ERROR_SANDBOX, 0, "the sandbox was ended meanwhile");
    return create(rs, &(struct queue_want){client, p->conversation, outer, p->once}, err);
}

/* False: it goes on waiting. */
static bool serve_place(struct queue_place *p, bool *full)
{
    struct runners *rs = p->rs;
    struct error err = {0};
    bool made;
    struct lease *h = try_to_take(p, &made, &err);

    if (!h && err.kind == ERROR_BUSY) {
        *full = err.code != EDQUOT;
        if (!*full)
            owned_each(&rs->waiting, owned_by(&p->row), set_passed, rs);
        return false;
    }
    if (h)
        rs->turn = p->turn;
    queue_out(p);
    p->end(p->ctx, h, made, h ? NULL : &err);
    return true;
}

static bool has_waited(const struct owned_row *row, const void *since)
{
    return queue_place_at(row)->since <= *(const int64_t *)since;
}

static void refuse_waiting(struct queue_place *p)
{
    struct error err = {0}, why = {0};
    bool made;
    struct lease *h = try_to_take(p, &made, &why); /* the conversation may have one meanwhile */
    double seconds = (double)((clock_ms() - p->since) / 100) / 10;

    if (!h && why.kind == ERROR_BUSY)
        error_set(&err, ERROR_BUSY, why.code, "%s, and none became free within %g s\n%s", why.text, seconds,
                  why.remedy);
    else
        err = why;
    queue_out(p);
    p->end(p->ctx, h, made, h ? NULL : &err);
}

/* Gives out what is free, in turn, and refuses those that have waited long enough. */
static void on_queue_time(void *ctx)
{
    struct runners *rs = (struct runners *)(void *)((char *)ctx - offsetof(struct runners, waiting));
    int64_t since = clock_ms() - rs->o.queue_ms;
    struct queue_place *p;
    struct owned_row *row;
    bool full = false;

    owned_each_of_all(&rs->waiting, set_passed, NULL);
    while (!full && (p = first_in_turn(rs)))
        serve_place(p, &full);
    while ((row = owned_find_of_all(&rs->waiting, has_waited, &since)))
        refuse_waiting(queue_place_at(row));
    plan_queue(rs);
}

/* ---- the interface ---- */

void queue_look(struct runners *rs)
{
    if (rs->waiting.n)
        loop_timer(rs->o.loop, clock_ms(), on_queue_time, &rs->waiting);
}

void queue_leave(struct queue_place *p)
{
    struct runners *rs = p->rs;

    if (!rs)
        return;
    queue_out(p);
    plan_queue(rs);
    queue_look(rs);
}

void queue_free(struct runners *rs)
{
    loop_timer_stop(rs->o.loop, &rs->waiting);
    owned_release(&rs->waiting);
}

static struct lease *begin_waiting(struct runners *rs, struct queue_place *p, const struct queue_want *w,
                                   struct error *err)
{
    if (owned_count(&rs->waiting, w->client) >= QUEUE_MAX)
        return error_null(err, ERROR_BUSY, 0,
                          "all sandboxes are in use, and %u requests wait for one\ntry again later",
                          QUEUE_MAX);
    p->turn = next_turn(rs, w->client);
    p->number = ++rs->number;
    p->since = clock_ms();
    p->once = w->once;
    p->passed = false;
    p->conversation = xstrdup(w->conversation);
    memcpy(p->outer, w->outer ? w->outer->id : "", w->outer ? sizeof p->outer : 1);
    p->rs = rs;
    owned_add(&rs->waiting, w->client, &p->row);
    if (rs->waiting.n == 1)
        plan_queue(rs);
    return NULL;
}

struct lease *queue_take(struct runners *rs, struct queue_place *p, const struct queue_want *w, bool *made,
                         struct error *err)
{
    struct lease *old = w->conversation ? runners_find_conversation(rs, w->client, w->conversation) : NULL,
                 *h = NULL;
    struct error why = {0};

    p->rs = NULL;
    *made = !old;
    if (old || !rs->waiting.n)
        h = create(rs, w, &why);
    if (h || (why.kind && why.kind != ERROR_BUSY) || rs->o.queue_ms <= 0) {
        if (!h && err)
            *err = why;
        if (h && *made)
            count_wait(rs, clock_ms());
        return h;
    }
    if (!why.kind) /* others wait already, perhaps for what this one need not have */
        queue_look(rs);
    return begin_waiting(rs, p, w, err);
}
