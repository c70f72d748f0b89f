/* lease_call.h - what one request of a client asks of its sandbox, the same for HTTP and for MCP:
 *
 *     find the sandbox (runners.h) -> lease_call_begin \
 *     a new one, perhaps in turn  ->  lease_call_make  -> lease_call_ask -> done, which may ask again
 *                                                             \-> the client leaves: lease_call_leave
 *
 * lease_call_ask checks the arguments, starts a runner where the last one has ended, and takes its turn in
 * a queue that is bounded. Where the call still waits for its sandbox (queue.h), what it asks for waits
 * with it. With "fork" the call goes over to the new sandbox. The caller owns the struct, as a part of its
 * own that begins as zeros, and may free it once nothing is under way: in done, or after lease_call_leave.
 */
#ifndef FRONT_LEASE_CALL_H
#define FRONT_LEASE_CALL_H

#include "base/spill.h"
#include "front/queue.h"
#include "front/runners.h"

#define CALL_WAITING_MAX 32 /* requests that wait for one sandbox, of all kinds together */

struct lease_call {
    struct runners *runners; /* borrowed, as is */
    const char *client;
    char sandbox[RUNNERS_ID + 1]; /* "": there is none yet */
    /* Set by the caller, the last two before lease_call_make. */
    bool made;  /* nobody knows of the sandbox yet, so it ends when the client leaves */
    bool spare; /* from when the call is done, its client may do without the sandbox (lease_set_spare) */
    /* Called once the sandbox is there, before it is asked anything; made: it is a new one. May be NULL. */
    void (*given)(void *ctx, struct lease *h, bool made);
    void *given_ctx;
    /* lease_call.c's own */
    uint64_t number; /* of the request under way; 0: none is */
    struct runner_listener listener;
    struct queue_place place;
    struct lease_fork *fork; /* "fork" is under way (lease_fork.h); or NULL */
    const char *operation;   /* that is to be asked for once there is a sandbox; NULL: none is */
    struct spill arguments;
};

/* h is the sandbox that is to be asked. client is borrowed for as long as c is used. */
void lease_call_begin(struct lease_call *c, struct runners *rs, const char *client, const struct lease *h);
/* The same with the sandbox that w wants, which may come later. -1 with err, as queue_take(). */
int lease_call_make(struct lease_call *c, struct runners *rs, const struct queue_want *w, struct error *err);
/* Asks for an operation (operations.h) while none is under way. operation is borrowed until then. arguments
 * are copied and may be NULL; so is l, which is never called from inside. -1 with err, and nothing is under
 * way: ERROR_USAGE (the arguments are wrong), ERROR_BUSY (CALL_WAITING_MAX wait already), ERROR_SANDBOX (it
 * was ended meanwhile), or as lease_runner(). What goes wrong later is told to done. */
int lease_call_ask(struct lease_call *c, const char *operation, const struct json *arguments,
                   const struct runner_listener *l, struct error *err);
/* The client has left: the request under way is interrupted, and its listener is not called any more. */
void lease_call_leave(struct lease_call *c);
/* NULL: the sandbox has ended, or is not there yet. */
struct lease *lease_call_sandbox(const struct lease_call *c);
void lease_call_end(const struct lease_call *c);

#endif
