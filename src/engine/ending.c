/* ending.c - the end of a start: the channel closed, the container or the namespace gone, its control
 * group and its directory removed.
 *
 * While the program goes on it waits for that. At its own end nobody should: closing the channel ends the
 * supervisor and everything inside, and what an engine then takes to remove the container (0.1 s, and many
 * times that on a busy machine) is the keeper's business (keeper.h), as all of it is when the program is
 * killed. The keeper leans on nobody inside: it kills the first process there. If it is killed too, the next
 * start finds what there is by its record.
 */
#include "engine/attempt.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/loop.h"
#include "base/mem.h"
#include "engine/removal.h"
#include "engine/job.h"
#include "records/owner.h"

#define CLIENT_MS  10000 /* a call of an engine's client */
#define AT_ONCE_MS 30    /* what the program's end waits for itself: bwrap is gone after 2 ms */
#define ENDING_MS  300   /* for the first process inside to end, where we may not kill it ourselves */
#define SETTLE_MS \
    100 /* then for the engine, which removes the container by itself (--rm) and may refuse us while it is \
           at it */
#define STEP_MS     10    /* between looks for the first process inside */
#define PATIENCE_MS 1500  /* with an engine that refuses to remove a container */
#define AFTER_MS    10000 /* for all the rest of what goes on after us */

static void close_channel(struct attempt *a)
{
    if (a->listener >= 0)
        loop_unwatch(a->loop, a->listener);
    fd_close(&a->listener);
    if (a->channel_out != a->channel) {
        if (a->channel_out >= 0)
            loop_unwatch(a->loop, a->channel_out);
        fd_close(&a->channel_out);
    }
    if (a->channel >= 0)
        loop_unwatch(a->loop, a->channel);
    fd_close(&a->channel);
    a->channel_out = -1;
    if (a->info >= 0)
        loop_unwatch(a->loop, a->info);
    fd_close(&a->info);
}

static int left_ms(int64_t until)
{
    int64_t left = until - clock_ms();

    return left < 0 ? 0 : left > CLIENT_MS ? CLIENT_MS : (int)left;
}

/* True when it is gone. A busy engine may refuse us for seconds while it removes one that ended by itself: so
 * long it is asked again. */
static bool remove_container(struct attempt *a, int64_t until, int patience_ms)
{
    struct job *j = engine_rm(a->engine->name, a->name, NULL, NULL, NULL);

    for (int wait = 100, waited = 0; j; waited += wait, wait = wait < 800 ? 2 * wait : wait) {
        job_wait(j, left_ms(until));
        enum engine_rm_end end = engine_rm_end(j);
        job_free(j);
        if (end != RM_REFUSED || waited + wait > patience_ms || left_ms(until) <= 2 * wait)
            return end == RM_GONE;
        poll(NULL, 0, wait);
        j = engine_rm(a->engine->name, a->name, NULL, NULL, NULL);
    }
    return false;
}

/* Was there a container at any time? */
static bool has_container(const struct attempt *a)
{
    return a->engine->container && a->name && (a->taken || (a->client && a->fault != FAULT_ABSENT));
}

static bool end_container(struct attempt *a, int64_t until)
{
    /* A client that is killed in the middle of a start leaves a container that nobody asked for; so let it
     * come to its end. It does soon: the supervisor finds no listener. */
    if (a->client && !a->stdio)
        job_wait(a->client, left_ms(until) / 2);
    return !has_container(a) || remove_container(a, until, PATIENCE_MS);
}

static void stop_jobs(struct attempt *a)
{
    job_free(a->join);
    job_free(a->client);
    job_free(a->inspect);
    a->join = a->client = a->inspect = NULL;
}

/* One that was gone before its start could be read is none any more. */
static bool knows_peer(const struct attempt *a)
{
    return a->peer > 1 && a->peer_start;
}

/* The first process inside is bwrap's only child. */
static void find_peer(struct attempt *a)
{
    char path[64];
    struct buf text autorelease(buf_release) = BUF_INIT(64);
    pid_t bwrap = a->client ? a->client->pid : 0;

    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)bwrap, (int)bwrap);
    if (knows_peer(a) || bwrap <= 1 || file_read(path, 64, &text, NULL) != 0)
        return;
    a->peer = (pid_t)strtol(buf_str(&text), NULL, 10);
    a->peer_start = a->peer > 1 ? owner_start_time(a->peer) : 0;
}

/* A bwrap that hangs. Stopped, it makes no first process any more: what it has made is found, and both are
 * killed. */
static bool end_hung(struct attempt *a)
{
    kill(a->client->pid, SIGSTOP);
    poll(NULL, 0, 2 * STEP_MS);
    find_peer(a);
    bool gone = !knows_peer(a) || attempt_kill_peer(a, 1000);
    child_kill(a->client->pid, SIGKILL);
    return gone;
}

/* Whoever hangs in there does not see that the channel has ended. True: nothing runs any more. wait: job_wait
 * for a child of ours, else job_attend. */
