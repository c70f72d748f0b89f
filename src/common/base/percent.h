/* percent.h - percent-encoding, as URLs have it (RFC 3986, section 2.1). */
#ifndef BASE_PERCENT_H
#define BASE_PERCENT_H

#include <stdbool.h>
#include <stddef.h>

struct buf;

/* Appends text. ASCII letters, digits, -._~ and the characters of also stay; every other byte becomes %XX. */
void percent_encode(struct buf *out, const char *text, const char *also);
/* Decodes each %XX once. plus: + is a blank, as in a query. NULL: there is a % without two hex digits, or a
 * NUL. The caller frees it. */
char *percent_decode(const char *text, size_t len, bool plus);

#endif
