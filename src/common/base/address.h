/* address.h - which network addresses are places on the public internet, and which are in a range. Pure. */
#ifndef BASE_ADDRESS_H
#define BASE_ADDRESS_H

#include <stdbool.h>

struct sockaddr;

/* One machine on the public internet (globally reachable unicast, RFC 6890 and IANA's registries): not this
 * machine, not its networks, not a service's metadata, no tunnel or translation that leads to them. Anything
 * but IPv4 and IPv6 is none. */
bool address_is_public(const struct sockaddr *address);

/* Does the text name a range: "10.0.0.1", "10.0.0.0/8", "fd00::/8"? */
bool address_is_range(const char *text);
/* Is the address in the range? It is one of IPv6, or one of IPv4 as IPv6 writes it (::ffff:10.0.0.1). */
bool address_is_in(const unsigned char address[16], const char *range);

#endif
