/* routes.h - the interface for handlers: a route, which is a row of data, and a request, which is one HTTP
 * request of a client. The handler answers it at once or later.
 *
 *     static void info(struct http_request *q) { answer_json(q, 200, describe(http_request_body(q))); }
 *     static const struct route rows[] = {
 *         {"POST", "/things/{id}", "get_thing", "Describe a thing", .body = "{\"type\": \"object\"}",
 *          .handle = info},
 *     };
 *     server_routes(server, rows, countof(rows));
 *
 * Before a handler is called, the server has checked Host, Origin, token, method, content type and size, and
 * has parsed the body strictly and checked it against the schema. Everything happens in callbacks of the one
 * loop, so a handler never waits. There are no threads.
 */
#ifndef SERVER_ROUTES_H
#define SERVER_ROUTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct json;
struct loop;
struct http_request;
struct lease;
struct runners;
struct server;

typedef void route_fn(struct http_request *q);

enum {                   /* flags of a route */
       ROUTE_PUBLIC = 1, /* needs no token */
       ROUTE_RAW =
           2, /* the body is not parsed (see http_request_text()); its type is still application/json */
       ROUTE_HIDDEN = 4, /* not in openapi.json, because it belongs to somebody else's API */
       ROUTE_SIGNED = 8, /* with ROUTE_PUBLIC: its handler wants a token or a signed link */
       ROUTE_BASIC = 16, /* where another route has the same path: only for a token sent as Basic */
       ROUTE_AT_ONCE =
           32, /* never refused for too many requests, so that a client can always end a sandbox */
};

struct route {
    const char *method;    /* "GET" (answers HEAD too), "POST", "DELETE" */
    const char *path;      /* "/files/{id}/{name}": a part in braces takes one segment, decoded */
    const char *operation; /* its unique name in openapi.json, docs and metrics */
    const char *summary;   /* one line */
    const char *body;      /* JSON schema of the body, as text (operations.h); NULL: a body is ignored */
    const char *result;    /* JSON schema of the body of a 200, as text; NULL: {"type": "object"} */
    route_fn *handle;
    int flags;
    const void *data; /* for the handler: http_request_route(q)->data */
    size_t body_max;  /* bytes, at most JSON_BYTES unless ROUTE_RAW; 0: SERVER_BODY_MAX */
    /* Makes the body of an error in the form of this API; NULL: {"code", "detail"}. */
    struct json *(*failure)(const struct route *r, int status, const char *code, const char *detail);
    const char *type;   /* media type of the answer, for openapi.json; NULL: application/json */
    const char *stream; /* media type of the stream that a client may ask for with Accept; NULL: none */
    /* Another name that clients use for a member of the body: {"remote_path", "remote_filename"}. It is read
     * as the second where that is missing, before the schema is looked at. */
    const char *other_name[2];
    const char *accepts; /* media type of a body that is not JSON (with ROUTE_RAW); "": any; NULL: JSON */
    const char *also;    /* for openapi.json: statuses that only few routes answer ("409 502"); or NULL */
};

#define SERVER_BODY_MAX (8u << 20)
/* A part of a schema for an object with "content" and "encoding": base64 is only what base64_read() takes. */
#define SCHEMA_BASE64                                                                                   \
    "\"if\": {\"properties\": {\"encoding\": {\"const\": \"base64\"}}, \"required\": [\"encoding\"]}, " \
    "\"then\": "                                                                                        \
    "{\"properties\": {\"content\": {\"pattern\": "                                                     \
    "\"^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}(==)?|[A-Za-z0-9+/]{3}=?)?$\"}}}"

/* Adds routes. rows and what they point to are borrowed until the server ends. When two rows fit a request,
 * the one that was added first counts, unless the body fits only the schema of the other one. */
void server_routes(struct server *s, const struct route *rows, size_t n);

/* These read the request. What they return is valid until it is answered. */
struct loop *http_request_loop(const struct http_request *q);
struct runners *http_request_runners(const struct http_request *q);
/* h was made for this request, and belongs to it until its answer is out: if that is an error, or does not
 * reach the client, h is ended. */
