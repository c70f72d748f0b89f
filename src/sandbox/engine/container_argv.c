/* container_argv.c - the arguments for the clients of docker and podman, and what their errors mean.
 * docs/SECURITY.md gives the reason for each flag. The only paths of the host that are bound are the
 * directory with the socket, read-only, and what the user has named.
 */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "engine/container.h"
#include "engine/hard_limits.h"
#include "mount/mount.h"
#include "engine/options.h"

static void push_env(void *ctx, const char *name, const char *value)
{
    argv_option(ctx, "-e", "%s=%s", name, value);
}

/* docker copies the proxies of ~/.docker/config.json, passwords included, into every container that does
 * not set them. The first six are those of plan_environment(). */
static void push_proxies(const struct engine_plan *p, struct argv *out)
{
    static const char *const names[] = {"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",  "http_proxy", "https_proxy",
                                        "no_proxy",   "FTP_PROXY",   "ALL_PROXY", "ftp_proxy",  "all_proxy"};

    for (size_t i = p->o->no_proxy ? 6 : 0; i < countof(names); i++)
        push_env(out, names[i], "");
}

static const struct container_client *client_of(const struct engine *e)
{
    return e->own;
}

static void push_words(struct argv *out, const char *const *words)
{
    for (; *words; words++)
        argv_push(out, *words);
}

/* what: RLIMIT_... Podman cannot raise our own hard limits; docker's daemon has others. */
static void push_ulimit(const struct engine_plan *p, struct argv *out, int what, const char *name,
                        int64_t value)
{
    if (!client_of(p->engine)->raises_limits)
        value = (int64_t)hard_limit(what, (rlim_t)value);
    argv_option(out, "--ulimit", "%s=%lld:%lld", name, (long long)value, (long long)value);
}

static void push_limits(const struct engine_plan *p, struct argv *out)
{
    const struct engine_options *o = p->o;

    if (p->holds_memory) {
        argv_option(out, "--memory", "%lld", (long long)o->memory);
        argv_option(out, "--memory-swap", "%lld", (long long)o->memory);
        if (p->holds_cpu)
            argv_option(out, "--cpus", "%g", o->cpus);
        /* gVisor's kernel is in there too: 50 threads, and four or five for each process of the code. */
        argv_option(out, "--pids-limit", "%d",
                    runtime_is_gvisor(p->runtime) ? 5 * plan_pids(o) + 64 : plan_pids(o));
    } else {
        push_ulimit(p, out, RLIMIT_DATA, "data", o->memory);
    }
    argv_pushl(out, "--oom-score-adj", "100", NULL);
    push_ulimit(p, out, RLIMIT_CORE, "core", 0);
    push_ulimit(p, out, RLIMIT_MSGQUEUE, "msgqueue", 0);
    push_ulimit(p, out, RLIMIT_SIGPENDING, "sigpending", PENDING_MOST);
    push_ulimit(p, out, RLIMIT_STACK, "stack", 8 << 20);
    /* For the supervisor; the code may lock nothing (guest/start.py). An ordinary user's daemon cannot raise
     * this one either, which old kernels have at 64 KiB. */
    push_ulimit(p, out, RLIMIT_MEMLOCK, "memlock", (int64_t)hard_limit(RLIMIT_MEMLOCK, LOCKED_MOST));
    push_ulimit(p, out, RLIMIT_NOFILE, "nofile", o->open_files);
    /* A second barrier, which counts the uid on the whole host; --pids-limit is the first. */
    push_ulimit(p, out, RLIMIT_NPROC, "nproc", NPROC_MOST);
    push_ulimit(p, out, RLIMIT_FSIZE, "fsize", o->file_size);
}

/* --mount takes a line of CSV, so a path with a comma or a quote in it must be quoted. */
static char *mount_source(const char *path)
{
    struct buf quoted = BUF_INIT(0);

    if (!strpbrk(path, ",\"\n"))
        return xasprintf("src=%s", path);
    buf_addstr(&quoted, "\"src=");
    for (; *path; path++) {
        if (*path == '"')
            buf_addch(&quoted, '"');
        buf_addch(&quoted, *path);
    }
    buf_addch(&quoted, '"');
    return buf_steal(&quoted, NULL);
}

