/* engine_reap.c - remove what killed programs left. A bwrap sandbox dies with its program and a container when its supervisor loses its
 * last client, so this is for the rest: directories, control groups, containers whose supervisor hung.
 */
#include "sandbox/engine.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/argv.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/loop.h"
#include "base/mem.h"
#include "sandbox/cgroup.h"
#include "sandbox/engine_dir.h"
#include "sandbox/engine_memory.h"
#include "sandbox/job.h"
#include "sandbox/owner.h"

#define CLIENT_MS 10000
#define SCAN_AFTER_MS 1500      /* not while the first question is on its way */
#define SCAN_EVERY_S 3600

struct removal {                /* one "rm -f", or one "ps", in the background */
    struct loop *loop;
    char *engine, *dir;         /* dir: removed when the container is gone */
};

static void removal_free(struct removal *r)
{
    free(r->engine);
    free(r->dir);
    free(r);
}

static bool usable(const char *engine)
{
    return engine && (strcmp(engine, "docker") == 0 || strcmp(engine, "podman") == 0);
}

/* Our own names only, for they come from a file or from labels that anybody may set. */
static bool our_name(const char *name)
{
    return name && strncmp(name, "sandpiper-", 10) == 0 && strlen(name) == 26 && strspn(name + 10, "0123456789abcdef") == 16;
}

static void removed(void *ctx, struct job *j)
{
    struct removal *r = ctx;
    struct stat st;

    /* Not removed, perhaps because the daemon is down: the next start tries again, for a week. A container whose supervisor has just ended
     * removes itself (--rm). */
    const char *said = buf_str(&j->err_text);
    if (r->dir && (job_ok(j) || strcasestr(said, "no such container") || strcasestr(said, "already in progress") ||
                   (stat(r->dir, &st) == 0 && time(NULL) - st.st_mtime > 7 * 24 * 3600)))
        file_remove_tree(r->dir);
    job_free(j);
    removal_free(r);
}

static void remove_container(struct loop *loop, const char *engine, const char *name, const char *dir)
{
    struct removal *r = xcalloc(1, sizeof *r);
    struct argv argv = ARGV_INIT;

    r->dir = xstrdup(dir);
    argv_pushl(&argv, engine, "rm", "-f", name, NULL);
    struct job_options o = {.argv = argv.v, .deadline_ms = CLIENT_MS, .in = -1, .out = -1, .own_env = true};
    if (!job_start(&o, loop, removed, r, NULL))
        removal_free(r);
    argv_release(&argv);
}

static bool dead_dir(void *ctx, const char *dir, const char *engine, const char *container, char *const *cgroups, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (!cgroup_remove_dir(cgroups[i]))
            return false;
    if (!usable(engine) || !our_name(container))
        return true;
    autofree char *program = job_find_program(engine);
    if (!program)
        return true;
    remove_container(ctx, engine, container, dir);
    return false;
}

static bool dead_group(const char *name)
{
    return owner_check_group(name) == OWNER_DEAD;
}

/* Lines "NAME OWNER". */
static void listed(void *ctx, struct job *j)
{
    struct removal *r = ctx;

    for (const char *p = buf_str(&j->out_text); job_ok(j) && *p;) {
        size_t n = strcspn(p, "\n");
        autofree char *line = xmemdup0(p, n);
        char *owner = strchr(line, ' ');

        if (owner)
            *owner++ = '\0';
        if (owner && our_name(line)) {
            enum owner_state state = owner_check(owner);

            if (state == OWNER_DEAD || state == OWNER_BEFORE_BOOT)
                remove_container(r->loop, r->engine, line, NULL);
        }
        p += n + (p[n] == '\n');
    }
    job_free(j);
    removal_free(r);
}

static void list_containers(struct loop *loop, const char *engine, const char *format)
{
    autofree char *program = job_find_program(engine);
    struct argv argv = ARGV_INIT;

    /* Not where we never ran anything: the mere question makes podman set up a user's storage and leave a process behind. */
    if (!program || !engine_memory_uses(engine))
        return;
    struct removal *r = xcalloc(1, sizeof *r);
    r->loop = loop;
    r->engine = xstrdup(engine);
    argv_pushl(&argv, program, "ps", "-a", "--filter", "label=sandpiper=1", "--format", format, NULL);
    struct job_options o = {.argv = argv.v, .deadline_ms = CLIENT_MS, .in = -1, .out = -1, .own_env = true};
    if (!job_start(&o, loop, listed, r, NULL))
        removal_free(r);
    argv_release(&argv);
}

/* The labels tell of containers whose directory is lost. Rarely, since each client costs 50 ms of CPU time. */
static void scan_labels(void *ctx, short revents)
{
    (void)revents;
    list_containers(ctx, "docker", "{{.Names}} {{.Label \"sandpiper.owner\"}}");
    list_containers(ctx, "podman", "{{.Names}} {{index .Labels \"sandpiper.owner\"}}");
}

void engine_reap(struct loop *loop)
{
    autofree char *stamp = xdg_path(XDG_CACHE, "reaped"), *cache = xdg_path(XDG_CACHE, NULL);
    struct stat st;

    engine_dir_dead(dead_dir, loop);
    cgroup_sweep(NULL, "sandpiper-", dead_group);
    if (!stamp || (stat(stamp, &st) == 0 && time(NULL) - st.st_mtime < SCAN_EVERY_S && st.st_mtime <= time(NULL)))
        return;
    if (file_mkdirs(cache, 0700, NULL) == 0 && file_write(stamp, "", 0, 0600, NULL) == 0)
        loop_timer(loop, clock_ms() + SCAN_AFTER_MS, scan_labels, loop);
}
