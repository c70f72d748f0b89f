/* child.c - starts a child, serves its pipes in the loop, kills its group at the deadline, and reaps it. */
#include "process/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "process/loop.h"
#include "process/signals.h"
#include "process/spawn.h"

#ifndef PIDFD_SIGNAL_PROCESS_GROUP
#define PIDFD_SIGNAL_PROCESS_GROUP (1U << 2)
#endif

#define ERR_MAX   (16 * 1024)
#define TICK_MS   20 /* how often to look where the kernel has no pidfd */
#define KEEP_MOST 8

static struct child *abandoned; /* and not reaped yet */

static void reap_abandoned(void)
{
    for (struct child **p = &abandoned, *c; (c = *p);) {
        if (waitpid(c->pid, NULL, WNOHANG) == 0) {
            p = &c->next;
            continue;
        }
        *p = c->next;
        free(c);
    }
}

static void read_pipe(struct child *c, int *fd, struct buf *into)
{
    char part[8192];

    for (int i = 0; *fd >= 0 && i < 16; i++) { /* a flood of output must not hold up the loop */
        ssize_t n = read(*fd, part, sizeof part);

        if (n > 0) {
            /* past the cap it is dropped, but still read, because a full pipe would block the child */
            buf_add(into, part, (size_t)n);
            continue;
        }
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (c->watch.loop)
            loop_unwatch(c->watch.loop, *fd);
        fd_close(fd);
    }
}

static void read_both(struct child *c)
{
    read_pipe(c, &c->out, &c->out_text);
    read_pipe(c, &c->err, &c->err_text);
}

static void serve_output(void *ctx)
{
    read_both(ctx);
}

static void unwatch(struct child *c)
{
    int fds[3];
    size_t n = child_descriptors(c, fds);

    if (!c->watch.loop)
        return;
    loop_timer_stop(c->watch.loop, c);
    while (n)
        loop_unwatch(c->watch.loop, fds[--n]);
}

static void close_all(struct child *c)
{
    unwatch(c);
    fd_close(&c->pidfd);
    fd_close(&c->out);
    fd_close(&c->err);
}

/* A process that is not our child, or that the kernel reaps by itself. */
static bool stranger_ended(const struct child *c)
{
    struct pollfd p = {.fd = c->pidfd, .events = POLLIN};

    return c->pidfd >= 0 ? poll(&p, 1, 0) > 0 : kill(c->pid, 0) != 0;
}

static bool reap(struct child *c)
{
    int status = -1;

    if (!c->ended) {
        pid_t got = waitpid(c->pid, &status, WNOHANG);

        c->ended = got > 0 || (got < 0 && errno == ECHILD && stranger_ended(c));
        if (c->ended) {
            c->status = status;
            c->timed_out = c->timed_out || c->warned;
            read_both(c); /* its last output */
            close_all(c);
        }
    }
    return c->ended;
}

/* Its time is over. False: it has a last chance to end by itself. A process in uninterruptible sleep is left
 * behind. */
static bool expire(struct child *c)
{
    if (c->grace_ms > 0 && !c->warned) {
        c->warned = true;
        c->deadline = clock_ms() + c->grace_ms;
        child_kill(c, SIGTERM);
        return false;
    }
    c->timed_out = true;
    child_kill(c, SIGKILL);
    child_wait(c, 1000);
    return true;
}

static void serve_end(void *ctx);

static void set_child_timer(struct child *c)
{
    int64_t at = c->deadline;

    if (c->pidfd < 0 && (at == 0 || clock_ms() + TICK_MS < at))
        at = clock_ms() + TICK_MS;
    if (at > 0)
        loop_timer(c->watch.loop, at, serve_end, c);
}

static void serve_end(void *ctx)
{
    struct child *c = ctx;

    if (!reap(c) && (c->deadline == 0 || clock_ms() < c->deadline || !expire(c))) {
        set_child_timer(c);
        return;
    }
    unwatch(c);
    if (c->watch.done)
        c->watch.done(c->watch.ctx, c);
}

static void watch(struct child *c)
{
    int fds[3];
    size_t n = child_descriptors(c, fds);

    for (size_t i = 0; i < n; i++)
        loop_watch(c->watch.loop, fds[i], POLLIN, fds[i] == c->pidfd ? serve_end : serve_output, c);
    set_child_timer(c);
}

/* The child's end of a pipe for what is kept, or the descriptor that was asked for. Ours goes to *end. */
static int output(int asked, int *end, struct error *err)
{
    int ends[2];

    if (asked != CHILD_KEPT)
        return asked;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        error_errno(err, "pipe");
        return CHILD_KEPT;
    }
    *end = ends[0];
    fd_nonblock(ends[0], true);
    return ends[1];
}

/* What the options keep, and our ends of its pipes. */
static void keep_ends(const struct child *c, const struct child_options *o, int keep[KEEP_MOST])
{
    size_t n = 0;

    for (const int *k = o->keep; k && *k >= 0 && n < KEEP_MOST - 3; k++)
        keep[n++] = *k;
    if (c->out >= 0)
        keep[n++] = c->out;
    if (c->err >= 0)
        keep[n++] = c->err;
    keep[n] = -1;
}

