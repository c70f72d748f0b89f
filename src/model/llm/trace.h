/* trace.h - writes every request and reply to a file as JSON lines, for studying how a service behaves.
 * Secrets are removed before anything is written: headers that carry credentials, and the key wherever it
 * occurs.
 */
#ifndef LLM_TRACE_H
#define LLM_TRACE_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct error;
struct http_transfer;
struct trace;

#define TRACE_BODY_MAX (16u << 20) /* bytes of one body; the rest is left out, and the line says so */

/* Opens path for appending, with mode 0600; fresh empties it first. NULL with err (ERROR_USAGE) when it
 * cannot be opened, or is not a regular file of ours. */
struct trace *trace_open(const char *path, bool fresh, struct error *err);
void trace_close(struct trace *t); /* NULL is fine too */
/* Returns, once, a line for the user when something could not be written, else NULL. The caller frees it. */
char *trace_trouble(struct trace *t);

/* Each line names this agent of a pipeline from now on; NULL: none. Borrowed. */
void trace_of(struct trace *t, const char *agent);

/* These do nothing when t is NULL. key is the secret, or NULL. url is written in place of q's, and has
 * neither credentials nor a query. */
void trace_request(struct trace *t, const char *key, const char *url, const struct http_transfer *q);

struct trace_reply {
    int status;
    const struct buf *headers, *body; /* headers: the lines as they came */
    const char *end;                  /* how the transfer ended */
};

void trace_reply(struct trace *t, const char *key, const struct trace_reply *r);

#endif
