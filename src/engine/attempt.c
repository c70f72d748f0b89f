/* attempt.c - see attempt.h. The container's road: directory, socket, "docker run -d", the
 * supervisor connects, it is handed the listener. Where it never connects although it runs (a remote or
 * virtual engine), the same again with attached pipes.
 */
#include "engine/attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/argv.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/loop.h"
#include "base/mem.h"
#include "engine/hard_limits.h"
#include "engine/uid_range.h"
#include "engine/job.h"
#include "engine/owner.h"
#include "engine/options.h"
#include "engine/seccomp.h"

#define RUN_MS     60000 /* "docker run"; a cold daemon on a slow disk takes its time */
#define CLIENT_MS  10000 /* any other call of a client */
#define LOOK_MS    1000  /* between looks at a container that runs but has not connected */
#define CONNECT_MS 10000 /* then it never will: the socket is not shared */
#define JOIN_MS \
    20000 /* bwrap builds its sandbox in some ms; but a mount of the host that hangs makes it hang too */

static void begin(struct attempt *a);

static void finish(void *ctx, short revents)
{
    struct attempt *a = ctx;

    (void)revents;
    loop_timer_stop(a->loop, a);
    a->done(a->ctx, a->up);
}

/* Tell it from the loop, never from inside a call of the caller. */
static void finish_soon(struct attempt *a)
{
    loop_timer(a->loop, clock_ms(), finish, a);
}

/* What would help: another engine only where it is this one's fault. */
static const char *step_after(const struct error *e)
{
    if (strchr(e->text, '\n'))
        return "";
    if (fd_none_left(e->code))
        return "\nend other programs, or allow this one more open files: ulimit -n";
    return "\ntry another engine with --sandbox";
}

static void fail(struct attempt *a, enum engine_fault fault)
{
    if (a->err.kind != ERROR_SANDBOX) {
        struct error e = a->err;
        error_set(&a->err, ERROR_SANDBOX, e.code, "%s: %s%s", a->engine->name, e.text, step_after(&e));
    }
    a->fault = fault;
    finish_soon(a);
}

static void fill_plan(struct attempt *a, struct engine_plan *p)
{
    struct rlimit nproc = {.rlim_max = RLIM_INFINITY};

    getrlimit(RLIMIT_NPROC, &nproc);
    *p = (struct engine_plan){
        .o = &a->given,
        .guest = a->guest,
        .program = a->program,
        .name = a->name,
        .dir = a->dir.in,
        .profile = a->dir.profile,
        .uid = a->uid,
        .runtime = a->runtime,
        .stdio = a->stdio,
        .no_limits = a->no_limits,
        .info = -1,
        .hard_nproc = nproc.rlim_max > 4096 ? 4096 : (int)nproc.rlim_max,
        .channel = -1,
        .seccomp = -1,
        .holds_pids = a->cgroup.pids,
        .holds_memory = a->cgroup.memory,
        .shares_user = a->engine == &engine_bwrap && geteuid() != 0,
    };
}

/* The same engine once more, another way. */
static void again(struct attempt *a, bool stdio, const char *runtime)
{
    attempt_abandon(a);
    a->stdio = stdio;
    if (runtime) {
        free(a->runtime);
        a->runtime = xstrdup(runtime);
    }
    begin(a);
}

/* ---- containers ---- */

void attempt_blame(struct attempt *a, const char *why)
{
    struct engine_plan plan;

    fill_plan(a, &plan);
    a->err = (struct error){0};
    /* A bwrap that failed ends at once, and its last words are the cause. */
    if (a->client && (!a->engine->container || a->stdio) && job_wait(a->client, 300)
        && a->client->err_text.len > 0) {
        autofree char *said = job_complaint(a->client);
        a->fault = a->engine->explain(&plan, said, &a->err);
        return;
    }
    error_set(
        &a->err, ERROR_SANDBOX, 0, "%s: %s\n%s", a->engine->name, why,
        a->engine->container
            ? "use an image with python3 3.8 or newer (--image), or make ours: make image"
            : "bwrap runs /usr/bin/python3, which must be 3.8 or newer; else use --sandbox docker or podman");
    a->fault = FAULT_OTHER;
}

static void connected(struct attempt *a, int fd)
{
    loop_timer_stop(a->loop, a);
    a->channel = a->channel_out = fd;
    attempt_found_peer(a, a->peer);
    a->memory_dir = a->peer > 0 && !a->no_limits ? cgroup_memory_dir(NULL, a->peer) : NULL;
    int rc = engine_hand_over(fd, a->o->name ? a->listener : -1);
    loop_unwatch(a->loop, a->listener);
    fd_close(&a->listener);
    job_free(a->inspect);
    a->inspect = NULL;
    a->up = rc == 0;
    if (rc == 0)
        finish_soon(a);
    else {
        error_set(&a->err, ERROR_SANDBOX, errno, "%s: the sandbox closed its channel at once\ntry again",
                  a->engine->name);
        fail(a, FAULT_OTHER);
    }
}