/* Neither the path here nor the one inside has control characters, which the client's CSV would change. */
static void push_volumes(const struct engine_plan *p, struct argv *out)
{
    const struct container_client *client = client_of(p->engine);
    const struct mount *m;

    for (size_t i = 0; (m = engine_mount(p->o, i)); i++) {
        autofree char *source = mount_source(m->path);

        argv_option(out, "--mount", "type=bind,%s,dst=%s%s%s,%s", source, m->inside, m->write ? "" : ",",
                    m->write ? "" : client->bind_read_only,
                    mount_is_packages(m) ? client->bind_packages : client->bind_private);
    }
}

static void push_places(const struct engine_plan *p, struct argv *out)
{
    const struct engine_options *o = p->o;
    const struct container_client *client = client_of(p->engine);

    argv_push(out, "--read-only");
    argv_option(out, "--shm-size", "%lld", (long long)o->tmp_size);
    argv_option(out, "--tmpfs", "/tmp:rw,nosuid,nodev,exec,mode=1777,size=%lld%s", (long long)o->tmp_size,
                client->tmpfs_owned ? ",nr_inodes=10000" : "");
    /* Where it cannot have an owner, 1777 does the same, because the code runs under a single uid. */
    if (client->tmpfs_owned)
        argv_option(out, "--tmpfs",
                    DATA_DIR ":rw,nosuid,nodev,exec,mode=0700,uid=%u,gid=%u,size=%lld,nr_inodes=%d", p->uid,
                    p->uid, (long long)o->data_size, o->data_files);
    else
        argv_option(out, "--tmpfs", DATA_DIR ":rw,nosuid,nodev,exec,notmpcopyup,mode=1777,size=%lld",
                    (long long)o->data_size);
    if (!p->stdio) { /* where that is not possible, no other folder can be mounted either */
        autofree char *source = mount_source(p->dir);

        argv_option(out, "--mount", "type=bind,%s,dst=" INSIDE_DIR ",%s", source, client->bind_read_only);
        push_volumes(p, out);
    }
    argv_pushl(out, "-w", DATA_DIR, NULL);
}

void container_vector(const struct engine_plan *p, struct argv *out)
{
    const struct container_client *client = client_of(p->engine);

    argv_push(out, p->program);
    if (client->runtime_is_global && p->runtime)
        argv_pushl(out, "--runtime", p->runtime, NULL);
    argv_push(out, "run");
    if (!client->runtime_is_global && p->runtime)
        argv_pushl(out, "--runtime", p->runtime, NULL);
    argv_pushl(out, p->stdio ? "-i" : "-d", "--rm", "--pull", "never", "--log-driver", "none", "--name",
               p->name, "--label", "sandpiper=1", NULL);
    argv_option(out, "--label", "sandpiper.owner=%s", p->owner);
    if (p->o->name)
        argv_option(out, "--label", "sandpiper.name=%s", p->o->name);
    argv_pushl(out, "--network", "none", "--ipc", "private", "--hostname", "sandpiper", NULL);
    argv_option(out, "--user", "%u:%u", p->uid, p->uid);
    argv_pushl(out, "--cap-drop", "ALL", "--security-opt", "no-new-privileges", NULL);
    argv_option(out, "--security-opt", "seccomp=%s", p->profile);
    push_words(out, client->run_words);
    argv_pushl(out, "--cgroupns", "private", "--stop-timeout", "2", NULL);
    push_limits(p, out);
    push_places(p, out);
    push_proxies(p, out);
    plan_environment(p, push_env, out);
    argv_pushl(out, "--entrypoint", "python3", p->o->image, NULL);
    plan_guest_words(p, p->stdio ? "stdio" : "unix:" INSIDE_DIR "/s", out);
}

void container_remove(const struct engine *e, const char *name, struct argv *out)
{
    argv_pushl(out, engines_client(e), "rm", "-f", NULL);
    push_words(out, client_of(e)->remove_words);
    argv_push(out, name);
}

void container_list(const struct engine *e, struct argv *out)
{
    argv_pushl(out, engines_client(e), "ps", "-a", "--filter", "label=sandpiper=1", "--format",
               client_of(e)->list_format, NULL);
}

static bool says(const char *said, const char *const *phrases)
{
    for (; *phrases; phrases++)
        if (strcasestr(said, *phrases))
            return true;
    return false;
}

static const char *const no_daemon[] = {"Cannot connect to the Docker daemon",
                                        "failed to connect to the docker API", "connection refused", NULL};

