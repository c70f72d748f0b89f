/* python_call.c - parses calls by descent: name, arguments, literals with their escapes. */
#include "calls/python_call.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "json/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "calls/tool_names.h"

struct call_reading {
    const char *s, *end;
};

static void skip(struct call_reading *r)
{
    while (r->s < r->end && isspace((unsigned char)*r->s))
        r->s++;
}

static bool next_is(struct call_reading *r, const char *word)
{
    size_t n = strlen(word);
    skip(r);
    if ((size_t)(r->end - r->s) < n || memcmp(r->s, word, n))
        return false;
    r->s += n;
    return true;
}

static bool name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

/* Returns the length of the word at s. */
static size_t word_length(const char *s, size_t n)
{
    size_t k = 0;
    while (k < n && name_char(s[k]))
        k++;
    return k;
}

static const struct llm_tool *tool_named(const struct llm_toolset *tools, const char *s, size_t n)
{
    static const char call[] = ".call"; /* how Llama calls the tools that it was trained with */
    if (n > sizeof call && !memcmp(s + n - sizeof call + 1, call, sizeof call - 1))
        n -= sizeof call - 1;
    autofree char *name = xmemdup0(s, n);
    return n ? tool_names_find(tools, name) : NULL;
}

int python_call_head(const struct llm_toolset *tools, const char *s, size_t n, bool list)
{
    struct call_reading r = {.s = s, .end = s + n};
    if (list && !next_is(&r, "["))
        return n ? 0 : -1;
    if (n > PYTHON_HEAD_MAX)
        return 0;
    for (;;) {
        skip(&r);
        size_t k = word_length(r.s, (size_t)(r.end - r.s));
        if (r.s + k == r.end)
            return -1;
        if (!k || r.s[k] != '(')
            return 0;
        if (k != 5 || memcmp(r.s, "print", 5))
            return tool_named(tools, r.s, k) != NULL;
        r.s += k + 1;
    }
}

/* ---- literals ---- */

static bool hex(struct call_reading *r, int digits, uint32_t *v)
{
    *v = 0;
    for (int i = 0; i < digits; i++) {
        if (r->s == r->end || !isxdigit((unsigned char)*r->s))
            return false;
        char c = *r->s++;
        *v = *v * 16 + (uint32_t)(isdigit((unsigned char)c) ? c - '0' : (c | 32) - 'a' + 10);
    }
    return true;
}

static void add_character(struct buf *out, uint32_t c)
{
    utf8_add(out, !c || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0xfffd : c);
}

static bool escaped_number(struct call_reading *r, char kind, struct buf *out)
{
    uint32_t c = 0, low = 0;
    if (!hex(r, kind == 'x' ? 2 : kind == 'u' ? 4 : 8, &c))
        return false;
    if (kind == 'u' && c >= 0xd800 && c < 0xdc00 && r->end - r->s >= 6 && r->s[0] == '\\' && r->s[1] == 'u') {
        struct call_reading ahead = *r; /* two halves of a surrogate pair, as JSON writes them */
        ahead.s += 2;
        if (hex(&ahead, 4, &low) && low >= 0xdc00 && low < 0xe000) {
            c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
            *r = ahead;
        }
    }
    add_character(out, c);
    return true;
}

static void octal(struct call_reading *r, uint32_t c, struct buf *out)
{
    for (int i = 1; i < 3 && r->s < r->end && *r->s >= '0' && *r->s <= '7'; i++)
        c = c * 8 + (uint32_t)(*r->s++ - '0');
    add_character(out, c);
}

/* Reads what follows a backslash. False where Python would refuse it, or would look up a name. */
static bool read_escape(struct call_reading *r, struct buf *out)
{
    static const char letters[] = "\\'\"abfnrtv", means[] = "\\'\"\a\b\f\n\r\t\v";
    char c = *r->s++;
    const char *at = c ? strchr(letters, c) : NULL;
    if (at)
        return buf_addch(out, means[at - letters]);
    if (c == '\n')
        return true;
    if (c >= '0' && c <= '7') {
        octal(r, (uint32_t)(c - '0'), out);
        return true;
    }
    if (c == 'x' || c == 'u' || c == 'U')
        return escaped_number(r, c, out);
    if (c == 'N')
        return false;
    buf_addch(out, '\\'); /* as in Python, an unknown escape stays as it is written */
    return buf_addch(out, c);
}

static bool is_closing_quote(const struct call_reading *r, const char *quote, size_t n)
{
    return (size_t)(r->end - r->s) >= n && !memcmp(r->s, quote, n);
}

