/* attempt.h - one attempt to start one engine, from nothing to an open channel or to the reason for a
 * failure, and the end of what it started. This is what all engines do alike; engines.h has what differs.
 */
#ifndef ENGINE_ATTEMPT_H
#define ENGINE_ATTEMPT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"
#include "engine/engines.h"
#include "engine/inside.h"
#include "engine/keeper.h"
#include "engine/options.h"
#include "limits/cgroup.h"
#include "records/run_dir.h"

struct child;
struct loop;
struct record;
struct site;

struct attempt {
    /* set by the caller, before attempt_init() */
    const struct engine_options *o;
    struct loop *loop;
    const char *guest;
    int (*parts)(void);
    const struct engine *engine;
    /* attached pipes instead of the socket: cached from an earlier start, or found necessary now */
    bool stdio;
    char *runtime;                    /* as the user asked, or the fallback that worked; owned */
    void (*done)(void *ctx, bool up); /* called once, from the loop */
    void *ctx;
    /* the outcome */
    bool up;
    int channel, channel_out;
    pid_t peer; /* the supervisor, in our pid namespace; 0: unknown */
    unsigned long long peer_start;
    struct error err; /* set when up is false */
    enum engine_fault fault;
    bool has_parts;                           /* the guest's parts were handed over */
    bool holds_memory, holds_pids, holds_cpu; /* the limit is enforced on the whole sandbox */
    bool taken;                               /* it ran before this program: a named sandbox */
    bool unmade;                              /* the client failed by itself, so it has created nothing */
    /* private to the attempt and its engine */
    bool begun;
    char *program;
    int64_t memory_held; /* the smallest limit of memory around it, in bytes; 0: none can be seen */
    int kills;           /* a file with the number of kills for memory; -1: there is none */
    int stat;            /* its memory.stat; -1: there is none */
    char *name;          /* of the container; NULL: there is no container */
    char *image;         /* of a named sandbox that ran before this program */
    unsigned uid;        /* of the container; 0: none of its own */
    /* o, with the numbers of processes and files that are available (hard_limits.h) */
    struct engine_options given;
    struct buf fewer; /* one line for each of those that is less than was asked for */
    struct run_dir dir;
    struct cgroup cgroup;
    int listener;
    int64_t started;
    struct child *client; /* "docker run", or bwrap itself */
    struct child *helper; /* a second process, used until the sandbox is up */
    /* where bwrap writes the pid of the first process inside, or the keeper once that is in its group */
    int info;
    struct keeper keeper;
    /* of a recipe (custom.c) */
    struct site *site;        /* joined; NULL: it has none */
    struct argv facts;        /* "NAME=VALUE", as its commands have printed them */
    char nonce[INSIDE_NONCE]; /* of the greeting of our part on another machine */
    bool inside;              /* that part has greeted, and the limits that it holds are known */
};

void attempt_init(struct attempt *a); /* call it once the caller's members are set */
void attempt_begin(struct attempt *a);
/* Set a->err to what the engine's client wrote to stderr, or to why if it wrote nothing. */
void attempt_blame(struct attempt *a, const char *why);
/* Did the user name a limit (other than to raise it) that this engine cannot enforce? If so, the attempt
 * must not run, and err says why. */
bool attempt_refused(const struct attempt *a, struct error *err);
bool attempt_alive(struct attempt *a, char *why, size_t size);

/* ending.c. End what was started and remove it, by the time until (of clock_ms()) at the latest. True: it
 * is known to be gone. */
bool attempt_end(struct attempt *a, int64_t until);
/* The attempt failed. The keeper alone waits for its end, so another attempt may begin at once. */
void attempt_abandon(struct attempt *a);
/* The program is ending: tell the sandbox to end, and leave what takes longer than a moment to the keeper. */
void attempt_end_in_background(struct attempt *a);
/* Called in the keeper when the program is gone: end and remove what is left. */
void attempt_end_as_keeper(struct attempt *a);

/* For the named sandbox of another program: fill a from its record, and release it without ending it. */
int attempt_attach(struct attempt *a, const struct record *r, struct error *err);
void attempt_detach(struct attempt *a);

/* For the engines. */

/* Make the session's directory, which every engine needs. -1 with a->err. */
int attempt_make_dir(struct attempt *a);
/* Write the record. owner NULL: this program; otherwise, if named, the sandbox itself, and if not, the
 * process that removes it. */
int attempt_record(const struct attempt *a, const char *owner, bool named, struct error *err);
void attempt_plan(const struct attempt *a, struct engine_plan *plan);
/* The channel is open. done is called from the loop, never from inside a call by the caller. */
void attempt_up(struct attempt *a);
/* Start over attached pipes: start_client starts a->client with these as its stdin and stdout, and first is
 * what it reads first, which ends with the byte of the channel (engine.h). -1 with a->err. */
int attempt_over_pipes(struct attempt *a, int (*start_client)(struct attempt *a, int in, int out),
                       const char *first);
void attempt_fail(struct attempt *a, enum engine_fault fault); /* a->err is set; done is called likewise */
/* Start the same engine again in another way. runtime NULL: keep the present one. */
void attempt_again(struct attempt *a, bool stdio, const char *runtime);
/* Note the first process inside, in the record and to the keeper. */
void attempt_found_peer(struct attempt *a, pid_t pid);
/* False also when the process was gone before its start time could be read. */
bool attempt_knows_peer(const struct attempt *a);
bool attempt_kill_peer(const struct attempt *a, int wait_ms); /* false: it still runs, or is unknown */
/* Find where the kernel counts the processes it kills for memory: our control group, or else that of the
 * first process inside. */
void attempt_find_memory(struct attempt *a);
int attempt_left_ms(int64_t until); /* the time left, at most what one call of a client may take */

#endif
