/* plan.h - what an engine is told for one start, for it to make an argument vector of, and the words and
 * variables that all engines pass on alike.
 */
#ifndef ENGINE_PLAN_H
#define ENGINE_PLAN_H

#include <stdbool.h>

#include "base/argv.h"

struct engine;
struct sandbox_options;

#define SANDBOX_UID  65532 /* inside bwrap's own user namespace */
#define INSIDE_DIR   "/run/sandpiper"
#define DATA_DIR     "/mnt/data"
#define PENDING_MOST 256          /* signals */
#define GUEST_MAX    (120 * 1024) /* the kernel takes arguments of at most 128 KiB */

struct engine_plan {
    const struct engine *engine;
    const struct sandbox_options *o;
    const char *guest;   /* the supervisor's text */
    const char *program; /* path of the engine's client */
    bool holds_pids;     /* the engine limits the processes, all together; else the supervisor does */
    bool holds_memory;   /* and the memory; else each process has that limit */
    bool shares_user;    /* outside it has our own uid, which other sandboxes have as well */
    /* containers */
    const char *name;    /* of the container */
    const char *owner;   /* label: owner.h; "" when it has a name and nobody owns it */
    const char *dir;     /* holds the socket; bound at INSIDE_DIR */
    const char *profile; /* seccomp JSON */
    unsigned uid;        /* and gid, inside: uid_range.h */
    const char *runtime; /* NULL is the engine's own choice */
    bool stdio;          /* attached pipes instead of the socket */
    int hard_nproc;      /* our own hard limit; podman cannot raise it */
    /* bwrap */
    int channel, seccomp, info; /* descriptors that it inherits; info: where bwrap tells its child's pid */
};

/* The words after python3: the supervisor and what it must know. channel: see engine.h. */
void plan_guest_words(const struct engine_plan *p, const char *channel, struct argv *out);
/* The last of these, key=value each: nothing in them means anything to a shell. */
void plan_options(const struct engine_plan *p, struct argv *out);
/* Processes it may have: what was asked for, which the snapshot is not counted in. */
int plan_pids(const struct sandbox_options *o);
/* name=value for the environment inside, by a callback; threads follow the CPU limit. */
void plan_environment(const struct engine_plan *p,
                      void (*each)(void *ctx, const char *name, const char *value), void *ctx);

#endif
