/* base64.c - encodes three bytes as four characters, and decodes them. */
#include "base/base64.h"

#include <stdint.h>

#include "base/buf.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_add(struct buf *out, const unsigned char *p, size_t len)
{
    for (size_t i = 0; i < len; i += 3) {
        unsigned long v = (unsigned long)p[i] << 16 | (i + 1 < len ? (unsigned long)p[i + 1] << 8 : 0)
                          | (i + 2 < len ? p[i + 2] : 0);

        buf_addch(out, digits[v >> 18]);
        buf_addch(out, digits[v >> 12 & 63]);
        buf_addch(out, i + 1 < len ? digits[v >> 6 & 63] : '=');
        buf_addch(out, i + 2 < len ? digits[v & 63] : '=');
    }
}

static int digit(char c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

int base64_read(const char *text, size_t len, struct buf *out)
{
    size_t padding = len >= 2 && text[len - 2] == '=' && text[len - 1] == '=' ? 2
                     : len && text[len - 1] == '='                            ? 1
                                                                              : 0;
    uint32_t bits = 0;

    if ((padding && len % 4) || (len - padding) % 4 == 1)
        return -1;
    len -= padding;
    for (size_t i = 0; i < len; i++) {
        int value = digit(text[i]);
        unsigned rest = (unsigned)(3 - i % 4) * 2; /* bits of the next byte */

        if (value < 0)
            return -1;
        bits = bits << 6 | (uint32_t)value;
        if (i % 4 && !buf_addch(out, (char)(bits >> rest & 255)))
            return -1;
    }
    return 0;
}
