/* private.h - what the files of the server share: the server, its connections and its requests.
 *
 * daemon.c speaks with libmicrohttpd, admit.c decides whether a request is let in, visit.c is what handlers
 * see.
 */
#ifndef SERVER_PRIVATE_H
#define SERVER_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/argv.h"
#include "base/buf.h"
#include "server/microhttpd_load.h"
#include "server/pattern.h"
#include "server/routes.h"
#include "server/server.h"
#include "server/token.h"

#define CONNECTIONS_MAX  512
#define IN_FLIGHT_MAX    400 /* requests whose handler has not answered, of all clients */
#define IN_FLIGHT_ONE    256 /* of one token */
#define HEADER_MS        10000
#define BODY_MS          60000
#define IDLE_MS          60000
#define LINGER_MS        2000
#define LEFT_MS          200 /* for what the client sent before it ended its side */
#define LOOK_MS          250 /* how often a request that is not complete is looked at */
#define STATUS_CLASSES   6
#define ROUTE_TABLES_MAX 16
#define CHATS_MAX        256 /* conversations whose place is known */

struct route_table {
    const struct route *rows;
    size_t n;
    struct json **schemas; /* of the bodies, parsed; NULL where there is none */
};

struct server_counts {
    uint64_t connections, requests, answers[STATUS_CLASSES]; /* by the first digit of the status */
    uint64_t gone;                                           /* clients that left before the answer */
    double seconds;                                          /* from the headers to the answer's end, all */
};

struct server {
    struct server_options o;
    struct mcp *mcp;
    const struct mhd_api *mhd;
    struct MHD_Daemon *daemon;
    int epoll_fd;
    bool draining;
    bool woken; /* a request that was suspended goes on in the next run of the library */
    struct route_table tables[ROUTE_TABLES_MAX];
    size_t n_tables;
    struct connection *connections; /* a list */
    struct parting *partings;       /* likewise: connections that only have to be read to their end */
    unsigned n_connections, in_flight, of_token[64];
    struct server_counts counts;
    char signs[TOKEN_TEXT];   /* what links to files are signed with */
    struct chat_table *chats; /* conversations that may lose their sandbox to another one */
};

struct connection {
    struct server *s;
    struct connection *next, **at;
    struct MHD_Connection *mhd;
    struct connection *self; /* its address names a timer */
    int fd;
    bool idle;           /* between two requests */
    bool began;          /* the first line of a request was read that is not answered yet */
    bool close;          /* refused with unread bytes behind: read them before it is closed */
    uint64_t came, went; /* bytes on it when the last request had been answered */
    struct visit *q;
};

struct visit {
    struct server *s;
    struct connection *c;
    const struct route *route;   /* NULL: none was found yet */
    const struct json *schema;   /* of its body */
    char *method, *path, *query; /* as they came */
    struct pattern_params params;
    char *base, *secret; /* secret: the token of Basic authentication, decoded */
    int token;           /* index, or -1 */
    int64_t began_ms;
    struct buf text; /* the body */
    size_t text_max;
    struct json *body;
    struct argv queries; /* name, value, name, value of those that were asked for */

    bool checked, dispatched, counted, suspended, lost, answered;
    void (*gone)(void *ctx);
    void *gone_ctx;

    struct argv headers; /* of the answer: name, value, ... */
    struct MHD_Response *response;
    int status;
    struct buf out; /* of a stream: what the client has not taken yet */
    size_t out_at;
    bool streams, ended;
};

/* admit.c: everything that is known when the headers have come. Answers (answer_error) and returns false if
 * the request is refused. */
bool admit_headers(struct visit *q, const char *version);
/* The body has come: parse it and hold it against the schema of the route. */
bool admit_body(struct visit *q);

/* daemon.c: the answer is in q->response, or more of a stream is in q->out. */
void visit_wake(struct visit *q);
/* The client is too slow, or gone: the connection is cut as soon as the loop is served, and the handler is
 * told then. */
void visit_lose(struct visit *q);

/* visit.c: the text of an error in the shape of the route's API; the caller frees. */
char *failure_text(const struct route *r, int status, const char *code, const char *detail);
void visit_release(struct visit *q); /* what it holds */
ssize_t stream_read(void *ctx, uint64_t pos, char *out, size_t max);

/* own.c: health, docs, openapi.json, metrics */
void own_routes(struct server *s);
/* sandboxes.c: create_sandbox, run_code and so on, and the files of a sandbox */
void sandbox_routes(struct server *s);
/* mcp_route.c: POST /mcp */
void mcp_routes(struct server *s);
/* describe.c: the routes as OpenAPI 3.1. The caller frees. */
struct json *describe_routes(const struct server *s);

/* parting.c: keep c's socket until the client's last bytes were read; and end that now. */
void parting_begin(struct connection *c);
void parting_end(void *parting, short revents);

#endif
