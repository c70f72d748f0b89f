/* engine_check.c - what can be asked about a sandbox that an attempt has started: does it live, what was
 * killed in it, what does it not hold. */
#include "engine/attempt.h"

#include <stdio.h>
#include <string.h>

#include "base/argv.h"
#include "base/child.h"
#include "base/mem.h"
#include "engine/job.h"
#include "engine/owner.h"
#include "engine/options.h"

#define CLIENT_MS 10000 /* a call of an engine's client */

static bool inspect_running(struct attempt *a)
{
    struct argv argv = ARGV_INIT;

    argv_pushl(&argv, a->program, "inspect", "-f", "{{.State.Running}}", a->name, NULL);
    struct job_options o = {.argv = argv.v, .in = -1, .out = -1, .own_env = true};
    struct job *j = job_start(&o, NULL, NULL, NULL, NULL);
    argv_release(&argv);
    bool runs = j && job_wait(j, CLIENT_MS) && job_ok(j) && strncmp(buf_str(&j->out_text), "true", 4) == 0;
    job_free(j);
    return runs;
}

bool attempt_alive(struct attempt *a, char *why, size_t size)
{
    char how[64];

    if (!a->up) {
        snprintf(why, size, "it never started");
        return false;
    }
    if (a->peer <= 0 && a->client && (!a->engine->container || a->stdio)) {
        if (!job_wait(a->client, 0))
            return true;
        child_status_text(a->client->status, how, sizeof how);
        snprintf(why, size, "%s ended (%s)", a->engine->name, how);
        return false;
    }
    if (a->peer > 0 ? owner_start_time(a->peer) == a->peer_start : a->engine->container && inspect_running(a))
        return true;
    snprintf(why, size, "the %s was removed or has died", a->engine->container ? "container" : "sandbox");
    return false;
}

int64_t attempt_memory_kills(struct attempt *a)
{
    if (!a->engine->container)
        return a->cgroup.memory ? cgroup_kills(a->cgroup.dirs[0]) : -1;
    return a->memory_dir ? cgroup_kills(a->memory_dir) : -1;
}

/* What docker's daemon could not hold it says when the container is made. */
static unsigned discarded(const char *said)
{
    static const struct {
        const char *words;
        unsigned bit;
    } rows[] = {
        {"memory limit", SANDBOX_ASKED_MEMORY},
        {"cpu", SANDBOX_ASKED_CPUS},
        {"pids limit", SANDBOX_ASKED_PIDS},
    };
    unsigned bits = 0;

    if (!strstr(said, "discarded") && !strstr(said, "not support"))
        return 0;
    for (size_t i = 0; i < countof(rows); i++)
        bits |= strcasestr(said, rows[i].words) ? rows[i].bit : 0;
    return bits;
}

unsigned attempt_unheld(const struct attempt *a)
{
    /* Memory is then limited for each process, which is told as weaker, processes by their own limit. */
    if (!a->engine->container)
        return a->cgroup.cpu ? 0 : SANDBOX_ASKED_CPUS;
    if (a->no_limits)
        return SANDBOX_ASKED_CPUS;
    return a->client ? discarded(buf_str(&a->client->err_text)) : 0;
}

bool attempt_refused(const struct attempt *a, struct error *err)
{
    const char *which = sandbox_restricts(a->o, attempt_unheld(a)), *weakness = attempt_weakness(a);

    if (!which)
        return false;
    error_set(err, ERROR_SANDBOX, 0,
              "%s: cannot enforce --%s here (%.200s)\n"
              "leave out --%s, or use another engine: sandpiper doctor says what each enforces",
              a->engine->name, which, weakness ? weakness : "see: docker info", which);
    return true;
}

const char *attempt_weakness(const struct attempt *a)
{
    if (a->engine == &engine_bwrap) {
        if (!a->cgroup.memory)
            return a->cgroup.cpu ? "no memory control group: memory is limited per process, not in total"
                                 : "no permission to create a control group: memory is limited per process, "
                                   "not in total, and CPU time is not limited";
        return a->cgroup.cpu ? NULL : "no CPU control group: CPU time is not limited";
    }
    if (a->no_limits)
        return "podman without root has no control groups here: memory is limited per process, not in total, "
               "and CPU time is not limited";
    /* The daemon itself knows what it cannot hold, and says so when the container starts. */
    if (a->client
        && (strstr(buf_str(&a->client->err_text), "imitation discarded")
            || strstr(buf_str(&a->client->err_text), "not supported")))
        return "the engine cannot enforce every limit here (rootless, or a kernel without the controllers); "
               "see: docker info";
    return NULL;
}
