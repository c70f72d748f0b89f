/* rpc.h - Connect's protocol (connectrpc.com) seen from the server's side, for E2B's SDK: a call is a POST of
 * JSON. A unary one is answered like any other route. A stream is a row of envelopes, each a byte of flags,
 * four bytes of length (big-endian) and JSON; the last one has the flag 2 and says how it ended, which is the
 * only place for an error once a stream was asked for.
 */
#ifndef CLIENTS_RPC_H
#define CLIENTS_RPC_H

#include "json/json.h"
#include "server/routes.h"

#define RPC_STREAM_TYPE "application/connect+json" /* of a route whose request is a row of envelopes */
#define RPC_UNARY       .flags = ROUTE_HIDDEN, .failure = rpc_failure /* in each row */
#define RPC_STREAM      .flags = ROUTE_HIDDEN | ROUTE_RAW, .failure = rpc_failure, .accepts = RPC_STREAM_TYPE

struct json *rpc_failure(const struct route *r, int status, const char *code, const char *detail);

/* The envelopes of a request, read one after another from bytes in memory. */
struct rpc_reader {
    const char *at;
    size_t left;
};
/* Returns the next message, an object that the caller frees. NULL: there is none (err->kind is 0), or
 * ERROR_PROTOCOL or ERROR_LIMIT: what follows is no envelope that is understood. */
struct json *rpc_next(struct rpc_reader *r, struct error *err);
/* Returns the first message of a request. NULL: there is none, and the client has been told. */
struct json *rpc_first(struct http_request *q);

void rpc_send(struct http_request *q, struct json *message); /* takes message */
/* The end, which begins the stream too if need be. code: as in "not_found"; NULL: all is well. */
void rpc_end(struct http_request *q, const char *code, const char *message);
/* The milliseconds after which the client gives up; 0: it waits. */
int64_t rpc_timeout_ms(const struct http_request *q);

#endif
