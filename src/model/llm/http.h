/* http.h - makes one POST or GET at a time over connections that are kept open, with our own timers, and
 * serves the loop meanwhile. Knows nothing of JSON. TLS is always verified, redirects are never followed, and
 * every size has a cap.
 */
#ifndef LLM_HTTP_H
#define LLM_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "wire/failure.h"

struct buf;
struct error;
struct http;
struct loop;
struct sockaddr;

#define HTTP_ERROR_MAX   (1u << 20) /* for a body with status >= 300 */
#define HTTP_HEADERS_MAX (256u << 10)

struct http_life {      /* what the receiver tells the timers */
    int64_t content_at; /* clock_ms() when the latest meaningful bytes came */
    int64_t end_by;     /* when to stop although the server keeps the connection open; 0: never */
};

struct http_reply {
    bool began; /* at least one byte of the answer came */
    struct failure_head head;
    struct http_life life;
    struct failure failure; /* the reason, when the end is HTTP_LOST */
};

struct http_transfer {
    const char *url, *body; /* neither body nor file: GET */
    size_t len;
    const int *file;         /* an open file, whose first len bytes are the body instead; or NULL */
    const char *method;      /* another one, that sends the body; or NULL */
    const char *user, *sign; /* NAME:SECRET, and what CURLOPT_AWS_SIGV4 takes, to sign with them; or NULL */
    const char *const *headers; /* "Name: value" */
    size_t n_headers;
    const char *ca_cert; /* as in certificates.h */
    int connect_ms, idle_ms, quiet_ms;
    int64_t deadline;         /* in terms of clock_ms(); 0: none */
    struct buf *header_lines; /* receives the answer's header lines as they come, or NULL */
    struct loop *loop;        /* served during the transfer, or NULL */
    size_t body_max;          /* of the answer; 0: READER_REPLY_MAX */
    /* Is asked of each address before it is connected to. No proxy is used then, since that would resolve the
     * name anew. Where it refuses them all the end is HTTP_LOST with FAILURE_FATAL. NULL: any address. */
    bool (*may_connect)(const struct sockaddr *address);
    void *ctx;
    void (*sent)(void *ctx, uint64_t bytes); /* bytes of the body on their way, each second; or NULL */
    /* Receives decoded bytes of the body. Returning false ends the transfer and closes the connection. */
    bool (*data)(void *ctx, struct http_reply *reply, const char *p, size_t n);
};

/* http_headers.c: takes what matters from a header line of n bytes, with or without its line ending. now is
 * the time of day, for a Retry-After that is a date. */
void http_header(struct failure_head *h, const char *line, size_t n, time_t now);

struct http *http_new(struct error *err);
void http_free(struct http *h);
/* The same, with the connections of the last one that was kept. Only for services that the user has named:
 * what a stranger names is checked when the connection is made (fetch/fetch.h). */
struct http *http_take(struct error *err);
void http_keep(struct http *h);
/* Closes the connections that are kept open. Call it after a bad reply: when a service sends more than it
 * announced, the rest would be taken for the next answer. */
void http_forget_connections(struct http *h);

enum http_end { HTTP_WHOLE, HTTP_STOPPED, HTTP_LOST, HTTP_ABORTED };
/* WHOLE: the body ended as it should. STOPPED: data or end_by ended it. LOST: reply->failure says why, and
 * reply->began whether anything came. ABORTED: err says why (cancelled, deadline, system). */
enum http_end http_post(struct http *h, const struct http_transfer *q, struct http_reply *reply,
                        struct error *err);

#endif
