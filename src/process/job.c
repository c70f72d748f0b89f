/* job.c - see job.h. */
#include "process/job.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "process/child.h"
#include "process/loop.h"

#define ERR_MAX (16 * 1024)
#define TICK_MS 20 /* how often to look where the kernel has no pidfd */

static void read_pipe(struct job *j, int *fd, struct buf *into)
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
        if (j->watch.loop)
            loop_unwatch(j->watch.loop, *fd);
        fd_close(fd);
    }
}

static void serve_out(void *ctx, short revents)
{
    struct job *j = ctx;

    (void)revents;
    read_pipe(j, &j->out, &j->out_text);
}

static void serve_err(void *ctx, short revents)
{
    struct job *j = ctx;

    (void)revents;
    read_pipe(j, &j->err, &j->err_text);
}

static void unwatch(struct job *j)
{
    if (!j->watch.loop)
        return;
    loop_timer_stop(j->watch.loop, j);
    if (j->pidfd >= 0)
        loop_unwatch(j->watch.loop, j->pidfd);
    if (j->out >= 0)
        loop_unwatch(j->watch.loop, j->out);
    if (j->err >= 0)
        loop_unwatch(j->watch.loop, j->err);
}

static bool reap(struct job *j, int timeout_ms)
{
    if (!j->ended && child_wait(j->pid, timeout_ms, &j->status)) {
        j->ended = true;
        read_pipe(j, &j->out, &j->out_text); /* its last output */
        read_pipe(j, &j->err, &j->err_text);
        unwatch(j);
        fd_close(&j->pidfd);
        fd_close(&j->out);
        fd_close(&j->err);
    }
    return j->ended;
}

/* A process in uninterruptible sleep is left behind. */
static void expire(struct job *j)
{
    j->timed_out = true;
    child_kill(j->pid, SIGKILL);
    reap(j, 1000);
}

static void serve_end(void *ctx, short revents);

static void set_timer(struct job *j)
{
    int64_t at = j->deadline;

    if (j->pidfd < 0 && (at == 0 || clock_ms() + TICK_MS < at))
        at = clock_ms() + TICK_MS;
    if (at > 0)
        loop_timer(j->watch.loop, at, serve_end, j);
}

static void serve_end(void *ctx, short revents)
{
    struct job *j = ctx;

    (void)revents;
    if (!reap(j, 0)) {
        if (j->deadline == 0 || clock_ms() < j->deadline) {
            set_timer(j);
            return;
        }
        expire(j);
    }
    unwatch(j);
    if (j->watch.done)
        j->watch.done(j->watch.ctx, j);
}

static void watch(struct job *j)
{
    struct loop *loop = j->watch.loop;

    if (j->out >= 0)
        loop_watch(loop, j->out, POLLIN, serve_out, j);
    loop_watch(loop, j->err, POLLIN, serve_err, j);
    if (j->pidfd >= 0)
        loop_watch(loop, j->pidfd, POLLIN, serve_end, j);
    set_timer(j);
}

static int make_pipe(int ends[2], struct error *err)
{
    if (pipe2(ends, O_CLOEXEC) != 0)
        return error_errno(err, "pipe");
    return fd_nonblock(ends[0], true) == 0 ? 0 : error_errno(err, "pipe");
}

struct job *job_start(const struct job_options *o, struct error *err)
{
    int out[2] = {-1, -1}, errs[2] = {-1, -1};
    struct job *j = xcalloc(1, sizeof *j);

