/* bwrap.c - the life of a bubblewrap sandbox, used where there is no container engine. bwrap sets no
 * limits itself. They are set before it starts (resource limits, in bwrap_limits.c) or before it is given
 * any code (the control group, in join_group). The sandbox lives as long as bwrap, our child.
 */
#include "engine/bwrap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/argv.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "engine/attempt.h"
#include "engine/client.h"
#include "limits/seccomp.h"
#include "mount/mount.h"
#include "process/child.h"
#include "process/loop.h"
#include "records/owner.h"

/* bwrap builds its sandbox in a few ms, but hangs when a mount of the host hangs */
#define JOIN_MS    20000
#define END_MS     1000  /* for everything to be gone */
#define AT_ONCE_MS 30    /* what the program itself waits at its end: bwrap is gone after 2 ms */
#define AFTER_MS   10000 /* what the keeper waits */
#define STEP_MS    10    /* between looks for the first process inside */

/* ---- beside bwrap ---- */

/* The child's pid from what bwrap writes there (--info-fd): {"child-pid": N, ...}; 0 if it ends without
 * one. */
static pid_t child_pid(int fd)
{
    static const char key[] = "\"child-pid\": ";
    char text[1024] = "";
    size_t len = 0;
    ssize_t n;

    while (len < sizeof text - 1
           && ((n = read(fd, text + len, sizeof text - 1 - len)) > 0 || (n < 0 && errno == EINTR))) {
        len += n > 0 ? (size_t)n : 0;
        text[len] = '\0';
        const char *at = strstr(text, key);
        char *end = NULL;
        long pid = at ? strtol(at + strlen(key), &end, 10) : 0;

        if (end && *end) /* the whole number has arrived */
            return (pid_t)pid;
    }
    return 0;
}

/* In the keeper, before all else. Joining makes the kernel wait for a grace period on all CPUs, 5 to 25 ms,
 * so it is done while bwrap builds the sandbox and Python starts. No code can escape the group that way:
 * Python waits for our first byte, which is sent only after this has succeeded, so every process and page of
 * the code is counted. The child joins first. If only bwrap were in the group when we and the program were
 * killed, the next start would kill bwrap, perhaps before it has told its child to go on. */
static void join_group(struct attempt *a)
{
    pid_t child = child_pid(STDIN_FILENO);

    if (child <= 1)
        dprintf(STDOUT_FILENO, "bwrap started nothing");
    else if (cgroup_add(&a->cgroup, child) != 0 || cgroup_add(&a->cgroup, a->client->pid) != 0)
        dprintf(STDOUT_FILENO, "cannot join the control group");
    else
        dprintf(STDOUT_FILENO, "%d", (int)child);
}

/* ---- start ---- */

/* Tell Python to go on. Whether it really started shows with its first frame. */
static int let_python_go(struct attempt *a)
{
    int parts = a->listener < 0 && a->parts ? a->parts() : -1;

    a->has_parts = parts >= 0;
    if (a->has_parts ? fd_send(a->channel, "M", 1, parts) != 1
                     : run_dir_hand_over(a->channel, a->listener) != 0)
        return error_errno(&a->err, "the sandbox's channel");
    fd_close(&a->listener);
    attempt_up(a);
    return 0;
}

static void stop_info(struct attempt *a)
{
    loop_unwatch(a->loop, a->info);
    fd_close(&a->info);
}

static void on_join_late(void *ctx)
{
    struct attempt *a = ctx;

    stop_info(a);
    error_set(&a->err, ERROR_SANDBOX, 0,
              "it did not start the sandbox within %d s\n"
              "is a mount on this machine hanging? otherwise use --sandbox docker or podman",
              JOIN_MS / 1000);
    attempt_fail(a, FAULT_OTHER);
}

/* What the keeper says is shorter than PIPE_BUF, so it comes whole. */
static void on_joined(void *ctx)
{
    struct attempt *a = ctx;
    char said[64];
    ssize_t n = read(a->info, said, sizeof said - 1);

    said[n > 0 ? n : 0] = '\0';
    stop_info(a);
    if (*said < '1' || *said > '9') {
        attempt_blame(a, *said ? said : "the process that watches it was killed");
        attempt_fail(a, a->fault);
        return;
    }
    attempt_found_peer(a, (pid_t)strtol(said, NULL, 10));
    if (let_python_go(a) != 0)
        attempt_fail(a, FAULT_OTHER);
}

