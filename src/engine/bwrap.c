/* bwrap.c - the description of bubblewrap, for where there is no container engine. It has no limits of its
 * own: those are made before it starts (rlimits, in bwrap_setup) or before it is given any code (control
 * group, in bwrap_join). docs/SECURITY.md has the reason of each flag.
 */
#include "engine/plan.h"

#include <errno.h>
#include <pwd.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "engine/options.h"

/* uids from here to 2^31-2 are used by nothing: above those of containers, below what is negative as an int.
 */
#define FREE_UID_FIRST 0x70000000u
#define FREE_UID_COUNT 0x0ffffffeu
#define OWN_FILES      4096 /* of a supervisor whose uid other sandboxes have too */

static void set_env(void *ctx, const char *name, const char *value)
{
    argv_pushl(ctx, "--setenv", name, value, NULL);
}

static void push_tmpfs(struct argv *out, int64_t size, const char *perms, const char *path)
{
    argv_push(out, "--size");
    argv_pushf(out, "%lld", (long long)size);
    argv_pushl(out, "--perms", perms, "--tmpfs", path, NULL);
}

static void push_root(struct argv *out)
{
    /* Of /etc only what numpy, matplotlib and the loader fail without; where a distribution lacks one, so
     * does the sandbox. */
    static const char *const etc[] = {"/etc/alternatives", "/etc/matplotlibrc", "/etc/fonts",
                                      "/etc/localtime", "/etc/ld.so.cache"};
    /* Merged /usr or not: what is a link on the host is a link inside. */
    static const char *const dirs[] = {"/bin", "/lib", "/lib64", "/lib32", "/sbin"};
    char target[64];
    struct stat st;

    argv_pushl(out, "--ro-bind", "/usr", "/usr", NULL);
    for (size_t i = 0; i < countof(dirs); i++) {
        ssize_t n = readlink(dirs[i], target, sizeof target - 1);

        if (n > 0) {
            target[n] = '\0';
            argv_pushl(out, "--symlink", target, dirs[i], NULL);
        } else if (lstat(dirs[i], &st) == 0 && S_ISDIR(st.st_mode)) {
            argv_pushl(out, "--ro-bind", dirs[i], dirs[i], NULL);
        }
    }
    argv_pushl(out, "--dir", "/etc", NULL);
    for (size_t i = 0; i < countof(etc); i++)
        argv_pushl(out, "--ro-bind-try", etc[i], etc[i], NULL);
}

static void vector(const struct engine_plan *p, struct argv *out)
{
    char uid[16], channel[32];

    snprintf(uid, sizeof uid, "%d", SANDBOX_UID);
    snprintf(channel, sizeof channel, "fd:%d", p->channel);
    argv_push(out, p->program);
    argv_pushl(out, "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts",
               "--unshare-cgroup", "--disable-userns", "--uid", uid, "--gid", uid, "--hostname", "sandpiper",
               "--cap-drop", "ALL", "--new-session", "--as-pid-1", NULL);
    push_root(out);
    /* Some sysctls belong to a namespace (pid_max, msgmax) and would be the sandbox's to change. */
    argv_pushl(out, "--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--dev", "/dev", NULL);
    push_tmpfs(out, p->o->tmp_size, "1777", "/dev/shm");
    argv_pushl(out, "--remount-ro", "/dev", NULL);
    push_tmpfs(out, p->o->tmp_size, "1777", "/tmp");
    argv_pushl(out, "--dir", "/mnt", NULL);
    push_tmpfs(out, p->o->data_size, "0700", DATA_DIR);
    argv_pushl(out, "--remount-ro", "/", "--clearenv", NULL);
    engine_environment(p, set_env, out);
    argv_pushl(out, "--chdir", DATA_DIR, "--add-seccomp-fd", NULL);
    argv_pushf(out, "%d", p->seccomp);
    if (p->info >= 0) {
        argv_push(out, "--info-fd");
        argv_pushf(out, "%d", p->info);
    }
    argv_pushl(out, "--", "/usr/bin/python3", NULL);
    engine_guest_words(p, channel, p->holds_pids ? 0 : p->o->pids, p->o->data_files, p->holds_memory, out);
}

