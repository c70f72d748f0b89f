/* engine_end.c - the end of a start: the channel closed, the container or the namespace gone, its control group and its directory removed.
 *
 * While the program goes on it waits for that. At its own end nobody should: closing the channel ends the supervisor and everything inside, and
 * what an engine then takes to remove the container (0.1 s, and many times that on a busy machine) is watched by a process of its own. It has
 * a session of its own, none of our descriptors and a bounded life, and the directory's record names it as the owner: where it is killed too, the
 * next start finds that as it would have found us.
 */
#include "sandbox/engine_attempt.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/loop.h"
#include "base/mem.h"
#include "sandbox/engine_rm.h"
#include "sandbox/job.h"
#include "sandbox/owner.h"

#define CLIENT_MS 10000         /* a call of an engine's client */
#define AT_ONCE_MS 30           /* what the program's end waits for itself: bwrap is gone after 2 ms */
#define ENDING_MS 500           /* for the first process inside to end by itself, once the channel is closed */
#define SETTLE_MS 100           /* then for the engine, which removes the container by itself (--rm) and may refuse us while it is at it */
#define PATIENCE_MS 1500        /* with an engine that refuses to remove a container */
#define AFTER_MS 10000          /* for all the rest of what goes on after us */

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
}

static int left_ms(int64_t until)
{
    int64_t left = until - clock_ms();

    return left < 0 ? 0 : left > CLIENT_MS ? CLIENT_MS : (int)left;
}

static void keep_stray(struct attempt *a, struct job *j)
{
    for (size_t i = 0; i < countof(a->strays); i++)
        if (!a->strays[i] || job_wait(a->strays[i], 0)) {
            job_free(a->strays[i]);
            a->strays[i] = j;
            return;
        }
    job_wait(j, CLIENT_MS);
    job_free(j);
}

/* True when it is gone. A busy engine may refuse us for seconds while it removes one that ended by itself: so long it is asked again. */
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

static void end_container(struct attempt *a, int64_t until, bool later)
{
    /* A client that is killed in the middle of a start leaves a container that nobody asked for; so let it come to its end. It does soon:
     * the supervisor finds no listener. */
    if (a->client && !a->stdio && !later)
        job_wait(a->client, left_ms(until) / 2);
    if (!has_container(a))
        return;
    struct job *stray = later ? engine_rm(a->engine->name, a->name, NULL, NULL, NULL) : NULL;
    if (stray)
        keep_stray(a, stray);
    else
        remove_container(a, until, PATIENCE_MS);
}

static void stop_jobs(struct attempt *a)
{
    job_free(a->join);
    job_free(a->client);
    job_free(a->inspect);
    a->join = a->client = a->inspect = NULL;
}

/* The first process inside is bwrap's only child. Nothing but the end of the channel would end it where there is no control group, and a supervisor that
 * hangs does not see that. Not waited for: most see it before. */
static void kill_inside(struct attempt *a)
{
    char path[64];
    struct buf text = BUF_INIT(64);

    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)a->client->pid, (int)a->client->pid);
    if (file_read(path, 64, &text, NULL) == 0)
        attempt_found_peer(a, (pid_t)strtol(buf_str(&text), NULL, 10));
    buf_release(&text);
    attempt_kill_peer(a, 0);
}

static void end_namespace(struct attempt *a, int wait_ms)
{
    if (a->peer > 0)
        attempt_kill_peer(a, wait_ms);
    else if (a->client && !job_wait(a->client, 0))
        kill_inside(a);
}

/* Nothing of it is ours any more. */
static void forget(struct attempt *a)
{
    engine_dir_leave(&a->dir);
    free(steal(&a->name));
    free(steal(&a->program));
    free(steal(&a->memory_dir));
    free(steal(&a->image));
    a->up = a->begun = a->taken = false;
    a->peer = 0;
}

void attempt_clear(struct attempt *a, int64_t until, bool later)
{
    loop_timer_stop(a->loop, a);
    close_channel(a);
    if (a->engine->container && a->name)
        end_container(a, until, later);
    if (!a->engine->container)
        end_namespace(a, 1000);
    /* What a client that does not end may still make is for the next start, which finds it by its directory. */
    bool unsure = a->engine->container && a->client && !a->stdio && !a->client->ended;
    stop_jobs(a);
    cgroup_remove(&a->cgroup);
    if (!unsure)
        engine_dir_remove(&a->dir);
    forget(a);
}

