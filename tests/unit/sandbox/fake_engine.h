/* fake_engine.h - engine.h without any container: the supervisor is run as a plain child over a socket pair.
 * For tests that include it; it defines every function of engine.h, so the archive's own engine is not
 * linked. Not a sandbox: the supervisor is no PID 1 here and kills only what descends from it.
 */
#ifndef TESTS_FAKE_ENGINE_H
#define TESTS_FAKE_ENGINE_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/argv.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "engine/engine.h"
#include "process/loop.h"
#include "sandbox/sandbox.h"

/* What a test can turn. */
static struct {
    char data[64];   /* becomes /mnt/data */
    int starts;      /* how many times an engine was begun */
    int fail_starts; /* fail so many of the next starts */
    int64_t memory_kills, memory_of_files;
    int accepted, rejected;
    /* shell text to run instead of the supervisor, the channel as descriptors 0 and 1 */
    const char *instead;
    const char *options; /* one more key=value word */
    const char *prelude; /* Python that runs before the guest */
    pid_t pid;           /* of the latest supervisor */
} fake;

struct engine_run {
    struct loop *loop;
    engine_done_fn *done;
    void *ctx;
    const char *guest;
    int fd;
    pid_t pid;
};

static void fake_kill(struct engine_run *r)
{
    loop_timer_stop(r->loop, r);
    if (r->fd >= 0)
        close(r->fd);
    r->fd = -1;
    if (r->pid > 0) {
        kill(r->pid, SIGKILL); /* its workers die with it (PR_SET_PDEATHSIG) */
        waitpid(r->pid, NULL, 0);
    }
    r->pid = 0;
}

static void fake_start(void *ctx)
{
    struct engine_run *r = ctx;
    struct error err = {0};
    int pair[2];
    char channel[16];

    fake.starts++;
    if (fake.fail_starts > 0) {
        fake.fail_starts--;
        error_set(&err, ERROR_SANDBOX, 0, "no engine can start here");
        r->done(r->ctx, -1, &err);
        return;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        abort();
    r->pid = fork();
    if (r->pid == 0) {
        if (fake.instead) {
            dup2(pair[1], 0);
            dup2(pair[1], 1);
            execl("/bin/sh", "sh", "-c", fake.instead, (char *)NULL);
            _exit(127);
        }
        fcntl(pair[1], F_SETFD, 0);
        snprintf(channel, sizeof channel, "fd:%d", pair[1]);
        char data[80];
        snprintf(data, sizeof data, "data=%s", fake.data);
        if (chdir("/") < 0)
            _exit(127);
        setenv("HOME", fake.data, 1);
        const char *python = getenv("TEST_PYTHON") ? getenv("TEST_PYTHON") : "/usr/bin/python3";
        autofree char *text = xasprintf("%s%s", fake.prelude ? fake.prelude : "", r->guest);
        execl(python, "python3", "-I", "-S", "-u", "-c", text, channel, data,
              fake.options ? fake.options : "x=", (char *)NULL);
        _exit(127);
    }
    fake.pid = r->pid;
    close(pair[1]);
    r->fd = pair[0];
    if (!fake.instead && write(r->fd, "N", 1) != 1)
        abort();
    fd_nonblock(r->fd, true);
    r->done(r->ctx, 0, NULL);
}

struct engine_run *engine_begin(const struct engine_start *given)
{
    struct engine_run *r = xcalloc(1, sizeof *r);

    *r = (struct engine_run){
        .loop = given->loop, .done = given->done, .ctx = given->ctx, .guest = given->guest, .fd = -1};
    loop_timer(given->loop, clock_ms(), fake_start, r);
    return r;
}

struct engine_facts engine_facts(const struct engine_run *r)
{
    return (struct engine_facts){.name = "fake", .channel = r->fd, .channel_out = r->fd, .fewer = ""};
}

static void fake_rejected(void *ctx)
{
    struct engine_run *r = ctx;
    struct error err = {0};

    error_set(&err, ERROR_SANDBOX, 0, "no candidate is left");
    r->done(r->ctx, -1, &err);
}

bool engine_refuses(const struct engine_run *r)
{
    (void)r;
    return false;
}

void engine_reject(struct engine_run *r, const char *why)
{
    (void)why;
    fake.rejected++;
    fake_kill(r);
    loop_timer(r->loop, clock_ms(), fake_rejected, r);
}

void engine_accept(struct engine_run *r, const char *python, const char *packages)
{
    (void)r;
    (void)python;
    (void)packages;
    fake.accepted++;
}

bool engine_from_cache(const struct engine_options *o, struct engine_cached *known)
{
    (void)o;
    (void)known;
    return false;
}

int64_t engine_memory_kills(struct engine_run *r)
{
    (void)r;
    return fake.memory_kills;
}

int64_t engine_memory_limit(struct engine_run *r)
{
    (void)r;
    return 0;
}

int64_t engine_room_for_files(struct engine_run *r)
{
    (void)r;
    return INT64_MAX;
}

int64_t engine_memory_of_files(struct engine_run *r)
{
    (void)r;
    return fake.memory_of_files;
}

bool engine_thrashes(struct engine_run *r, struct cgroup_thrash *t)
{
    (void)r, (void)t;
    return false;
}

bool engine_alive(struct engine_run *r, char *why, size_t size)
{
    if (r->pid > 0 && waitpid(r->pid, NULL, WNOHANG) == 0)
        return true;
    r->pid = 0;
    snprintf(why, size, "the container was removed");
    return false;
}

bool engine_end(struct engine_run *r)
{
    if (!r)
        return true;
    fake_kill(r);
    free(r);
    return true;
}

void engine_keep(struct engine_run *r)
{
    (void)r;
}

void sweep_begin(struct loop *loop)
{
    (void)loop;
}
void engine_end_in_background(struct engine_run *r)
{
    engine_end(r);
}
void sweep_end_in_background(struct loop *loop)
{
    (void)loop;
}
void sweep_now(struct loop *loop, struct sweep_result *out)
{
    (void)loop;
    (void)out;
}
void sweep_failed(struct sweep_result *out, const char *fmt, ...)
{
    (void)out;
    (void)fmt;
}

/* Nothing here outlives the test. */
void engine_detach(struct engine_run *r)
{
    engine_end(r);
}
int engine_connect(struct engine_run *r)
{
    (void)r;
    return -1;
}

const char *engine_disown(struct engine_run *r, struct error *err)
{
    (void)r;
    error_set(err, ERROR_SANDBOX, 0, "the fake engine keeps nothing");
    return NULL;
}

struct engine_run *engine_attach(const struct engine_options *o, struct loop *l, const struct record *record,
                                 struct error *err)
{
    (void)o;
    (void)l;
    (void)record;
    error_set(err, ERROR_SANDBOX, 0, "the fake engine knows nobody");
    return NULL;
}

int engine_argv(const struct engine_options *o, const char *guest, size_t i, struct argv *out,
                struct error *err)
{
    (void)guest;
    (void)err;
    if (i == 0)
        argv_push(out, o->engine);
    return i == 0;
}

#endif
