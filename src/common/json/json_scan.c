/* json_scan.c - one linear pass that holds JSON text to RFC 8259 and repairs what cJSON would silently lose.
 * Nothing is copied unless something needs repair or is set apart. There is no recursion: the open brackets
 * are a string on the stack.
 *
 * RULE: JSON of whoever wrote it has a limit of bytes and of values, held before anything is allocated.
 */
#include "json/private.h"

#include <string.h>

#include "json/json.h"
#include "base/mem.h"
#include "base/utf8.h"

#define REPLACEMENT "\xef\xbf\xbd"

enum {
    SAFE_DIGITS = 15,    /* integers with this many digits survive a double and cJSON's %1.15g */
    CJSON_NUMBER = 60,   /* cJSON reads at most 63 bytes of a number and takes the rest for garbage */
    LONG_STRING = 256,   /* bytes from which on a string is set apart */
    GROWN_MAX = 1 << 20, /* by which repairs may make a text longer */
};

struct scanner {
    struct json_scan *r;
    const char *text;
    size_t i, len;
    size_t done;  /* after the first repair: the text before this offset is in r->copy */
    size_t grown; /* bytes by which repairs have made the text longer */
};

static bool scan_fail(struct scanner *s, const char *reason)
{
    s->r->reason = reason;
    s->r->at = s->i;
    return false;
}

static bool fail_early(struct scanner *s)
{
    s->i = s->len;
    return scan_fail(s, JSON_EARLY);
}

/* Replace the len bytes at offset at by with. */
static void replace(struct scanner *s, size_t at, size_t len, const char *with)
{
    buf_add(&s->r->copy, s->text + s->done, at - s->done);
    buf_addstr(&s->r->copy, with);
    s->done = at + len;
    s->r->repaired = true;
}

/* The same in a string, for the len bytes from here on. */
static bool repair(struct scanner *s, size_t len, const char *with)
{
    s->grown += len < strlen(with) ? strlen(with) - len : 0;
    if (s->r->most > 0 && s->grown > GROWN_MAX)
        return scan_fail(s, JSON_BROKEN);
    if (s->r->most > 0)
        replace(s, s->i, len, with);
    s->i += len;
    return true;
}

static bool repair_with(struct scanner *s, size_t len, uint32_t cp)
{
    struct buf with autorelease(buf_release) = BUF_INIT(0);

    utf8_add(&with, cp);
    return repair(s, len, buf_str(&with));
}

static bool scan_escape(struct scanner *s)
{
    const char *from = s->text + s->i;
    size_t left = s->len - s->i;
    uint32_t cp = 0;

    if (left < 2)
        return fail_early(s);
    if (from[1] != 'u') /* one of two letters was passed over */
        return scan_fail(s, JSON_ESCAPE);
    int n = json_unicode(from, left, &cp);
    if (n < 0)
        return n == -2 ? fail_early(s) : scan_fail(s, JSON_UNICODE);
    if (cp == 0) { /* cJSON cuts the string at \u0000 and refuses half a character */
        cp = s->r->pieces ? json_half(from) : 0;
        return cp ? repair_with(s, (size_t)n, cp) : repair(s, (size_t)n, "\\ufffd");
    }
    s->i += (size_t)n;
    return true;
}

static bool scan_high(struct scanner *s)
{
    const char *from = s->text + s->i;
    size_t left = s->len - s->i, valid = json_high_span(from, left);

    s->i += valid;
    if (valid == 0 && s->r->pieces)
        return repair_with(s, 1, json_byte(*from));
    return valid > 0 || repair(s, utf8_broken_length(from, left), REPLACEMENT);
}