/* A pipe whose writing end can also read. Otherwise bwrap would die of SIGPIPE once we are dead, and its
 * child would wait for it for ever. */
static int info_pipe(int ends[2])
{
    char path[32];

    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[1]);
    int both = open(path, O_RDWR | O_CLOEXEC);
    close(ends[1]);
    ends[1] = both;
    if (both < 0)
        fd_close(&ends[0]);
    return both < 0 ? -1 : 0;
}

/* No process joins a control group here, so the start does not wait for what bwrap writes. */
static void serve_info(void *ctx)
{
    struct attempt *a = ctx;

    attempt_found_peer(a, child_pid(a->info));
    stop_info(a);
}

/* The keeper does it: a process of its own would be another copy of our memory. */
static int start_join(struct attempt *a, int info)
{
    int said[2];

    if (pipe2(said, O_CLOEXEC) != 0)
        return error_errno(&a->err, "pipe");
    autoclose int theirs = said[1];
    a->info = said[0];
    if (!keeper_start_with(a, &(struct keeper_first){join_group, info, theirs}))
        return error_errno(&a->err, "the process that watches the sandbox");
    loop_watch(a->loop, a->info, POLLIN, on_joined, a);
    loop_timer(a->loop, clock_ms() + JOIN_MS, on_join_late, a);
    return 0;
}

/* Make what must exist before bwrap: directory, control group, record, and the socket of a named sandbox. */
static int bwrap_prepare(struct attempt *a)
{
    struct cgroup_limits limits = {.memory = a->o->memory, .cpus = a->o->cpus, .pids = plan_pids(&a->given)};
    autofree char *group = owner_group_name();

    if (access("/usr/bin/python3", X_OK) != 0)
        return error_set(&a->err, ERROR_SANDBOX, errno,
                         "this host has no /usr/bin/python3\ninstall it (apt install python3), or use "
                         "--sandbox docker or podman");
    if (attempt_make_dir(a) != 0)
        return -1;
    cgroup_make(&a->cgroup, NULL, group, &limits);
    a->holds_memory = a->cgroup.memory;
    a->holds_pids = a->cgroup.pids;
    a->holds_cpu = a->cgroup.cpu;
    attempt_find_memory(a);
    if (attempt_record(a, NULL, false, &a->err) != 0)
        return -1;
    if (a->o->name)
        a->listener = run_dir_listen(&a->dir, false, &a->err);
    return a->o->name && a->listener < 0 ? -1 : 0;
}

/* theirs, info: bwrap's ends of the channel and of the pipe. */
static int start_bwrap(struct attempt *a, int theirs, int info)
{
    struct argv argv autorelease(argv_release) = ARGV_INIT;
    struct engine_plan plan;
    autoclose int filter = seccomp_ready(&a->err);

    if (filter < 0)
        return -1;
    attempt_plan(a, &plan);
    plan.channel = theirs;
    plan.seccomp = filter;
    plan.info = info;
    plan.staged = geteuid() == 0 && engine_mount(&a->given, 0);
    bwrap_vector(&plan, &argv);
    struct bwrap_setup setup = {.o = &a->given,
                                .uid = geteuid() == 0 ? bwrap_pick_uid() : 0,
                                .staged = plan.staged,
                                .limit_memory = !a->holds_memory};
    int keep[] = {theirs, filter, info, -1};
    struct child_options o = {.argv = argv.v,
                              .watch = {.loop = a->loop},
                              .in = CHILD_NULL,
                              .out = CHILD_KEPT,
                              .keep = keep,
                              .own_session = a->o->name != NULL,
                              .setup = bwrap_set_limits,
                              .ctx = &setup};
    a->client = client_start(o, &a->err);
    return a->client ? 0 : -1;
}

static int bwrap_start(struct attempt *a)
{
    int ends[2], info[2] = {-1, -1};

    if (bwrap_prepare(a) != 0)
        return -1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return error_errno(&a->err, "socketpair");
    a->channel = a->channel_out = ends[0];
    autoclose int theirs = ends[1];
    if (info_pipe(info) != 0)
        return error_errno(&a->err, errno == ENOENT ? "/proc is not mounted, and needed" : "pipe");
    autoclose int info_in = info[0], info_out = info[1];
    if (start_bwrap(a, theirs, info_out) != 0)
        return -1;
    fd_close(&info_out); /* so that the reader sees the end once bwrap closes its own */
    if (fd_nonblock(a->channel, true) != 0)
        return error_errno(&a->err, "the sandbox's channel");
    if (a->cgroup.n > 0 || a->o->name)
        return start_join(a, info_in);
    keeper_start(a);
    a->info = fd_steal(&info_in);
    loop_watch(a->loop, a->info, POLLIN, serve_info, a);
    return let_python_go(a);
}