void attempt_end(struct attempt *a, int64_t until, bool later)
{
    if (a->begun)
        attempt_clear(a, until, later);
    if (later)
        return;
    for (size_t i = 0; i < countof(a->strays); i++) {
        if (a->strays[i])
            job_wait(a->strays[i], left_ms(until));
        job_free(a->strays[i]);
        a->strays[i] = NULL;
    }
    free(steal(&a->runtime));
}

/* ---- after the program ---- */

/* The first process inside has ended, or did not within ms. */
static void await_peer(const struct attempt *a, int ms)
{
    autoclose int fd = a->peer > 1 ? (int)syscall(SYS_pidfd_open, a->peer, 0U) : -1;

    if (fd >= 0 && owner_start_time(a->peer) == a->peer_start)
        poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, ms);
    else if (fd < 0 && a->peer > 1)
        for (int64_t end = clock_ms() + ms; owner_start_time(a->peer) == a->peer_start && clock_ms() < end;)
            poll(NULL, 0, 10);
}

/* Runs in the process that goes on after us, with a copy of all we know. */
static int after(void *ctx)
{
    struct attempt *a = ctx;
    int64_t until = clock_ms() + AFTER_MS;
    bool ended = true, gone = true;

    if (has_container(a)) {
        await_peer(a, ENDING_MS);
        ended = !a->client || job_attend(a->client, left_ms(until) / 2);
        poll(NULL, 0, SETTLE_MS);
        bool sure = a->up || !a->client || !ended || job_ok(a->client);     /* a client that failed has made none, or has removed it */
        gone = remove_container(a, until, sure ? AFTER_MS : 0) || !sure;
        if (!ended && a->stdio)
            child_kill(a->client->pid, SIGKILL);
    }
    for (size_t i = 0; i < countof(a->strays); i++)
        if (a->strays[i] && !job_attend(a->strays[i], left_ms(until)))
            child_kill(a->strays[i]->pid, SIGKILL);
    cgroup_remove(&a->cgroup);
    if (gone && (ended || a->stdio))
        engine_dir_remove(&a->dir);
    return 0;
}

static bool leave_to_another(struct attempt *a)
{
    char *const argv[] = {(char *)"the end of the sandbox", NULL};
    int keep[3 * (1 + countof(a->strays)) + 1];
    size_t n = a->client ? job_descriptors(a->client, keep) : 0;

    for (size_t i = 0; i < countof(a->strays); i++)
        n += a->strays[i] ? job_descriptors(a->strays[i], keep + n) : 0;
    keep[n] = -1;
    struct child_options o = {.argv = argv, .in = -1, .out = -1, .err = -1, .cwd = "/", .keep = keep, .own_session = true, .deaf = true,
                              .body = after, .body_ctx = a};
    pid_t pid = child_spawn(&o, NULL);
    if (pid < 0)
        return false;
    autofree char *owner = owner_of(pid);
    struct engine_record record = {.owner = owner, .ending = true, .engine = a->engine->name, .container = a->name, .cgroup = &a->cgroup};
    if (a->dir.path)
        engine_dir_record(&a->dir, &record, NULL);      /* cannot be written where it has done its work already */
    return true;
}

/* bwrap is told to end and mostly has at once. True: nothing is left. */
static bool end_at_once(struct attempt *a)
{
    if (a->engine->container)
        return !has_container(a);
    end_namespace(a, AT_ONCE_MS);
    if (a->client) {
        child_kill(a->client->pid, SIGKILL);
        job_wait(a->client, AT_ONCE_MS);
    }
    return cgroup_remove_within(&a->cgroup, AT_ONCE_MS);
}

static bool hand_over(struct attempt *a)
{
    if (!leave_to_another(a))
        return false;
    job_abandon(a->client);
    a->client = NULL;
    for (size_t i = 0; i < countof(a->strays); i++) {
        job_abandon(a->strays[i]);
        a->strays[i] = NULL;
    }
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
        attempt_clear(a, clock_ms(), true);
}

void attempt_part(struct attempt *a)
{
    bool strays = false;

    for (size_t i = 0; i < countof(a->strays); i++)
        strays |= a->strays[i] && !job_wait(a->strays[i], 0);
    if (a->begun)
        stop_waiting(a);
    if ((a->begun && !end_at_once(a)) || strays)
        hand_over(a);
    attempt_end(a, clock_ms() + CLIENT_MS, false);
}