void http_request_made(struct http_request *q, const struct lease *h);
struct server *http_request_server(const struct http_request *q);
const struct route *http_request_route(const struct http_request *q);
const char *http_request_param(const struct http_request *q,
                               const char *name); /* a part of the path, decoded; never NULL */
const char *http_request_query(const struct http_request *q,
                               const char *name); /* decoded; NULL: it is missing */
const char *http_request_header(const struct http_request *q,
                                const char *name); /* in any case; NULL: it is missing */
const char *http_request_cookie(const struct http_request *q, const char *name); /* NULL: it is missing */
const struct json *http_request_body(const struct http_request *q);
struct json *http_request_take_body(
    struct http_request *q); /* hands it over; NULL: there is none (any more) */
const char *http_request_text(const struct http_request *q,
                              size_t *len); /* the body as it came; never NULL */
/* Returns our URL: the public one, if the user named it, otherwise as the client called us, as in
 * "http://127.0.0.1:8000". Every URL of ours in an answer begins with it. */
const char *http_request_base(const struct http_request *q);
bool http_request_has_token(const struct http_request *q); /* false only with ROUTE_PUBLIC */
bool http_request_wants_stream(
    const struct http_request *q); /* does the client accept the stream of the route? */
/* Returns the client (runners.h) whose sandboxes it sees: each token of a file is one. Without a file there
 * is one client. Not for a request without a token, unless file_link_good() found its link good. */
const char *http_request_client(const struct http_request *q);

/* A handler that does not answer before it returns calls this first. gone(ctx) is called once if the client
 * leaves before the answer is complete. The request must not be used after that. */
void http_request_later(struct http_request *q, void (*gone)(void *ctx), void *ctx);

/* Gives up a client that is too slow, or gone. The connection is cut when the loop is served next, and the
 * handler is told then. */
void http_request_lose(struct http_request *q);

/* From now on it waits for a sandbox (queue.h), or no longer. Those that wait do not count as in progress. */
void http_request_waits(struct http_request *q, bool waits);

/* These answer. Exactly one of them is called, or a stream is made. The request is over after that. */
void answer_json(struct http_request *q, int status,
                 struct json *body); /* takes body; NULL: an empty answer */
void answer_text(struct http_request *q, int status, const char *type, const char *text, size_t len);
/* code NULL: the usual code for the status (404: "NOT_FOUND"). 429 and 503 get the header Retry-After. */
void answer_error(struct http_request *q, int status, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* The status follows from the kind of error: 429 for ERROR_BUSY, 503 for ERROR_SANDBOX and so on. */
void answer_failure(struct http_request *q, const struct error *err);
/* Sends the file at path as an attachment of that name, with a type of media.h and headers that let nothing
 * in it run. 404 unless it is a regular file of our own; a link is not followed. */
void answer_file(struct http_request *q, const char *path, const char *name);
/* Adds a header to the answer or stream that follows. */
void answer_header(struct http_request *q, const char *name, const char *value);

/* A stream begins, is sent any number of pieces, and ends. What the client has not read yet is kept, up to
 * STREAM_WAITING_MAX bytes. A client that is slower than that loses the connection, and gone() is called.
 * type is "text/event-stream" or "application/x-ndjson". */
#define STREAM_WAITING_MAX (8u << 20)
void stream_begin(struct http_request *q, int status, const char *type);
void stream_send(struct http_request *q, const char *data, size_t len);
bool http_request_streams(const struct http_request *q); /* has its stream begun? */
size_t stream_waits(const struct http_request *q);       /* bytes that the client has not taken yet */
/* Send "event: NAME\ndata: JSON\n\n" (event NULL: without that line), and "JSON\n". json is borrowed. */
void stream_sse(struct http_request *q, const char *event, const struct json *json);
void stream_line(struct http_request *q, const struct json *json);
void stream_end(struct http_request *q);
/* A stream of server-sent events may end like any other answer: answer_json() sends its body as the last
 * event, "answer", and answer_error() sends {"status", "code", "detail"} as "error". A comment is sent
 * every STREAM_SILENT_MS, so that no proxy closes the connection. */
#define STREAM_SILENT_MS 15000
void stream_begin_events(struct http_request *q);

#endif
