/* base64.c - see base64.h. */
#include "base/base64.h"

#include "base/buf.h"

void base64_add(struct buf *out, const unsigned char *p, size_t len)
{
    static const char set[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < len; i += 3) {
        unsigned long v = (unsigned long)p[i] << 16 | (i + 1 < len ? (unsigned long)p[i + 1] << 8 : 0)
                          | (i + 2 < len ? p[i + 2] : 0);

        buf_addch(out, set[v >> 18]);
        buf_addch(out, set[v >> 12 & 63]);
        buf_addch(out, i + 1 < len ? set[v >> 6 & 63] : '=');
        buf_addch(out, i + 2 < len ? set[v & 63] : '=');
    }
}