static void serve_listener(void *ctx, short revents)
{
    struct attempt *a = ctx;
    int fd = engine_dir_accept(&a->dir, a->listener, &a->peer);

    (void)revents;
    if (fd >= 0)
        connected(a, fd);
}

static void look(void *ctx, short revents);

static void looked(void *ctx, struct job *j)
{
    struct attempt *a = ctx;
    bool runs = job_ok(j) && strncmp(buf_str(&j->out_text), "true", 4) == 0;

    job_free(j);
    a->inspect = NULL;
    if (runs && clock_ms() - a->started < CONNECT_MS)
        loop_timer(a->loop, clock_ms() + LOOK_MS, look, a);
    else /* refused, or never tried; if it is the image's fault, attached pipes let us read why */
        again(a, true, NULL);
}

static void look(void *ctx, short revents)
{
    struct attempt *a = ctx;
    struct argv argv = ARGV_INIT;

    (void)revents;
    argv_pushl(&argv, a->program, "inspect", "-f", "{{.State.Running}}", a->name, NULL);
    struct job_options o = {.argv = argv.v, .deadline_ms = CLIENT_MS, .in = -1, .out = -1, .own_env = true};
    a->inspect = job_start(&o, a->loop, looked, a, &a->err);
    argv_release(&argv);
    if (!a->inspect)
        fail(a, FAULT_OTHER);
}

static void client_failed(struct attempt *a, struct job *j)
{
    autofree char *said = job_complaint(j), *runc = job_find_program("runc");
    struct engine_plan plan;

    fill_plan(a, &plan);
    if (j->timed_out) {
        error_set(&a->err, ERROR_SANDBOX, 0,
                  "%s did not start the container within %d s\nis it stuck? try: %s info", a->engine->name,
                  RUN_MS / 1000, a->engine->name);
        fail(a, FAULT_OTHER);
        return;
    }
    enum engine_fault fault = a->engine->explain(&plan, said, &a->err);
    if (fault == FAULT_SHARE && !a->stdio)
        again(a, true, NULL);
    else if (fault == FAULT_RUNTIME && !a->runtime && runc && a->engine == &engine_podman)
        again(a, a->stdio, "runc");
    else
        fail(a, fault);
}

static void client_done(void *ctx, struct job *j)
{
    struct attempt *a = ctx;

    a->unmade = !job_ok(j);
    /* the client of attached pipes lives as long as the container; the kernel sees the end of the channel */
    if (a->up || a->stdio)
        return;
    if (!job_ok(j))
        client_failed(a, j);
    else
        loop_timer(a->loop, clock_ms() + LOOK_MS, look, a);
}

/* podman without root has no control groups to limit in the v1 hierarchy, nor in v2 where systemd has not
 * delegated memory. */
static bool rootless_without_limits(void)
{
    if (geteuid() == 0)
        return false;
    autofree char *path = xasprintf(
        "/sys/fs/cgroup/user.slice/user-%u.slice/user@%u.service/cgroup.controllers", (unsigned)geteuid(),
        (unsigned)geteuid());
    struct buf text = BUF_INIT(4096);
    bool has = file_read(path, 4096, &text, NULL) == 0 && strstr(buf_str(&text), "memory")
               && strstr(buf_str(&text), "pids");

    buf_release(&text);
    return !has;
}

/* No engine can do without it. */
static int make_dir(struct attempt *a)
{
    if (engine_dir_make(&a->dir, &a->err) == 0)
        return 0;
    if (fd_none_left(a->err.code) || strchr(a->err.text, '\n'))
        return -1;
    struct error e = a->err;
    return error_set(&a->err, ERROR_SYSTEM, e.code,
                     "%s\n"
                     "set XDG_RUNTIME_DIR to a folder of your own with free space and mode 0700",
                     e.text);
}

