/* loop.c - the one poll loop: plain poll(2) over small arrays.
 *
 * Callbacks may change the loop in any way while it serves. Each watch and timer has a serial number, and a
 * round serves only those that existed when it began. So if a descriptor is closed and its number is used for
 * a new watch in the same round, the new watch is not served with the old one's events.
 */
#include "process/loop.h"

#include <assert.h>
#include <limits.h>
#include <sched.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "process/private.h"

#define EXPECT_US 200 /* twice a short cell */

struct watch {
    int fd;
    short events;
    loop_fn *fn;
    void *ctx;
    uint64_t made;
};

struct timer {
    int64_t at_ms;
    loop_fn *fn;
    void *ctx;
    uint64_t made;
    bool deadline; /* kept also while a callback waits in loop_poll() */
};

struct loop *loop_new(void)
{
    struct loop *l = xcalloc(1, sizeof(*l));
    l->signals.fd = -1;
    return l;
}

void loop_free(struct loop *l)
{
    if (!l)
        return;
    signals_release(&l->signals);
    free(l->watches);
    free(l->timers);
    free(l);
}

static struct watch *find_watch(struct loop *l, int fd)
{
    for (size_t i = 0; i < l->n_watches; i++) {
        if (l->watches[i].fd == fd)
            return &l->watches[i];
    }
    return NULL;
}

void loop_watch(struct loop *l, int fd, short events, loop_fn *fn, void *ctx)
{
    assert(fd >= 0 && fn != NULL);
    struct watch *w = find_watch(l, fd);
    if (w != NULL && w->fn == fn && w->ctx == ctx) {
        w->events = events;
        return;
    }
    if (!w) {
        l->watches = xreallocarray(l->watches, l->n_watches + 1, sizeof(*w));
        w = &l->watches[l->n_watches++];
    }
    *w = (struct watch){.fd = fd, .events = events, .fn = fn, .ctx = ctx, .made = ++l->made};
}

void loop_unwatch(struct loop *l, int fd)
{
    struct watch *w = find_watch(l, fd);
    if (!w)
        return;
    size_t at = (size_t)(w - l->watches);
    memmove(w, w + 1, (--l->n_watches - at) * sizeof(*w));
}

static struct timer *find_timer(struct loop *l, const void *ctx)
{
    for (size_t i = 0; i < l->n_timers; i++) {
        if (l->timers[i].ctx == ctx)
            return &l->timers[i];
    }
    return NULL;
}

static void remove_timer(struct loop *l, struct timer *t)
{
    size_t at = (size_t)(t - l->timers);
    memmove(t, t + 1, (--l->n_timers - at) * sizeof(*t));
}

static struct timer *set_loop_timer(struct loop *l, int64_t at_ms, loop_fn *fn, void *ctx)
{
    assert(fn != NULL);
    struct timer *t = find_timer(l, ctx);
    if (!t) {
        l->timers = xreallocarray(l->timers, l->n_timers + 1, sizeof(*t));
        t = &l->timers[l->n_timers++];
    }
    *t = (struct timer){.at_ms = at_ms, .fn = fn, .ctx = ctx, .made = ++l->made};
    return t;
}

void loop_timer(struct loop *l, int64_t at_ms, loop_fn *fn, void *ctx)
{
    set_loop_timer(l, at_ms, fn, ctx);
}

void loop_deadline(struct loop *l, int64_t at_ms, loop_fn *fn, void *ctx)
{
    set_loop_timer(l, at_ms, fn, ctx)->deadline = true;
}

void loop_timer_stop(struct loop *l, void *ctx)
{
    struct timer *t = find_timer(l, ctx);
    if (t != NULL)
        remove_timer(l, t);
}

struct pollfd *loop_fds(const struct loop *l, size_t first, size_t *n)
{
    struct pollfd *out = xcalloc(first + l->n_watches + 1, sizeof(*out));
    *n = first;
    if (l->signals.fd >= 0)
        out[(*n)++] = (struct pollfd){.fd = l->signals.fd, .events = POLLIN};
    for (size_t i = 0; i < l->n_watches; i++)
        out[(*n)++] = (struct pollfd){.fd = l->watches[i].fd, .events = l->watches[i].events};
    return out;
}

