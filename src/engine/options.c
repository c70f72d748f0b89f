/* options.c - see options.h. */
#include "engine/options.h"

#include <stddef.h>

void sandbox_defaults(struct sandbox_options *o)
{
    *o = (struct sandbox_options){
        .engine = "auto",
        .image = "sandpiper:latest",
        .memory = INT64_C(1) << 30,
        .cpus = 1,
        .pids = 128,
        .data_size = INT64_C(256) << 20,
        .data_files = 10000,
        .tmp_size = INT64_C(64) << 20,
        .file_size = INT64_C(256) << 20,
        .max_file = INT64_C(16) << 20,
        .max_files_total = INT64_C(1) << 30,
        .open_files = 256,
        .cell_ms = 120000,
        .idle_ms = 1800000,
        .snapshots = true,
    };
}

int64_t sandbox_most_delivered(const struct sandbox_options *o)
{
    int64_t least = INT64_C(64) << 20, most = o->max_file > o->data_size / 4 ? o->data_size : 4 * o->max_file;

    return most < least ? least : most;
}

const char *sandbox_restricts(const struct sandbox_options *o, unsigned limits)
{
    struct sandbox_options usual;

    /* A user who sets more than the default wants room; one who sets as much or less wants a limit. */
    sandbox_defaults(&usual);
    limits &= o->asked;
    if ((limits & SANDBOX_ASKED_MEMORY) && o->memory <= usual.memory)
        return "memory";
    if ((limits & SANDBOX_ASKED_CPUS) && o->cpus <= usual.cpus)
        return "cpus";
    return (limits & SANDBOX_ASKED_PIDS) && o->pids <= usual.pids ? "pids" : NULL;
}
