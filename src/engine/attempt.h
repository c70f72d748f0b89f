/* attempt.h - one try to start one engine: from nothing to a channel, or to a reason why not; and its
 * end. */
#ifndef ENGINE_ATTEMPT_H
#define ENGINE_ATTEMPT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"
#include "limits/cgroup.h"
#include "records/session_dir.h"
#include "engine/keeper.h"
#include "engine/plan.h"
#include "engine/options.h"

struct job;
struct loop;

struct attempt {
    /* given */
    const struct sandbox_options *o;
    struct loop *loop;
    const char *guest;
    const struct engine_description *engine;
    bool stdio;                       /* attached pipes: asked for at first (remembered), or found out */
    char *runtime;                    /* asked for, or podman's that was found out; owned */
    void (*done)(void *ctx, bool up); /* once, from the loop */
    void *ctx;
    /* what became of it */
    bool up;
    int channel, channel_out;
    pid_t peer; /* the supervisor, in our pid namespace; 0 unknown */
    unsigned long long peer_start;
    struct error err; /* when not up */
    enum engine_fault fault;
    bool no_limits;
    bool taken;  /* it ran before us: a sandbox with a name */
    bool unmade; /* the client failed: it has made nothing */
    /* private */
    bool begun;
    char *program, *name, *memory_dir;
    char *image;                  /* of one that ran before us */
    unsigned uid;                 /* of the container */
    struct sandbox_options given; /* o, with the processes and files that there are: hard_limits.h */
    struct buf fewer;             /* lines: what of that is less than was asked for */
    struct session_dir dir;
    struct cgroup cgroup;
    int listener;
    int64_t started;
    struct job *client, *inspect; /* client: "docker run", or bwrap itself */
    struct job *join;             /* bwrap: see bwrap_join */
    /* ... and where it tells which process is the first inside, when nobody joins */
    int info;
    struct keeper keeper;
};

void attempt_init(struct attempt *a); /* after the given members were set */
void attempt_begin(struct attempt *a);
/* ending.c. End what was started and remove it, at most until (clock_ms()). True: it was seen to be gone.
 */
bool attempt_end(struct attempt *a, int64_t until);
/* It failed, and nobody waits for its end but its keeper. Another may begin at once. */
void attempt_abandon(struct attempt *a);
/* The program ends: tell the sandbox to, and leave what that takes longer than a moment to a process of its
 * own. */
void attempt_part(struct attempt *a);
/* The program is gone and this is its keeper: end what there is and remove it. */
void attempt_see_off(struct attempt *a);
/* Write it down. owner: NULL is us; with a name it is the sandbox itself, else who removes it. */
int attempt_record(const struct attempt *a, const char *owner, bool named, struct error *err);
/* Put into a->err what the engine itself said, if it said something; else why. */
void attempt_blame(struct attempt *a, const char *why);
bool attempt_alive(struct attempt *a, char *why, size_t size);
int64_t attempt_memory_kills(struct attempt *a);
const char *attempt_weakness(const struct attempt *a);
/* SANDBOX_ASKED_... of the limits that are not held at all */
unsigned attempt_unheld(const struct attempt *a);
/* Is it one that the user named, and not to have more of it? Then it may not run: err says why. */
bool attempt_refused(const struct attempt *a, struct error *err);

/* A sandbox with a name, named_engine.c. What a later program must know goes into r, and the sandbox's
 * directory becomes its own. */
struct registry_entry;
int attempt_describe(struct attempt *a, struct registry_entry *r, struct error *err);
/* The other way: a becomes what r tells of; then a channel to it. */
int attempt_known(struct attempt *a, const struct registry_entry *r, struct error *err);
/* Which process is the first inside: it goes into the record and to the keeper. */
void attempt_found_peer(struct attempt *a, pid_t pid);
int attempt_connect(struct attempt *a);                 /* 0, or -1 with errno */
void attempt_leave(struct attempt *a);                  /* let go; it lives on */
bool attempt_kill_peer(struct attempt *a, int wait_ms); /* false: it still runs, or nobody knows it */

#endif