static bool end_namespace(struct attempt *a, int wait_ms, bool (*wait)(struct job *, int))
{
    int64_t end = clock_ms() + wait_ms;

    for (;;) {
        bool ended = !a->client || wait(a->client, 0);

        if (!ended)
            find_peer(a); /* bwrap may be about to make it */
        if (knows_peer(a) ? attempt_kill_peer(a, (int)(end - clock_ms())) : ended)
            return true;
        if (clock_ms() >= end)
            return !ended && end_hung(a);
        poll(NULL, 0, STEP_MS);
    }
}

/* Nothing of it is ours any more. */
static void forget(struct attempt *a)
{
    session_dir_leave(&a->dir);
    free(steal(&a->name));
    free(steal(&a->program));
    free(steal(&a->memory_dir));
    free(steal(&a->image));
    buf_release(&a->fewer);
    a->up = a->begun = a->taken = a->unmade = false;
    a->peer = 0;
}

static bool clear(struct attempt *a, int64_t until)
{
    loop_timer_stop(a->loop, a);
    close_channel(a);
    bool gone = a->engine->container ? end_container(a, until) : end_namespace(a, 1000, job_wait);
    /* What a client that does not end may still make is for the next start, which finds it by its directory.
     */
    bool unsure = a->engine->container ? a->client && !a->stdio && !a->client->ended : !gone;
    stop_jobs(a);
    cgroup_remove(&a->cgroup);
    if (!unsure)
        session_dir_remove(&a->dir);
    keeper_dismiss(a, 100);
    forget(a);
    return gone && !unsure;
}

bool attempt_end(struct attempt *a, int64_t until)
{
    bool gone = !a->begun || clear(a, until);

    free(steal(&a->runtime));
    return gone;
}

/* ---- after the program ---- */

static bool see_off_container(struct attempt *a, int64_t until)
{
    if (!has_container(a))
        return true;
    if (attempt_kill_peer(a, ENDING_MS))
        poll(NULL, 0, SETTLE_MS);
    bool ended = !a->client || job_attend(a->client, left_ms(until) / 2);
    /* a client that failed has made none, or has removed it */
    bool sure = a->up || !a->client || !ended || !a->unmade;
    bool gone = remove_container(a, until, sure ? AFTER_MS : 0) || !sure;
    if (!ended && a->stdio)
        child_kill(a->client->pid, SIGKILL);
    return gone && (ended || a->stdio);
}

static bool see_off_namespace(struct attempt *a)
{
    bool gone = end_namespace(a, AFTER_MS, job_attend);

    if (a->client && !job_attend(a->client, AT_ONCE_MS))
        child_kill(a->client->pid, SIGKILL);
    return gone;
}

void attempt_see_off(struct attempt *a)
{
    bool gone = a->engine->container ? see_off_container(a, clock_ms() + AFTER_MS) : see_off_namespace(a);

    cgroup_remove(&a->cgroup);
    if (gone)
        session_dir_remove(&a->dir);
}

int attempt_record(const struct attempt *a, const char *owner, bool named, struct error *err)
{
    autofree char *inside = a->peer > 1 && a->peer_start ? owner_of(a->peer) : NULL;
    const struct session_record record = {.owner = owner,
                                          .named = named,
                                          .ending = owner && !named,
                                          .inside = inside,
                                          .engine = a->engine->name,
                                          .container = a->name,
                                          .cgroup = &a->cgroup,
                                          .uid = a->uid};

    return session_dir_record(&a->dir, &record, err);
}

/* bwrap is told to end and mostly has at once. True: nothing is left. */
static bool end_at_once(struct attempt *a)
{
    if (a->engine->container)
        return !has_container(a);
    bool gone = end_namespace(a, AT_ONCE_MS, job_wait);
    if (a->client) {
        child_kill(a->client->pid, SIGKILL);
        job_wait(a->client, AT_ONCE_MS);
    }
    return cgroup_remove_within(&a->cgroup, AT_ONCE_MS) && gone;
}

static bool hand_over(struct attempt *a)
{
    pid_t keeper = keeper_take_over(a);

    if (keeper <= 0)
        return false;
    autofree char *owner = owner_of(keeper);
    if (a->dir.path)
        attempt_record(a, owner, false, NULL); /* cannot be written where it has done its work already */
    job_abandon(a->client);
    a->client = NULL;
    for (unsigned i = 0; i < a->cgroup.n; i++)
        free(a->cgroup.dirs[i]);
    a->cgroup = (struct cgroup){0};
    forget(a);
    return true;
}

static void stop_waiting(struct attempt *a)
{
    loop_timer_stop(a->loop, a);
    close_channel(a);
    job_free(a->join);
    job_free(a->inspect);
    a->join = a->inspect = NULL;
}

void attempt_abandon(struct attempt *a)
{
    if (!a->begun)
        return;
    stop_waiting(a);
    if (!has_container(a) || !hand_over(a))
        clear(a, clock_ms() + CLIENT_MS);
}

void attempt_part(struct attempt *a)
{
    if (a->begun)
        stop_waiting(a);
    if (a->begun && !end_at_once(a))
        hand_over(a);
    keeper_dismiss(a, 0);
    attempt_end(a, clock_ms() + CLIENT_MS);
}
