/* private.h - what the files of the server share: the server, its connections and its requests.
 *
 * daemon.c drives libmicrohttpd, admit.c decides whether a request is let in; http_request.c has the
 * functions that handlers call.
 */
#ifndef SERVER_PRIVATE_H
#define SERVER_PRIVATE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/argv.h"
#include "base/buf.h"
#include "base/histogram.h"
#include "base/spill.h"
#include "front/runners.h"
#include "json/json.h"
#include "server/microhttpd_load.h"
#include "server/pattern.h"
#include "server/routes.h"
#include "server/server.h"
#include "server/token.h"

#define CONNECTIONS_MAX  800 /* more than QUEUE_MAX and IN_FLIGHT_ONE: one token does not have them all */
#define NEWCOMERS_MAX    64  /* connections beyond these, for which others are closed */
#define SLOW_MS          250 /* from this age on a connection without a request may have to give way */
#define IN_FLIGHT_MAX    400 /* requests of all clients that are not answered yet and wait for no sandbox */
#define IN_FLIGHT_ONE    256 /* the same of one token */
#define IN_FLIGHT_LEAST  8   /* and so many each token may have, whatever the others do */
#define BODIES_ONE       (4 * (size_t)JSON_BYTES) /* of the bodies of one token's requests, together */
#define BODY_SMALL       (64u << 10)              /* a body up to this size is taken all the same */
#define HEADER_MS        10000                    /* for a request's headers to come */
#define BODY_MS          60000                    /* for its body to come */
#define LAST_BODY_MS     2000  /* the same, from the moment in which the server is to end */
#define IDLE_MS          60000 /* a connection is kept open for so long between two requests */
#define LINGER_MS        2000  /* a connection that is closed is read for so long */
#define LEFT_MS          200   /* for what the client sent before it closed its side */
#define LOOK_MS          250   /* how often an incomplete request is checked for the client's end */
#define STATUS_CLASSES   6
#define ROUTE_TABLES_MAX 16
#define CHATS_MAX        256 /* conversations of one client that are remembered */

struct route_table {
    const struct route *rows;
    size_t n;
    struct json **schemas; /* the parsed schema of each row's body, or NULL */
};

struct server_counts {
    uint64_t connections, requests;
    uint64_t answers[STATUS_CLASSES]; /* by the first digit of the status */
    uint64_t gone;                    /* clients that left before their answer */
    struct histogram seconds;         /* from the headers to the end of the answer */
    /* of the questions that were answered; tokens of input and output together, dollars where it is known */
    struct histogram question_seconds, tokens, cost;
};

struct body_queue { /* the long bodies that have come and wait to be read, oldest first */
    struct loop *loop;
    struct http_request *first;
};

struct server {
    struct server_options o;
    struct mcp *mcp;
    const struct mhd_api *mhd;
    struct MHD_Daemon *daemon;
    int epoll_fd;
    bool draining;
    bool woken; /* the library needs another run, of which no descriptor and no timeout tells the loop */
    struct route_table tables[ROUTE_TABLES_MAX];
    size_t n_tables;
    struct connection *connections; /* a list */
    struct lingering_connection
        *lingering; /* a list of connections that are only read to their end (linger.c) */
    unsigned n_connections, in_flight, of_token[TOKENS_EVER];
    struct server_counts counts;
    struct body_queue bodies;
    char signs[TOKEN_TEXT];   /* the secret by which links to files are signed */
    struct chat_table *chats; /* where the conversations of /v1 go on */
    struct parked *parked;    /* what was asked in each sandbox */
};

struct connection {
    struct server *s;
    struct connection *next, **at;
    struct MHD_Connection *mhd;
    struct connection *self; /* its address is the context of a timer */
    int fd;
    bool idle;     /* it is between two requests */
    bool began;    /* the first line of a request was read, which is not answered yet */
    bool close;    /* a request was refused before all of it was read, so the rest is read before closing */
    int token;     /* the index of the good one that it has shown last, or -1 */
    int64_t since; /* clock_ms(): when it was opened; of one with a token, when its client's turn began */
    bool leaves;   /* it was closed for another one, which the library does not know yet */
    unsigned char address[16]; /* of the client, IPv4 as ::ffff:a.b.c.d; all zero on a unix socket */
    uint64_t came, went;       /* bytes received and sent when the last request had been answered */
    struct http_request *q;    /* the request under way, or NULL */
    char made[RUNNERS_ID + 1]; /* the sandbox that its last request made for made_for; or "" */
    const char *made_for;
};

