/* utf8.c - UTF-8 as defined by RFC 3629. Widths are in utf8_width.c. */
#include "base/utf8.h"

#include <string.h>

#include "base/buf.h"

#define REPLACEMENT "\xef\xbf\xbd"

int utf8_decode(const char *s, size_t len, uint32_t *cp)
{
    if (len == 0)
        return 0;
    const unsigned char *p = (const unsigned char *)s;
    unsigned char c = p[0];
    if (c < 0x80) {
        *cp = c;
        return 1;
    }
    unsigned n = c >= 0xc2 && c <= 0xdf ? 2 : (c & 0xf0) == 0xe0 ? 3 : c >= 0xf0 && c <= 0xf4 ? 4 : 0;
    if (n == 0)
        return -1;
    /* The bounds of the second byte exclude overlong forms, surrogates and anything above U+10FFFF (RFC 3629,
     * 4). */
    unsigned low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
    unsigned high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
    uint32_t v = c & 0x7fu >> n;
    for (unsigned i = 1; i < n; i++) {
        if (i >= len)
            return 0;
        if (p[i] < low || p[i] > high)
            return -1;
        v = v << 6 | (p[i] & 0x3f);
        low = 0x80;
        high = 0xbf;
    }
    *cp = v;
    return (int)n;
}

/* Length of the valid text at the front. Takes eight ASCII bytes at a time, since most text is ASCII. */
static size_t valid_span(const char *s, size_t len)
{
    size_t i = 0;
    while (i < len) {
        uint64_t w;
        while (len - i >= sizeof(w)) {
            memcpy(&w, s + i, sizeof(w));
            if (w & 0x8080808080808080u)
                break;
            i += sizeof(w);
        }
        if (i == len)
            break;
        uint32_t cp;
        int n = utf8_decode(s + i, len - i, &cp);
        if (n <= 0)
            break;
        i += (size_t)n;
    }
    return i;
}

bool utf8_valid(const char *s, size_t len)
{
    return valid_span(s, len) == len;
}

void utf8_add(struct buf *out, uint32_t cp)
{
    static const unsigned char lead[] = {[1] = 0, [2] = 0xc0, [3] = 0xe0, [4] = 0xf0};
    char c[4];
    if (cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff))
        cp = 0xfffd;
    size_t n = cp < 0x80 ? 1 : cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, cp >>= 6)
        c[i] = (char)(0x80 | (cp & 0x3f));
    c[0] = (char)(lead[n] | cp);
    buf_add(out, c, n);
}

size_t utf8_broken_length(const char *s, size_t len)
{
    uint32_t cp;
    size_t n = 1;
    while (n < len && n < 4 && utf8_decode(s, n, &cp) == 0 && utf8_decode(s, n + 1, &cp) == 0)
        n++;
    return n;
}

size_t utf8_unfinished(const char *s, size_t len)
{
    for (size_t n = 1; n <= 3 && n <= len; n++) {
        unsigned char b = (unsigned char)s[len - n];

        if ((b & 0xc0) == 0xc0)
            return utf8_decode(s + len - n, n, &(uint32_t){0}) == 0 ? n : 0;
        if (b < 0x80)
            return 0;
    }
    return 0;
}

/* Repair one piece that has no NUL. */
static void repair_piece(struct buf *out, const char *s, size_t len)
{
    while (len > 0) {
        size_t n = valid_span(s, len);
        buf_add(out, s, n);
        if (n == len)
            return;
        buf_add(out, REPLACEMENT, 3);
        n += utf8_broken_length(s + n, len - n);
        s += n;
        len -= n;
    }
}

void utf8_repair(struct buf *out, const char *s, size_t len)
{
    for (;;) {
        const char *nul = len > 0 ? memchr(s, '\0', len) : NULL;
        if (!nul)
            break;
        size_t n = (size_t)(nul - s);
        repair_piece(out, s, n);
        buf_add(out, REPLACEMENT, 3);
        s += n + 1;
        len -= n + 1;
    }
    repair_piece(out, s, len);
}

size_t utf8_cut(const char *s, size_t len, size_t at)
{
    if (at >= len)
        return len;
    size_t cut = at;
    while (cut > 0 && at - cut < 3 && ((unsigned char)s[cut] & 0xc0) == 0x80)
        cut--;
    return ((unsigned char)s[cut] & 0xc0) == 0x80 ? at : cut; /* invalid text can be cut anywhere */
}

#define JOINER 0x200d

static bool is_emoji(uint32_t cp)
{
    return (cp >= 0x2190 && cp <= 0x2bff) || (cp >= 0x1f000 && cp <= 0x1faff);
}

static bool is_tone(uint32_t cp)
{
    return cp >= 0x1f3fb && cp <= 0x1f3ff;
}

int utf8_width_behind(uint32_t before, uint32_t cp)
{
    bool part = before == JOINER ? is_emoji(cp) : is_tone(cp) && is_emoji(before) && !is_tone(before);

    return part ? 0 : utf8_width(cp);
}

int utf8_columns_behind(uint32_t *before, const char *s, size_t len)
{
    int columns = 0;

    for (size_t i = 0; i < len;) {
        if (s[i] >= ' ' && s[i] < 0x7f) {
            *before = (unsigned char)s[i++];
            columns++;
            continue;
        }
        uint32_t cp = 0xfffd;
        int n = utf8_decode(s + i, len - i, &cp);

        columns += n > 0 ? utf8_width_behind(*before, cp) : 1;
        i += n > 0 ? (size_t)n : 1;
        if (cp == JOINER || utf8_width(cp) > 0)
            *before = cp;
    }
    return columns;
}

int utf8_columns(const char *s, size_t len)
{
    uint32_t before = 0;

    return utf8_columns_behind(&before, s, len);
}