/* Reads from after the prefix on. A line break between single quotes is kept: Python would refuse it, but
 * models write it. */
static bool string_body(struct call_reading *r, bool raw, struct buf *out)
{
    char quote[3] = {*r->s, *r->s, *r->s};
    size_t n = is_closing_quote(r, quote, 3) ? 3 : 1;
    for (r->s += n; r->s < r->end;) {
        if (is_closing_quote(r, quote, n)) {
            r->s += n;
            return true;
        }
        if (*r->s != '\\' || r->end - r->s < 2) {
            buf_addch(out, *r->s++);
        } else if (raw) {
            buf_add(out, r->s, 2);
            r->s += 2;
        } else {
            r->s++;
            if (!read_escape(r, out))
                return false;
        }
    }
    return false;
}

/* Reads one string, or several adjacent ones. */
static bool strings(struct call_reading *r, struct buf *out)
{
    bool any = false;
    for (;;) {
        skip(r);
        const char *p = r->s;
        bool raw = false;
        while (p < r->end && strchr("rRuU", *p) && *p && p - r->s < 1) {
            raw = *p == 'r' || *p == 'R';
            p++;
        }
        if (p == r->end || (*p != '"' && *p != '\''))
            return any;
        r->s = p;
        if (!string_body(r, raw, out))
            return false;
        any = true;
    }
}

static struct json *word(struct call_reading *r)
{
    static const char *const words[] = {"True", "False", "None"};
    size_t n = word_length(r->s, (size_t)(r->end - r->s));
    for (size_t i = 0; i < countof(words); i++)
        if (n == strlen(words[i]) && !memcmp(r->s, words[i], n)) {
            r->s += n;
            return i == 2 ? json_null() : json_boolean(i == 0);
        }
    size_t used = 0;
    /* a number; JSON's numbers are valid in Python */
    struct json *j = json_parse(r->s, (size_t)(r->end - r->s), JSON_PREFIX, &used, NULL);
    if (json_type(j) != JSON_NUMBER) {
        json_free(j);
        return NULL;
    }
    r->s += used;
    return j;
}

static struct json *literal(struct call_reading *r)
{
    struct buf out autorelease(buf_release) = BUF_INIT(CALL_ARGS_MAX + 1);
    skip(r);
    if (strings(r, &out))
        return out.full ? NULL : json_string_n(buf_str(&out), out.len);
    bool begins = r->s < r->end && (isalnum((unsigned char)*r->s) || *r->s == '-');
    return begins ? word(r) : NULL;
}

/* ---- calls ---- */

static bool argument(struct call_reading *r, struct json *to, const char *only)
{
    skip(r);
    size_t n = word_length(r->s, (size_t)(r->end - r->s));
    struct call_reading ahead = {.s = r->s + n, .end = r->end};
    bool named = n && n < 64 && next_is(&ahead, "=");
    if (!named && (!only || json_size(to)))
        return false;
    autofree char *key = named ? xmemdup0(r->s, n) : xstrdup(only);
    if (named)
        r->s = ahead.s;
    struct json *value = literal(r);
    if (value)
        json_set(to, key, value);
    return value != NULL;
}

static bool call(struct call_reading *r, struct calls *c)
{
    autojson struct json *args = json_object();
    size_t within = 0; /* as many calls of print */
    while (next_is(r, "print("))
        within++;
    skip(r);
    size_t n = word_length(r->s, (size_t)(r->end - r->s));
    const struct llm_tool *t = tool_named(c->tools, r->s, n);
    r->s += n;
    if (!t || !next_is(r, "("))
        return false;
    while (!next_is(r, ")")) {
        if (!argument(r, args, t->code_key))
            return false;
        if (!next_is(r, ",") && (skip(r), r->s == r->end || *r->s != ')'))
            return false;
    }
    while (within && next_is(r, ")"))
        within--;
    autofree char *text = json_print(args);
    return !within && calls_from_named(c, t->name, text, strlen(text));
}

int python_call_read(struct calls *c, const char *s, size_t n)
{
    struct call_reading r = {s, s + n};
    struct calls found = {.tools = c->tools};
    bool list = next_is(&r, "["), good = true;
    do {
        good = call(&r, &found);
    } while (good && next_is(&r, ",") && !(list && (skip(&r), r.s < r.end && *r.s == ']')));
    if (good && list)
        good = next_is(&r, "]");
    skip(&r);
    if (!good || r.s != r.end)
        calls_drop(&found, 0);
    return calls_move(c, &found);
}
