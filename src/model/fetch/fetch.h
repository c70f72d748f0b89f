/* fetch.h - gets a file that a client of the server names by its URL. The client may be hostile, and must
 * reach nothing that it could not reach itself: https only, no user info, no redirect, no proxy, no
 * credentials, and only machines on the public internet. The address that is really connected to is
 * checked. So neither an odd spelling, nor a name that leads to us, nor one that changes between two
 * look-ups gets past the check.
 */
#ifndef FETCH_FETCH_H
#define FETCH_FETCH_H

#include <stdbool.h>
#include <stddef.h>

struct error;
struct loop;
struct sockaddr;

struct fetch_options { /* borrowed for the time of the call */
    const char *url;
    int fd;              /* receives the bytes, at its present position */
    size_t max;          /* the most bytes of the file */
    int ms;              /* the time for the whole transfer */
    const char *ca_cert; /* as in llm_session */
    struct loop *loop;   /* served meanwhile, and its interrupts end the transfer; may be NULL */
    bool (*may_connect)(const struct sockaddr *address); /* NULL: address_is_public */
};

/* Sets *size to the bytes written, some of them perhaps before an error. -1 with ERROR_USAGE (such a URL is
 * not fetched), ERROR_NETWORK, ERROR_API (the answer is not the file), ERROR_LIMIT (too large or too slow),
 * ERROR_CANCELLED or ERROR_SYSTEM. */
int fetch_url(const struct fetch_options *o, size_t *size, struct error *err);

#endif
