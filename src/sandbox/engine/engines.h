/* engines.h - the table of engines. An engine is a description: a function for each thing it does in its own
 * way, and a flag for each thing it can do. Only an engine's own file (for docker and podman also
 * container.c) may ask which engine it is; tests/lint/source.py checks this.
 *
 * RULE: Only an engine's own file asks which engine it is (lint holds it).
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
struct record;

enum engine_fault { /* why a start failed, as far as the next step depends on it */
                    FAULT_OTHER,
                    /* no program, image, daemon or permission: auto treats the engine as missing */
                    FAULT_ABSENT,
                    FAULT_SHARE,   /* it cannot bind our directory: try attached pipes */
                    FAULT_RUNTIME, /* the default runtime does not work here: try another */
};

struct engine {
    /* as the user writes it; also its client, looked up in PATH, unless client is set */
    const char *name;
    const char *package;       /* the package to install when it is missing */
    const char *python_advice; /* one line of advice for when the Python inside does not answer */
    /* the environment variable that tells its client which daemon to ask; or NULL */
    const char *host_variable;
    const struct argv *env; /* variables of ours that its client gets besides (client.h); NULL: none */
    const void *own;        /* private to the engine's own file */

    const char *client;   /* the program that starts it, if it has another name; or NULL */
    const char *identity; /* for one that the user has defined: a digest of its definition; or NULL */
    bool custom;          /* the user has defined it; which limits it enforces can only be seen from inside */
    bool named;           /* a sandbox can outlive the program, and a later program can find it */
    bool mounts;          /* folders of this machine can be mounted in it */
    bool images;          /* it runs images, under a runtime that can be chosen */
    const char *fallback_runtime; /* tried when the default runtime fails; or NULL */
    bool attached;                /* its client lives as long as the sandbox */
    bool host_python;             /* the Python inside is this machine's /usr/bin/python3 */
    /* it limits the number of files in /mnt/data; if not, they are counted after each cell */
    bool holds_files;
    bool own_limits; /* its daemon starts the sandbox, so our own hard limits do not apply */
    bool users_uid;  /* seen from outside, the sandbox of an ordinary user runs under that user's uid */
    bool only_here;  /* everything that "list" shows was started on this machine */
    /* How many processes a limit counts besides the sandbox's own: under a uid that only the sandbox has,
     * and under ours. */
    int processes_fresh, processes_ours;

    /* These start nothing. vector makes the argument vector of a start, and commands that of its i-th command
     * where there are several (false: there is no such one; NULL: vector alone); explain turns what the
     * client wrote to stderr into two lines (cause, remedy). */
    void (*vector)(const struct engine_plan *p, struct argv *out);
    bool (*commands)(const struct engine_plan *p, size_t i, struct argv *out);
    enum engine_fault (*explain)(const struct engine_plan *p, const char *said, struct error *err);
    /* Which line of the client's stderr that is; NULL: client_complaint(). The caller frees. */
    char *(*complaint)(const struct attempt *a);

    /* Begin a start, from the loop. 0: attempt_up() or attempt_fail() will follow; -1 with a->err. */
    int (*start)(struct attempt *a);
    /* Is it still there? Asked only when neither its first process nor an attached client can tell. May be
     * NULL. */
    bool (*alive)(struct attempt *a);
    /* Which limits are weaker than asked for, in one line, or NULL. *unheld gets a ENGINE_ASKED_... bit
     * for each that is not enforced at all. */
    const char *(*weakness)(const struct attempt *a, unsigned *unheld);

    /* End what was started; the channel is already closed. True: nothing runs any more, and nothing can
     * start. */
    bool (*end)(struct attempt *a, int64_t until); /* clock_ms() */
    /* Do only what takes a moment; false: the keeper does the rest */
    bool (*end_at_once)(struct attempt *a);
    bool (*end_as_keeper)(struct attempt *a); /* called in the keeper, which is not the client's parent */

    /* For the named sandbox of another program: attach finds out what the record does not say, detach
     * releases it. May be NULL. */
    int (*attach)(struct attempt *a, const struct record *record, struct error *err);
    void (*detach)(struct attempt *a);

    /* Commands of the client: remove the container of that name; list one "NAME OWNER" per line. NULL:
     * nothing is ever left for the client to remove. */
    void (*remove)(const struct engine *e, const char *name, struct argv *out);
    void (*list)(const struct engine *e, struct argv *out);
    /* A command that prints "runc version N" for the given runtime; NULL is the default runtime. Adds nothing
     * to out when the runtime named is not runc. May be NULL. */
    void (*runc_version)(const char *runtime, struct argv *out);
};

extern const struct engine engine_docker, engine_podman, engine_bwrap, engine_custom;

/* Define an engine by its recipe, which is borrowed for good; a later one of that name replaces it. At most
 * 17; any further ones are ignored. */
struct engine_recipe;
void engines_define(const struct engine_recipe *recipe);
/* Have all processes that are started from now on share what that engine opens (site.h). Nothing happens
 * where it opens nothing. */
int engines_share(const char *name, struct error *err);
const char *engines_client(const struct engine *e); /* the program that starts it */

/* Look up an engine by name; NULL: there is none. */
const struct engine *engines_find(const char *name);
/* The i-th engine in the order in which they are shown, or NULL after the last. */
const struct engine *engines_at(size_t i);
/* The i-th engine that auto tries, or NULL after the last. */
const struct engine *engines_auto(size_t i);

#endif
