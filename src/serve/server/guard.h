/* guard.h - the checks on a request that need only its headers: was it meant for us, and was it sent by a
 * program rather than by a page in somebody's browser? Pure.
 *
 * A page of another site can reach a server on loopback, by its address or by a name that the page's owner
 * points there (DNS rebinding). Then Host has that name, and Origin or Sec-Fetch-Site names the page's
 * site. So Host must be a name of ours, and the other two must be missing or name the same place.
 */
#ifndef SERVER_GUARD_H
#define SERVER_GUARD_H

#include <stdbool.h>
#include <stddef.h>

struct argv;
struct listen_address;

/* Can it be the name in Host? With a scheme, a port or a path it never is. */
bool guard_is_name(const char *name);
/* Returns the name in "name:port" or "[v6]:port"; the caller frees it. NULL: it cannot stand in Host. */
char *guard_name(const char *host);
/* Checks Host, which may be NULL. Accepted are our address with our port; 127.0.0.1, localhost and [::1]
 * with our port where we listen on loopback; any IP address where we listen on a wildcard address, since no
 * name can be rebound to one; the names that the user allowed, with any port; and anything on a unix
 * socket, which no browser reaches. */
bool guard_host(const struct listen_address *a, const struct argv *allowed, const char *host);
/* Checks Origin: it must be missing, or http(s):// with a host that guard_host accepts. */
bool guard_origin(const struct listen_address *a, const struct argv *allowed, const char *origin);
/* Checks Sec-Fetch-Site: it must be missing, same-origin, or none (a URL that the user typed). A page can
 * neither leave it out nor forge it. */
bool guard_fetch_site(const char *value);
/* Checks Content-Type: it must be application/json, with or without parameters. A browser lets a page send
 * that type to another site only with that site's consent. */
bool guard_json(const char *type);

/* Does the request come from a proxy that the user named, so that its X-Forwarded-Proto and X-Forwarded-Host
 * are believed? proxies: ranges of addresses (base/address.h), and "unix" for whoever connects to a unix
 * socket. */
bool guard_proxy(const struct listen_address *a, const struct argv *proxies, const unsigned char address[16]);
/* Can it be in proxies? */
bool guard_is_proxy(const char *text);
/* Returns the last word of a list with commas, which is that of the nearest proxy. The caller frees it. */
char *guard_last(const char *list);

#endif
