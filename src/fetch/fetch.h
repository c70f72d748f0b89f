/* fetch.h - gets a file that a client of the server names by its URL. The client may be hostile and must
 * reach nothing that it could not reach itself: https only, no user info, no redirect, no proxy, no
 * credentials, and only machines on the public internet. That is asked of the address that is really
 * connected to, so neither an odd spelling, a name that leads to us, nor one that changes between two
 * questions gets past it.
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
    int fd;              /* receives the bytes, from where it stands */
    size_t max;          /* bytes */
    int ms;              /* for all of it */
    const char *ca_cert; /* as in llm_session */
    struct loop *loop;   /* served meanwhile; its interrupts end the transfer. May be NULL */
    bool (*may_connect)(const struct sockaddr *address); /* NULL: address_is_public */
};

/* *size: the bytes written; after an error some may have been. ERROR_USAGE: such a URL is not fetched.
 * ERROR_NETWORK, ERROR_API (it answered something else than the file), ERROR_LIMIT (too large, too slow),
 * ERROR_CANCELLED, ERROR_SYSTEM. */
int fetch_url(const struct fetch_options *o, size_t *size, struct error *err);

#endif
