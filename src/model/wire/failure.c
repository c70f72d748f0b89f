/* failure.c - reads error bodies in all the envelopes that services use. Everything in a body is hostile, so
 * only short copies on one line are kept.
 */
#include "wire/failure_class.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/error.h"
#include "json/json.h"
#include "base/mem.h"
#include "base/utf8.h"

#define DOTS " ..."

/* Cuts a text of n bytes that is too long at a word, or at a character when there is no word near. size has
 * room for the dots too. */
static size_t cut_at_word(char *out, size_t n, size_t size)
{
    size_t most = size > sizeof DOTS ? size - sizeof DOTS : 0, at = utf8_cut(out, n, most), word = at;
    while (word && at - word < 100 && out[word] != ' ')
        word--;
    at = word && at - word < 100 ? word : at;
    while (at && out[at - 1] == ' ')
        at--;
    if (most)
        memcpy(out + at, DOTS, sizeof DOTS);
    return most ? at + sizeof DOTS - 1 : 0;
}

/* Copies onto one line, with blanks for control characters, cut at a word. */
static void line_copy(char *out, size_t size, const char *s, size_t len)
{
    struct buf b autorelease(buf_release) = BUF_INIT(4096);
    utf8_repair(&b, s, len < 2048 ? len : 2048);
    size_t n = 0, i = 0;
    for (; i < b.len && n + 1 < size; i++) {
        char c = b.data[i];
        if ((unsigned char)c < 0x20 || c == 0x7f)
            c = ' ';
        if (c == ' ' && (!n || out[n - 1] == ' '))
            continue;
        out[n++] = c;
    }
    while (n && out[n - 1] == ' ')
        n--;
    out[n] = '\0';
    if (i < b.len || len > 2048)
        n = cut_at_word(out, n, size);
    out[n] = '\0';
}

__attribute__((format(printf, 3, 0))) static void set(struct failure *f, enum failure_class class,
                                                      const char *fmt, va_list ap)
{
    *f = (struct failure){.class = class, .retry_after = -1};
    autofree char *text = xvasprintf(fmt, ap);
    line_copy(f->message, sizeof f->message, text, strlen(text));
}

void failure_set(struct failure *f, enum failure_class class, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    set(f, class, fmt, ap);
    va_end(ap);
}

void failure_certain(struct failure *f, enum remedy hint, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    set(f, FAILURE_NETWORK, fmt, ap);
    va_end(ap);
    f->hint = hint;
    f->never = true;
}

void failure_brief(const struct failure *f, const char *key, char *out, size_t size)
{
    struct buf b autorelease(buf_release) = BUF_INIT(0);
    size_t n = key ? strlen(key) : 0, whole = strlen(f->message);
    for (const char *s = f->message; *s;) {
        const char *at = n >= 8 ? strstr(s, key) : NULL;
        buf_add(&b, s, at ? (size_t)(at - s) : strlen(s));
        if (!at)
            break;
        buf_addstr(&b, "[key]");
        s = at + n;
    }
    /* When the message was cut inside a key, a part of the key is at its end. */
    size_t dots = whole > 4 && !strcmp(f->message + whole - 4, DOTS) ? 4 : 0;
    for (size_t k = n; k-- > 6 && dots;)
        if (b.len >= k + dots && !memcmp(b.data + b.len - dots - k, key, k)) {
            b.len -= k + dots;
            buf_addstr(&b, "[key]" DOTS);
            break;
        }
    line_copy(out, size, buf_str(&b), b.len);
}

/* Returns a string, or the serialised value of anything else; NULL for nothing. */
static char *text_of(const struct json *j)
{
    const char *s = json_str(j);
    if (s)
        return *s ? xstrdup(s) : NULL;
    return json_truthy(j) ? json_print(j) : NULL;
}

static char *list_text(const struct json *list)
{
    struct buf b = BUF_INIT(2048);
    for (const struct json *e = json_first(list); e; e = json_next(e)) {
        const char *msg = json_str(json_get(e, "msg"));
        if (!msg)
            msg = json_str(json_get(e, "message"));
        if (!msg || !*msg)
            continue;
        if (b.len)
            buf_addstr(&b, "; ");
        buf_addstr(&b, msg);
        autofree char *loc = text_of(json_get(e, "loc"));
        if (loc)
            buf_addf(&b, " at %s", loc);
    }
    return b.len ? buf_steal(&b, NULL) : NULL;
}

static char *detail_text(const struct json *d)
{
    return json_type(d) == JSON_ARRAY ? list_text(d) : text_of(d);
}

/* Looks into error.message first, then into the other places. The caller frees it. */
static char *message_of(const struct json *j)
{
    const struct json *error = json_get(j, "error"), *message = json_get(j, "message");
    char *s = NULL;
    const struct json *inner = json_get(error, "message");
    if (inner)
        s = json_get(inner, "detail") ? detail_text(json_get(inner, "detail")) : text_of(inner);
    const char *raw = json_str(json_get(json_get(error, "metadata"), "raw"));
    /* OpenRouter has the cause one level down. */
    if (s && raw && *raw && !strcmp(s, "Provider returned error"))
        xreplace(&s, xasprintf("%s: %s", s, raw));
    if (!s && json_str(error))
        s = text_of(failure_telling(error, message ? message : json_get(j, "error_description")));
    if (!s && message)
        s = json_get(message, "detail") ? detail_text(json_get(message, "detail")) : text_of(message);
    const struct json *others[] = {
        json_get(json_get(j, "base_resp"), "status_msg"),
        json_get(j, "msg"),
        json_get(j, "error_msg"),
        raw ? json_get(json_get(error, "metadata"), "raw") : NULL,
        json_type(error) == JSON_OBJECT ? error : NULL,
    };
    if (!s)
        s = detail_text(json_get(j, "detail"));
    if (!s)
        s = list_text(json_get(j, "errors"));
    for (size_t i = 0; i < countof(others) && !s; i++)
        s = text_of(others[i]);
    return s;
}

