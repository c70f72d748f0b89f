/* plan.c - what all engines pass in the same way: the supervisor's arguments and the environment. */
#include "engine/plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "engine/engine_cache.h"
#include "engine/engines.h"
#include "mount/mount.h"
#include "engine/options.h"

int plan_pids(const struct engine_options *o)
{
    return o->pids + o->snapshots;
}

bool runtime_is_gvisor(const char *runtime)
{
    const char *slash = runtime ? strrchr(runtime, '/') : NULL;

    return runtime && !strncmp(slash ? slash + 1 : runtime, "runsc", 5);
}

void plan_guest_words(const struct engine_plan *p, const char *channel, struct argv *out)
{
    /* -I: take nothing from the environment or the working directory; -S: no site, which saves the
     * supervisor 10 ms; -u: no buffering */
    argv_pushl(out, "-I", "-S", "-u", "-c", p->guest, channel, NULL);
    plan_options(p, out);
}

void plan_options(const struct engine_plan *p, struct argv *out)
{
    /* 0: the engine itself enforces the limit */
    argv_pushf(out, "nproc=%d", p->holds_pids ? 0 : plan_pids(p->o));
    /* Where other sandboxes have the same uid, the supervisor keeps a reserve: see set_limits in bwrap.c. */
    argv_pushf(out, "nofile=%d", p->shares_user ? p->o->open_files : 0);
    argv_pushf(out, "pending=%d", p->shares_user ? PENDING_MOST : 0);
    argv_pushf(out, "files=%d",
               p->engine->holds_files && !runtime_is_gvisor(p->runtime) ? 0 : p->o->data_files);
    argv_pushf(out, "snapshots=%d", p->o->snapshots);
    argv_pushf(out, "memory=%lld", p->holds_memory ? (long long)p->o->memory : 0);
    if (p->o->late)
        argv_push(out, "late=1");
    if (p->o->program)
        argv_push(out, "program=1");
    if (engine_mount(p->o, 0)) /* it is to tell what it has there */
        argv_push(out, "mounts=" MOUNTS_DIR);
    if (p->o->no_proxy)
        argv_pushf(out, "net=%d", NET_PORT);
    argv_push(out, "packages=" ENGINE_PACKAGES);
    argv_push(out, "data=" DATA_DIR);
    /* These enforce nothing; they let a hint tell the model which limit was reached. */
    argv_pushf(out, "told_pids=%d", p->o->pids);
    argv_pushf(out, "told_memory=%lld", (long long)p->o->memory);
    for (size_t i = 0; p->o->words && i < p->o->words->n; i++)
        argv_push(out, p->o->words->v[i]);
}

static void add_proxies(const char *but, void (*each)(void *ctx, const char *name, const char *value),
                        void *ctx)
{
    static const char *const names[] = {"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"};
    char url[40];

    snprintf(url, sizeof url, "http://127.0.0.1:%d", NET_PORT);
    for (size_t i = 0; i < countof(names); i++)
        each(ctx, names[i], url);
    each(ctx, "NO_PROXY", but);
    each(ctx, "no_proxy", but);
}

void plan_environment(const struct engine_plan *p,
                      void (*each)(void *ctx, const char *name, const char *value), void *ctx)
{
    static const char *const fixed[][2] = {
        {"PATH", "/usr/local/bin:/usr/bin:/bin"},
        {"HOME", DATA_DIR},
        {"USER", "sandpiper"},
        {"LOGNAME", "sandpiper"},
        {"TMPDIR", "/tmp"},
        {"LANG", "C.UTF-8"},
        {"PYTHONDONTWRITEBYTECODE", "1"},
        {"MPLBACKEND", "Agg"},
        {"MPLCONFIGDIR", "/tmp/.cache"},
        {"XDG_CACHE_HOME", "/tmp/.cache"},
        /* pandas imports pyarrow, whose allocators would start a thread (no snapshot can be made beside one)
         * or take a gigabyte of address space at once. */
        {"JE_ARROW_MALLOC_CONF", "background_thread:false"},
        {"ARROW_DEFAULT_MEMORY_POOL", "system"},
    };
    /* Without these variables each library starts a thread per core of the host; the threads would share
     * one CPU and count as processes. */
    static const char *const pools[] = {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS",
                                        "NUMEXPR_NUM_THREADS"};
    char threads[16];

    snprintf(threads, sizeof threads, "%d", p->o->cpus > 1 ? (int)ceil(p->o->cpus) : 1);
    for (size_t i = 0; i < countof(fixed); i++)
        each(ctx, fixed[i][0], fixed[i][1]);
    for (size_t i = 0; i < countof(pools); i++)
        each(ctx, pools[i], threads);
    if (p->o->no_proxy)
        add_proxies(p->o->no_proxy, each, ctx);
}

bool plan_blames_mount(const struct engine_plan *p, const char *said, struct error *err)
{
    const struct mounts *m = p->o->mounts;

    for (size_t i = 0; m && i < m->n; i++)
        if (strstr(said, m->v[i].path)) {
            autofree char *line = scrub_line(said, SCRUB_TERMINAL);

            error_set(err, ERROR_SANDBOX, 0,
                      "cannot mount %.300s: %.300s\n"
                      "is it still there, and on the machine where %s runs?",
                      m->v[i].path, line, p->engine->name);
            return true;
        }
    return false;
}
