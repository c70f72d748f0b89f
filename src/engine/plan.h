/* plan.h - what an engine is told for one start, and the descriptions that turn it into an argument
 * vector. A description starts nothing, so each is tested without a container.
 */
#ifndef ENGINE_PLAN_H
#define ENGINE_PLAN_H

#include <stdbool.h>

#include "base/argv.h"
#include "limits/cgroup.h"

struct error;
struct sandbox_options;

#define SANDBOX_UID  65532 /* inside bwrap's own user namespace */
#define INSIDE_DIR   "/run/sandpiper"
#define DATA_DIR     "/mnt/data"
#define PENDING_MOST 256          /* signals */
#define GUEST_MAX    (120 * 1024) /* the kernel takes arguments of at most 128 KiB */

struct engine_plan {
    const struct sandbox_options *o;
    const char *guest;   /* the supervisor's text */
    const char *program; /* path of the engine's client */
    /* containers */
    const char *name;    /* of the container */
    const char *owner;   /* label: owner.h; "" when it has a name and nobody owns it */
    const char *dir;     /* holds the socket; bound at INSIDE_DIR */
    const char *profile; /* seccomp JSON */
    unsigned uid;        /* and gid, inside: uid_range.h */
    const char *runtime; /* NULL is the engine's own choice */
    bool stdio;          /* attached pipes instead of the socket */
    /* the engine has no control group to limit (rootless on cgroup v1): rlimits instead */
    bool no_limits;
    int hard_nproc; /* our own hard limit; podman cannot raise it */
    /* bwrap */
    int channel, seccomp, info; /* descriptors that it inherits; info: where bwrap tells its child's pid */
    bool holds_pids;            /* the control group limits processes */
    bool holds_memory;          /* and memory */
    bool shares_user;           /* outside it has our own uid, which other sandboxes have as well */
};

enum engine_fault { /* why a start failed, as far as it decides what to do next */
                    FAULT_OTHER,
                    FAULT_ABSENT,  /* not installed, no image, no daemon, no permission: not there for auto */
                    FAULT_SHARE,   /* it cannot bind our directory: try attached pipes */
                    FAULT_RUNTIME, /* podman's default runtime does not work here: try runc */
};

struct engine_description {
    const char *name;
    bool container; /* has an image and a client; else it is bwrap */
    void (*vector)(const struct engine_plan *p, struct argv *out);
    /* Turn what the client wrote to stderr into two lines: cause, remedy. */
    enum engine_fault (*explain)(const struct engine_plan *p, const char *said, struct error *err);
};

/* Does what docker's or podman's client wrote to stderr say that no daemon is there for us? */
bool engine_nobody(const char *said);

extern const struct engine_description engine_docker, engine_podman, engine_bwrap;

/* The words after python3 -c GUEST, the same for all. nproc, files: 0 where the engine holds the limit;
 * memory: it holds it. */
void engine_guest_words(const struct engine_plan *p, const char *channel, int nproc, int files, bool memory,
                        struct argv *out);
/* Processes it may have: what was asked for, which the snapshot is not counted in. */
int engine_pids(const struct sandbox_options *o);
/* name=value for the environment inside, by a callback; threads follow the CPU limit. */
void engine_environment(const struct engine_plan *p,
                        void (*each)(void *ctx, const char *name, const char *value), void *ctx);

/* bwrap: what its process does between fork and exec. */
struct bwrap_setup {
    const struct sandbox_options *o;
    unsigned uid;      /* 0: stay who we are */
    bool limit_memory; /* for each process, where no control group does it for all */
};
int bwrap_setup(void *ctx);

/* What bwrap says there (--info-fd): {"child-pid": N, ...}; 0 when it ends without. */
pid_t bwrap_child_pid(int fd);
/* The body of a child beside it (child.h), with bwrap's --info-fd as stdin: put bwrap and what it started
 * into the control group, and say on stdout which process that is. */
struct bwrap_join {
    const struct cgroup *cgroup;
    pid_t bwrap;
};
int bwrap_join(void *ctx);
unsigned bwrap_pick_uid(bool outlives); /* a uid that nothing on this host uses */

#endif