static void code_copy(char *out, size_t size, const struct json *j)
{
    const char *s = json_str(j);
    if (s)
        line_copy(out, size, s, strlen(s));
    else if (json_type(j) == JSON_NUMBER)
        snprintf(out, size, "%lld", (long long)json_int(j, 0));
}

static void from_json(struct failure *f, int status, const struct json *j, const struct failure_head *h)
{
    *f = (struct failure){.status = status, .retry_after = -1};
    if (json_type(j) == JSON_ARRAY)
        j = json_at(j, 0);
    const struct json *error = json_get(j, "error");
    const struct json *o = json_type(error) == JSON_OBJECT ? error : j;
    autofree char *message = message_of(j);
    if (message)
        line_copy(f->message, sizeof f->message, message, strlen(message));
    const struct json *codes[] = {
        json_get(o, "code"),         json_get(json_at(json_get(j, "errors"), 0), "code"),
        json_get(j, "internalCode"), json_get(json_get(j, "base_resp"), "status_code"),
        json_get(j, "error_code"),
    };
    for (size_t i = 0; i < countof(codes) && !*f->code; i++)
        code_copy(f->code, sizeof f->code, codes[i]);
    char type[64] = "";
    code_copy(type, sizeof type, json_get(o, "type"));
    if (!*f->code)
        snprintf(f->code, sizeof f->code, "%s", type);
    if (status < 300) { /* the body has the status, since HTTP's says that all is well */
        int64_t named[] = {strtol(f->code, NULL, 10), json_int(json_get(j, "httpCode"), 0),
                           json_int(json_get(o, "status"), 0)};
        f->status = 0;
        for (size_t i = 0; i < countof(named) && !f->status; i++)
            f->status = named[i] >= 400 && named[i] <= 599 ? (int)named[i] : 0;
    }
    f->class = failure_classify(f, &(struct failure_evidence){type, json_str(json_get(o, "param")), j, h});
    if (f->class == FAILURE_BUSY || f->class == FAILURE_QUOTA)
        f->retry_after = failure_wait_in_body(o, f->message);
}

void failure_from_json(struct failure *f, int status, const struct json *j)
{
    from_json(f, status, j, NULL);
    if (!*f->message)
        snprintf(f->message, sizeof f->message, "an error with no message");
}

/* Copies the title of an HTML page, on one line. */
static void html_title(char *out, size_t size, const char *body, size_t len)
{
    autofree char *copy = xmemdup0(body, len < 8192 ? len : 8192);
    const char *t = strcasestr(copy, "<title"), *from = t ? strchr(t, '>') : NULL,
               *to = from ? strchr(from, '<') : NULL;
    out[0] = '\0';
    if (to)
        line_copy(out, size, from + 1, (size_t)(to - from - 1));
}

static bool looks_html(const char *body, size_t len, const char *content_type)
{
    if (strcasestr(content_type, "html"))
        return true;
    while (len && isspace((unsigned char)*body))
        body++, len--;
    return len > 5 && (!strncasecmp(body, "<!doc", 5) || !strncasecmp(body, "<html", 5));
}

/* True for bytes that nobody could read in a message. */
static bool is_binary(const char *body, size_t len)
{
    size_t n = len < 512 ? len : 512;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)body[i] < 0x20 && !isspace((unsigned char)body[i]))
            return true;
    return !utf8_valid(body, utf8_cut(body, len, n));
}

static void from_other(struct failure *f, const struct failure_head *h, const char *body, size_t len)
{
    int status = h->status;
    *f = (struct failure){.status = status, .retry_after = -1};
    if (looks_html(body, len, h->content_type)) {
        char title[128];
        f->page = true;
        html_title(title, sizeof title, body, len);
        if (*title)
            snprintf(f->message, sizeof f->message, "an HTML page, \"%s\"", title);
        else
            snprintf(f->message, sizeof f->message, "an HTML page");
    } else if (is_binary(body, len)) {
        snprintf(f->message, sizeof f->message, "%zu bytes that are not text", len);
    } else {
        line_copy(f->message, 200, body, len);
    }
    if (status < 300)
        f->class = FAILURE_NOT_API;
    else if (!len && (status == 400 || status == 413))
        f->class = FAILURE_CONTEXT; /* this is how Cerebras answers a prompt that is too long */
    else
        f->class = failure_classify(f, &(struct failure_evidence){.type = "", .h = h});
}

void failure_from_response(struct failure *f, const struct failure_head *h, const char *body, size_t len)
{
    int status = h->status;
    autojson struct json *j = json_parse(body, len, JSON_DUPLICATES, NULL, NULL);
    if (!j && status >= 300)
        /* LiteLLM sends the error of a stream that never began as a stream */
        j = failure_event(body, len);
    if (json_type(j) == JSON_OBJECT || json_type(j) == JSON_ARRAY)
        from_json(f, status, j, h);
    else
        from_other(f, h, body, len);
    if (h->waits && (f->class == FAILURE_BUSY || f->class == FAILURE_QUOTA))
        f->retry_after = h->wait; /* the header takes precedence over the body */
    if (status >= 300 && status < 400 && *h->location) {
        line_copy(f->location, sizeof f->location, h->location, strlen(h->location));
        snprintf(f->message, sizeof f->message, "a redirect to %.160s, which is not followed", f->location);
    }
}
