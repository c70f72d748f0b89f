/* registry.h - the names of sandboxes: for each name, a small directory says which program holds it and which
 * sandbox it belongs to. That sandbox is described by its own record (record.h), like any other.
 *
 *     RUNTIME/names/NAME/         0700, ours
 *     RUNTIME/names/NAME/lock     locked (flock) while a program is attached; contains the holder's pid and
 *     since when
 *     RUNTIME/names/NAME/sandbox  a link to the directory of the sandbox (run_dir.h)
 *
 * Only this user's programs write here, and nothing is read that code in a sandbox can write. No other link
 * is followed; of that one only the last part is used; and the owner of each directory and file is checked.
 */
#ifndef RECORDS_REGISTRY_H
#define RECORDS_REGISTRY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct error;
struct record;

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

/* Take the name. ERROR_SANDBOX, code EBUSY, when another program holds it, with that program's pid and since
 * when. */
int registry_take(struct registry_hold *h, const char *name, struct error *err);
/* Does the name exist? For callers that must not create it. */
bool registry_exists(const char *name);
void registry_release(struct registry_hold *h); /* also removes the name if it has no record */

/* What is behind a name. Only of REGISTRY_NEW and REGISTRY_ENDED may anything be removed or replaced. */
enum registry_state {
    REGISTRY_NEW,    /* nothing */
    REGISTRY_ALIVE,  /* a sandbox, not proven to have ended */
    REGISTRY_ENDED,  /* one that has; r is empty if a sweep has removed it */
    REGISTRY_UNSEEN, /* it cannot be looked at (errno), for example for lack of descriptors */
};
/* Read the record of the sandbox that has the name; r is empty if there is none to be read. */
enum registry_state registry_look(const struct registry_hold *h, struct record *r);
/* The sandbox whose record is in dir gets the name. */
int registry_store(const struct registry_hold *h, const char *dir, struct error *err);
void registry_forget(const struct registry_hold *h);

struct registry_holder {
    long pid;      /* 0: nobody */
    int64_t since; /* time(): when it was taken; with pid 0, when the last holder released it */
};

/* Called for every name that is held or whose sandbox has not ended; r is NULL where nothing is recorded
 * yet or nothing can be seen. */
typedef void registry_fn(void *ctx, const char *name, const struct registry_holder *holder,
                         const struct record *r);
void registry_each(registry_fn *fn, void *ctx);
/* Remove the directories of named sandboxes that are dead and that nobody holds. */
void registry_sweep(void);

#endif