static int start_container(struct attempt *a)
{
    struct argv argv = ARGV_INIT;
    struct engine_plan plan;
    /* with a name it does not end with us: named_engine.c */
    autofree char *owner = a->o->name ? xstrdup("") : owner_self();
    int in[2] = {-1, -1}, out[2] = {-1, -1};

    if (a->stdio && a->o->name)
        return error_set(&a->err, ERROR_SANDBOX, 0,
                         "%s cannot share a socket with its containers here, and a named sandbox needs one\n"
                         "leave out --sandbox-name, or use --sandbox bwrap",
                         a->engine->name);
    a->no_limits = a->engine == &engine_podman && rootless_without_limits();
    if (make_dir(a) != 0)
        return -1;
    a->name = xasprintf("sandpiper-%s", a->dir.id);
    a->uid = engine_uid_draw();
    struct engine_record record = {.engine = a->engine->name, .container = a->name, .uid = a->uid};
    if (engine_dir_record(&a->dir, &record, &a->err) != 0 || engine_dir_profile(&a->dir, &a->err) != 0)
        return -1;
    autoclose int hold = engine_dir_hold(&a->dir, &a->err);
    if (hold < 0)
        return -1;
    if (a->stdio ? pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0
                 : (a->listener = engine_dir_listen(&a->dir, true, &a->err)) < 0)
        return a->err.kind ? -1 : error_errno(&a->err, "pipe");
    fill_plan(a, &plan);
    plan.owner = owner;
    a->engine->vector(&plan, &argv);
    /* If the directory went while the client is at work docker's would hang, and podman's leave a container.
     */
    int keep[] = {hold, -1};
    struct job_options o = {.argv = argv.v,
                            .deadline_ms = a->stdio ? 0 : RUN_MS,
                            .in = in[0],
                            .out = out[1],
                            .cwd = a->dir.path,
                            .keep = keep,
                            .own_env = true};
    a->client = job_start(&o, a->loop, client_done, a, &a->err);
    argv_release(&argv);
    a->started = clock_ms();
    fd_close(&in[0]);
    fd_close(&out[1]);
    if (!a->client) {
        fd_close(&in[1]);
        fd_close(&out[0]);
        return -1;
    }
    if (!a->stdio) {
        loop_watch(a->loop, a->listener, POLLIN, serve_listener, a);
        keeper_start(a);
        return 0;
    }
    a->channel = out[0];
    a->channel_out = in[1];
    keeper_start(a);
    if (fd_write_all(in[1], "N", 1) != 0 || fd_nonblock(in[1], true) != 0 || fd_nonblock(out[0], true) != 0)
        return error_errno(&a->err, "pipe");
    a->up = true;
    keeper_tell(a);
    finish_soon(a);
    return 0;
}

/* ---- bwrap ---- */

/* Python is told to go on. Whether it really started shows at its first word. */
static int release_bwrap(struct attempt *a)
{
    if (engine_hand_over(a->channel, a->listener) != 0)
        return error_errno(&a->err, "the sandbox's channel");
    fd_close(&a->listener);
    a->up = true;
    finish_soon(a);
    return 0;
}

static void joined(void *ctx, struct job *j)
{
    struct attempt *a = ctx;

    if (job_ok(j)) {
        attempt_found_peer(a, (pid_t)strtol(buf_str(&j->out_text), NULL, 10));
        if (release_bwrap(a) != 0)
            fail(a, FAULT_OTHER);
        return;
    }
    if (j->timed_out) {
        error_set(&a->err, ERROR_SANDBOX, 0,
                  "bwrap did not start the sandbox within %d s\n"
                  "is a mount on this machine hanging? otherwise use --sandbox docker or podman",
                  JOIN_MS / 1000);
        fail(a, FAULT_OTHER);
        return;
    }
    autofree char *said = job_complaint(j);
    attempt_blame(a, said);
    fail(a, a->fault);
}

/* A pipe whose writing end reads too: bwrap must not die of SIGPIPE when we have, its child would wait for it
 * for ever. */
static int info_pipe(int ends[2])
{
    char path[32];

    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[1]);
    int both = open(path, O_RDWR | O_CLOEXEC);
    fd_close(&ends[1]);
    ends[1] = both;
    if (both < 0)
        fd_close(&ends[0]);
    return both < 0 ? -1 : 0;
}

/* Nobody joins a control group, so nobody waits for bwrap's word. */
static void serve_info(void *ctx, short revents)
{
    struct attempt *a = ctx;

    (void)revents;
    attempt_found_peer(a, bwrap_child_pid(a->info));
    loop_unwatch(a->loop, a->info);
    fd_close(&a->info);
}

static int start_join(struct attempt *a, int info)
{
    struct bwrap_join join = {.cgroup = &a->cgroup, .bwrap = a->client->pid};
    char *const argv[] = {(char *)"the control group", NULL};
    struct job_options o = {.argv = argv,
                            .deadline_ms = JOIN_MS,
                            .in = info,
                            .out = -1,
                            .die_with_parent = true,
                            .body = bwrap_join,
                            .body_ctx = &join};

    a->join = job_start(&o, a->loop, joined, a, &a->err);
    return a->join ? 0 : -1;
}

