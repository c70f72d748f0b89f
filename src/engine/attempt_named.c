/* attempt_named.c - the part of an attempt for named sandboxes: what a later program must know to find the
 * sandbox, connect to it and end it. From then on the sandbox is its own owner: a sweep asks whether the
 * first process inside is alive, no longer whether this program is.
 */
#include "engine/attempt.h"

#include <string.h>

#include "base/mem.h"
#include "records/owner.h"
#include "records/record.h"

int attempt_disown(const struct attempt *a, struct error *err)
{
    autofree char *first = a->peer > 0 ? owner_of(a->peer) : xstrdup("");

    return attempt_record(a, first, true, err);
}

int attempt_attach(struct attempt *a, const struct record *r, struct error *err)
{
    a->begun = a->taken = true;
    if ((a->engine->attach && a->engine->attach(a, r, err) != 0)
        || session_dir_known(&a->dir, strrchr(r->dir, '/') + 1, err) != 0)
        return -1;
    a->name = xstrdup(r->container);
    a->runtime = xstrdup(r->runtime);
    a->image = xstrdup(r->image);
    a->uid = (unsigned)r->uid;
    a->holds_memory = r->holds_memory;
    a->holds_pids = r->holds_pids;
    a->holds_cpu = r->holds_cpu;
    for (size_t i = 0; i < r->cgroups.n && i < CGROUP_DIRS; i++)
        a->cgroup.dirs[a->cgroup.n++] = xstrdup(r->cgroups.v[i]);
    a->cgroup.memory = a->holds_memory && a->cgroup.n > 0;
    if (owner_check(r->owner) == OWNER_ALIVE) {
        a->peer = owner_pid(r->owner);
        a->peer_start = owner_start(r->owner);
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
