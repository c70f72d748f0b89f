/* attempt.h - one try to start one engine: from nothing to a channel, or to a reason why not; and its end.
 * What all engines do alike; the rest is the engine's (engines.h).
 */
#ifndef ENGINE_ATTEMPT_H
#define ENGINE_ATTEMPT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"
#include "engine/engines.h"
#include "engine/keeper.h"
#include "engine/options.h"
#include "limits/cgroup.h"
#include "records/session_dir.h"

struct job;
struct loop;

struct attempt {
    /* given */
    const struct sandbox_options *o;
    struct loop *loop;
    const char *guest;
    const struct engine *engine;
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
    bool holds_memory, holds_pids, holds_cpu; /* all of the sandbox together is held to the limit */
    bool taken;                               /* it ran before us: a sandbox with a name */
    bool unmade;                              /* the client failed: it has made nothing */
    /* private to the attempt and its engine */
    bool begun;
    char *program, *memory_dir;
    char *name;                   /* of the container; NULL: it is none */
    char *image;                  /* of one that ran before us */
    unsigned uid;                 /* of the container */
    struct sandbox_options given; /* o, with the processes and files that there are: hard_limits.h */
    struct buf fewer;             /* lines: what of that is less than was asked for */
    struct session_dir dir;
    struct cgroup cgroup;
    int listener;
    int64_t started;
    struct job *client; /* "docker run", or bwrap itself */
    struct job *helper; /* what is asked or done beside it until the sandbox is up */
    int info;           /* where bwrap tells which process is the first inside, when nobody joins */
    struct keeper keeper;
};

void attempt_init(struct attempt *a); /* after the given members were set */
void attempt_begin(struct attempt *a);
/* Put into a->err what the engine itself said, if it said something; else why. */
void attempt_blame(struct attempt *a, const char *why);
/* Is it one that the user named, and not to have more of it? Then it may not run: err says why. */
bool attempt_refused(const struct attempt *a, struct error *err);
bool attempt_alive(struct attempt *a, char *why, size_t size);
int64_t attempt_memory_kills(const struct attempt *a); /* -1: cannot be seen */
const char *attempt_weakness(const struct attempt *a);

/* ending.c. End what was started and remove it, at most until (clock_ms()). True: it was seen to be gone. */
bool attempt_end(struct attempt *a, int64_t until);
/* It failed, and nobody waits for its end but its keeper. Another may begin at once. */
void attempt_abandon(struct attempt *a);
/* The program ends: tell the sandbox to, and leave what that takes longer than a moment to the keeper. */
void attempt_end_in_background(struct attempt *a);
/* The program is gone and this is its keeper: end what there is and remove it. */
void attempt_end_as_keeper(struct attempt *a);

/* attempt_named.c: a sandbox with a name. What a later program must know goes into entry, and the sandbox's
 * directory becomes its own. */
struct registry_entry;
int attempt_describe(struct attempt *a, struct registry_entry *entry, struct error *err);
/* The other way: a becomes what entry tells of; then a channel to it. */
int attempt_attach(struct attempt *a, const struct registry_entry *entry, struct error *err);
int attempt_connect(struct attempt *a); /* 0, or -1 with errno */
void attempt_detach(struct attempt *a); /* let go; it lives on */

/* For the engines. */

/* The directory, without which none can do. -1 with a->err. */
int attempt_make_dir(struct attempt *a);
/* Write down what there is. owner: NULL is us; with a name it is the sandbox itself, else who removes it. */
int attempt_record(const struct attempt *a, const char *owner, bool named, struct error *err);
void attempt_plan(const struct attempt *a, struct engine_plan *plan);
/* The channel is open: told to done from the loop, never from inside a call of the caller. */
void attempt_up(struct attempt *a);
void attempt_fail(struct attempt *a, enum engine_fault fault); /* with a->err; likewise */
/* The same engine once more, another way. runtime: NULL leaves it. */
void attempt_again(struct attempt *a, bool stdio, const char *runtime);
/* Its client lives as long as the sandbox, so its end and its last words tell. */
bool attempt_attached(const struct attempt *a);
/* Which process is the first inside: it goes into the record and to the keeper. */
void attempt_found_peer(struct attempt *a, pid_t pid);
/* One that was gone before its start could be read is none any more. */
bool attempt_knows_peer(const struct attempt *a);
bool attempt_kill_peer(const struct attempt *a, int wait_ms); /* false: it still runs, or nobody knows it */
/* Where the kernel counts what it kills for memory: in our group, else in the group of the first process
 * inside. */
void attempt_find_memory(struct attempt *a);
int attempt_left_ms(int64_t until); /* what is left of it, at most what a call of a client takes */

#endif
