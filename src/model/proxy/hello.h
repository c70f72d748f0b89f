/* hello.h - the name in the first message of a TLS client (SNI), read from bytes that hostile code sent.
 * Pure. */
#ifndef PROXY_HELLO_H
#define PROXY_HELLO_H

#include <stddef.h>

#include "proxy/rules.h"

#define HELLO_MAX 32768 /* bytes, records and all; those of today have some 2000 */

enum hello_state {
    HELLO_MORE,  /* it is not whole yet */
    HELLO_BAD,   /* no TLS, malformed, or too long */
    HELLO_NAMED, /* it names a host */
    HELLO_NAMELESS,
    HELLO_HIDDEN, /* it names a host, and perhaps another one in an encrypted part (ECH) */
};

/* p: what the client has sent so far. name gets the host as it was sent, not normalised. */
enum hello_state hello_read(const unsigned char *p, size_t n, char name[HOST_SIZE]);

#endif
