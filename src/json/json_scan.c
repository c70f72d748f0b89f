/* json_scan.c - one linear pass that holds JSON text to RFC 8259 and repairs what cJSON would silently lose.
 * Nothing is copied unless something needs repair. There is no recursion: the open brackets are a string on
 * the stack.
 */
#include "json/json_scan.h"

#include <stdint.h>
#include <string.h>

#include "json/json.h"
#include "base/mem.h"
#include "base/utf8.h"

#define REPLACEMENT "\xef\xbf\xbd"

enum {
    SAFE_DIGITS = 15,  /* integers with this many digits survive a double and cJSON's %1.15g */
    CJSON_NUMBER = 60, /* cJSON reads at most 63 bytes of a number and takes the rest for garbage */
};

struct scanner {
    struct json_scan *r;
    const char *text;
    size_t i, len;
    size_t done; /* after the first repair: the text before this offset is in r->copy */
};

static bool fail(struct scanner *s, const char *reason)
{
    s->r->reason = reason;
    s->r->at = s->i;
    return false;
}

static bool fail_early(struct scanner *s)
{
    s->i = s->len;
    return fail(s, "unexpected end");
}

/* Replace the len bytes at offset at by with. */
static void replace(struct scanner *s, size_t at, size_t len, const char *with)
{
    buf_add(&s->r->copy, s->text + s->done, at - s->done);
    buf_addstr(&s->r->copy, with);
    s->done = at + len;
    s->r->repaired = true;
}

/* 1: this byte ends a run of plain bytes in a string (quote, backslash, control, or above ASCII). */
static const unsigned char special[256] = {
    1, 1, 1, 1, 1, 1,         1,          1,          1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, ['"'] = 1, ['\\'] = 1, [0x80] = 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1,         1,          1,          1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1,         1,          1,          1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1,         1,          1,          1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1,         1,          1,          1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
};

/* Read the four digits of the \uXXXX at offset at. -1 if they are not hex digits, -2 if the text ends within
 * them. */
static int hex4(const struct scanner *s, size_t at)
{
    int v = 0;
    for (size_t k = 0; k < 4; k++) {
        if (at + k >= s->len)
            return -2;
        char c = s->text[at + k];
        int d = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
        if (d < 0)
            return -1;
        v = v << 4 | d;
    }
    return v;
}

static bool scan_unicode_escape(struct scanner *s)
{
    int v = hex4(s, s->i + 2);
    if (v == -2)
        return fail_early(s);
    if (v == -1)
        return fail(s, "bad \\u escape");
    if (v >= 0xd800 && v <= 0xdbff && s->len - s->i >= 12 && s->text[s->i + 6] == '\\'
        && s->text[s->i + 7] == 'u') {
        int low = hex4(s, s->i + 8);
        if (low >= 0xdc00 && low <= 0xdfff) {
            s->i += 12;
            return true;
        }
    }
    if (v == 0 || (v >= 0xd800 && v <= 0xdfff))
        /* cJSON cuts the string at \u0000 and refuses lone surrogates. */
        replace(s, s->i, 6, "\\ufffd");
    s->i += 6;
    return true;
}

static bool scan_escape(struct scanner *s)
{
    if (s->len - s->i < 2)
        return fail_early(s);
    char c = s->text[s->i + 1];
    if (c == 'u')
        return scan_unicode_escape(s);
    if (c == '\0' || !strchr("\"\\/bfnrt", c))
        return fail(s, "bad escape in a string");
    s->i += 2;
    return true;
}

static void scan_above_ascii(struct scanner *s)
{
    uint32_t cp;
    int n = utf8_decode(s->text + s->i, s->len - s->i, &cp);
    if (n > 0) {
        s->i += (size_t)n;
        return;
    }
    size_t bad = utf8_broken_length(s->text + s->i, s->len - s->i);
    replace(s, s->i, bad, REPLACEMENT);
    s->i += bad;
}

static bool scan_string(struct scanner *s)
{
    const char *t = s->text;
    s->i++;
    for (;;) {
        while (s->i < s->len && !special[(unsigned char)t[s->i]])
            s->i++;
        if (s->i >= s->len)
            return fail_early(s);
        unsigned char c = (unsigned char)t[s->i];
        if (c == '"') {
            s->i++;
            return true;
        }
        if (c == '\\') {
            if (!scan_escape(s))
                return false;
        } else if (c < 0x20) {
            return fail(s, "control character in a string");
        } else {
            scan_above_ascii(s);
        }
    }
}

/* Step over the next byte if it is one of set. */
static bool accept(struct scanner *s, const char *set)
{
    if (s->i >= s->len || s->text[s->i] == '\0' || !strchr(set, s->text[s->i]))
        return false;
    s->i++;
    return true;
}

static bool need_digits(struct scanner *s)
{
    size_t from = s->i;
    while (s->i < s->len && s->text[s->i] >= '0' && s->text[s->i] <= '9')
        s->i++;
    if (s->i > from)
        return true;
    return s->i >= s->len ? fail_early(s) : fail(s, "bad number");
}

