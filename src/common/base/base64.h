/* base64.h - bytes as base64 (RFC 4648, section 4, padded). */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include <stddef.h>

struct buf;

void base64_add(struct buf *out, const unsigned char *bytes, size_t len); /* appends to out */
/* Append what the text says, padded or not. -1: it is no base64, or more than out takes. */
int base64_read(const char *text, size_t len, struct buf *out);

#endif
