/* runner.h - one child process that holds one sandbox, seen from the process that has many (the front:
 * serve, mcp). The child is "sandpiper runner" (runner_child.h); the two speak JSON lines over a
 * socketpair.
 * Requests are queued here and sent one after another. When the process has ended, a request that it has
 * not read is handed to the next one, once; that which it was carrying out fails. Nothing here waits:
 * everything is a callback of the loop, and none is called from inside the function that asked for it. What
 * comes back holds text from the sandbox: it is strict JSON of bounded size, and otherwise untrusted. */
#ifndef FRONT_RUNNER_H
#define FRONT_RUNNER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct error;
struct json;
struct loop;
struct runner;

struct runner_options { /* borrowed for the time of the call */
    struct loop *loop;
    int starter;      /* the connection to the process that starts it (starter.h); borrowed */
    const char *name; /* the name of its sandbox; NULL: the sandbox has none, and ends with the runner */
    bool only;        /* no other process follows it: what waits when it ends fails */
    bool again;       /* it replaces a runner that has ended: it is to say so if that one's sandbox is gone */
    /* How long a named sandbox lives while no runner is attached; 0: as the options say. */
    int64_t idle_ms;
    /* Called when the start of the sandbox, which begins at once (but see runner_let_start), is over. err is
     * NULL, or says why it failed; a later request tries again. May be NULL. */
    void (*ready)(void *ctx, struct runner *r, const struct error *err);
    /* Called when the process has ended by itself or was killed. replaced: another one goes on with the
     * requests that wait, under the same pointer. If not, all requests have been answered with an error by
     * then. It is not called after runner_free(), which may be called from here. May be NULL. */
    void (*gone)(void *ctx, struct runner *r, bool replaced);
    /* Called when no request runs or waits any more. May be NULL. */
    void (*idle)(void *ctx);
    /* Called before a result that has notices is given: what these are to say too, which the caller frees;
     * or NULL. May be NULL. */
    char *(*notice)(void *ctx);
    /* Called with what the child says of a process beside the interpreter (processes.h). May be NULL. */
    void (*process)(void *ctx, const struct json *said);
    void *ctx;
};

/* NULL with ERROR_SYSTEM: there is no process or no descriptor left. */
struct runner *runner_start(const struct runner_options *o, struct error *err);
/* Closes the connection. The child then ends, and so does its sandbox, unless that is named. Requests that
 * are not done are dropped without an answer. Does not wait. r may be NULL. */
void runner_free(struct runner *r);
/* Answers all requests with an error, removes the sandbox, even a named one, and frees r. Does not wait. */
void runner_end(struct runner *r);
/* For the end of a front: waits until the processes of all runners that were freed have ended, for at most
 * ms, or until another signal comes that ends programs. Returns how many are left. */
unsigned runner_settle(struct loop *loop, int ms);
void runner_let_go(void); /* forgets those that are left, so that the loop may be freed */

struct runner_listener {
    void *ctx;
    /* Called for what happens meanwhile: {"event": "output"|"notice"|"agent", ...}, see
     * docs/runner-protocol.md. NULL: the child sends no events. */
    void (*event)(void *ctx, const struct json *event);
    /* Called exactly once, at the end, with the operation's result object or with err; the other one is
     * NULL. */
    void (*done)(void *ctx, const struct json *result, const struct error *err);
};

/* Asks for an operation (operations.h). The caller has checked the arguments with operation_check(); they
 * are copied, and may be NULL. fd is a file that the operation reads and that is ours from now on, or -1.
 * Returns the number of the request, which is never 0. */
uint64_t runner_ask(struct runner *r, const char *operation, const struct json *arguments, int fd,
                    const struct runner_listener *l);
/* Drops a request that waits. One that runs is interrupted as by Ctrl-C, and its result says so. A child
 * that does not answer within RUNNER_CANCEL_MS is killed. done is still called. An unknown number is
 * ignored. */
#define RUNNER_CANCEL_MS 15000
void runner_cancel(struct runner *r, uint64_t request);
void runner_forget(struct runner *r, uint64_t request); /* cancels it, and never calls its listener again */

/* For a runner that asks a batch's rows: the sandbox of the requests so far may start. */
void runner_let_start(struct runner *r);

/* Sends what is asked of a process beside the interpreter, at once, whatever runs. m is borrowed. */
void runner_process(struct runner *r, const struct json *m);

bool runner_busy(const struct runner *r); /* does a request run or wait? */
/* Has its process ended without another one? Its requests are just being answered, and gone() follows. */
bool runner_lost(const struct runner *r);
unsigned runner_waits(const struct runner *r);  /* the number of requests that wait */
int64_t runner_done_at(const struct runner *r); /* clock_ms() when the last request was done; 0: none was */
/* What the child said when its sandbox was up: {"engine": ..., ...}. NULL before that. */
const struct json *runner_facts(const struct runner *r);

#endif
