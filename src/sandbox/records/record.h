/* record.h - what is written of one sandbox: the file "record" in its directory (run_dir.h), as JSON. It
 * exists once for each sandbox, named or not: a sweep reads from it what to remove, and the next program how
 * to find and end a named sandbox.
 *
 * Only its owner writes it, and code in a sandbox can neither read nor write it. Half a record, or one that
 * was written by hand, is refused or read as far as it makes sense: containers and control groups are only
 * those with names that we give.
 */
#ifndef RECORDS_RECORD_H
#define RECORDS_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/argv.h"

struct error;

struct record { /* the strings are owned; one that is not known is NULL */
    char *dir;  /* the directory that it is in; not written */
    /* The process with which the sandbox ends, as owner.h writes it: the program that started it; the keeper
     * while that removes it; of a named one the first process inside, or "" if that cannot be seen. */
    char *owner;
    char *inside; /* the first process inside */
    bool named;   /* a named sandbox, which is its own owner */
    bool ending;  /* the owner is the process that removes it (keeper.h) */
    char *engine;
    char *container, *image, *runtime;
    char *no_proxy;      /* of one that can be given hosts (--allow-net) */
    struct argv cgroups; /* at most CGROUP_DIRS directories, each with a name that we give */
    struct argv mounts;  /* folders of this machine in it, as the room above writes them (mount.h) */
    int64_t uid;         /* of a container; 0: none of its own */
    int64_t memory, data_size, pids;
    double cpus;
    bool holds_memory, holds_pids, holds_cpu; /* the limit is enforced on the whole sandbox */
    int64_t created;                          /* time() */
    int64_t idle; /* seconds that it stays with no program attached, as last set */
};

/* Write it to r->dir. Call it before anything is made, and again when more is known. */
int record_write(const struct record *r, struct error *err);
/* Read that of dir. -1 with errno and an empty r: ENOENT: there is none; 0: what is there is none (not ours,
 * of an older version, or empty because the machine crashed); any other: it cannot be looked at, so nothing
 * is known of the sandbox. */
int record_read(struct record *r, const char *dir);
void record_release(struct record *r);

#endif
