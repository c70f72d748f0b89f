/* attempt_named.c - the part of an attempt for named sandboxes: what a later program must know to find the
 * sandbox, connect to it and end it. Once it is described, the sandbox owns its directory: a sweep then asks
 * whether the first process inside is alive, no longer whether this program is.
 */
#include "engine/attempt.h"

#include <time.h>

#include "base/mem.h"
#include "records/registry.h"
#include "records/owner.h"

int attempt_describe(struct attempt *a, struct registry_entry *entry, struct error *err)
{
    const struct sandbox_options *o = &a->given;

    *entry = (struct registry_entry){
        .engine = xstrdup(a->engine->name),
        .id = xstrdup(a->dir.id),
        .container = xstrdup(a->name),
        .runtime = xstrdup(a->runtime),
        .image = xstrdup(a->engine->images ? o->image : NULL),
        .owner = a->peer > 0 ? owner_of(a->peer) : xstrdup(""),
        .pid = a->peer,
        .uid = a->uid,
        .memory = o->memory,
        .data_size = o->data_size,
        .created = (int64_t)time(NULL),
        .idle = o->idle_ms / 1000,
        .cpus = o->cpus,
        .pids = o->pids,
        .holds_memory = a->holds_memory,
        .holds_pids = a->holds_pids,
        .holds_cpu = a->holds_cpu,
    };
    for (unsigned i = 0; i < a->cgroup.n; i++)
        argv_push(&entry->cgroups, a->cgroup.dirs[i]);
    return attempt_record(a, entry->owner, true, err);
}

int attempt_attach(struct attempt *a, const struct registry_entry *entry, struct error *err)
{
    a->begun = a->taken = true;
    if ((a->engine->attach && a->engine->attach(a, entry, err) != 0)
        || session_dir_known(&a->dir, entry->id, err) != 0)
        return -1;
    a->name = xstrdup(entry->container);
    a->runtime = xstrdup(entry->runtime);
    a->image = xstrdup(entry->image);
    a->uid = (unsigned)entry->uid;
    a->holds_memory = entry->holds_memory;
    a->holds_pids = entry->holds_pids;
    a->holds_cpu = entry->holds_cpu;
    for (size_t i = 0; i < entry->cgroups.n && i < CGROUP_DIRS; i++)
        a->cgroup.dirs[a->cgroup.n++] = xstrdup(entry->cgroups.v[i]);
    a->cgroup.memory = a->holds_memory && a->cgroup.n > 0;
    if (*entry->owner && owner_check(entry->owner) == OWNER_ALIVE) {
        a->peer = (pid_t)entry->pid;
        a->peer_start = owner_start_time(a->peer);
    }
    attempt_find_memory(a);
    return 0;
}

int attempt_connect(struct attempt *a)
{
    a->channel = a->channel_out = session_dir_connect(&a->dir);
    a->up = a->channel >= 0;
    return a->up ? 0 : -1;
}