/* Without a control group, memory is limited per process, which is reported as weaker. The processes have
 * a limit of their own. */
static const char *bwrap_weakness(const struct attempt *a, unsigned *unheld)
{
    *unheld = a->holds_cpu ? 0 : ENGINE_ASKED_CPUS;
    if (!a->holds_memory)
        return a->holds_cpu ? "no memory control group: memory is limited per process, not in total"
                            : "no permission to create a control group: memory is limited per process, not "
                              "in total, and CPU time is not limited";
    return a->holds_cpu ? NULL : "no CPU control group: CPU time is not limited";
}

/* ---- end ---- */

/* The first process inside is bwrap's only child. */
static void find_peer(struct attempt *a)
{
    char path[64];
    struct buf text autorelease(buf_release) = BUF_INIT(64);
    pid_t bwrap = a->client ? a->client->pid : 0;

    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)bwrap, (int)bwrap);
    if (attempt_knows_peer(a) || bwrap <= 1 || file_read(path, 64, &text, NULL) != 0)
        return;
    a->peer = (pid_t)strtol(buf_str(&text), NULL, 10);
    a->peer_start = a->peer > 1 ? owner_start_time(a->peer) : 0;
}

/* bwrap hangs. Once stopped it can make no first process any more; one that it has made is found, and both
 * are killed. */
static bool end_hung(struct attempt *a)
{
    kill(a->client->pid, SIGSTOP);
    poll(NULL, 0, 2 * STEP_MS);
    find_peer(a);
    bool gone = !attempt_knows_peer(a) || attempt_kill_peer(a, 1000);
    child_kill(a->client, SIGKILL);
    return gone;
}

/* A process that hangs inside does not notice that the channel is closed. True: nothing runs any more. */
static bool end_namespace(struct attempt *a, int wait_ms)
{
    int64_t until = clock_ms() + wait_ms;

    for (;;) {
        bool ended = child_wait(a->client, 0);

        if (!ended)
            find_peer(a); /* bwrap may be about to make the first process */
        if (attempt_knows_peer(a) ? attempt_kill_peer(a, attempt_left_ms(until)) : ended)
            return true;
        if (clock_ms() >= until)
            return !ended && end_hung(a);
        poll(NULL, 0, STEP_MS);
    }
}

static bool bwrap_end(struct attempt *a, int64_t until)
{
    int left = attempt_left_ms(until);

    return end_namespace(a, left < END_MS ? left : END_MS);
}

/* bwrap has been told to end, and mostly is gone already. True: nothing is left. */
static bool bwrap_end_at_once(struct attempt *a)
{
    bool gone = end_namespace(a, AT_ONCE_MS);

    child_kill(a->client, SIGKILL);
    child_wait(a->client, AT_ONCE_MS);
    return cgroup_remove_within(&a->cgroup, AT_ONCE_MS) && gone;
}

static bool bwrap_end_as_keeper(struct attempt *a)
{
    bool gone = end_namespace(a, AFTER_MS);

    if (!child_wait(a->client, AT_ONCE_MS))
        child_kill(a->client, SIGKILL);
    return gone;
}

const struct engine engine_bwrap = {
    .name = "bwrap",
    .package = "bubblewrap",
    .python_advice =
        "bwrap runs /usr/bin/python3, which must be 3.8 or newer; else use --sandbox docker or podman",
    .named = true,
    .mounts = true,
    .attached = true,
    .host_python = true,
    .users_uid = true,
    .processes_fresh = 1, /* bwrap itself runs under the sandbox's uid */
    .processes_ours = 8,
    .vector = bwrap_vector,
    .explain = bwrap_explain,
    .start = bwrap_start,
    .weakness = bwrap_weakness,
    .end = bwrap_end,
    .end_at_once = bwrap_end_at_once,
    .end_as_keeper = bwrap_end_as_keeper,
};
