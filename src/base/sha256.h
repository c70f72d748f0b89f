/* sha256.h - the digest of FIPS 180-4, for telling whether a text is still the one that was seen. */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stddef.h>

#define SHA256_HEX 65

void sha256_hex(const void *data, size_t len, char out[SHA256_HEX]); /* in lower case, with a NUL */

#endif
