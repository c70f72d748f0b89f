/* json_string.c - what stands between the quotes of a JSON string.
 *
 * Here time counts: a file that a client sends is one string of up to 16 MiB, and everybody waits meanwhile.
 * So eight bytes are looked at together where they may stand for themselves.
 */
#include "json/private.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

#define HIGH (UINT64_MAX / 255 << 7) /* the highest bit of each of eight bytes */

/* What the character behind a backslash stands for. */
static const char escapes[256] = {['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
                                  ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t'};

static inline uint64_t load(const char *s)
{
    uint64_t w;

    memcpy(&w, s, sizeof w);
    return w;
}

/* Is one of these eight bytes a quote, a backslash or below a blank, or has it a bit of above? */
static inline bool special(uint64_t w, uint64_t above)
{
    const uint64_t ones = UINT64_MAX / 255, quote = w ^ ones * '"', slash = w ^ ones * '\\';

    return (((w - ones * ' ') | (quote - ones) | (slash - ones)) & ~w & HIGH) | (w & above);
}

static inline bool is_plain(char c)
{
    return (unsigned char)c >= ' ' && c != '"' && c != '\\';
}

static inline bool is_high(char c)
{
    return (unsigned char)c >= 0x80;
}

size_t json_plain_span(const char *s, size_t len)
{
    size_t i = 0;

    while (len - i >= 8 && !special(load(s + i), 0))
        i += 8;
    while (i < len && is_plain(s[i]))
        i++;
    return i;
}

size_t json_simple_span(const char *s, size_t len)
{
    size_t i = 0;

    while (i < len) {
        if (len - i >= 8 && !special(load(s + i), HIGH)) {
            i += 8;
            continue;
        }
        for (size_t end = len - i < 8 ? len : i + 8; i < end;) {
            if (is_plain(s[i]) && !is_high(s[i]))
                i++;
            else if (s[i] == '\\' && len - i >= 2 && escapes[(unsigned char)s[i + 1]])
                i += 2;
            else
                return i;
        }
    }
    return i;
}

static bool continues(char c)
{
    return (c & 0xc0) == 0x80;
}

size_t json_high_span(const char *s, size_t len)
{
    size_t i = 0;
    uint32_t cp;

    while (i < len && is_high(s[i])) {
        unsigned char c = (unsigned char)s[i];
        /* most of them; utf8_decode knows the others */
        bool three = c > 0xe0 && c < 0xf0 && c != 0xed && len - i > 2 && continues(s[i + 1])
                     && continues(s[i + 2]);
        int n = three ? 3 : utf8_decode(s + i, len - i, &cp);
        if (n <= 0)
            break;
        i += (size_t)n;
    }
    return i;
}

/* Reads four digits. -1 if they are not hex digits, -2 if the text ends within them. */
static int hex4(const char *s, size_t len)
{
    static const unsigned char digits[256] = {
        /* one more than the digit; 0: it is none */
        ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
        ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
        ['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16};
    int v = 0;

    for (size_t k = 0; k < 4; k++) {
        if (k >= len)
            return -2;
        int d = digits[(unsigned char)s[k]];
        if (d == 0)
            return -1;
        v = v << 4 | (d - 1);
    }
    return v;
}

int json_unicode(const char *s, size_t len, uint32_t *cp)
{
    int v = hex4(s + 2, len - 2);

    if (v < 0)
        return v;
    *cp = v >= 0xd800 && v <= 0xdfff ? 0 : (uint32_t)v;
    if (v < 0xd800 || v > 0xdbff || len < 12 || s[6] != '\\' || s[7] != 'u')
        return 6;
    int low = hex4(s + 8, len - 8);
    if (low < 0xdc00 || low > 0xdfff)
        return 6;
    *cp = 0x10000 + (((uint32_t)v - 0xd800) << 10) + ((uint32_t)low - 0xdc00);
    return 12;
}

/* Writes the character in UTF-8; U+FFFD for 0. Returns its length. */
static size_t encode(uint32_t cp, char *to)
{
    static const unsigned char lead[] = {[2] = 0xc0, [3] = 0xe0, [4] = 0xf0};

    cp = cp ? cp : 0xfffd;
    if (cp < 0x80) {
        to[0] = (char)cp;
        return 1;
    }
    size_t n = cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, cp >>= 6)
        to[i] = (char)(0x80 | (cp & 0x3f));
    to[0] = (char)(lead[n] | cp);
    return n;
}

/* Writes the valid characters above ASCII at the front, or U+FFFD for what is none. Returns how many bytes it
 * read; *n counts those written. */
static size_t decode_high(const char *s, size_t len, char *to, size_t *n)
{
    size_t valid = json_high_span(s, len);

    memcpy(to, s, valid);
    *n += valid > 0 ? valid : encode(0, to);
    return valid > 0 ? valid : utf8_broken_length(s, len);
}

char *json_decode(const char *s, size_t len, bool broken)
{
    char *out = xmalloc(len + (broken ? JSON_GROWN_MAX : 0) + 8);
    size_t n = 0, i = 0;

    while (i < len) {
        for (; len - i >= 8 && !special(load(s + i), broken ? HIGH : 0); i += 8, n += 8)
            memcpy(out + n, s + i, 8);
        for (size_t end = len - i < 8 ? len : i + 8; i < end;) {
            uint32_t cp;
            if (s[i] == '\\' && s[i + 1] != 'u') {
                out[n++] = escapes[(unsigned char)s[i + 1]];
                i += 2;
            } else if (s[i] == '\\') {
                i += (size_t)json_unicode(s + i, len - i, &cp);
                n += encode(cp, out + n);
            } else if (broken && is_high(s[i])) {
                i += decode_high(s + i, len - i, out + n, &n);
            } else {
                out[n++] = s[i++];
            }
        }
    }
    out[n] = '\0';
    return xrealloc(out, n + 1);
}
