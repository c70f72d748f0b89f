/* bwrap.c - the life of a bubblewrap sandbox, for where there is no container engine. It has no limits of
 * its own: those are made before it starts (rlimits, in set_limits) or before it is given any code (control
 * group, in join_group). It lives as long as bwrap, our child, does.
 */
#include "engine/bwrap.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/argv.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/loop.h"
#include "base/mem.h"
#include "engine/attempt.h"
#include "engine/job.h"
#include "limits/seccomp.h"
#include "records/owner.h"

/* uids from here to 2^31-2 are used by nothing: above those of containers, below what is negative as an int.
 */
#define FREE_UID_FIRST 0x70000000u
#define FREE_UID_COUNT 0x0ffffffeu
#define OWN_FILES      4096 /* of a supervisor whose uid other sandboxes have too */
/* bwrap builds its sandbox in some ms; but a mount of the host that hangs makes it hang too */
#define JOIN_MS    20000
#define END_MS     1000  /* for all of it to be gone */
#define AT_ONCE_MS 30    /* what the program's end waits for itself: bwrap is gone after 2 ms */
#define AFTER_MS   10000 /* what the keeper waits */
#define STEP_MS    10    /* between looks for the first process inside */

/* ---- what runs between fork and exec, and beside bwrap ---- */

/* A uid that nothing on this host uses. */
static unsigned pick_uid(bool outlives)
{
    /* Our pid makes it ours among the sandboxes of this host: other sandboxes' code can then neither signal
     * nor count against it. One that outlives us is still there when a later program has our pid. */
    unsigned number = (unsigned)getpid();

    if (outlives && getrandom(&number, sizeof number, 0) != sizeof number)
        number = (unsigned)getpid();
    unsigned uid = FREE_UID_FIRST + number % FREE_UID_COUNT;

    for (int i = 0; i < 16 && getpwuid(uid); i++)
        uid = FREE_UID_FIRST + (uid - FREE_UID_FIRST + 0x01000001u) % FREE_UID_COUNT;
    return uid;
}

static int limit(int what, rlim_t value)
{
    struct rlimit now, r = {value, value};

    if (getrlimit(what, &now) == 0 && now.rlim_max < value)
        r.rlim_cur = r.rlim_max = now.rlim_max;
    return setrlimit(what, &r);
}

static int complain(const char *what)
{
    (void)!write(STDERR_FILENO, what, strlen(what));
    return 1;
}

struct setup {
    const struct sandbox_options *o;
    unsigned uid;      /* 0: stay who we are */
    bool limit_memory; /* for each process, where no control group does it for all */
};

/* In the child, before exec: only calls that are safe there. The limits while we may, then the uid.
 *
 * A sandbox of an ordinary user has the uid of that user's other sandboxes. Then what a user namespace is
 * made under is the limit for all of them together (signals, processes), and whose limit of files is lower
 * than what all have in flight may pass no descriptor: so the code gets its own limits inside (start.py), and
 * the supervisor has room that no code can use up.
 *
 * No --die-with-parent and no death signal: when bwrap is killed between its clone and its word to the child
 * that its uids are mapped, the child waits for that word for ever, in no control group yet. Left alone it
 * starts the supervisor, which finds the channel closed and ends, and everything with it, as it does whenever
 * the program goes. */
static int set_limits(void *ctx)
{
    const struct setup *s = ctx;
    int files = s->uid || s->o->open_files > OWN_FILES ? s->o->open_files : OWN_FILES;
    const struct {
        int what;
        rlim_t value;
    } limits[] = {
        {RLIMIT_CORE, 0},
        {RLIMIT_NOFILE, (rlim_t)files},
        {RLIMIT_FSIZE, (rlim_t)s->o->file_size},
        {RLIMIT_MEMLOCK, 0},
        {RLIMIT_MSGQUEUE, 0},
        {RLIMIT_SIGPENDING, s->uid ? PENDING_MOST : RLIM_INFINITY},
        {RLIMIT_STACK, 8 << 20},
        {RLIMIT_RTPRIO, 0},
        {RLIMIT_NICE, 0},
        /* as many as we may; how many the code may have is set inside or by a group */
        {RLIMIT_NPROC, RLIM_INFINITY},
    };

    for (size_t i = 0; i < countof(limits); i++)
        if (limit((int)limits[i].what, limits[i].value) != 0)
            return complain("cannot set a limit");
    if (s->limit_memory && limit(RLIMIT_AS, (rlim_t)s->o->memory) != 0)
        return complain("cannot set the memory limit");
    umask(077);
    if (s->uid
        && (setgroups(0, NULL) != 0 || setresgid(s->uid, s->uid, s->uid) != 0
            || setresuid(s->uid, s->uid, s->uid) != 0))
        return complain("cannot become an ordinary user");
    return 0;
}

