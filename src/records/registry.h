/* registry.h - named sandboxes: a small directory for each says which program holds it and how to reach it.
 * Independent of the engine.
 *
 *     RUNTIME/names/NAME/         0700, ours
 *     RUNTIME/names/NAME/lock     locked (flock) while a program is attached; contains the holder's pid and
 *     since when
 *     RUNTIME/names/NAME/record   what runs, as JSON; its socket is in RUNTIME/ID/in (session_dir.h)
 *
 * Only we write here, and nothing is read that code in a sandbox can write. Links are not followed, and every
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

struct registry_hold { /* a name that we hold */
    char *name;        /* NULL: none */
    int dir, lock;
    int64_t used; /* time(): when the previous holder released it; 0: it is new */
};
#define REGISTRY_HOLD_INIT \
    {                      \
        NULL, -1, -1, 0    \
    }

/* Take the name. ERROR_SANDBOX when another program holds it, with that program's pid and since when. */
int registry_take(struct registry_hold *h, const char *name, struct error *err);
/* Does the name exist? For callers that must not create it. */
bool registry_exists(const char *name);
void registry_release(struct registry_hold *h); /* also removes the name if it has no record */

struct registry_entry {
    char *engine, *id, *container, *image, *runtime;
    /* the first process inside, as owner.h writes it; "": cannot be seen */
    char *owner;
    int64_t pid; /* its pid, in our pid namespace; 0: unknown */
    int64_t uid; /* of a container; 0: none of its own */
    int64_t memory, data_size, created, pids;
    int64_t idle; /* seconds it stays with no program attached, as last set */
    double cpus;
    bool holds_memory, holds_pids, holds_cpu; /* the limit is enforced on the whole sandbox */
    struct argv cgroups;
};

/* 0, or -1 when there is no record that can be read, with errno as fd_none_left() expects */
int registry_load(const struct registry_hold *h, struct registry_entry *r);
int registry_store(const struct registry_hold *h, const struct registry_entry *r, struct error *err);
void registry_forget(const struct registry_hold *h);
bool registry_alive(const struct registry_entry *r); /* false only when its first process is proven dead */
void registry_entry_release(struct registry_entry *r);

struct registry_holder {
    long pid;      /* 0: nobody */
    int64_t since; /* time(): when it was taken; with pid 0, when the last holder released it */
};

/* Called for every name, held or not; r is NULL where nothing is recorded yet. */
typedef void registry_fn(void *ctx, const char *name, const struct registry_holder *holder,
                         const struct registry_entry *r);
void registry_each(registry_fn *fn, void *ctx);
/* Remove the directories of named sandboxes that are dead and that nobody holds. */
void registry_sweep(void);

#endif
