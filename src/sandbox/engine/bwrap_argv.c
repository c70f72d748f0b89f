/* bwrap_argv.c - the arguments for bubblewrap, and what its errors mean. docs/SECURITY.md gives the reason
 * for each flag.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "engine/bwrap.h"
#include "mount/mount.h"
#include "engine/options.h"

static void push_setenv(void *ctx, const char *name, const char *value)
{
    argv_pushl(ctx, "--setenv", name, value, NULL);
}

static void push_tmpfs(struct argv *out, int64_t size, const char *perms, const char *path)
{
    argv_option(out, "--size", "%lld", (long long)size);
    argv_pushl(out, "--perms", perms, "--tmpfs", path, NULL);
}

static void push_root(bool network, struct argv *out)
{
    /* From /etc only what numpy, matplotlib and the loader need. What a distribution lacks is missing
     * inside too. */
    static const char *const etc[] = {"/etc/alternatives", "/etc/matplotlibrc", "/etc/fonts",
                                      "/etc/localtime", "/etc/ld.so.cache"};
    /* What a server's certificate is checked with. */
    static const char *const certificates[] = {"/etc/ssl/certs", "/etc/pki/tls/certs",
                                               "/etc/pki/ca-trust/extracted"};
    /* With or without a merged /usr: what is a link on the host is a link inside. */
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
    for (size_t i = 0; network && i < countof(certificates); i++)
        argv_pushl(out, "--ro-bind-try", certificates[i], certificates[i], NULL);
}

/* bwrap sets nosuid and nodev on all of them. */
static void push_binds(const struct engine_plan *p, struct argv *out)
{
    const struct mount *m;

    for (size_t i = 0; (m = engine_mount(p->o, i)); i++) {
        const char *bind = m->write ? "--bind" : "--ro-bind";

        if (p->staged)
            argv_option(out, bind, STAGE_DIR "/%zu", i);
        else
            argv_pushl(out, bind, m->path, NULL);
        argv_push(out, m->inside);
    }
}

void bwrap_walls(const struct engine_plan *p, struct argv *out)
{
    char uid[16];

    snprintf(uid, sizeof uid, "%d", SANDBOX_UID);
    argv_push(out, p->program);
    argv_pushl(out, "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts",
               "--unshare-cgroup", "--disable-userns", "--uid", uid, "--gid", uid, "--hostname", "sandpiper",
               "--cap-drop", "ALL", "--new-session", "--as-pid-1", NULL);
    push_root(p->o->no_proxy != NULL, out);
    /* Some sysctls belong to a namespace (pid_max, msgmax), and the sandbox could change them. */
    argv_pushl(out, "--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--dev", "/dev", NULL);
    push_tmpfs(out, p->o->tmp_size, "1777", "/dev/shm");
    argv_pushl(out, "--remount-ro", "/dev", NULL);
    push_tmpfs(out, p->o->tmp_size, "1777", "/tmp");
    argv_pushl(out, "--dir", "/mnt", NULL);
    push_tmpfs(out, p->o->data_size, "0700", DATA_DIR);
    /* What E2B's sandboxes, and agents that are used to them, call it. Our image has both as well. */
    argv_pushl(out, "--symlink", DATA_DIR, "/workspace", "--dir", "/home", "--symlink", DATA_DIR,
               "/home/user", NULL);
    push_binds(p, out);
    argv_pushl(out, "--remount-ro", "/", "--clearenv", NULL);
    plan_environment(p, push_setenv, out);
    argv_pushl(out, "--chdir", DATA_DIR, NULL);
    argv_option(out, "--add-seccomp-fd", "%d", p->seccomp);
    if (p->info >= 0)
        argv_option(out, "--info-fd", "%d", p->info);
    argv_push(out, "--");
}

void bwrap_vector(const struct engine_plan *p, struct argv *out)
{
    autofree char *channel = xasprintf("fd:%d", p->channel);

    bwrap_walls(p, out);
    argv_push(out, "/usr/bin/python3");
    plan_guest_words(p, channel, out);
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
    /* AppArmor allows by path: a bwrap outside the distribution's place stays forbidden, with or without a
     * profile. */
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
                      "user namespaces are not allowed here (%s is %ld)\n"
                      "allow them: sudo sysctl -w %s=%s%s",
                      knobs[i].name, knobs[i].bad, knobs[i].name, knobs[i].good, knobs[i].also);
            return;
        }
    error_set(err, ERROR_SANDBOX, 0,
              "user namespaces are not allowed here (inside a container, or forbidden by a security "
              "module)\n"
              "use --sandbox docker or podman, or run where user namespaces are allowed");
}

/* In that mode no bwrap has all options that the walls need, and the newest refuse to start. */
static bool is_setuid(const char *program)
{
    struct stat st;

    return program && stat(program, &st) == 0 && (st.st_mode & S_ISUID);
}

enum engine_fault bwrap_explain(const struct engine_plan *p, const char *said, struct error *err)
{
    if (plan_blames_mount(p, said, err))
        return FAULT_OTHER;
    if (is_setuid(p->program))
        error_set(err, ERROR_SANDBOX, 0,
                  "%.200s is setuid: it starts no sandbox of ours, and 0.11.0 and 0.11.1 let any user become "
                  "root (CVE-2026-41163)\n"
                  "take that bit away: sudo chmod u-s %.200s",
                  p->program, p->program);
    else if (strstr(said, "Resource temporarily unavailable"))
        error_set(err, ERROR_SANDBOX, 0,
                  "process limit reached (ulimit -u)\n"
                  "end other programs, or raise the limit in /etc/security/limits.conf (nproc)");
    else if (strstr(said, "namespace") || strstr(said, "uid map") || strstr(said, "setting up uid")
             || strstr(said, "user.max") || strstr(said, "RTM_NEWADDR") /* AppArmor: made, without rights */)
        explain_userns(err);
    else if (strstr(said, "--mount"))
        error_set(err, ERROR_SANDBOX, 0, "%.300s\nwas it replaced just now? start again", said);
    else if (strstr(said, "nknown option"))
        error_set(err, ERROR_SANDBOX, 0, "it is too old (%.200s)\ninstall bubblewrap 0.8 or newer", said);
    else if (strstr(said, "/usr/bin/python3"))
        error_set(err, ERROR_SANDBOX, 0,
                  "this host has no /usr/bin/python3\ninstall it (apt install python3), "
                  "or use --sandbox docker or podman");
    else
        error_set(err, ERROR_SANDBOX, 0, "%.300s\ntry by hand: bwrap --unshare-all --ro-bind / / true", said);
    return FAULT_OTHER;
}