    *j = (struct job){.pid = -1, .watch = o->watch, .pidfd = -1, .out = -1, .err = -1};
    buf_init(&j->out_text, o->cap);
    buf_init(&j->err_text, ERR_MAX);
    if ((o->out < 0 && make_pipe(out, err) != 0) || make_pipe(errs, err) != 0)
        goto fail;
    struct child_options c = {
        .argv = o->argv,
        .env = o->env,
        .in = o->in,
        .out = o->out < 0 ? out[1] : o->out,
        .err = errs[1],
        .keep = o->keep,
        .cwd = o->cwd,
        .die_with_parent = o->die_with_parent,
        .own_session = o->own_session,
        .setup = o->setup,
        .setup_ctx = o->setup_ctx,
        .body = o->body,
        .body_ctx = o->body_ctx,
    };
    j->pid = child_spawn(&c, err);
    if (j->pid < 0)
        goto fail;
    fd_close(&out[1]);
    fd_close(&errs[1]);
    j->out = out[0];
    j->err = errs[0];
    j->pidfd = (int)syscall(SYS_pidfd_open, j->pid, 0); /* always CLOEXEC */
    j->deadline = o->deadline_ms > 0 ? clock_ms() + o->deadline_ms : 0;
    if (o->watch.loop)
        watch(j);
    return j;
fail:
    for (int i = 0; i < 2; i++) {
        fd_close(&out[i]);
        fd_close(&errs[i]);
    }
    j->watch.loop = NULL;
    job_free(j);
    return NULL;
}

/* Wait for its end, reading its output meanwhile. */
static bool wait_until(struct job *j, bool (*ended)(struct job *j), int timeout_ms)
{
    int64_t end = clock_ms() + timeout_ms;

    while (!ended(j)) {
        int64_t left = end - clock_ms();
        struct pollfd fds[] = {{.fd = j->pidfd, .events = POLLIN},
                               {.fd = j->out, .events = POLLIN},
                               {.fd = j->err, .events = POLLIN}};

        if (left <= 0)
            return false;
        poll(fds, countof(fds), (int)(j->pidfd < 0 && left > TICK_MS ? TICK_MS : left));
        read_pipe(j, &j->out, &j->out_text);
        read_pipe(j, &j->err, &j->err_text);
    }
    return true;
}

static bool reaped(struct job *j)
{
    return reap(j, 0);
}

bool job_wait(struct job *j, int timeout_ms)
{
    return wait_until(j, reaped, timeout_ms);
}

struct job *job_run(const struct job_options *o, struct error *err)
{
    struct loop *loop = o->watch.loop;
    struct job *j = job_start(o, err);

    while (j && loop && !j->ended && !j->timed_out) {
        loop_wait(loop, -1);
        if (loop_cancelled(loop)) {
            job_free(j);
            error_set(err, ERROR_CANCELLED, 0, "%s was interrupted", o->argv[0]);
            return NULL;
        }
    }
    if (j && !loop && !job_wait(j, o->deadline_ms))
        expire(j);
    return j;
}

size_t job_descriptors(const struct job *j, int *out)
{
    const int all[] = {j->pidfd, j->out, j->err};
    size_t n = 0;

    for (size_t i = 0; i < countof(all); i++)
        if (all[i] >= 0)
            out[n++] = all[i];
    return n;
}

static bool process_ended(struct job *j)
{
    struct pollfd p = {.fd = j->pidfd, .events = POLLIN};

    return j->ended || (j->pidfd >= 0 ? poll(&p, 1, 0) > 0 : kill(j->pid, 0) != 0);
}

bool job_attend(struct job *j, int timeout_ms)
{
    j->watch.loop = NULL; /* the loop belongs to our parent */
    return wait_until(j, process_ended, timeout_ms);
}

void job_free(struct job *j)
{
    if (j && j->pid > 0 && !j->ended) {
        unwatch(j);
        child_kill(j->pid, SIGKILL);
        reap(j, 2000);
    }
    job_abandon(j);
}

void job_abandon(struct job *j)
{
    if (!j)
        return;
    unwatch(j);
    fd_close(&j->pidfd);
    fd_close(&j->out);
    fd_close(&j->err);
    buf_release(&j->out_text);
    buf_release(&j->err_text);
    free(j);
}

bool job_ok(const struct job *j)
{
    return j->ended && !j->timed_out && WIFEXITED(j->status) && WEXITSTATUS(j->status) == 0;
}