static void note_odd(struct scanner *s, size_t from)
{
    struct json_scan *r = s->r;
    if (r->n_odd == r->alloc_odd) {
        r->alloc_odd = r->alloc_odd != 0 ? r->alloc_odd * 2 : 8;
        r->odd = xreallocarray(r->odd, r->alloc_odd, sizeof(*r->odd));
    }
    r->odd[r->n_odd++] = (struct json_number_at){.index = r->numbers, .at = from, .len = s->i - from};
    if (s->i - from > CJSON_NUMBER)
        replace(s, from, s->i - from, "0");
}

static bool scan_number(struct scanner *s)
{
    size_t from = s->i;
    accept(s, "-");
    size_t first = s->i;
    if (!need_digits(s))
        return false;
    size_t whole = s->i - first;
    if (s->text[first] == '0' && whole > 1) {
        s->i = first;
        return fail(s, "number with a leading zero");
    }
    if (accept(s, ".") && !need_digits(s))
        return false;
    bool exponent = accept(s, "eE");
    if (exponent) {
        accept(s, "+-");
        if (!need_digits(s))
            return false;
    }
    /* The text is kept beside the value if the number has more digits than a double, an exponent (which may
     * lead to infinity, printed by cJSON as null), or more bytes than cJSON reads. */
    if (whole > SAFE_DIGITS || exponent || s->i - from > CJSON_NUMBER)
        note_odd(s, from);
    s->r->numbers++;
    return true;
}

static bool scan_word(struct scanner *s, const char *word)
{
    size_t n = strlen(word);
    for (size_t k = 0; k < n; k++) {
        if (s->i + k >= s->len)
            return fail_early(s);
        if (s->text[s->i + k] != word[k])
            return fail(s, "expected a value");
    }
    s->i += n;
    return true;
}

static void skip_space(struct scanner *s)
{
    while (
        s->i < s->len
        && (s->text[s->i] == ' ' || s->text[s->i] == '\n' || s->text[s->i] == '\r' || s->text[s->i] == '\t'))
        s->i++;
}

static bool scan_scalar(struct scanner *s)
{
    char c = s->text[s->i];
    if (c == '"')
        return scan_string(s);
    if (c == '-' || (c >= '0' && c <= '9'))
        return scan_number(s);
    if (c != 't' && c != 'f' && c != 'n')
        return fail(s, "expected a value");
    return scan_word(s, c == 't' ? "true" : c == 'f' ? "false" : "null");
}

static bool expect(struct scanner *s, char c, const char *reason)
{
    if (s->i >= s->len)
        return fail_early(s);
    return s->text[s->i] == c || fail(s, reason);
}

/* Read "key" and its colon; s->i is then at the value. */
static bool scan_key(struct scanner *s)
{
    if (!expect(s, '"', "expected a key in quotes") || !scan_string(s))
        return false;
    skip_space(s);
    if (!expect(s, ':', "expected ':'"))
        return false;
    s->i++;
    return true;
}

/* After a value: close the brackets that end here. True when the next value (or its key) follows, or the
 * outermost one is complete. */
static bool scan_after(struct scanner *s, const char *open, unsigned *depth)
{
    while (*depth > 0) {
        skip_space(s);
        if (s->i >= s->len)
            return fail_early(s);
        char c = s->text[s->i], kind = open[*depth - 1];
        if (c == ',') {
            s->i++;
            skip_space(s);
            return kind == '{' ? scan_key(s) : true;
        }
        if (c != (kind == '{' ? '}' : ']'))
            return fail(s, kind == '{' ? "expected ',' or '}'" : "expected ',' or ']'");
        s->i++;
        (*depth)--;
    }
    return true;
}

static bool scan_value(struct scanner *s)
{
    char open[JSON_DEPTH];
    unsigned depth = 0;
    do {
        skip_space(s);
        if (s->i >= s->len)
            return fail_early(s);
        char c = s->text[s->i];
        if (c != '{' && c != '[') {
            if (!scan_scalar(s) || !scan_after(s, open, &depth))
                return false;
            continue;
        }
        if (depth == JSON_DEPTH)
            return fail(s, "nested more than 200 deep");
        open[depth++] = c;
        s->i++;
        skip_space(s);
        if (s->i >= s->len)
            return fail_early(s);
        if (s->text[s->i] == (c == '{' ? '}' : ']')) {
            if (!scan_after(s, open, &depth))
                return false;
        } else if (c == '{' && !scan_key(s)) {
            return false;
        }
    } while (depth > 0);
    return true;
}

int json_scan(struct json_scan *r, const char *text, size_t len, bool prefix)
{
    *r = (struct json_scan){.copy = BUF_INIT(0)};
    struct scanner s = {.r = r, .text = text, .len = len};
    if (len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
        s.i = 3; /* a byte order mark may be ignored (RFC 8259, 8.1) */
    skip_space(&s);
    r->start = s.done = s.i;
    if (!scan_value(&s))
        return -1;
    r->end = s.i;
    if (!prefix) {
        skip_space(&s);
        if (s.i < len) {
            fail(&s, "text after the value");
            return -1;
        }
    }
    if (r->repaired)
        buf_add(&r->copy, text + s.done, r->end - s.done);
    return 0;
}

void json_scan_release(struct json_scan *s)
{
    buf_release(&s->copy);
    free(s->odd);
    s->odd = NULL;
    s->n_odd = s->alloc_odd = 0;
}