static int start_bwrap(struct attempt *a)
{
    struct cgroup_limits limits = {
        .memory = a->o->memory, .cpus = a->o->cpus, .pids = engine_pids(&a->given)};
    struct argv argv = ARGV_INIT;
    struct engine_plan plan;
    autofree char *group = owner_group_name();
    int ends[2], info[2] = {-1, -1};

    if (access("/usr/bin/python3", X_OK) != 0)
        return error_set(&a->err, ERROR_SANDBOX, errno,
                         "bwrap: this host has no /usr/bin/python3\ninstall it (apt install python3), or use "
                         "--sandbox docker or podman");
    if (make_dir(a) != 0)
        return -1;
    cgroup_make(&a->cgroup, NULL, group, &limits);
    if (engine_dir_record(&a->dir, &(struct engine_record){.engine = "bwrap", .cgroup = &a->cgroup}, &a->err)
        != 0)
        return -1;
    if (a->o->name && (a->listener = engine_dir_listen(&a->dir, false, &a->err)) < 0)
        return -1;
    autoclose int filter = seccomp_ready(&a->err);
    if (filter < 0)
        return -1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return error_errno(&a->err, "socketpair");
    a->channel = a->channel_out = ends[0];
    autoclose int theirs = ends[1];
    if (info_pipe(info) != 0)
        return error_errno(&a->err, "pipe");
    autoclose int info_in = info[0], info_out = info[1];
    fill_plan(a, &plan);
    plan.channel = theirs;
    plan.seccomp = filter;
    plan.info = info_out;
    a->engine->vector(&plan, &argv);
    struct bwrap_setup setup = {.o = &a->given,
                                .uid = geteuid() == 0 ? bwrap_pick_uid(a->o->name != NULL) : 0,
                                .limit_memory = !a->cgroup.memory};
    int keep[] = {theirs, filter, info_out, -1};
    struct job_options o = {.argv = argv.v,
                            .in = -1,
                            .out = -1,
                            .keep = keep,
                            .own_session = a->o->name != NULL,
                            .own_env = true,
                            .setup = bwrap_setup,
                            .setup_ctx = &setup};
    a->client = job_start(&o, a->loop, NULL, NULL, &a->err);
    argv_release(&argv);
    if (!a->client)
        return -1;
    fd_close(&info_out); /* the reader sees the end when bwrap has closed its own */
    keeper_start(a);
    if (fd_nonblock(a->channel, true) != 0)
        return error_errno(&a->err, "the sandbox's channel");
    if (a->cgroup.n > 0 || a->o->name)
        return start_join(a, info_in);
    a->info = info_in;
    info_in = -1;
    loop_watch(a->loop, a->info, POLLIN, serve_info, a);
    return release_bwrap(a);
}

static const char *package_of(const char *engine)
{
    return strcmp(engine, "docker") == 0 ? "docker.io" : strcmp(engine, "bwrap") == 0 ? "bubblewrap" : engine;
}

/* What of the limits can be given at all is known before anything is started. */
static int look_for_room(struct attempt *a)
{
    struct engine_room room;

    engine_room(a->engine, &room);
    a->given = *a->o;
    buf_clear(&a->fewer);
    return engine_give(a->engine, &room, &a->given, &a->fewer, &a->err);
}

static void begin(struct attempt *a)
{
    a->channel = a->channel_out = a->listener = a->info = -1;
    a->peer = 0;
    a->begun = true;
    a->up = false;
    a->err = (struct error){0};
    a->fault = FAULT_OTHER;
    a->program = job_find_program(a->engine->name);
    if (strlen(a->guest) > GUEST_MAX) {
        error_set(&a->err, ERROR_SANDBOX, 0,
                  "the supervisor's text is too long for an argument\n"
                  "this is a bug in sandpiper");
        fail(a, FAULT_OTHER);
    } else if (!a->program) {
        error_set(&a->err, ERROR_SANDBOX, ENOENT, "%s is not installed\ninstall it: sudo apt install %s%s",
                  a->engine->name, package_of(a->engine->name),
                  a->engine->container ? ", or use another engine (--sandbox auto)" : "");
        fail(a, FAULT_ABSENT);
    } else if (look_for_room(a) != 0) {
        fail(a, FAULT_OTHER);
    } else if ((a->engine->container ? start_container(a) : start_bwrap(a)) != 0) {
        fail(a, FAULT_OTHER);
    }
}

void attempt_begin(struct attempt *a)
{
    begin(a);
}
