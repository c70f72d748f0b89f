/* redirect.h - where a redirect leads, and what may be said of that. None is ever followed; the user is only
 * advised to where the server that was chosen still answers: the same host by the same scheme, or by https
 * instead of http.
 */
#ifndef WIRE_REDIRECT_H
#define WIRE_REDIRECT_H

#include <stddef.h>

enum redirect {
    REDIRECT_NOWHERE, /* no place is named, or the one that was asked */
    REDIRECT_SAME,    /* base: the base URL to use instead */
    REDIRECT_HOST,    /* another server: a key for the first one is no key for it */
    REDIRECT_SCHEME,  /* nothing that speaks HTTP, or https no longer */
};

/* url: what was asked, below base_url. */
enum redirect redirect_read(const char *url, const char *base_url, const char *location, char *base,
                            size_t size);

#endif
