/* http.h - one POST, or GET, at a time over kept connections, with our own timers, serving the loop
 * meanwhile. Knows nothing of JSON. TLS is always verified; redirects are never followed; every size has a
 * cap.
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

#define HTTP_REPLY_MAX   (64u << 20) /* as READER_REPLY_MAX, for what never gets that far */
#define HTTP_ERROR_MAX   (1u << 20)  /* of a body with status >= 300 */
#define HTTP_HEADERS_MAX (256u << 10)

struct http_life {      /* the receiver's side of the timers */
    int64_t content_at; /* clock_ms() when the latest bytes that meant something came */
    int64_t end_by;     /* 0, or when to stop though the server keeps the connection open */
};

struct http_reply {
    bool began; /* a byte of the answer came */
    struct failure_head head;
    struct http_life life;
    struct failure failure; /* HTTP_LOST: why */
};

struct http_request {
    const char *url, *body; /* body NULL: GET */
    size_t len;
    const char *const *headers; /* "Name: value" */
    size_t n_headers;
    const char *ca_cert; /* certificates.h */
    int connect_ms, idle_ms, quiet_ms;
    int64_t deadline;         /* clock_ms(), 0 none */
    struct buf *header_lines; /* gets the header lines of the answer as they come; or NULL */
    struct loop *loop;        /* served meanwhile; or NULL */
    void *ctx;
    /* Decoded bytes of the body. False: enough, the connection is closed. */
    bool (*data)(void *ctx, struct http_reply *reply, const char *p, size_t n);
};

/* Take what counts of a header line of n bytes, with or without its end. now: the time of day, for a
 * Retry-After that is a date. */
void http_header(struct failure_head *h, const char *line, size_t n, time_t now);

struct http *http_new(struct error *err);
void http_free(struct http *h);
/* Close what is kept open. After a reply that was no good: a service that sends more than it announced would
 * have the rest taken for the next answer. */
void http_forget_connections(struct http *h);

enum http_end { HTTP_WHOLE, HTTP_STOPPED, HTTP_LOST, HTTP_ABORTED };
/* WHOLE: the body ended as it should. STOPPED: data or end_by ended it. LOST: reply->failure says why, and
 * reply->began whether anything came. ABORTED: err (cancelled, deadline, system). */
enum http_end http_post(struct http *h, const struct http_request *q, struct http_reply *reply,
                        struct error *err);

#endif
