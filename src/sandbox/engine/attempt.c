/* attempt.c - the steps of a start, one after the other: directory, record, launch, socket, hello; and after
 * a failure its reason.
 */
#include "engine/attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "engine/client.h"
#include "engine/hard_limits.h"
#include "mount/mount.h"
#include "process/child.h"
#include "process/loop.h"
#include "records/owner.h"
#include "records/record.h"

#define LAST_WORDS_MS 300  /* a client that failed exits at once */
#define FAR_WORDS_MS  3000 /* one that asks another machine does so a little later */

void attempt_init(struct attempt *a)
{
    a->channel = a->channel_out = a->listener = a->info = a->kills = a->stat = a->keeper.pipe = -1;
    a->given = *a->o;
}

static void tell_done(void *ctx)
{
    struct attempt *a = ctx;

    loop_timer_stop(a->loop, a);
    a->done(a->ctx, a->up);
}

void attempt_up(struct attempt *a)
{
    a->up = true;
    loop_timer(a->loop, clock_ms(), tell_done, a);
}

int attempt_over_pipes(struct attempt *a, int (*start_client)(struct attempt *a, int in, int out),
                       const char *first)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    int rc = pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 ? error_errno(&a->err, "pipe")
                                                                     : start_client(a, in[0], out[1]);

    fd_close(&in[0]);
    fd_close(&out[1]);
    a->channel = out[0];
    a->channel_out = in[1];
    if (rc != 0)
        return -1;
    keeper_start(a);
    /* If the client has exited already, its stderr says why, and the end of the channel is noticed. */
    if ((fd_write_all(in[1], first, strlen(first)) != 0 && errno != EPIPE) || fd_nonblock(in[1], true) != 0
        || fd_nonblock(out[0], true) != 0)
        return error_errno(&a->err, "pipe");
    attempt_up(a);
    keeper_tell(a);
    return 0;
}

/* The remedy. Another engine is advised only when this one is at fault. */
static const char *step_after(const struct error *e)
{
    return *e->remedy              ? e->remedy
           : fd_none_left(e->code) ? "end other programs, or allow this one more open files: ulimit -n"
                                   : "try another engine with --sandbox";
}

void attempt_fail(struct attempt *a, enum engine_fault fault)
{
    if (a->err.kind != ERROR_SANDBOX) {
        struct error e = a->err;
        error_set(&a->err, ERROR_SANDBOX, e.code, "%s\n%s", e.text, step_after(&e));
    }
    a->fault = fault;
    a->up = false;
    loop_timer(a->loop, clock_ms(), tell_done, a);
}

void attempt_plan(const struct attempt *a, struct engine_plan *plan)
{
    *plan = (struct engine_plan){
        .engine = a->engine,
        .o = &a->given,
        .guest = a->guest,
        .program = a->program,
        .holds_pids = a->holds_pids,
        .holds_memory = a->holds_memory,
        .holds_cpu = a->holds_cpu,
        .shares_user = a->engine->users_uid && geteuid() != 0,
        .name = a->name,
        .dir = a->dir.in,
        .profile = a->dir.profile,
        .uid = a->uid,
        .runtime = a->runtime,
        .stdio = a->stdio,
        .channel = -1,
        .seccomp = -1,
        .info = -1,
    };
}

/* True when the client lives as long as the sandbox, so that its exit and its stderr tell about the
 * sandbox. */
static bool client_attached(const struct attempt *a)
{
    return a->engine->attached || a->stdio;
}

void attempt_blame(struct attempt *a, const char *why)
{
    struct engine_plan plan;

    attempt_plan(a, &plan);
    a->err = (struct error){0};
    if (a->client && client_attached(a)
        && child_wait(a->client, a->engine->custom ? FAR_WORDS_MS : LAST_WORDS_MS)
        && a->client->err_text.len > 0) {
        autofree char *said = a->engine->complaint ? a->engine->complaint(a) : client_complaint(a->client);
        a->fault = a->engine->explain(&plan, said, &a->err);
        return;
    }
    error_set(&a->err, ERROR_SANDBOX, 0, "%s\n%s", why, a->engine->python_advice);
    a->fault = FAULT_OTHER;
}

