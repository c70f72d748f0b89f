/* reaper.c - a list of processes, each with a timer: there is no descriptor that tells of their end on every
 * kernel that we run on. */
#include "front/reaper.h"

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/mem.h"
#include "process/loop.h"
#include "process/signals.h"

#define FIRST_MS 5   /* the first wait before it is looked at; each further wait is twice as long */
#define MOST_MS  200 /* up to this */

struct ending_runner {
    struct ending_runner *next;
    struct loop *loop;
    pid_t pid;
    int64_t killed_at, wait_ms;
};

static struct ending_runner *all;

static void forget_dying(struct ending_runner *d)
{
    struct ending_runner **p = &all;

    loop_timer_stop(d->loop, d);
    while (*p != d)
        p = &(*p)->next;
    *p = d->next;
    free(d);
}

static void look_for_end(void *ctx)
{
    struct ending_runner *d = ctx;
    int status;

    if (waitpid(d->pid, &status, WNOHANG) != 0) {
        forget_dying(d);
        return;
    }
    if (clock_ms() >= d->killed_at)
        kill(d->pid, SIGKILL);
    loop_timer(d->loop, clock_ms() + d->wait_ms, look_for_end, d);
    d->wait_ms = d->wait_ms < MOST_MS ? d->wait_ms * 2 : MOST_MS;
}

void reaper_take(struct loop *loop, pid_t pid)
{
    struct ending_runner *d = xmalloc(sizeof *d);

    *d = (struct ending_runner){
        .next = all, .loop = loop, .pid = pid, .killed_at = clock_ms() + REAPER_MS, .wait_ms = FIRST_MS};
    all = d;
    look_for_end(d);
}

unsigned reaper_settle(struct loop *loop, int ms)
{
    int64_t until = clock_ms() + ms, now;
    unsigned signals = loop_end_signals(loop), n = 0;

    while (all && (now = clock_ms()) < until && loop_end_signals(loop) == signals)
        loop_wait(loop, (int)(until - now));
    for (const struct ending_runner *d = all; d; d = d->next)
        n++;
    return n;
}

void reaper_let_go(void)
{
    while (all)
        forget_dying(all);
}