/* Stops in front of its end where it is longer than most; 0: it may have any length. */
static bool scan_string(struct scanner *s, size_t most)
{
    size_t from = ++s->i;
    for (;;) {
        size_t left = s->len - s->i;
        s->i += json_simple_span(s->text + s->i, most > 0 && left > most ? most + 1 : left);
        if (s->i >= s->len)
            return fail_early(s);
        if (most > 0 && s->i - from >= most)
            return true;
        unsigned char c = (unsigned char)s->text[s->i];
        if (c == '"') {
            s->i++;
            return true;
        }
        if (c < 0x20)
            return scan_fail(s, JSON_CONTROL);
        if (c == '\\' ? !scan_escape(s) : c >= 0x80 && !scan_high(s))
            return false;
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
    return s->i >= s->len ? fail_early(s) : scan_fail(s, "bad number");
}

/* Set the value that began at from apart. Takes its text. cJSON gets with in its place, unless that is NULL.
 */
static void set_apart(struct scanner *s, size_t from, char *text, const char *with)
{
    struct json_scan *r = s->r;
    if (r->n_apart == r->alloc_apart) {
        r->alloc_apart = r->alloc_apart != 0 ? r->alloc_apart * 2 : 8;
        r->apart = xreallocarray(r->apart, r->alloc_apart, sizeof(*r->apart));
    }
    r->apart[r->n_apart++] = (struct json_apart){.index = r->values - 1, .text = text};
    if (with)
        replace(s, from, s->i - from, with);
}

static bool scan_long_string(struct scanner *s, size_t from)
{
    struct json_decoded d = json_decode(s->text + from + 1, s->len - from - 1, s->r->pieces,
                                        GROWN_MAX - s->grown);

    s->i = from + 1 + d.used;
    s->grown += d.grown;
    if (d.reason) {
        free(d.text);
        return scan_fail(s, d.reason);
    }
    set_apart(s, from, d.text, "\"\"");
    return true;
}

static bool scan_string_value(struct scanner *s)
{
    size_t from = s->i, done = s->done, copied = s->r->copy.len, grown = s->grown;
    bool repaired = s->r->repaired;

    if (s->r->most == 0)
        return scan_string(s, 0);
    if (!scan_string(s, LONG_STRING))
        return false;
    if (s->i - from <= LONG_STRING)
        return true;
    s->done = done; /* forget what was repaired at its beginning */
    s->grown = grown;
    s->r->repaired = repaired;
    buf_cut(&s->r->copy, copied);
    return scan_long_string(s, from);
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
        return scan_fail(s, "number with a leading zero");
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
    size_t len = s->i - from;
    if (s->r->most > 0 && (whole > SAFE_DIGITS || exponent || len > CJSON_NUMBER))
        set_apart(s, from, xmemdup0(s->text + from, len), len > CJSON_NUMBER ? "0" : NULL);
    return true;
}

static bool scan_word(struct scanner *s, const char *word)
{
    size_t n = strlen(word);
    for (size_t k = 0; k < n; k++) {
        if (s->i + k >= s->len)
            return fail_early(s);
        if (s->text[s->i + k] != word[k])
            return scan_fail(s, "expected a value");
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

static bool scan_nan(struct scanner *s)
{
    size_t from = s->i;

    if (!scan_word(s, s->text[from] == 'N' ? "NaN" : s->text[from] == 'I' ? "Infinity" : "-Infinity"))
        return false;
    if (s->r->most > 0)
        replace(s, from, s->i - from, "null");
    return true;
}

static bool scan_scalar(struct scanner *s)
{
    char c = s->text[s->i];
    if (c == '"')
        return scan_string_value(s);
    if (s->r->nan && (c == 'N' || c == 'I' || (c == '-' && s->i + 1 < s->len && s->text[s->i + 1] == 'I')))
        return scan_nan(s);
    if (c == '-' || (c >= '0' && c <= '9'))
        return scan_number(s);
    if (c != 't' && c != 'f' && c != 'n')
        return scan_fail(s, "expected a value");
    return scan_word(s, c == 't' ? "true" : c == 'f' ? "false" : "null");
}

static bool expect(struct scanner *s, char c, const char *reason)
{
    if (s->i >= s->len)
        return fail_early(s);
    return s->text[s->i] == c || scan_fail(s, reason);
}

/* Read "key" and its colon; s->i is then at the value. */
static bool scan_key(struct scanner *s)
{
    if (!expect(s, '"', "expected a key in quotes") || !scan_string(s, 0))
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
            return scan_fail(s, kind == '{' ? "expected ',' or '}'" : "expected ',' or ']'");
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
        if (++s->r->values > s->r->most && s->r->most > 0) {
            s->r->too_much = true;
            return scan_fail(s, "too many values");
        }
        char c = s->text[s->i];
        if (c != '{' && c != '[') {
            if (!scan_scalar(s) || !scan_after(s, open, &depth))
                return false;
            continue;
        }
        if (depth == JSON_DEPTH)
            return scan_fail(s, "nested more than 200 deep");
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

int json_scan(struct json_scan *r, const char *text, size_t len)
{
    struct scanner s = {.r = r, .text = text, .len = len};
    if (len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
        s.i = 3; /* a byte order mark may be ignored (RFC 8259, 8.1) */
    skip_space(&s);
    r->start = s.done = s.i;
    if (!scan_value(&s))
        return -1;
    r->end = s.i;
    if (!r->prefix) {
        skip_space(&s);
        if (s.i < len) {
            scan_fail(&s, "text after the value");
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
    for (size_t i = 0; i < s->n_apart; i++)
        free(s->apart[i].text);
    free(s->apart);
    s->apart = NULL;
    s->n_apart = s->alloc_apart = 0;
}
