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

static inline uint64_t load_8_bytes(const char *s)
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

    while (len - i >= 8 && !special(load_8_bytes(s + i), 0))
        i += 8;
    while (i < len && is_plain(s[i]))
        i++;
    return i;
}

size_t json_simple_span(const char *s, size_t len)
{
    size_t i = 0;

    while (i < len) {
        if (len - i >= 8 && !special(load_8_bytes(s + i), HIGH)) {
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

#define ROOM 16 /* bytes that one step may write */

struct decoder {
    const char *s;
    size_t len, i; /* read up to i */
    char *out;
    size_t n, alloc; /* written up to n */
    size_t grown;
    bool pieces;
    const char *reason;
    bool end;
};

static void decode_escape(struct decoder *d)
{
    const char *s = d->s + d->i;
    size_t left = d->len - d->i;
    uint32_t cp = 0;

    if (left >= 2 && s[1] != 'u') { /* one of two letters was decoded before */
        d->reason = JSON_ESCAPE;
        return;
    }
    int n = left < 2 ? -2 : json_unicode(s, left, &cp);
    if (n > 0) {
        if (cp == 0 && d->pieces)
            cp = json_half(s);
        d->i += (size_t)n;
        d->n += encode(cp, d->out + d->n);
        return;
    }
    d->reason = n == -2 ? JSON_EARLY : JSON_UNICODE;
    d->i += n == -2 ? left : 0;
}

/* Copies valid characters above ASCII, as many as there is room for, or writes U+FFFD for what is none. */
static void decode_high(struct decoder *d)
{
    const char *s = d->s + d->i;
    size_t left = d->len - d->i, room = d->alloc - d->n, valid = json_high_span(s, left < room ? left : room);

    if (valid > 0) {
        memcpy(d->out + d->n, s, valid);
        d->i += valid;
        d->n += valid;
        return;
    }
    size_t broken = d->pieces ? 1 : utf8_broken_length(s, left),
           written = encode(d->pieces ? json_byte(*s) : 0, d->out + d->n);
    d->i += broken;
    d->n += written;
    d->grown += broken < written ? written - broken : 0;
}

/* What stands for itself, and escapes of two bytes, while there is room. */
static void decode_simple(struct decoder *d)
{
    const char *s = d->s;
    char *out = d->out;
    size_t i = d->i, n = d->n, len = d->len, most = d->alloc - ROOM;

    for (; len - i >= 8 && n < most && !special(load_8_bytes(s + i), HIGH); i += 8, n += 8)
        memcpy(out + n, s + i, 8);
    for (; i < len && n < most && is_plain(s[i]) && !is_high(s[i]); i++)
        out[n++] = s[i];
    for (; len - i >= 2 && n < most && s[i] == '\\' && escapes[(unsigned char)s[i + 1]]; i += 2)
        out[n++] = escapes[(unsigned char)s[i + 1]];
    d->i = i;
    d->n = n;
}

static void decode_some(struct decoder *d)
{
    while (!d->reason && d->n < d->alloc - ROOM) {
        decode_simple(d);
        if (d->n >= d->alloc - ROOM)
            return;
        if (d->i >= d->len) {
            d->reason = JSON_EARLY;
        } else if (d->s[d->i] == '"') {
            d->i++;
            d->end = true;
            return;
        } else if (d->s[d->i] == '\\') {
            decode_escape(d);
        } else if (is_high(d->s[d->i])) {
            decode_high(d);
        } else if (!is_plain(d->s[d->i])) {
            d->reason = JSON_CONTROL;
        }
    }
}

struct json_decoded json_decode(const char *s, size_t len, bool pieces, size_t most)
{
    struct decoder d = {.s = s, .len = len, .pieces = pieces};

    while (!d.end && !d.reason) {
        if (d.alloc < d.n + 2 * ROOM) {
            d.alloc = d.alloc ? 2 * d.alloc : 4096;
            d.out = xrealloc(d.out, d.alloc + 1);
        }
        decode_some(&d);
        if (d.grown > most)
            d.reason = JSON_BROKEN;
    }
    d.out[d.n] = '\0';
    return (struct json_decoded){xrealloc(d.out, d.n + 1), d.i, d.grown, d.reason};
}