static bool denied(const char *said)
{
    static const char *const ways[] = {"permission denied while trying to connect", "dial unix", NULL};

    return says(said, ways) && strcasestr(said, "permission denied");
}

bool container_no_daemon(const char *said)
{
    return denied(said) || says(said, no_daemon);
}

static enum engine_fault explain_image(const struct engine_plan *p, struct error *err)
{
    if (!strncmp(p->o->image, "sandpiper:", 10))
        error_set(err, ERROR_SANDBOX, 0, "image %s is missing\nbuild it: make image", p->o->image);
    else /* an image that the user named is never fetched unasked */
        error_set(err, ERROR_SANDBOX, 0, "image %s is missing\npull it (%s pull %s), or check --image",
                  p->o->image, p->engine->name, p->o->image);
    return FAULT_ABSENT;
}

static enum engine_fault explain_runtime(const struct engine_plan *p, struct error *err)
{
    bool gvisor = runtime_is_gvisor(p->o->runtime);

    error_set(err, ERROR_SANDBOX, 0, "unknown runtime %.100s\n%s%s, or leave out --runtime", p->o->runtime,
              gvisor ? "install gVisor" : "check its name",
              gvisor && client_of(p->engine)->raises_limits ? " (sudo runsc install, then restart the daemon)"
                                                            : "");
    return FAULT_ABSENT;
}

static enum engine_fault explain_daemon(const char *said, struct error *err)
{
    if (denied(said))
        error_set(err, ERROR_SANDBOX, 0,
                  "permission denied on the daemon's socket\n"
                  "join its group (sudo usermod -aG docker $USER, then log in again), or use --sandbox "
                  "podman or bwrap");
    else
        error_set(err, ERROR_SANDBOX, 0,
                  "the daemon is not running\n"
                  "start it (sudo systemctl start docker), or use --sandbox podman or bwrap");
    return FAULT_ABSENT;
}

enum engine_fault container_explain(const struct engine_plan *p, const char *said, struct error *err)
{
    static const char *const no_image[] = {"No such image", "image not known", "unable to find image",
                                           "short-name", NULL};
    static const char *const no_share[] = {
        "bind source path does not exist",          "Mounts denied", "is not shared from the host",
        "no such file or directory: invalid mount", "statfs",        NULL};
    static const char *const no_python[] = {"\"python3\"", "`python3`", "'python3'", NULL};
    static const char *const no_runtime[] = {"Unknown runtime specified", "unknown or invalid runtime",
                                             "OCI runtime \"", NULL};
    static const char *const runtime[] = {"hybrid mode not supported", "drop all controllers",
                                          "crun:", "crun\"", NULL};

    if (says(said, no_image))
        return explain_image(p, err);
    if (container_no_daemon(said))
        return explain_daemon(said, err);
    if (plan_blames_mount(p, said, err))
        return FAULT_OTHER;
    if (!p->stdio && says(said, no_share)) {
        error_set(err, ERROR_SANDBOX, 0, "it cannot share %s with a container\nuse --sandbox bwrap", p->dir);
        return FAULT_SHARE;
    }
    if (p->o->runtime && says(said, no_runtime))
        return explain_runtime(p, err);
    if (says(said, no_python)) {
        error_set(err, ERROR_SANDBOX, 0,
                  "image %s has no python3\n"
                  "use another image (--image), or build ours: make image",
                  p->o->image);
        return FAULT_OTHER;
    }
    if (strstr(said, "with network enabled in root network namespace")) {
        error_set(
            err, ERROR_SANDBOX, 0,
            "runsc is too old for this kernel\ninstall a newer one, or have it set up no network, which "
            "the sandbox has not anyway: sudo runsc install -- --network=none");
        return FAULT_OTHER;
    }
    autofree char *line = scrub_line(said + (!strncmp(said, "docker: ", 8) ? 8 : 0), SCRUB_TERMINAL);
    autofree char *runtime_words = p->runtime ? xasprintf(" --runtime %.100s", p->runtime) : xstrdup("");
    bool first = client_of(p->engine)->runtime_is_global;
    error_set(err, ERROR_SANDBOX, 0, "%.400s\ntry by hand: %s%s run --rm%s %s python3 -c 1", line,
              p->engine->name, first ? runtime_words : "", first ? "" : runtime_words, p->o->image);
    return says(said, runtime) ? FAULT_RUNTIME : FAULT_OTHER;
}
