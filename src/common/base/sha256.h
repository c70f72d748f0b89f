/* sha256.h - SHA-256 (FIPS 180-4), to recognise a text or a file that was seen before. */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_HEX 65

void sha256_hex(const void *data, size_t len, char out[SHA256_HEX]); /* in lower case, with a NUL */
/* Of all that a file holds, wherever it stands; *size (may be NULL) gets the bytes. -1 with errno. */
int sha256_file(int fd, char out[SHA256_HEX], int64_t *size);

#endif