struct child *child_start(const struct child_options *o, struct error *err)
{
    struct child_options given = *o;
    struct child *c = xcalloc(1, sizeof *c);
    int keep[KEEP_MOST];

    reap_abandoned();
    *c = (struct child){
        .pid = -1, .our_group = o->our_group, .grace_ms = o->grace_ms, .pidfd = -1, .out = -1, .err = -1};
    buf_init(&c->out_text, o->cap);
    buf_init(&c->err_text, ERR_MAX);
    given.out = output(o->out, &c->out, err);
    given.err = given.out == CHILD_KEPT ? CHILD_KEPT : output(o->err, &c->err, err);
    if (o->outlives_us) {
        keep_ends(c, o, keep);
        given.keep = keep;
    }
    if (given.err != CHILD_KEPT)
        c->pid = child_spawn(&given, err);
    if (o->out == CHILD_KEPT)
        fd_close(&given.out);
    if (o->err == CHILD_KEPT)
        fd_close(&given.err);
    if (c->pid < 0) {
        child_free(c);
        return NULL;
    }
    c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0); /* always CLOEXEC; -1 before Linux 5.3 */
    c->deadline = o->deadline_ms > 0 ? clock_ms() + o->deadline_ms : 0;
    c->watch = o->watch;
    if (c->watch.loop)
        watch(c);
    return c;
}

bool child_wait(struct child *c, int timeout_ms)
{
    int64_t end = clock_ms() + timeout_ms;

    while (c && !reap(c)) {
        int64_t left = end - clock_ms();
        struct pollfd fds[] = {{.fd = c->pidfd, .events = POLLIN},
                               {.fd = c->out, .events = POLLIN},
                               {.fd = c->err, .events = POLLIN}};

        if (left <= 0)
            return false;
        poll(fds, countof(fds), (int)(c->pidfd < 0 && left > TICK_MS ? TICK_MS : left));
        read_both(c);
    }
    return true;
}

struct child *child_run(const struct child_options *o, struct error *err)
{
    struct loop *loop = o->watch.loop;
    struct child *c = child_start(o, err);

    if (c && o->running)
        *o->running = c;
    while (c && loop && !c->ended && !c->timed_out) {
        loop_wait(loop, -1);
        if (loop_cancelled(loop)) {
            child_free(c);
            return error_null(err, ERROR_CANCELLED, 0, "%s was interrupted", o->argv[0]);
        }
    }
    for (int left = o->deadline_ms; !loop && !child_wait(c, left) && !expire(c);)
        left = o->grace_ms;
    return c;
}

size_t child_descriptors(const struct child *c, int *out)
{
    const int all[] = {c->pidfd, c->out, c->err};
    size_t n = 0;

    for (size_t i = 0; i < countof(all); i++)
        if (all[i] >= 0)
            out[n++] = all[i];
    return n;
}

void child_kill(struct child *c, int sig)
{
    /* kill(-1) would signal everybody, and 1 is never our child. */
    if (!c || c->ended || c->pid <= 1)
        return;
    /* The kernel knows a group by its pidfd since Linux 6.9. */
    if (syscall(SYS_pidfd_send_signal, c->pidfd, sig, NULL, c->our_group ? 0U : PIDFD_SIGNAL_PROCESS_GROUP)
            < 0
        && errno != ESRCH)
        kill(c->our_group ? c->pid : -c->pid, sig);
}

void child_free(struct child *c)
{
    if (c && c->pid > 0 && !c->ended) {
        unwatch(c);
        child_kill(c, c->grace_ms > 0 ? SIGTERM : SIGKILL);
        if (c->grace_ms > 0 && !child_wait(c, c->grace_ms))
            child_kill(c, SIGKILL);
        child_wait(c, 2000);
    }
    child_abandon(c);
}

void child_abandon(struct child *c)
{
    if (!c)
        return;
    close_all(c);
    buf_release(&c->out_text);
    buf_release(&c->err_text);
    if (c->pid > 0 && !c->ended) {
        c->next = abandoned;
        abandoned = c;
    } else {
        free(c);
    }
}

bool child_ok(const struct child *c)
{
    return c && c->ended && !c->timed_out && WIFEXITED(c->status) && WEXITSTATUS(c->status) == 0;
}

struct short_text child_status_text(int status)
{
    struct short_text out = {"ended for an unknown reason"};
    const char *name = WIFSIGNALED(status) ? sigabbrev_np(WTERMSIG(status)) : NULL;

    if (WIFEXITED(status))
        snprintf(out.text, sizeof out.text, "exit code %d", WEXITSTATUS(status));
    else if (name)
        snprintf(out.text, sizeof out.text, "killed by SIG%s", name);
    else if (WIFSIGNALED(status))
        snprintf(out.text, sizeof out.text, "killed by signal %d", WTERMSIG(status));
    return out;
}