struct http_request {
    struct server *s;
    struct connection *c;
    const struct route *route;   /* NULL: none was found (yet) */
    const struct json *schema;   /* of the route's body, or NULL */
    char *method, *path, *query; /* as they came */
    size_t target_len;           /* of path and query together */
    struct pattern_params params;
    char *base;         /* our URL as the client called us; see http_request_base() */
    char *secret;       /* the token of Basic authentication, decoded; or NULL */
    int token;          /* the index of its token, or -1 */
    const char *client; /* see http_request_client(); NULL: it has neither a token nor a good link */
    int64_t began_ms;
    struct spill text; /* the body as it came, and */
    struct json *body; /* parsed, or NULL; both are gone once the handler has been called */
    size_t size;       /* bytes of the body that have come */
    struct http_request *next_body;
    struct argv queries; /* keeps the values that http_request_query() has returned */

    bool checked, queued, admitted, dispatched, counted, suspended, lost, answered;
    void (*gone)(void *ctx);
    void *gone_ctx;

    char made[RUNNERS_ID + 1]; /* the sandbox that it made, see http_request_made(); or "" */
    struct argv headers;       /* of the answer: name, value, name, value */
    struct MHD_Response *response;
    int status;
    struct spill out; /* the bytes of a stream that the client has not taken yet, from out_at on */
    size_t out_at;
    bool streams, ended; /* the answer is a stream; it is complete */
};

struct request_line { /* as the library has it in its buffer */
    const char *method, *target, *version;
};

/* In admit.c. Checks everything that is known once the headers have come. False: the request was refused, and
 * answered. */
bool admit_headers(struct http_request *q, const struct request_line *line);
/* Is its body kept and read? That of a GET is skipped, since some need no token. */
bool http_request_takes_body(const struct http_request *q);
/* Parses the body and checks it against the schema of the route. False as above. */
bool admit_body(struct http_request *q);

/* A logger for the library: refuses the request whose Content-Length has made it give up. */
void admit_logged(void *server, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));

/* In body.c. Keeps a piece of the body. False: it is too much, or the disk is full, and was refused. */
bool body_take(struct http_request *q, const char *data, size_t size);
/* All of it is there: it is checked and the handler is called, now or, for a long one, when it is its turn.
 */
void body_read(struct http_request *q);
void body_release(struct http_request *q);

/* In daemon.c. Writes an answer to the socket itself, where the library no longer takes one. */
void connection_refuse(struct connection *c, int status, const char *code, const char *detail);
/* Did the client end its side together with its request? The library has not seen that: it would wait for
 * another request, or cut the connection of a request that had to wait. */
bool connection_ended(const struct connection *c);
/* Call this when the answer is in q->response, or when more of a stream is in q->out. */
void http_request_wake(struct http_request *q);
void http_request_watch(
    struct http_request *q); /* if it waits for its answer, finds out from now on when its client leaves */
ssize_t stream_read(void *ctx, uint64_t pos, char *out, size_t max);

/* In http_request.c. Returns the body of an error in the form of the route's API. The caller frees it. */
char *failure_text(const struct route *r, int status, const char *code, const char *detail);
void http_request_release(struct http_request *q); /* frees what it holds */

void builtin_routes(struct server *s); /* builtin_routes.c: health, docs, openapi.json, metrics */
void sandbox_routes(struct server *s); /* sandboxes.c: create_sandbox, run_code and so on, and files */
void mcp_routes(struct server *s);     /* mcp_route.c: POST /mcp */
/* In describe.c. Describes the routes as OpenAPI 3.1; base is our URL. all: those of other people's APIs too
 * (ROUTE_HIDDEN). The caller frees it. */
struct json *describe_routes(const struct server *s, const char *base, bool all);

/* In room.c. Closes connections that send nothing, where there are too many with this one, which is new or
 * has shown a token. */
void give_way(struct server *s, const struct connection *newcomer);
void note_address(struct connection *c, const struct sockaddr *a);
void look_at_made(const struct connection *c); /* call this when it ends */

/* In linger.c. Keeps c's socket open until the client's last bytes were read. */
void linger_begin(struct connection *c);
void linger_end(void *lingering); /* closes it now */

#endif
