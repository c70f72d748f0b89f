/* plan.h - what an engine needs to know to make the argument vector of one start, and the arguments and
 * variables that all engines pass in the same way.
 */
#ifndef ENGINE_PLAN_H
#define ENGINE_PLAN_H

#include <stdbool.h>

#include "base/argv.h"

struct engine;
struct engine_options;
struct error;

#define SANDBOX_UID  65532 /* inside bwrap's own user namespace */
#define INSIDE_DIR   "/run/sandpiper"
#define DATA_DIR     "/mnt/data"
#define PENDING_MOST 256          /* signals */
#define NPROC_MOST   4096         /* processes of a container's uid on the whole host */
#define NET_PORT     3128         /* of that proxy, on the sandbox's loopback */
#define GUEST_MAX    (120 * 1024) /* bytes; the kernel accepts arguments of at most 128 KiB */

/* Where folders are put that root's bwrap is to mount. A tmpfs hides what is there; none of them can be below
 * it (mount_place.c), and bwrap needs nothing of it. */
#define STAGE_DIR "/sys"

/* Bytes of its own machine code that the supervisor may lock in memory (guest/lock_code.py). A kernel since
 * Linux 5.16 allows every user as much, so hardly any engine has to raise a limit for it. */
#define LOCKED_MOST (8 << 20)

struct engine_plan {
    const struct engine *engine;
    const struct engine_options *o;
    const char *guest;   /* the supervisor's source */
    const char *program; /* path of the engine's client */
    /* the engine limits the processes of the whole sandbox; if not, the supervisor does */
    bool holds_pids;
    bool holds_memory; /* likewise for the memory; if not, the limit applies to each process */
    bool holds_cpu;    /* likewise for CPU time; if not, nothing limits it */
    bool shares_user;  /* seen from outside it runs under our own uid, as other sandboxes do */
    /* for containers */
    const char *name;    /* of the container */
    const char *owner;   /* the label (owner.h); "" for a named sandbox, which no process owns */
    const char *dir;     /* the directory with the socket, bound at INSIDE_DIR */
    const char *profile; /* path of the seccomp profile, JSON */
    unsigned uid;        /* uid and gid inside (uids.h) */
    const char *runtime; /* NULL: the engine's default */
    bool stdio;          /* attached pipes instead of the socket */
    /* for bwrap */
    bool staged; /* the folders of o->mounts are at STAGE_DIR "/0", ... in a mount namespace of its own */
    int channel, seccomp, info; /* descriptors that it inherits; info: where it writes its child's pid */
};

/* The arguments after python3: the supervisor's source and its options. channel: see engine.h. */
void plan_guest_words(const struct engine_plan *p, const char *channel, struct argv *out);
/* Only the options, as key=value arguments without any character that is special to a shell. */
void plan_options(const struct engine_plan *p, struct argv *out);
/* Does what a client wrote to stderr name a folder of the user's? Then err says that it cannot be mounted. */
bool plan_blames_mount(const struct engine_plan *p, const char *said, struct error *err);
/* How many processes it may have: what was asked for, and one more for the snapshot, which does not count. */
int plan_pids(const struct engine_options *o);
bool runtime_is_gvisor(const char *runtime); /* may be NULL */
/* Call each() with every variable of the environment inside. The thread counts follow the CPU limit. */
void plan_environment(const struct engine_plan *p,
                      void (*each)(void *ctx, const char *name, const char *value), void *ctx);

#endif
