/* routes.h - what a handler of the server sees: a route, which is a row of data, and a visit: one HTTP
 * request of a client, which it answers at once or later.
 *
 *     static void info(struct visit *q) { answer_json(q, 200, describe(visit_body(q))); }
 *     static const struct route rows[] = {
 *         {"POST", "/things/{id}", "get_thing", "Describe a thing", .body = "{\"type\": \"object\"}",
 * .handle = info},
 *     };
 *     server_routes(server, rows, countof(rows));
 *
 * Before a handler is called the server has checked Host, Origin, token, method, content type and size, has
 * parsed the body strictly and held it against the schema. Everything happens in callbacks of the one loop: a
 * handler never waits. Not thread-safe; there are no threads.
 */
#ifndef SERVER_ROUTES_H
#define SERVER_ROUTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct json;
struct loop;
struct visit;
struct runners;
struct server;

typedef void route_fn(struct visit *q);

enum {                     /* flags of a route */
       ROUTE_PUBLIC = 1,   /* needs no token */
       ROUTE_RAW = 2,      /* the body is not parsed: visit_text(). Its type is still application/json */
       ROUTE_HIDDEN = 4,   /* not in openapi.json: somebody else's API, documented there */
       ROUTE_SIGNED = 8,   /* with ROUTE_PUBLIC: its handler wants a token or a signed link */
       ROUTE_BASIC = 16,   /* where another route has its path: only for a token sent as Basic */
       ROUTE_AT_ONCE = 32, /* waits for nothing: never one too many, so that a client can always make room */
};

struct route {
    const char *method;    /* "GET" (answers HEAD too), "POST", "DELETE" */
    const char *path;      /* "/files/{id}/{name}": a part in braces takes one segment, decoded */
    const char *operation; /* its name in openapi.json, docs and metrics; unique */
    const char *summary;   /* one line */
    const char *body;   /* JSON schema of the body, as text (json/schema.h); NULL: a body is not looked at */
    const char *result; /* JSON schema of a 200's body, as text; NULL: {"type": "object"} */
    route_fn *handle;
    int flags;
    const void *data; /* for the handler: visit_route(q)->data */
    size_t body_max;  /* bytes, at most JSON_BYTES; 0: SERVER_BODY_MAX */
    /* The body of an error in this API's own shape; NULL: {"code", "detail"}. */
    struct json *(*failure)(const struct route *r, int status, const char *code, const char *detail);
    const char *type;   /* media type of the answer for openapi.json; NULL: application/json */
    const char *stream; /* likewise, of the stream that a client may ask for (Accept); NULL: none */
    const char *also;   /* likewise, statuses that few routes answer: "409 502" */
};

#define SERVER_BODY_MAX (8u << 20)
/* Of an object with "content" and "encoding", in a schema: what base64_read() takes. */
#define SCHEMA_BASE64                                                                                   \
    "\"if\": {\"properties\": {\"encoding\": {\"const\": \"base64\"}}, \"required\": [\"encoding\"]}, " \
    "\"then\": "                                                                                        \
    "{\"properties\": {\"content\": {\"pattern\": "                                                     \
    "\"^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}(==)?|[A-Za-z0-9+/]{3}=?)?$\"}}}"

/* rows and what they point to are borrowed until the server ends. Of two that fit a request the one added
 * first counts, unless the body fits the schema of the other alone. */
void server_routes(struct server *s, const struct route *rows, size_t n);

/* The request. What these return lives until it is answered. */
struct loop *visit_loop(const struct visit *q);
struct runners *visit_runners(const struct visit *q);
struct server *visit_server(const struct visit *q);
const struct route *visit_route(const struct visit *q);
const char *visit_param(const struct visit *q, const char *name);  /* of the path; never NULL */
const char *visit_query(const struct visit *q, const char *name);  /* decoded; NULL: not there */
const char *visit_header(const struct visit *q, const char *name); /* any case; NULL: not there */
const char *visit_cookie(const struct visit *q, const char *name); /* NULL: not there */
const struct json *visit_body(const struct visit *q);
const char *visit_text(const struct visit *q, size_t *len); /* the body as it came; never NULL */
/* "http://127.0.0.1:8000", as the client called us: for links to /files. */
const char *visit_base(const struct visit *q);
bool visit_has_token(const struct visit *q);    /* false only with ROUTE_PUBLIC */
bool visit_wants_stream(const struct visit *q); /* the one that its route has */
/* Whose sandboxes it sees (runners.h): its token's name, where there is a file of tokens; else NULL. */
const char *visit_client(const struct visit *q);

/* A handler that does not answer before it returns calls this first. gone(ctx) is called, once, when the
 * client went away before the answer was complete; the request must not be touched from then on. */
void visit_later(struct visit *q, void (*gone)(void *ctx), void *ctx);

/* The answer: exactly one of these, or a stream. The request is not touched afterwards. */
void answer_json(struct visit *q, int status, struct json *body); /* takes body; NULL: an empty answer */
void answer_text(struct visit *q, int status, const char *type, const char *text, size_t len);
/* code NULL: the usual one of that status (404: "NOT_FOUND"). 429 and 503 say Retry-After. */
void answer_error(struct visit *q, int status, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* The status follows from the kind: ERROR_BUSY 429, ERROR_SANDBOX 503, ERROR_USAGE 422, ... */
void answer_failure(struct visit *q, const struct error *err);
/* Sends the file at path as an attachment of that name, with a type of media.h and headers that let nothing
 * in it run. 404 unless it is a regular file of our own; a link is not followed. */
void answer_file(struct visit *q, const char *path, const char *name);
/* A header of the answer or stream that follows. */
void answer_header(struct visit *q, const char *name, const char *value);

/* A stream: begin, send any number of times, end. What the client has not read yet is kept, up to
 * STREAM_WAITING_MAX; a client that is slower than that loses the connection, and gone() is called. type:
 * "text/event-stream", "application/x-ndjson". */
#define STREAM_WAITING_MAX (8u << 20)
void stream_begin(struct visit *q, int status, const char *type);
void stream_send(struct visit *q, const char *data, size_t len);
/* "event: NAME\ndata: JSON\n\n" (event NULL: without that line), and "JSON\n". json is only read. */
void stream_sse(struct visit *q, const char *event, const struct json *json);
void stream_line(struct visit *q, const struct json *json);
void stream_end(struct visit *q);
/* A stream of server-sent events may end as any other answer: what answer_json() gets is its last event,
 * "answer", and what answer_error() gets is {"status", "code", "detail"} as "error". A client that hears
 * nothing meanwhile gets a comment every STREAM_SILENT_MS, so that nothing in between gives it up. */
#define STREAM_SILENT_MS 15000
void stream_begin_events(struct visit *q);

#endif