/* What bwrap says there (--info-fd): {"child-pid": N, ...}; 0 when it ends without. */
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

        if (end && *end) /* all of the number is here */
            return (pid_t)pid;
    }
    return 0;
}

struct join {
    const struct cgroup *cgroup;
    pid_t bwrap;
};

/* Joining makes the kernel wait for a grace period of all CPUs, 5 to 25 ms. So it is done beside bwrap while
 * that builds the sandbox and Python starts. Nothing is lost by it: Python waits for our first byte, which
 * comes when this has ended well, so every process and page of the code's is the group's. The child goes
 * first: were we and the program killed with bwrap alone in the group, the next start would kill bwrap,
 * perhaps before it has told its child to go on. */
static int join_group(void *ctx)
{
    const struct join *j = ctx;
    pid_t child = child_pid(STDIN_FILENO);

    if (child <= 1)
        return complain("bwrap started nothing");
    if (cgroup_add(j->cgroup, child) != 0 || cgroup_add(j->cgroup, j->bwrap) != 0)
        return complain("cannot join the control group");
    dprintf(STDOUT_FILENO, "%d\n", (int)child);
    return 0;
}

/* ---- start ---- */

/* Python is told to go on. Whether it really started shows at its first word. */
static int release(struct attempt *a)
{
    if (session_dir_hand_over(a->channel, a->listener) != 0)
        return error_errno(&a->err, "the sandbox's channel");
    fd_close(&a->listener);
    attempt_up(a);
    return 0;
}

static void joined(void *ctx, struct job *j)
{
    struct attempt *a = ctx;

    if (job_ok(j)) {
        attempt_found_peer(a, (pid_t)strtol(buf_str(&j->out_text), NULL, 10));
        if (release(a) != 0)
            attempt_fail(a, FAULT_OTHER);
        return;
    }
    if (j->timed_out) {
        error_set(&a->err, ERROR_SANDBOX, 0,
                  "bwrap did not start the sandbox within %d s\n"
                  "is a mount on this machine hanging? otherwise use --sandbox docker or podman",
                  JOIN_MS / 1000);
        attempt_fail(a, FAULT_OTHER);
        return;
    }
    autofree char *said = job_complaint(j);
    attempt_blame(a, said);
    attempt_fail(a, a->fault);
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
    attempt_found_peer(a, child_pid(a->info));
    loop_unwatch(a->loop, a->info);
    fd_close(&a->info);
}

static int start_join(struct attempt *a, int info)
{
    struct join join = {.cgroup = &a->cgroup, .bwrap = a->client->pid};
    char *const argv[] = {(char *)"the control group", NULL};
    struct job_options o = {.argv = argv,
                            .watch = {a->loop, joined, a},
                            .deadline_ms = JOIN_MS,
                            .in = info,
                            .out = -1,
                            .die_with_parent = true,
                            .body = join_group,
                            .body_ctx = &join};

    a->helper = job_start(&o, &a->err);
    return a->helper ? 0 : -1;
}