static long read_sysctl(const char *path)
{
    FILE *f = fopen(path, "re");
    long value = -1;

    if (f && fscanf(f, "%ld", &value) != 1)
        value = -1;
    if (f)
        fclose(f);
    return value;
}

static void explain_userns(struct error *err)
{
    /* AppArmor allows by path: a bwrap from elsewhere than the distribution's place stays forbidden, profile
     * or not. */
    static const struct {
        const char *path, *name;
        long bad;
        const char *good, *also;
    } knobs[] = {
        {"/proc/sys/kernel/unprivileged_userns_clone", "kernel.unprivileged_userns_clone", 0, "1", ""},
        {"/proc/sys/user/max_user_namespaces", "user.max_user_namespaces", 0, "15000", ""},
        {"/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
         "kernel.apparmor_restrict_unprivileged_userns", 1, "0",
         "; or give only /usr/bin/bwrap an AppArmor profile in /etc/apparmor.d that allows userns"},
    };

    for (size_t i = 0; i < countof(knobs); i++)
        if (read_sysctl(knobs[i].path) == knobs[i].bad) {
            error_set(err, ERROR_SANDBOX, 0,
                      "bwrap: user namespaces are not allowed here (%s is %ld)\n"
                      "allow them: sudo sysctl -w %s=%s%s",
                      knobs[i].name, knobs[i].bad, knobs[i].name, knobs[i].good, knobs[i].also);
            return;
        }
    error_set(err, ERROR_SANDBOX, 0,
              "bwrap: user namespaces are not allowed here (inside a container, or forbidden by a security "
              "module)\n"
              "use --sandbox docker or podman, or run where user namespaces are allowed");
}

static enum engine_fault explain(const struct engine_plan *p, const char *said, struct error *err)
{
    (void)p;
    if (strstr(said, "Resource temporarily unavailable"))
        error_set(err, ERROR_SANDBOX, 0,
                  "bwrap: process limit reached (ulimit -u)\n"
                  "end other programs, or raise the limit in /etc/security/limits.conf (nproc)");
    else if (strstr(said, "namespace") || strstr(said, "uid map") || strstr(said, "setting up uid")
             || strstr(said, "user.max"))
        explain_userns(err);
    else if (strstr(said, "nknown option"))
        error_set(err, ERROR_SANDBOX, 0, "bwrap is too old (%.200s)\ninstall bubblewrap 0.8 or newer", said);
    else if (strstr(said, "/usr/bin/python3"))
        error_set(err, ERROR_SANDBOX, 0,
                  "bwrap: this host has no /usr/bin/python3\ninstall it (apt install python3), "
                  "or use --sandbox docker or podman");
    else
        error_set(err, ERROR_SANDBOX, 0, "bwrap: %.300s\ntry by hand: bwrap --unshare-all --ro-bind / / true",
                  said);
    return FAULT_OTHER;
}

const struct engine_description engine_bwrap = {
    .name = "bwrap", .container = false, .vector = vector, .explain = explain};

unsigned bwrap_pick_uid(bool outlives)
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
int bwrap_setup(void *ctx)
{
    const struct bwrap_setup *s = ctx;
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

pid_t bwrap_child_pid(int fd)
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

/* Joining makes the kernel wait for a grace period of all CPUs, 5 to 25 ms. So it is done beside bwrap while
 * that builds the sandbox and Python starts. Nothing is lost by it: Python waits for our first byte, which
 * comes when this has ended well, so every process and page of the code's is the group's. The child goes
 * first: were we and the program killed with bwrap alone in the group, the next start would kill bwrap,
 * perhaps before it has told its child to go on. */
int bwrap_join(void *ctx)
{
    const struct bwrap_join *j = ctx;
    pid_t child = bwrap_child_pid(STDIN_FILENO);

    if (child <= 1)
        return complain("bwrap started nothing");
    if (cgroup_add(j->cgroup, child) != 0 || cgroup_add(j->cgroup, j->bwrap) != 0)
        return complain("cannot join the control group");
    dprintf(STDOUT_FILENO, "%d\n", (int)child);
    return 0;
}
