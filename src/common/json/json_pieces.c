/* json_pieces.c - characters that were cut in two, each part in a JSON string of its own: kept as private
 * characters, which are valid wherever text is, and put together again.
 */
#include "json/private.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "json/json.h"

enum {
    HALVES = 0x10f000, /* U+10F000 to U+10F7FF: the surrogates from U+D800 on */
    BYTES = 0x10f800,  /* U+10F880 to U+10F8FF: bytes from 0x80 on */
    LEAD = 0xf4,       /* the first byte of all of them */
};

uint32_t json_half(const char *s)
{
    uint32_t half = (uint32_t)strtoul((char[]){s[2], s[3], s[4], s[5], 0}, NULL, 16);

    return half >= 0xd800 && half <= 0xdfff ? HALVES + (half - 0xd800) : 0;
}

uint32_t json_byte(char byte)
{
    return BYTES + (uint32_t)(unsigned char)byte;
}

/* The surrogate or the byte that a private character stands for; 0: it is another character. */
static uint16_t private_part(uint32_t cp)
{
    if (cp >= HALVES && cp < HALVES + 0x800)
        return (uint16_t)(0xd800 + (cp - HALVES));
    return cp >= BYTES + 0x80 && cp <= BYTES + 0xff ? (uint16_t)(cp - BYTES) : 0;
}

/* Nothing that completes them has come. */
static void replace_parts(struct json_joint *j, struct buf *out)
{
    if (j->n)
        utf8_add(out, 0xfffd);
    j->n = 0;
}

static bool is_high_half(uint16_t part)
{
    return part >= 0xd800 && part < 0xdc00;
}

static void add_half(struct json_joint *j, uint16_t half, struct buf *out)
{
    if (j->n == 1 && is_high_half(j->part[0]) && !is_high_half(half)) {
        utf8_add(out, 0x10000 + ((j->part[0] - 0xd800u) << 10) + (half - 0xdc00u));
        j->n = 0;
        return;
    }
    replace_parts(j, out);
    if (is_high_half(half))
        j->part[j->n++] = half;
    else
        utf8_add(out, 0xfffd);
}

static void add_byte(struct json_joint *j, uint16_t byte, struct buf *out)
{
    char bytes[4];
    uint32_t cp;

    if (j->n && j->part[0] > 0xff)
        replace_parts(j, out);
    j->part[j->n++] = byte;
    for (unsigned i = 0; i < j->n; i++)
        bytes[i] = (char)j->part[i];
    int n = utf8_decode(bytes, j->n, &cp);
    if (n > 0)
        buf_add(out, bytes, j->n);
    if (n > 0 || (n < 0 && j->n == 1)) {
        if (n < 0)
            utf8_add(out, 0xfffd);
        j->n = 0;
    } else if (n < 0) { /* those before it are broken; it may begin another character */
        j->n--;
        replace_parts(j, out);
        add_byte(j, byte, out);
    }
}

void json_join(struct json_joint *j, const char *piece, size_t len, struct buf *out)
{
    for (size_t i = 0; i < len;) {
        const char *lead = memchr(piece + i, LEAD, len - i);
        size_t plain = lead ? (size_t)(lead - piece) - i : len - i;
        uint32_t cp = 0;

        if (plain) {
            replace_parts(j, out);
            buf_add(out, piece + i, plain);
            i += plain;
            continue;
        }
        int n = utf8_decode(lead, len - i, &cp);
        uint16_t part = n > 0 ? private_part(cp) : 0;
        if (part > 0xff)
            add_half(j, part, out);
        else if (part)
            add_byte(j, part, out);
        else {
            replace_parts(j, out);
            buf_add(out, lead, n > 0 ? (size_t)n : 1);
        }
        i += n > 0 ? (size_t)n : 1;
    }
}

void json_join_end(struct json_joint *j, struct buf *out)
{
    replace_parts(j, out);
}