int attempt_make_dir(struct attempt *a)
{
    if (run_dir_make(&a->dir, &a->err) == 0)
        return 0;
    if (fd_none_left(a->err.code) || *a->err.remedy)
        return -1;
    struct error e = a->err;
    return error_set(&a->err, ERROR_SYSTEM, e.code,
                     "%s\n"
                     "set XDG_RUNTIME_DIR to a folder of your own with free space and mode 0700",
                     e.text);
}

int attempt_record(const struct attempt *a, const char *owner, bool named, struct error *err)
{
    autofree char *self = owner_self(), *inside = attempt_knows_peer(a) ? owner_of(a->peer) : NULL;
    const struct engine_options *o = &a->given;
    struct argv mounts autorelease(argv_release) = ARGV_INIT;

    const struct mount *m;

    for (size_t i = 0; (m = engine_mount(o, i)); i++) {
        autofree char *text = mount_text(m);
        argv_push(&mounts, text);
    }
    const struct record r = {
        .dir = a->dir.path,
        .owner = owner ? (char *)owner : self,
        .inside = inside,
        .named = named,
        .ending = owner && !named,
        .engine = (char *)a->engine->name,
        .container = a->name,
        .image = a->engine->images ? (char *)o->image : NULL,
        .runtime = a->runtime,
        .no_proxy = (char *)o->no_proxy,
        .cgroups = {(char **)a->cgroup.dirs, a->cgroup.n, 0},
        .mounts = mounts,
        .uid = a->uid,
        .memory = o->memory,
        .data_size = o->data_size,
        .pids = o->pids,
        .cpus = o->cpus,
        .holds_memory = a->holds_memory,
        .holds_pids = a->holds_pids,
        .holds_cpu = a->holds_cpu,
        .created = (int64_t)time(NULL),
        .idle = o->idle_ms / 1000,
    };

    return record_write(&r, err);
}

void attempt_found_peer(struct attempt *a, pid_t pid)
{
    if (pid <= 1)
        return;
    a->peer = pid;
    a->peer_start = owner_start_time(pid);
    attempt_record(a, NULL, false, NULL);
    keeper_tell(a);
}

bool attempt_knows_peer(const struct attempt *a)
{
    return a->peer > 1 && a->peer_start;
}

bool attempt_kill_peer(const struct attempt *a, int wait_ms)
{
    return attempt_knows_peer(a) && owner_kill_pid(a->peer, a->peer_start, wait_ms > 0 ? wait_ms : 0);
}

void attempt_find_memory(struct attempt *a)
{
    autofree char *dir = NULL;

    fd_close(&a->kills);
    fd_close(&a->stat);
    if (a->cgroup.memory && a->cgroup.n > 0)
        dir = xstrdup(a->cgroup.dirs[0]);
    else if (a->holds_memory && a->peer > 0)
        dir = cgroup_memory_dir(NULL, a->peer);
    if (!dir)
        return;
    a->kills = cgroup_kills_open(dir);
    a->stat = cgroup_stat_open(dir);
    a->memory_held = cgroup_memory_limit(dir);
}

bool attempt_alive(struct attempt *a, char *why, size_t size)
{
    bool by_client = a->peer <= 0 && a->client && client_attached(a), alive = false;

    if (!a->up) {
        snprintf(why, size, "it never started");
        return false;
    }
    if (by_client)
        alive = !child_wait(a->client, 0);
    else if (a->peer > 0)
        alive = owner_check_pid(a->peer, a->peer_start) == OWNER_ALIVE;
    else if (a->engine->alive)
        alive = a->engine->alive(a);
    if (!alive && by_client)
        snprintf(why, size, "%s ended (%s)", a->engine->name, child_status_text(a->client->status).text);
    else if (!alive)
        snprintf(why, size, "the %s was removed or has died", a->name ? "container" : "sandbox");
    return alive;
}

bool attempt_refused(const struct attempt *a, struct error *err)
{
    unsigned unheld = 0;
    const char *weakness = a->engine->weakness(a, &unheld), *which = engine_restricts(a->o, unheld);

    if (!which)
        return false;
    error_set(err, ERROR_SANDBOX, 0,
              "cannot enforce --%s here (%.200s)\n"
              "leave out --%s, or use another engine: sandpiper doctor says what each enforces",
              which, weakness ? weakness : "see: docker info", which);
    return true;
}

