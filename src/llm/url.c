/* url.c - see url.h. Not a URL parser: libcurl is that; this must only never show credentials. */
#include "llm/url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/mem.h"

/* The authority: [*from, *to) without "user:password@". */
static void authority(const char *url, const char **from, const char **to)
{
    const char *p = strstr(url, "://");
    p = p ? p + 3 : url;
    const char *end = p + strcspn(p, "/?#");
    for (const char *c = p; c < end; c++)
        if (*c == '@')
            p = c + 1;
    *from = p;
    *to = end;
}

char *url_endpoint(const char *base, const char *path, struct error *err)
{
    bool http = base && (!strncasecmp(base, "http://", 7) || !strncasecmp(base, "https://", 8));
    const char *from = "", *to = from;
    if (http)
        authority(base, &from, &to);
    if (from == to || strpbrk(base, " \t\r\n")) {
        error_set(err, ERROR_USAGE, 0, "base URL \"%.200s\" is no http:// or https:// URL with a host", base ? base : "");
        return NULL;
    }
    size_t len = strcspn(base, "?#");
    const char *query = base + len;
    while (len && base[len - 1] == '/')
        len--;
    size_t n = strlen(path);
    bool there = len > n && !strncmp(base + len - n, path, n);
    return xasprintf("%.*s%s%s", (int)len, base, there ? "" : path, *query == '?' ? query : "");
}

void url_host(const char *url, char *out, size_t size)
{
    const char *from, *to;
    authority(url, &from, &to);
    snprintf(out, size, "%.*s", (int)(to - from), from);
}

void url_show(const char *url, char *out, size_t size)
{
    const char *from, *to, *scheme = strstr(url, "://");
    authority(url, &from, &to);
    int head = scheme ? (int)(scheme + 3 - url) : 0;
    snprintf(out, size, "%.*s%.*s", head, url, (int)(strcspn(from, "?#")), from);
}

bool url_loopback(const char *url)
{
    char host[256];
    url_host(url, host, sizeof host);
    if (host[0] == '[')
        return !strncmp(host, "[::1]", 5);
    char *colon = strchr(host, ':');
    if (colon)
        *colon = '\0';
    size_t n = strlen(host);
    if (!strcasecmp(host, "localhost") || (n > 10 && !strcasecmp(host + n - 10, ".localhost")))
        return true;
    /* 127.0.0.0/8, as digits and dots only: 127.evil.example is a name */
    return !strncmp(host, "127.", 4) && strspn(host, "0123456789.") == n;
}
