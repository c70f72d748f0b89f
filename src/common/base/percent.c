/* percent.c - writes %XX for every byte that is not plain, and reads it back. */
#include "base/percent.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

void percent_encode(struct buf *out, const char *text, const char *also)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";

    for (; *text; text++)
        if (strchr(plain, *text) || strchr(also, *text))
            buf_addch(out, *text);
        else
            buf_addf(out, "%%%02X", (unsigned char)*text);
}

static int hex(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, tolower((unsigned char)c)) : NULL;

    return at ? (int)(at - digits) : -1;
}

char *percent_decode(const char *text, size_t len, bool plus)
{
    struct buf out autorelease(buf_release) = BUF_INIT(0);

    for (size_t i = 0; i < len; i++) {
        char c = text[i];

        if (c == '%') {
            int high = i + 2 < len ? hex(text[i + 1]) : -1;
            int low = high >= 0 ? hex(text[i + 2]) : -1;

            c = low >= 0 ? (char)(high << 4 | low) : '\0';
            i += 2;
        } else if (plus && c == '+') {
            c = ' ';
        }
        if (c == '\0')
            return NULL;
        buf_addch(&out, c);
    }
    return buf_steal(&out, NULL);
}
