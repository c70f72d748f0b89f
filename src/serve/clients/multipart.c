/* multipart.c - finds parts by their boundary. */
#include "clients/multipart.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "json/json.h"
#include "server/routes.h"

#define HEADERS_MAX 4096 /* bytes of the headers of one part */

static const char *find_bytes(const char *in, size_t len, const char *what)
{
    return memmem(in, len, what, strlen(what));
}

int multipart_begin(struct multipart *m, const char *type, const char *body, size_t len, struct error *err)
{
    static const char kind[] = "multipart/form-data", key[] = "boundary=";
    const char *at = type && !strncasecmp(type, kind, sizeof kind - 1) ? strcasestr(type, key) : NULL;

    *m = (struct multipart){.at = body, .left = len};
    if (!at)
        return error_set(err, ERROR_USAGE, 415,
                         "the body must be multipart/form-data with a boundary, or "
                         "application/octet-stream");
    at += sizeof key - 1;
    bool quoted = *at == '"';
    at += quoted;
    size_t n = strcspn(at, quoted ? "\"" : "; \t");
    if (n == 0 || n > 70 || (quoted && at[n] != '"'))
        return error_set(err, ERROR_USAGE, 400, "the boundary must have 1 to 70 characters");
    snprintf(m->boundary, sizeof m->boundary, "--%.*s", (int)n, at);
    return 0;
}

static void skip_bytes(struct multipart *m, size_t n)
{
    m->at += n;
    m->left -= n;
}

/* Does what follows begin with that? Then it is behind it. */
static bool take(struct multipart *m, const char *text)
{
    size_t n = strlen(text);

    if (m->left < n || memcmp(m->at, text, n) != 0)
        return false;
    skip_bytes(m, n);
    return true;
}

/* What clients write for characters that must not stand in a file name (HTML, 4.10.21.8). */
static char *decode_name(const char *text, size_t len)
{
    static const char *const codes[][2] = {{"%22", "\""}, {"%0D", "\r"}, {"%0A", "\n"}};
    char *out = xcalloc(1, len + 1), *to = out;

    for (size_t i = 0; i < len; i++) {
        size_t c = 0;

        while (c < countof(codes) && (len - i < 3 || strncasecmp(text + i, codes[c][0], 3) != 0))
            c++;
        *to++ = c < countof(codes) ? *codes[c][1] : text[i];
        i += c < countof(codes) ? 2 : 0;
    }
    return out;
}

/* The file name in the header Content-Disposition. NULL: there is none. */
static char *file_name_of(const char *headers, size_t len)
{
    static const char key[] = "filename=\"";
    const char *at = find_bytes(headers, len, key);
    const char *end = at ? memchr(at + sizeof key - 1, '"', len - (size_t)(at - headers) - (sizeof key - 1))
                         : NULL;

    if (!end || memchr(at, '\0', (size_t)(end - at)))
        return NULL;
    at += sizeof key - 1;
    return decode_name(at, (size_t)(end - at));
}

int multipart_next(struct multipart *m, struct multipart_part *part, struct error *err)
{
    char end[sizeof m->boundary + 2];

    *part = (struct multipart_part){0};
    if (!m->begun && !take(m, m->boundary))
        return error_set(err, ERROR_USAGE, 400, "the body does not begin with its boundary");
    m->begun = true;
    if (take(m, "--"))
        return 0;
    const char *content = take(m, "\r\n") ? find_bytes(m->at, m->left, "\r\n\r\n") : NULL;
    size_t headers = content ? (size_t)(content - m->at) : 0;
    if (!content || headers > HEADERS_MAX)
        return error_set(err, ERROR_USAGE, 400, "a part of the body has no headers, or too many");
    part->file_name = file_name_of(m->at, headers);
    skip_bytes(m, headers + 4);
    snprintf(end, sizeof end, "\r\n%s", m->boundary);
    const char *next = find_bytes(m->at, m->left, end);
    if (!next) {
        free(steal(&part->file_name));
        return error_set(err, ERROR_USAGE, 400, "a part of the body does not end");
    }
    part->content = m->at;
    part->len = (size_t)(next - m->at);
    skip_bytes(m, part->len + strlen(end));
    return 1;
}

struct json *multipart_puts(const struct http_request *q, struct error *err)
{
    autojson struct json *puts = json_array();
    struct multipart_part part;
    struct multipart m;
    size_t len;
    const char *body = http_request_text(q, &len);
    int rc = multipart_begin(&m, http_request_header(q, "Content-Type"), body, len, err) < 0 ? -1 : 1;

    while (rc > 0 && (rc = multipart_next(&m, &part, err)) > 0) {
        struct buf text autorelease(buf_release) = BUF_INIT(0);
        autofree char *name = part.file_name;

        base64_add(&text, (const unsigned char *)part.content, part.len);
        if (name)
            json_add(puts, json_object_of({"name", json_string(name)}, {"encoding", json_string("base64")},
                                          {"content", json_string_n(buf_str(&text), text.len)}));
    }
    if (rc == 0 && json_size(puts) == 0)
        rc = error_set(err, ERROR_USAGE, 0, "the form has no file");
    return rc < 0 ? NULL : steal(&puts);
}
