/* transfers.h - several exchanges over HTTP at once, and connections that stay open, for a program whose loop
 * waits here. Each calls back once when it has ended. Only http and https, no redirects; certificates and
 * proxies as for a model service (llm/curl_load.h).
 */
#ifndef NET_TRANSFERS_H
#define NET_TRANSFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"

struct argv;
struct error;
struct loop;
struct net_transfer;
struct transfers;

/* ca_cert: as in llm/certificates.h; borrowed. NULL with ERROR_SYSTEM: libcurl is missing. */
struct transfers *transfers_new(struct loop *loop, const char *ca_cert, struct error *err);
void transfers_free(struct transfers *ts); /* drops all that are under way */
/* Waits until something happened, for at most ms, and serves the loop meanwhile. */
void transfers_wait(struct transfers *ts, int ms);

struct transfer_end {
    int status;       /* of the answer; 0: none came, or none was asked for */
    const char *why;  /* why the transfer failed; NULL: it did not */
    const char *head; /* the header lines of the answer */
    const char *body; /* what came of it */
    size_t body_len;
    bool too_large; /* it was longer than max; why says so too */
};

struct transfer_want {
    const char *method, *url;   /* method NULL: GET, or POST with a body */
    const struct argv *headers; /* "Name: value"; NULL: none */
    struct buf *body;           /* given away; NULL: none */
    size_t max;                 /* bytes of the answer's body */
    int ms;                     /* for all of it */
    bool open;                  /* make a connection only: transfer_send() and transfer_receive() use it */
    /* Called once, by transfers_wait(). Without open the transfer is gone afterwards, and so it is if a
     * connection could not be made. */
    void (*done)(void *ctx, const struct transfer_end *end);
    void *ctx;
};

/* NULL with err: this libcurl cannot do it. */
struct net_transfer *transfers_begin(struct transfers *ts, const struct transfer_want *w, struct error *err);
void transfer_drop(struct net_transfer *t); /* without a callback; NULL is fine */

/* Of a connection that was made: its socket, to be watched; bytes out and in, without waiting. As send() and
 * recv(): -1 with errno EAGAIN if it would have to wait; ECONNRESET: it is lost. Read until EAGAIN. */
int transfer_socket(const struct net_transfer *t);
ssize_t transfer_send(struct net_transfer *t, const void *data, size_t len);
ssize_t transfer_receive(struct net_transfer *t, void *data, size_t len);

/* The value of a header in those lines, whatever the case of its name, as an owned string. NULL: there is
 * none. */
char *transfer_header(const char *head, const char *name);

#endif
