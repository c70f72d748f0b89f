/* json_scan.c - one linear pass that holds JSON text to RFC 8259 and repairs what cJSON would silently lose.
 * Nothing is copied unless something needs repair or is set apart. There is no recursion: the open brackets
 * are a string on the stack.
 */
#include "json/private.h"

#include <string.h>

#include "json/json.h"
#include "base/mem.h"
#include "base/utf8.h"

#define REPLACEMENT "\xef\xbf\xbd"

enum {
    SAFE_DIGITS = 15,  /* integers with this many digits survive a double and cJSON's %1.15g */
    CJSON_NUMBER = 60, /* cJSON reads at most 63 bytes of a number and takes the rest for garbage */
    LONG_STRING = 256, /* bytes from which on a string is set apart */
};

struct scanner {
    struct json_scan *r;
    const char *text;
    size_t i, len;
    size_t done;   /* after the first repair: the text before this offset is in r->copy */
    size_t string; /* where the string that is being read began, */
    bool broken;   /* and whether some of it needs repair */
    size_t grown;  /* bytes by which repairs have made the text longer */
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

/* The same in a string, of len bytes from here on. A long one is set apart, and repaired when it is decoded.
 */
static bool repair(struct scanner *s, size_t len, const char *with)
{
    s->broken = true;
    s->grown += len < strlen(REPLACEMENT) ? strlen(REPLACEMENT) - len : 0;
    if (s->r->most > 0 && s->grown > JSON_GROWN_MAX)
        return fail(s, "too much of it is not UTF-8");
    if (s->r->most > 0 && s->i - s->string <= LONG_STRING)
        replace(s, s->i, len, with);
    s->i += len;
    return true;
}

static bool scan_escape(struct scanner *s)
{
    const char *from = s->text + s->i;
    size_t left = s->len - s->i;
    uint32_t cp = 0;

    if (left < 2)
        return fail_early(s);
    if (from[1] != 'u') /* one of two letters was passed over */
        return fail(s, "bad escape in a string");
    int n = json_unicode(from, left, &cp);
    if (n < 0)
        return n == -2 ? fail_early(s) : fail(s, "bad \\u escape");
    if (cp == 0) /* cJSON cuts the string at \u0000 and refuses half a character */
        return repair(s, (size_t)n, "\\ufffd");
    s->i += (size_t)n;
    return true;
}

static bool scan_high(struct scanner *s)
{
    const char *from = s->text + s->i;
    size_t left = s->len - s->i, valid = json_high_span(from, left);

    s->i += valid;
    return valid > 0 || repair(s, utf8_broken_length(from, left), REPLACEMENT);
}

static bool scan_string(struct scanner *s)
{
    s->string = ++s->i;
    s->broken = false;
    for (;;) {
        s->i += json_simple_span(s->text + s->i, s->len - s->i);
        if (s->i >= s->len)
            return fail_early(s);
        unsigned char c = (unsigned char)s->text[s->i];
        if (c == '"') {
            s->i++;
            return true;
        }
        if (c < 0x20)
            return fail(s, "control character in a string");
        if (c == '\\' ? !scan_escape(s) : !scan_high(s))
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
    return s->i >= s->len ? fail_early(s) : fail(s, "bad number");
}

/* Set the value that began at from apart. cJSON gets with in its place, unless that is NULL. */
static struct json_apart *set_apart(struct scanner *s, size_t from, const char *with)
{
    struct json_scan *r = s->r;
    if (r->n_apart == r->alloc_apart) {
        r->alloc_apart = r->alloc_apart != 0 ? r->alloc_apart * 2 : 8;
        r->apart = xreallocarray(r->apart, r->alloc_apart, sizeof(*r->apart));
    }
    struct json_apart *a = &r->apart[r->n_apart++];
    *a = (struct json_apart){.index = r->values - 1, .at = from, .len = s->i - from};
    if (with)
        replace(s, from, s->i - from, with);
    return a;
}

static bool scan_string_value(struct scanner *s)
{
    size_t from = s->i, done = s->done, copied = s->r->copy.len;
    bool repaired = s->r->repaired;

    if (!scan_string(s))
        return false;
    if (s->r->most == 0 || s->i - from <= LONG_STRING + 2)
        return true;
    s->done = done; /* forget what was repaired at its beginning */
    s->r->repaired = repaired;
    buf_cut(&s->r->copy, copied);
    struct json_apart *a = set_apart(s, from, "\"\"");
    a->at++;
    a->len -= 2;
    a->broken = s->broken;
    return true;
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
    size_t len = s->i - from;
    if (s->r->most > 0 && (whole > SAFE_DIGITS || exponent || len > CJSON_NUMBER))
        set_apart(s, from, len > CJSON_NUMBER ? "0" : NULL);
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
        return scan_string_value(s);
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
        if (++s->r->values > s->r->most && s->r->most > 0) {
            s->r->too_much = true;
            return fail(s, "too many values");
        }
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
    free(s->apart);
    s->apart = NULL;
    s->n_apart = s->alloc_apart = 0;
}
