/* engines.h - the engines there are. An engine is a description with a life: what it does in its own way is a
 * function here, what it can do is a flag. Nobody asks which engine it is but its own file (and container.c,
 * for docker and podman); tests/lint/check-engines.sh holds this.
 */
#ifndef ENGINE_ENGINES_H
#define ENGINE_ENGINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/argv.h"
#include "engine/plan.h"

struct attempt;
struct error;
struct registry_entry;

enum engine_fault { /* why a start failed, as far as it decides what to do next */
                    FAULT_OTHER,
                    FAULT_ABSENT,  /* not installed, no image, no daemon, no permission: not there for auto */
                    FAULT_SHARE,   /* it cannot bind our directory: try attached pipes */
                    FAULT_RUNTIME, /* the default runtime does not work here: try another */
};

struct engine {
    const char *name;          /* as the user says it, and of its client, which is looked for in PATH */
    const char *package;       /* what to install where it is missing */
    const char *python_advice; /* a line for where the Python inside does not answer */
    const char *host_variable; /* of the environment: which daemon its client asks; or NULL */
    const void *own;           /* for its own file alone */

    const char *client;   /* the program that starts it, where that has another name; or NULL */
    const char *identity; /* a digest of its definition, where the user has written that; or NULL */
    bool custom;          /* the user has defined it; what it holds is only seen from inside */
    bool named;           /* a sandbox can outlive the program, and a later one can find it */
    bool images;          /* runs an image, under a runtime that can be chosen */
    bool attached;        /* its client lives as long as the sandbox */
    bool host_python;     /* inside is this machine's /usr/bin/python3 */
    bool holds_files; /* it holds the number of files in /mnt/data; else they are counted after each cell */
    bool own_limits;  /* its daemon starts the sandbox, so that our own hard limits do not bind it */
    bool users_uid;   /* outside, a sandbox of an ordinary user has that user's uid */
    bool only_here;   /* what "list" shows was started on this machine */
    /* Processes besides the sandbox's own that a limit counts with them: under a uid that is the sandbox's
     * alone, and under ours. */
    int processes_fresh, processes_ours;

    /* Start nothing: the argument vector of a start, and two lines (cause, remedy) for what the client wrote
     * to stderr. */
    void (*vector)(const struct engine_plan *p, struct argv *out);
    enum engine_fault (*explain)(const struct engine_plan *p, const char *said, struct error *err);

    /* Begin a start, from the loop. 0: attempt_up or attempt_fail follows; -1 with a->err. */
    int (*start)(struct attempt *a);
    /* Is it there, where neither its first process nor an attached client tells? May be NULL. */
    bool (*alive)(struct attempt *a);
    /* Which limits are weaker than asked for, as one line or NULL; *unheld: SANDBOX_ASKED_... of those that
     * are not held at all. */
    const char *(*weakness)(const struct attempt *a, unsigned *unheld);

    /* The end of what was started, the channel being closed. True: nothing is left that runs or may yet. */
    bool (*end)(struct attempt *a, int64_t until); /* clock_ms() */
    /* ... as far as that is a matter of moments; false: the keeper does the rest */
    bool (*end_at_once)(struct attempt *a);
    bool (*end_as_keeper)(struct attempt *a); /* in the keeper, to whom the client is no child */

    /* A named sandbox of another program: what is known beyond the record. Letting go of one. May be NULL. */
    int (*attach)(struct attempt *a, const struct registry_entry *entry, struct error *err);
    void (*detach)(struct attempt *a);

    /* Commands of its client: remove what has this name; list "NAME OWNER", a line each. NULL: nothing that
     * its client would have to remove is ever left. */
    void (*remove)(const struct engine *e, const char *name, struct argv *out);
    void (*list)(const struct engine *e, struct argv *out);
    /* A command that says "runc version N" of the runtime it uses, NULL: its own. Nothing is pushed where
     * that is another. May be NULL. */
    void (*runc_version)(const char *runtime, struct argv *out);
};

extern const struct engine engine_docker, engine_podman, engine_bwrap, engine_custom;

/* One of the user's own: name and start (its command, with placeholders; custom.c) must live on. At most 16;
 * what is beyond is not there. */
void engines_define(const char *name, const struct argv *start);
const char *engines_client(const struct engine *e); /* the program that starts it */

/* By name; NULL: there is none. */
const struct engine *engines_find(const char *name);
/* The i-th, in the order in which they are shown, or NULL after the last. */
const struct engine *engines_at(size_t i);
/* The i-th that auto tries, or NULL. */
const struct engine *engines_auto(size_t i);

#endif