/* Find out before anything is started which limits can be given at all. */
static int fit_limits(struct attempt *a)
{
    struct hard_limits limits;

    hard_limits_read(a->engine, &limits);
    a->given = *a->o;
    if (!a->engine->mounts) /* then they are sent (sandbox_with.c) */
        a->given.packages = NULL;
    buf_clear(&a->fewer);
    return hard_limits_fit(&limits, &a->given, &a->fewer, &a->err);
}

static void not_installed(struct attempt *a)
{
    const struct engine *e = a->engine;

    if (e->custom)
        error_set(&a->err, ERROR_SANDBOX, ENOENT,
                  "program not found: %.200s\nit is the first word of its start; sandpiper help engines says "
                  "what that is",
                  engines_client(e));
    else
        error_set(&a->err, ERROR_SANDBOX, ENOENT,
                  "not installed\ninstall it: sudo apt install %s, or use another engine (--sandbox auto)",
                  e->package);
}

void attempt_begin(struct attempt *a)
{
    enum engine_fault fault = FAULT_OTHER;

    a->channel = a->channel_out = a->listener = a->info = -1;
    a->peer = 0;
    a->begun = true;
    a->up = a->has_parts = a->holds_memory = a->holds_pids = a->holds_cpu = false;
    a->err = (struct error){0};
    a->fault = FAULT_OTHER;
    a->program = child_find_program(engines_client(a->engine));
    if (strlen(a->guest) > GUEST_MAX) {
        error_set(&a->err, ERROR_SANDBOX, 0,
                  "the supervisor's text is too long for an argument\n"
                  "this is a bug in sandpiper");
    } else if (!a->program) {
        not_installed(a);
        fault = FAULT_ABSENT;
    } else if (a->o->name && !a->engine->named) {
        error_set(&a->err, ERROR_SANDBOX, 0,
                  "a sandbox of this engine cannot be kept\nleave out --sandbox-name, or use another "
                  "engine with --sandbox");
    } else if (a->o->mounts && a->o->mounts->n && !a->engine->mounts) {
        error_set(&a->err, ERROR_SANDBOX, 0,
                  "folders cannot be mounted under this engine\nleave out --mount, or use --sandbox docker, "
                  "podman or bwrap");
    } else if (a->o->no_proxy && a->engine->custom) {
        error_set(&a->err, ERROR_SANDBOX, 0,
                  "--allow-net and --secret do not work under an engine of your own\n"
                  "leave them out, or use --sandbox docker, podman or bwrap");
    } else if (fit_limits(a) == 0 && a->engine->start(a) == 0) {
        return;
    }
    attempt_fail(a, fault);
}

int attempt_attach(struct attempt *a, const struct record *r, struct error *err)
{
    a->begun = a->taken = true;
    if ((a->engine->attach && a->engine->attach(a, r, err) != 0)
        || run_dir_find(&a->dir, strrchr(r->dir, '/') + 1, err) != 0)
        return -1;
    a->name = xstrdup(r->container);
    a->runtime = xstrdup(r->runtime);
    a->image = xstrdup(r->image);
    a->uid = (unsigned)r->uid;
    a->holds_memory = r->holds_memory;
    a->holds_pids = r->holds_pids;
    a->holds_cpu = r->holds_cpu;
    for (size_t i = 0; i < r->cgroups.n && i < CGROUP_DIRS; i++)
        a->cgroup.dirs[a->cgroup.n++] = xstrdup(r->cgroups.v[i]);
    a->cgroup.memory = a->holds_memory && a->cgroup.n > 0;
    if (owner_check(r->owner) == OWNER_ALIVE) {
        a->peer = owner_pid(r->owner);
        a->peer_start = owner_start(r->owner);
    }
    attempt_find_memory(a);
    return 0;
}

void attempt_again(struct attempt *a, bool stdio, const char *runtime)
{
    attempt_abandon(a);
    a->stdio = stdio;
    if (runtime)
        xreplace(&a->runtime, xstrdup(runtime));
    attempt_begin(a);
}
