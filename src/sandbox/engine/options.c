/* options.c - the default limits, and which of the user's restrict rather than widen them. */
#include "engine/options.h"

#include <stdarg.h>
#include <stddef.h>

#include "base/mem.h"
#include "mount/mount.h"

void engine_defaults(struct engine_options *o)
{
    *o = (struct engine_options){
        .engine = "auto",
        .image = "sandpiper:latest",
        .memory = INT64_C(1) << 30,
        .cpus = 1,
        .pids = 128,
        .data_size = INT64_C(256) << 20,
        .data_files = 10000,
        .tmp_size = INT64_C(64) << 20,
        .file_size = INT64_C(256) << 20,
        .open_files = 256,
        .idle_ms = 1800000,
        .snapshots = true,
    };
}

const struct mount *engine_mount(const struct engine_options *o, size_t i)
{
    size_t n = o->mounts ? o->mounts->n : 0;

    return i < n ? &o->mounts->v[i] : i == n ? o->packages : NULL;
}

void engine_notice(const struct engine_options *o, bool detail, const char *fmt, ...)
{
    va_list args;

    if (!o->notice)
        return;
    va_start(args, fmt);
    autofree char *line = xvasprintf(fmt, args);
    va_end(args);
    o->notice(o->notice_ctx, detail, line);
}

void engine_tell_weaker(const struct engine_options *o, bool detail, const char *line)
{
    if (o->weaker)
        o->weaker(o->notice_ctx, line);
    else
        engine_notice(o, detail, "%s", line);
}

const char *engine_restricts(const struct engine_options *o, unsigned limits)
{
    struct engine_options usual;

    /* A user who sets more than the default wants room; one who sets as much or less wants a limit. */
    engine_defaults(&usual);
    limits &= o->asked;
    if ((limits & ENGINE_ASKED_MEMORY) && o->memory <= usual.memory)
        return "memory";
    if ((limits & ENGINE_ASKED_CPUS) && o->cpus <= usual.cpus)
        return "cpus";
    return (limits & ENGINE_ASKED_PIDS) && o->pids <= usual.pids ? "pids" : NULL;
}
