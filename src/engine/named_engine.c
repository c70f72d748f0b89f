/* named_engine.c - the part of an attempt that is for sandboxes with a name: what a later program must know
 * to find one, to reach it, and to end it; and letting go of one. From the moment it is described the sandbox
 * owns its own directory: the reaper looks whether the first process inside lives, and no longer whether we
 * do.
 */
#include "engine/attempt.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/loop.h"
#include "base/mem.h"
#include "engine/job.h"
#include "records/registry.h"
#include "records/owner.h"
#include "engine/options.h"

#define CLIENT_MS 5000 /* "docker run -d" may still have to print its last word */

void attempt_init(struct attempt *a)
{
    a->channel = a->channel_out = a->listener = a->info = a->keeper.pipe = -1;
    a->given = *a->o;
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

bool attempt_kill_peer(struct attempt *a, int wait_ms)
{
    return a->peer > 1 && a->peer_start && owner_kill_pid(a->peer, a->peer_start, wait_ms > 0 ? wait_ms : 0);
}

int attempt_describe(struct attempt *a, struct registry_entry *r, struct error *err)
{
    const struct sandbox_options *o = &a->given;

    *r = (struct registry_entry){
        .engine = xstrdup(a->engine->name),
        .id = xstrdup(a->dir.id),
        .container = xstrdup(a->name),
        .runtime = xstrdup(a->runtime),
        .image = xstrdup(a->engine->container ? o->image : NULL),
        .owner = a->peer > 0 ? owner_of(a->peer) : xstrdup(""),
        .pid = a->peer,
        .uid = a->uid,
        .memory = o->memory,
        .data_size = o->data_size,
        .created = (int64_t)time(NULL),
        .idle = o->idle_ms / 1000,
        .cpus = o->cpus,
        .pids = o->pids,
        .no_limits = a->no_limits,
        .holds_memory = a->cgroup.memory,
        .holds_pids = a->cgroup.pids,
        .holds_cpu = a->cgroup.cpu,
    };
    for (unsigned i = 0; i < a->cgroup.n; i++)
        argv_push(&r->cgroups, a->cgroup.dirs[i]);
    return attempt_record(a, r->owner, true, err);
}

int attempt_known(struct attempt *a, const struct registry_entry *r, struct error *err)
{
    a->begun = a->taken = true;
    a->program = a->engine->container ? job_find_program(a->engine->name) : NULL;
    if (a->engine->container && !a->program)
        return error_set(err, ERROR_SANDBOX, ENOENT, "its engine %s is no longer installed", a->engine->name);
    if (session_dir_known(&a->dir, r->id, err) != 0)
        return -1;
    a->name = xstrdup(r->container);
    a->runtime = xstrdup(r->runtime);
    a->image = xstrdup(r->image);
    a->uid = r->uid;
    a->no_limits = r->no_limits;
    a->cgroup = (struct cgroup){.memory = r->holds_memory, .pids = r->holds_pids, .cpu = r->holds_cpu};
    for (size_t i = 0; i < r->cgroups.n && i < CGROUP_DIRS; i++)
        a->cgroup.dirs[a->cgroup.n++] = xstrdup(r->cgroups.v[i]);
    if (*r->owner && owner_check(r->owner) == OWNER_ALIVE) {
        a->peer = r->pid;
        a->peer_start = owner_start_time(a->peer);
        a->memory_dir = a->engine->container && !a->no_limits ? cgroup_memory_dir(NULL, a->peer) : NULL;
    }
    return 0;
}

int attempt_connect(struct attempt *a)
{
    a->channel = a->channel_out = session_dir_connect(&a->dir);
    a->up = a->channel >= 0;
    return a->up ? 0 : -1;
}

void attempt_leave(struct attempt *a)
{
    loop_timer_stop(a->loop, a);
    if (a->channel >= 0)
        loop_unwatch(a->loop, a->channel);
    fd_close(&a->channel);
    a->channel_out = -1;
    keeper_dismiss(a, 0);
    if (a->client && a->engine->container)
        job_wait(a->client, CLIENT_MS);
    job_abandon(a->client);
    job_free(a->join);
    job_free(a->inspect);
    for (unsigned i = 0; i < a->cgroup.n; i++)
        free(a->cgroup.dirs[i]);
    session_dir_leave(&a->dir);
    free(a->name);
    free(a->program);
    free(a->memory_dir);
    free(a->runtime);
    free(a->image);
    buf_release(&a->fewer);
    *a = (struct attempt){.o = a->o, .loop = a->loop, .engine = a->engine};
    attempt_init(a);
}