/* All that is there before bwrap is: directory, control group, record, socket of a sandbox with a name. */
static int prepare(struct attempt *a)
{
    struct cgroup_limits limits = {.memory = a->o->memory, .cpus = a->o->cpus, .pids = plan_pids(&a->given)};
    autofree char *group = owner_group_name();

    if (access("/usr/bin/python3", X_OK) != 0)
        return error_set(&a->err, ERROR_SANDBOX, errno,
                         "bwrap: this host has no /usr/bin/python3\ninstall it (apt install python3), or use "
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
        a->listener = session_dir_listen(&a->dir, false, &a->err);
    return a->o->name && a->listener < 0 ? -1 : 0;
}

/* theirs, info: the ends of the channel and of the pipe that bwrap gets. */
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
    bwrap_vector(&plan, &argv);
    struct setup setup = {.o = &a->given,
                          .uid = geteuid() == 0 ? pick_uid(a->o->name != NULL) : 0,
                          .limit_memory = !a->holds_memory};
    int keep[] = {theirs, filter, info, -1};
    struct job_options o = {.argv = argv.v,
                            .watch = {.loop = a->loop},
                            .in = -1,
                            .out = -1,
                            .keep = keep,
                            .own_session = a->o->name != NULL,
                            .own_env = true,
                            .setup = set_limits,
                            .setup_ctx = &setup};
    a->client = job_start(&o, &a->err);
    return a->client ? 0 : -1;
}

static int start(struct attempt *a)
{
    int ends[2], info[2] = {-1, -1};

    if (prepare(a) != 0)
        return -1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return error_errno(&a->err, "socketpair");
    a->channel = a->channel_out = ends[0];
    autoclose int theirs = ends[1];
    if (info_pipe(info) != 0)
        return error_errno(&a->err, "pipe");
    autoclose int info_in = info[0], info_out = info[1];
    if (start_bwrap(a, theirs, info_out) != 0)
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
    return release(a);
}

/* Memory is then limited for each process, which is told as weaker, processes by their own limit. */
static const char *weakness(const struct attempt *a, unsigned *unheld)
{
    *unheld = a->holds_cpu ? 0 : SANDBOX_ASKED_CPUS;
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

/* A bwrap that hangs. Stopped, it makes no first process any more: what it has made is found, and both are
 * killed. */
static bool end_hung(struct attempt *a)
{
    kill(a->client->pid, SIGSTOP);
    poll(NULL, 0, 2 * STEP_MS);
    find_peer(a);
    bool gone = !attempt_knows_peer(a) || attempt_kill_peer(a, 1000);
    child_kill(a->client->pid, SIGKILL);
    return gone;
}

/* Whoever hangs in there does not see that the channel has ended. True: nothing runs any more. wait: job_wait
 * for a child of ours, else job_attend. */
static bool end_namespace(struct attempt *a, int wait_ms, bool (*wait)(struct job *, int))
{
    int64_t until = clock_ms() + wait_ms;

    for (;;) {
        bool ended = !a->client || wait(a->client, 0);

        if (!ended)
            find_peer(a); /* bwrap may be about to make it */
        if (attempt_knows_peer(a) ? attempt_kill_peer(a, attempt_left_ms(until)) : ended)
            return true;
        if (clock_ms() >= until)
            return !ended && end_hung(a);
        poll(NULL, 0, STEP_MS);
    }
}

static bool end(struct attempt *a, int64_t until)
{
    int left = attempt_left_ms(until);

    return end_namespace(a, left < END_MS ? left : END_MS, job_wait);
}

/* bwrap is told to end and mostly has at once. True: nothing is left. */
static bool end_at_once(struct attempt *a)
{
    bool gone = end_namespace(a, AT_ONCE_MS, job_wait);

    if (a->client) {
        child_kill(a->client->pid, SIGKILL);
        job_wait(a->client, AT_ONCE_MS);
    }
    return cgroup_remove_within(&a->cgroup, AT_ONCE_MS) && gone;
}

static bool end_as_keeper(struct attempt *a)
{
    bool gone = end_namespace(a, AFTER_MS, job_attend);

    if (a->client && !job_attend(a->client, AT_ONCE_MS))
        child_kill(a->client->pid, SIGKILL);
    return gone;
}

const struct engine engine_bwrap = {
    .name = "bwrap",
    .package = "bubblewrap",
    .python_advice =
        "bwrap runs /usr/bin/python3, which must be 3.8 or newer; else use --sandbox docker or podman",
    .named = true,
    .attached = true,
    .host_python = true,
    .users_uid = true,
    .processes_fresh = 1, /* bwrap itself runs under the sandbox's uid */
    .processes_ours = 8,
    .vector = bwrap_vector,
    .explain = bwrap_explain,
    .start = start,
    .weakness = weakness,
    .end = end,
    .end_at_once = end_at_once,
    .end_as_keeper = end_as_keeper,
};
