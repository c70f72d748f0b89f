/* head.c - takes a request's head apart, strictly: what two programs could read in two ways is refused.
 */
#include "proxy/head.h"

#include <string.h>
#include <strings.h>

#include "base/mem.h"

size_t head_length(const char *text, size_t len)
{
    const char *end = memmem(text, len, "\r\n\r\n", 4);

    return end ? (size_t)(end - text) + 4 : 0;
}

static bool is_token(const char *s)
{
    static const char chars[] = "!#$%&'*+-.^_`|~0123456789"
                                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

    return *s && strspn(s, chars) == strlen(s);
}

/* HOST[:PORT], with a port of its own where none is written. */
static bool read_authority(const char *s, size_t len, unsigned usual, struct request_head *h)
{
    const char *close = len && *s == '[' ? memchr(s, ']', len) : NULL;
    const char *from = close ? close : s, *colon = memchr(from, ':', len - (size_t)(from - s));
    size_t host = colon ? (size_t)(colon - s) : len;

    h->port = usual;
    if (colon) {
        const char *p = colon + 1;
        unsigned long n = 0;

        if (p == s + len || s + len - p > 5)
            return false;
        for (; p < s + len; p++) {
            if (*p < '0' || *p > '9')
                return false;
            n = n * 10 + (unsigned long)(*p - '0');
        }
        h->port = (unsigned)n;
    }
    enum host_kind kind = host_normal(s, host, h->host);
    h->address = kind == HOST_ADDRESS;
    return kind != HOST_BAD && h->port >= 1 && h->port <= 65535;
}

static const char *read_target(char *target, struct request_head *h)
{
    if (h->tunnel)
        return read_authority(target, strlen(target), 443, h) ? NULL : "400 CONNECT needs HOST:PORT";
    if (!strncasecmp(target, "https://", 8))
        return "400 https goes through a tunnel (CONNECT)";
    if (strncasecmp(target, "http://", 7) != 0)
        return "400 a proxy is asked for whole URLs: http://HOST/PATH";
    char *at = target + 7;
    size_t len = strcspn(at, "/?#");
    if (!read_authority(at, len, 80, h))
        return "400 the URL has no host that can be asked";
    if (strchr(at, '#'))
        return "400 the URL has a fragment";
    h->path = at + len;
    return NULL;
}

/* "GET http://HOST/PATH HTTP/1.1" */
static const char *read_line(char *line, struct request_head *h)
{
    char *target = strchr(line, ' '), *version = target ? strchr(target + 1, ' ') : NULL;

    if (!version || strchr(version + 1, ' '))
        return "400 not a request of HTTP/1.1";
    *target++ = *version++ = '\0';
    if (strcmp(version, "HTTP/1.1") != 0 && strcmp(version, "HTTP/1.0") != 0)
        return "505 HTTP/1.1 is spoken here";
    if (!is_token(line) || strlen(line) >= METHOD_SIZE)
        return "400 not a method";
    memcpy(h->method, line, strlen(line) + 1);
    h->newer = version[7] == '1';
    h->keep = h->newer;
    h->tunnel = !strcmp(line, "CONNECT");
    for (const char *p = target; *p; p++)
        if (*p <= 0x20 || *p > 0x7e)
            return "400 the URL has characters that must be escaped";
    return read_target(target, h);
}

static const char *read_length(const char *value, struct request_head *h)
{
    if (h->length >= 0 || !*value || strlen(value) > 15 || strspn(value, "0123456789") != strlen(value))
        return "400 Content-Length is malformed";
    h->length = strtoll(value, NULL, 10);
    return NULL;
}

/* The Host of a request names the host that is asked, or the request is for another one than it says. */
static const char *check_host(const char *value, const struct request_head *h)
{
    struct request_head named = {0};

    if (!read_authority(value, strlen(value), h->tunnel ? 443 : 80, &named)
        || strcmp(named.host, h->host) != 0 || (strchr(value, ':') && named.port != h->port))
        return "403 its Host header names another host";
    return NULL;
}

/* What concerns the connection to us, and is not passed on. */
static bool ends_at_proxy(const char *name)
{
    static const char *const ours[] = {
        "Keep-Alive",        "TE", "Trailer", "Upgrade", "Proxy-Connection", "Proxy-Authorization",
        "Proxy-Authenticate"};

    for (size_t i = 0; i < countof(ours); i++)
        if (!strcasecmp(name, ours[i]))
            return true;
    return false;
}

static const char *take_field(const char *name, const char *value, struct request_head *h)
{
    if (!strcasecmp(name, "Content-Length"))
        return read_length(value, h);
    if (!strcasecmp(name, "Transfer-Encoding"))
        return "411 give the body with its Content-Length";
    if (!strcasecmp(name, "Host"))
        return check_host(value, h);
    if (!strcasecmp(name, "Connection")) {
        h->keep = strcasestr(value, "close") ? false : h->keep;
        return NULL;
    }
    if (!strcasecmp(name, "Expect")) {
        h->expects = !strcasecmp(value, "100-continue");
        return h->expects ? NULL : "417 only 100-continue can be expected";
    }
    if (ends_at_proxy(name))
        return NULL;
    if (h->n == HEAD_FIELDS)
        return "431 too many headers";
    h->v[h->n++] = (struct head_field){name, value};
    return NULL;
}

static const char *read_head_field(char *line, struct request_head *h)
{
    char *colon = strchr(line, ':');

    if (!colon)
        return "400 a header has no colon";
    *colon = '\0';
    if (!is_token(line))
        return "400 a header has a malformed name";
    char *value = colon + 1 + strspn(colon + 1, " \t");
    size_t len = strlen(value);
    while (len && (value[len - 1] == ' ' || value[len - 1] == '\t'))
        value[--len] = '\0';
    for (const char *p = value; *p; p++)
        if (((unsigned char)*p < 0x20 && *p != '\t') || *p == 0x7f)
            return "400 a header has control characters";
    return take_field(line, value, h);
}

const char *head_read(char *text, size_t len, struct request_head *h)
{
    const char *wrong = NULL;
    bool first = true;

    *h = (struct request_head){.length = -1};
    if (len < 4 || memchr(text, 0, len))
        return "400 not a request of HTTP/1.1";
    text[len - 2] = '\0'; /* before the blank line's CR LF, the last line ends in its own */
    for (char *line = text; *line && !wrong; first = false) {
        char *end = strstr(line, "\r\n");

        if (!end || memchr(line, '\n', (size_t)(end - line)))
            return "400 a line of the head does not end as it must";
        *end = '\0';
        wrong = first ? read_line(line, h) : read_head_field(line, h);
        line = end + 2;
    }
    if (!wrong && h->length < 0)
        h->length = 0;
    return wrong || !first ? wrong : "400 not a request of HTTP/1.1";
}
