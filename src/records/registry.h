/* registry.h - sandboxes with a name: a small directory for each, which says who holds it and how to reach
 * it. Knows no engine.
 *
 *     RUNTIME/names/NAME/         0700, ours
 *     RUNTIME/names/NAME/lock     locked (flock) while a program is connected; its text is the holder's pid
 *                                 and since when
 *     RUNTIME/names/NAME/record   what runs, as JSON; its socket lies in RUNTIME/ID/in (session_dir.h)
 *
 * Only we write here; nothing that code in a sandbox can write is read. Links are not followed and every
 * owner is checked.
 */
#ifndef RECORDS_REGISTRY_H
#define RECORDS_REGISTRY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/argv.h"
#include "records/owner.h"

struct error;

#define REGISTRY_NAME_MAX 64

/* [A-Za-z0-9._-]{1,64}, not beginning with a dot or a dash. ERROR_USAGE, one line. */
int registry_check_name(const char *name, struct error *err);

struct registry_hold { /* a name that is ours now */
    char *name;        /* NULL: none */
    int dir, lock;
    int64_t used; /* when the one before let it go; 0: nobody had it */
};
#define REGISTRY_HOLD_INIT \
    {                      \
        NULL, -1, -1, 0    \
    }

/* Take it. ERROR_SANDBOX when another program holds it, with its pid and since when. */
int registry_take(struct registry_hold *h, const char *name, struct error *err);
/* Is it there at all? For what must not make it. */
bool registry_exists(const char *name);
void registry_release(struct registry_hold *h); /* an empty one is removed */

struct registry_entry {
    char *engine, *id, *container, *image, *runtime;
    /* of the first process inside, written as owner.h does; "" where it cannot be seen */
    char *owner;
    int64_t pid; /* it, in our pid namespace; 0 unknown */
    int64_t uid; /* of a container; 0: none of its own */
    int64_t memory, data_size, created, pids;
    int64_t idle; /* seconds it stays when nobody is there, as it was last told */
    double cpus;
    bool holds_memory, holds_pids, holds_cpu; /* all of it together is held to the limit */
    struct argv cgroups;
};

/* 0, or -1: there is none that can be understood; errno as for fd_none_left */
int registry_load(const struct registry_hold *h, struct registry_entry *r);
int registry_store(const struct registry_hold *h, const struct registry_entry *r, struct error *err);
void registry_forget(const struct registry_hold *h);
bool registry_alive(const struct registry_entry *r); /* as far as can be seen */
void registry_entry_release(struct registry_entry *r);

struct registry_holder {
    long pid;      /* 0: nobody */
    int64_t since; /* when it took it; nobody: when the last one let it go */
};

/* Every name there is, held or not; r is NULL where nothing is recorded yet. */
typedef void registry_fn(void *ctx, const char *name, const struct registry_holder *holder,
                         const struct registry_entry *r);
void registry_each(registry_fn *fn, void *ctx);
/* Remove the directories of those that are dead and that nobody holds. */
void registry_sweep(void);

#endif
