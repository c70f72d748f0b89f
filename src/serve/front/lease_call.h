/* lease_call.h - what one request of a client asks of its sandbox, the same for HTTP and for MCP:
 *
 *     find or make the sandbox (runners.h) -> lease_call_begin -> lease_call_ask -> done, which may ask again
 *                                                                   \-> the client leaves: lease_call_leave
 *
 * lease_call_ask checks the arguments, starts a runner where the last one has ended, and takes its turn in a
 * queue that is bounded. The caller owns the struct, as a part of its own, and may free it once nothing is
 * under way: in done, or after lease_call_leave.
 */
#ifndef FRONT_LEASE_CALL_H
#define FRONT_LEASE_CALL_H

#include "front/runners.h"

#define CALL_WAITING_MAX 32 /* requests that wait for one sandbox, of all kinds together */

struct lease_call {
    struct runners *runners; /* borrowed, as is */
    const char *client;
    char sandbox[RUNNERS_ID + 1];
    bool made; /* set by the caller: nobody knows of the sandbox yet, so it ends when the client leaves */
    uint64_t number;                 /* of the request under way; 0: none is */
    struct runner_listener listener; /* lease_call.c's own */
};

/* h is the sandbox that is to be asked. client is borrowed for as long as c is used. */
void lease_call_begin(struct lease_call *c, struct runners *rs, const char *client, const struct lease *h);
/* Asks for an operation (operations.h) while none is under way. arguments are copied and may be NULL; so is
 * l, which is never called from inside. -1 with err: ERROR_USAGE (the arguments are wrong), ERROR_BUSY
 * (CALL_WAITING_MAX wait already), ERROR_SANDBOX (it was ended meanwhile), or as lease_runner(). */
int lease_call_ask(struct lease_call *c, const char *operation, const struct json *arguments,
                   const struct runner_listener *l, struct error *err);
/* The client has left: the request under way is interrupted, and its listener is not called any more. */
void lease_call_leave(struct lease_call *c);
/* NULL: the sandbox has ended. */
struct lease *lease_call_sandbox(const struct lease_call *c);
void lease_call_end(const struct lease_call *c);

#endif
