/* address.h - which network addresses are places on the public internet. Pure. */
#ifndef BASE_ADDRESS_H
#define BASE_ADDRESS_H

#include <stdbool.h>

struct sockaddr;

/* One machine on the public internet (globally reachable unicast, RFC 6890 and IANA's registries): not this
 * machine, not its networks, not a service's metadata, no tunnel or translation that leads to them. Anything
 * but IPv4 and IPv6 is none. */
bool address_is_public(const struct sockaddr *address);

#endif