/* timeout_ms, cut to the next timer, or to the next deadline. */
static int cut_timeout(const struct loop *l, int timeout_ms, bool deadlines)
{
    int64_t next = INT64_MAX;
    for (size_t i = 0; i < l->n_timers; i++)
        if (l->timers[i].at_ms < next && (l->timers[i].deadline || !deadlines))
            next = l->timers[i].at_ms;
    if (next == INT64_MAX)
        return timeout_ms;
    int64_t now = clock_ms(), left = next < now ? 0 : next - now < INT_MAX ? next - now : INT_MAX;
    return timeout_ms < 0 || left < timeout_ms ? (int)left : timeout_ms;
}

int loop_timeout(const struct loop *l, int timeout_ms)
{
    return l->signals.news ? 0 : cut_timeout(l, timeout_ms, false);
}

static int serve_timers(struct loop *l, uint64_t upto, bool deadlines)
{
    int served = 0;
    int64_t now = clock_ms();
    for (;;) {
        struct timer *due = NULL;
        for (size_t i = 0; i < l->n_timers; i++) {
            struct timer *t = &l->timers[i];
            if (t->at_ms <= now && t->made <= upto && (t->deadline || !deadlines)
                && (!due || t->at_ms < due->at_ms))
                due = t;
        }
        if (!due)
            return served;
        struct timer t = *due;
        remove_timer(l, due);
        t.fn(t.ctx);
        served++;
    }
}

short loop_revents(const struct loop *l)
{
    return l->revents;
}

int loop_serve(struct loop *l, const struct pollfd *fds, size_t n)
{
    int served = l->signals.news ? 1 : 0;
    uint64_t upto = l->made;
    l->signals.news = false;
    if (signals_read(&l->signals))
        served++;
    for (size_t i = 0; i < n; i++) {
        if (fds[i].revents == 0 || fds[i].fd == l->signals.fd)
            continue;
        struct watch *w = find_watch(l, fds[i].fd);
        if (!w || w->made > upto)
            continue;
        /* An earlier callback may have narrowed what the watch asks for since the poll. */
        l->revents = fds[i].revents & (short)(w->events | POLLERR | POLLHUP | POLLNVAL);
        if (l->revents == 0)
            continue;
        w->fn(w->ctx);
        served++;
    }
    return served + serve_timers(l, upto, false);
}

void loop_expect(struct loop *l)
{
    static int processors;

    if (processors == 0) {
        cpu_set_t set;

        processors = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    }
    if (processors > 1)
        l->awake_until_us = clock_us() + EXPECT_US;
}

/* poll(), without going to sleep while an answer is expected. Whoever else wants this processor gets it. */
static int poll_awake(struct loop *l, struct pollfd *fds, size_t n, int timeout_ms)
{
    while (l->awake_until_us != 0 && timeout_ms != 0) {
        int ready = poll(fds, n, 0);

        if (ready != 0)
            return ready;
        sched_yield();
        if (clock_us() > l->awake_until_us)
            l->awake_until_us = 0;
    }
    return poll(fds, n, timeout_ms);
}

int loop_wait(struct loop *l, int timeout_ms)
{
    int64_t end = timeout_ms < 0 ? INT64_MAX : clock_ms() + timeout_ms;
    for (;;) {
        size_t n;
        struct pollfd *fds = loop_fds(l, 0, &n);
        int64_t left = timeout_ms < 0 ? -1 : end - clock_ms();
        int ready = poll_awake(l, fds, n, loop_timeout(l, left < 0 && timeout_ms >= 0 ? 0 : (int)left));
        if (ready < 0)
            /* After a signal, or with more descriptors than the limit, timers that are due are still served.
             */
            n = 0;
        int served = loop_serve(l, fds, n);
        free(fds);
        if (served > 0 || clock_ms() >= end)
            return served;
    }
}

void loop_poll(struct loop *l, int fd, short events, int ms)
{
    struct pollfd fds[2] = {{.fd = fd, .events = events},
                            {.fd = l != NULL ? l->signals.fd : -1, .events = POLLIN}};
    poll(fds, countof(fds), l ? cut_timeout(l, ms, true) : ms);
    if (!l || l->blocked) /* a deadline's callback must not wait for its like */
        return;
    l->blocked = true;
    serve_timers(l, l->made, true);
    l->blocked = false;
}

bool loop_blocked(const struct loop *l)
{
    return l->blocked;
}
