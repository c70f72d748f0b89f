/* guard.h - the checks on a request that need nothing but its headers: was it meant for us, and was it sent
 * by a program rather than by a page in somebody's browser? Pure.
 *
 * A page of another site can reach a server on loopback, by its address or by a name that the page's owner
 * points there (DNS rebinding). Host then has that name, and Origin or Sec-Fetch-Site tell of the page. So
 * Host must be one of ours, and the other two must be missing or say the same place.
 */
#ifndef SERVER_GUARD_H
#define SERVER_GUARD_H

#include <stdbool.h>
#include <stddef.h>

struct argv;
struct listen_address;

/* Host: 127.0.0.1, localhost and [::1] with our port where we listen on loopback; the address itself with our
 * port; with a wildcard address any IP address (no name can be rebound to one); the names that the user
 * allowed, with any port. Anything on a unix socket, which no browser reaches. host may be NULL. */
bool guard_host(const struct listen_address *a, const struct argv *allowed, const char *host);
/* Origin: missing, or http(s):// and a host that guard_host allows. */
bool guard_origin(const struct listen_address *a, const struct argv *allowed, const char *origin);
/* Sec-Fetch-Site: missing, same-origin, or none (typed by the user). A page cannot leave it out or forge
 * it. */
bool guard_fetch_site(const char *value);
/* Content-Type: application/json, with parameters or without. A page can send other types to anybody without
 * being asked, this one never. */
bool guard_json(const char *type);

#endif
