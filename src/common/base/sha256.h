/* sha256.h - SHA-256 (FIPS 180-4), to recognise a text that was seen before. */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stddef.h>

#define SHA256_HEX 65

void sha256_hex(const void *data, size_t len, char out[SHA256_HEX]); /* in lower case, with a NUL */

#endif
