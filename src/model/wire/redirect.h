/* redirect.h - finds out where a redirect leads, and what may be said about it. Redirects are never followed.
 * The user is only advised to use a URL at which the chosen server still answers: the same host with the same
 * scheme, or with https instead of http.
 */
#ifndef WIRE_REDIRECT_H
#define WIRE_REDIRECT_H

enum redirect {
    REDIRECT_NOWHERE, /* it names no place, or the one that was asked */
    REDIRECT_SAME,    /* *base: the base URL to use instead */
    REDIRECT_HOST,    /* another server, which must not get the key meant for the first */
    REDIRECT_SCHEME,  /* not HTTP at all, or http instead of https */
};

/* url is what was asked, below base_url. *base is NULL unless REDIRECT_SAME is returned; the caller frees
 * it. */
enum redirect redirect_read(const char *url, const char *base_url, const char *location, char **base);

#endif
