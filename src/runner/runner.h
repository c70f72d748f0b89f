/* runner.h - one child process that holds one sandbox, seen from the process that has many (the front: serve,
 * mcp). The child is "sandpiper runner" (runner_child.h); the two speak JSON lines over a socketpair.
 *
 * Requests are queued here and sent one after another. Nothing here waits: everything is a callback of the
 * loop, and none is called from inside the function that asked for it. What comes back holds text from the
 * sandbox: it is strict JSON of bounded size, and otherwise untrusted.
 */
#ifndef RUNNER_RUNNER_H
#define RUNNER_RUNNER_H

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
    const char *name; /* of a named sandbox; NULL: it ends with the runner */
    /* of a named sandbox: how long it lives with no runner attached. 0: as the options say */
    int64_t idle_ms;
    /* The start of the sandbox, which begins at once, has ended: err is NULL, or why it failed. A request
     * that comes later tries again. May be NULL. */
    void (*ready)(void *ctx, struct runner *r, const struct error *err);
    /* The process has ended by itself or was killed; all its requests have been answered with an error. Not
     * called for runner_free(), which may be called from here. May be NULL. */
    void (*gone)(void *ctx, struct runner *r);
    void *ctx;
};

/* ERROR_SYSTEM: no process, no descriptor. */
struct runner *runner_start(const struct runner_options *o, struct error *err);
/* Close the connection: the child ends, and with it its sandbox, unless that is named. Does not wait. The
 * requests that are not done are forgotten. NULL: nothing happens. */
void runner_free(struct runner *r);
/* Remove the sandbox, also a named one, and free r. Its requests are answered with an error first. Does not
 * wait. */
void runner_end(struct runner *r);
/* At the end of a front: wait until the processes of all that were freed have ended, at most ms, or until
 * another signal comes that ends programs. How many are left: they end by themselves, if they do. */
unsigned runner_settle(struct loop *loop, int ms);
void runner_let_go(void); /* of those that are left; then the loop may be freed */

struct runner_listener {
    void *ctx;
    /* something on the way: {"event": "output"|"notice"|"agent", ...}, see docs/runner-protocol.md. NULL: the
     * child sends none. */
    void (*event)(void *ctx, const struct json *event);
    /* the last word, exactly once: result (the operation's result object) or err, never both */
    void (*done)(void *ctx, const struct json *result, const struct error *err);
};

/* Ask for an operation (operations.h), whose arguments the caller has checked with operation_check(). They
 * are copied; NULL: none. fd: -1, or a file that the operation reads, which is ours from now on.
 * Returns the number of the request, never 0. */
uint64_t runner_ask(struct runner *r, const char *operation, const struct json *arguments, int fd,
                    const struct runner_listener *l);
/* A request that waits is dropped; one that runs is interrupted as by Ctrl-C, and its result says so. A child
 * that does not answer within RUNNER_CANCEL_MS is killed. done still comes. An unknown number: nothing
 * happens. */
#define RUNNER_CANCEL_MS 15000
void runner_cancel(struct runner *r, uint64_t request);
void runner_forget(struct runner *r, uint64_t request); /* cancel, and never call the listener again */

bool runner_busy(const struct runner *r);       /* a request runs or waits */
unsigned runner_waits(const struct runner *r);  /* how many wait */
int64_t runner_done_at(const struct runner *r); /* clock_ms() when the last request was done; 0: none was */
/* What the child said when its sandbox was up: {"engine": ..., ...}; NULL before. */
const struct json *runner_facts(const struct runner *r);

#endif
