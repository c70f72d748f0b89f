/* sandbox_list.c - named sandboxes from outside: listed, removed, and ended when they no longer answer. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/mem.h"
#include "limits/cgroup.h"
#include "mount/mount.h"
#include "process/loop.h"
#include "records/owner.h"
#include "records/record.h"
#include "records/run_dir.h"
#include "sandbox/private.h"

#define IDLE_SPARE_S 5    /* seconds past its idle limit */
#define PROBE_MS     1000 /* an idle supervisor answers within a few ms */

int named_tell_unseen(const char *name, struct error *err)
{
    int code = errno;

    return error_set(err, ERROR_SANDBOX, code, "the sandbox \"%s\": its record cannot be read: %s\n%s", name,
                     strerror(code),
                     fd_none_left(code) ? "end other programs, or allow this one more open files: ulimit -n"
                                        : "look into the folder sandpiper/names in XDG_RUNTIME_DIR");
}

int named_tell_left(const struct record *r, const char *name, struct error *err)
{
    if (r->container)
        return error_set(err, ERROR_SANDBOX, 0,
                         "the sandbox \"%s\" could not be removed: its container %.60s is still there\n"
                         "is %s running? try: sandpiper doctor",
                         name, r->container, r->engine);
    return error_set(err, ERROR_SANDBOX, 0,
                     "the sandbox \"%s\" could not be removed: its process %d is still running\n"
                     "kill it: kill -9 %d",
                     name, (int)owner_pid(r->owner), (int)owner_pid(r->owner));
}

struct sandbox_listing {
    void (*fn)(void *ctx, const struct sandbox_info *info);
    void *ctx;
};

static void list_one(void *ctx, const char *name, const struct registry_holder *holder,
                     const struct record *r)
{
    struct sandbox_listing *l = ctx;
    struct mounts mounts = {.n = 0};
    struct sandbox_info info = {.name = name,
                                .engine = r ? r->engine : "",
                                .image = r ? r->image : NULL,
                                .holder = holder->pid,
                                .since = holder->since,
                                .created = r ? r->created : holder->since,
                                .idle = r ? r->idle : 0,
                                .memory = r ? r->memory : -1,
                                .memory_used = -1,
                                .mounts = &mounts};

    if (r && owner_pid(r->owner) > 0 && r->holds_memory) {
        autofree char *dir = cgroup_memory_dir(NULL, owner_pid(r->owner));

        info.memory_used = dir ? cgroup_memory_used(dir) : -1;
    }
    info.silent = r && !holder->pid && run_dir_silent(strrchr(r->dir, '/') + 1, PROBE_MS);
    for (size_t i = 0; r && i < r->mounts.n; i++)
        mounts_take(&mounts, r->mounts.v[i]);
    l->fn(l->ctx, &info);
    mounts_release(&mounts);
}

void sandbox_list(void (*fn)(void *ctx, const struct sandbox_info *info), void *ctx)
{
    struct sandbox_listing l = {fn, ctx};

    registry_each(list_one, &l);
}

int sandbox_remove(const char *name, struct loop *loop, struct error *err)
{
    struct record r autorelease(record_release) = {0};
    struct registry_hold hold autorelease(registry_release) = REGISTRY_HOLD_INIT;
    struct engine_options o;

    if (registry_check_name(name, err) < 0)
        return -1;
    if (!registry_exists(name))
        return error_set(err, ERROR_USAGE, 0, "no sandbox \"%s\" (sandpiper ps lists them)", name);
    if (registry_take(&hold, name, err) < 0)
        return -1;
    enum registry_state state = registry_look(&hold, &r);
    if (state == REGISTRY_UNSEEN)
        return named_tell_unseen(name, err);
    if (state == REGISTRY_NEW)
        return error_set(err, ERROR_USAGE, 0, "no sandbox \"%s\" (sandpiper ps lists them)", name);
    bool alive = state == REGISTRY_ALIVE;
    engine_defaults(&o);
    struct engine_run *run = engine_attach(&o, loop, &r, err);
    if (!run && alive)
        return error_wrap(err, "the sandbox \"%s\"", name);
    if (!engine_end(run) && alive)
        return named_tell_left(&r, name, err);
    registry_forget(&hold);
    return 0;
}

/* Its idle limit was reached some time ago, and it still runs without answering. The clock alone proves
 * nothing: ours goes on while the machine sleeps, but the supervisor's does not. */
static void note_silent(void *ctx, const struct sandbox_info *s)
{
    if (s->silent && s->since > 0 && s->idle > 0 && (int64_t)time(NULL) > s->since + s->idle + IDLE_SPARE_S)
        argv_push(ctx, s->name);
}

static void end_silent(struct loop *loop, struct sweep_result *out)
{
    struct argv names autorelease(argv_release) = ARGV_INIT;

    sandbox_list(note_silent, &names);
    for (size_t i = 0; i < names.n; i++) {
        struct error err = {0};

        if (sandbox_remove(names.v[i], loop, &err) == 0)
            out->ended++;
        else
            sweep_failed(out, "the sandbox \"%s\"", names.v[i]);
    }
}

void sandbox_gc(struct loop *loop, struct sweep_result *out)
{
    *out = (struct sweep_result){0};
    end_silent(loop, out);
    sweep_now(loop, out);
}
