/* trace.h - a file with every request and reply as JSON lines, for looking into a service's behaviour.
 * Without secrets: headers that carry credentials, and whatever is equal to the key wherever it stands, are
 * taken out before anything is written.
 */
#ifndef LLM_TRACE_H
#define LLM_TRACE_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct error;
struct http_request;
struct trace;

#define TRACE_BODY_MAX (16u << 20) /* of one body; the rest is left out, which the line says */

/* Opens path for appending (fresh: emptied first), mode 0600. NULL with err (ERROR_USAGE) when it cannot be,
 * or is no regular file of ours. */
struct trace *trace_open(const char *path, bool fresh, struct error *err);
void trace_close(struct trace *t); /* also NULL */
/* once, a line when something could not be written; the caller frees it; else NULL */
char *trace_trouble(struct trace *t);

/* All do nothing when t is NULL. key: NULL or the secret. url: without credentials and query, in the place of
 * q's. */
void trace_request(struct trace *t, const char *key, const char *url, const struct http_request *q);

struct trace_reply {
    int status;
    const struct buf *headers, *body; /* headers: the lines as they came */
    const char *end;                  /* how the transfer ended */
};

void trace_reply(struct trace *t, const char *key, const struct trace_reply *r);

#endif
