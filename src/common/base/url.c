/* url.c - finds the parts of a URL, and refuses one that another parser might read otherwise. */
#include "base/url.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/scrub.h"

static const char *authority(const char *url)
{
    const char *p = strstr(url, "://");
    return p ? p + 3 : url;
}

static size_t authority_len(const char *url)
{
    return strcspn(authority(url), "/?#");
}

/* Find the authority without "user:password@": [*from, *to). */
static void without_credentials(const char *url, const char **from, const char **to)
{
    *from = authority(url);
    *to = *from + authority_len(url);
    for (const char *p = *from; p < *to; p++)
        if (*p == '@')
            *from = p + 1;
}

/* Copy the host, with the brackets of IPv6. False if it is empty or too long, or if the port is not valid.
 */
static bool host_of(const char *url, char *host, size_t size)
{
    const char *a, *end, *stop;

    without_credentials(url, &a, &end);
    if (*a == '[') {
        stop = memchr(a, ']', (size_t)(end - a));
        if (!stop)
            return false;
        stop++;
    } else {
        stop = memchr(a, ':', (size_t)(end - a));
        if (!stop)
            stop = end;
    }
    if (stop == a || (size_t)(stop - a) >= size || (stop < end && *stop != ':'))
        return false;
    for (const char *p = stop + 1; p < end; p++)
        if (!isdigit((unsigned char)*p) || p - stop > 5)
            return false;
    if (stop < end && strtol(stop + 1, NULL, 10) > 65535)
        return false;
    memcpy(host, a, (size_t)(stop - a));
    host[stop - a] = '\0';
    return true;
}

int url_check(const char *url, const char *where, struct error *err)
{
    autofree char *shown = scrub_line(url, SCRUB_TERMINAL);
    char host[256];

    if (strlen(url) > 2048)
        return error_set(err, ERROR_USAGE, 0, "%s: the URL is longer than 2048 bytes", where);
    if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
        return error_set(err, ERROR_USAGE, 0,
                         "%s: expected a URL that starts with https:// or http://, found \"%.80s\"", where,
                         shown);
    if (memchr(authority(url), '@', authority_len(url)))
        return error_set(err, ERROR_USAGE, 0,
                         "%s: the URL must not contain a user name or password\n"
                         "Keys belong in variables: see sandpiper-config(5), KEYS.",
                         where);
    for (const char *p = url; *p; p++)
        if (!isgraph((unsigned char)*p) || strchr("\\#\"<>^`{|}", *p))
            return error_set(err, ERROR_USAGE, 0, "%s: the URL \"%.80s\" contains an invalid character",
                             where, shown);
    if (!host_of(url, host, sizeof host))
        return error_set(err, ERROR_USAGE, 0, "%s: the URL \"%.80s\" has no valid host or port", where,
                         shown);
    return 0;
}

bool url_is_plain(const char *url)
{
    return !strncmp(url, "http://", 7);
}

bool url_is_loopback(const char *url)
{
    char host[256];
    struct in_addr in;

    if (!host_of(url, host, sizeof host))
        return false;
    if (!strcasecmp(host, "localhost") || !strcmp(host, "[::1]"))
        return true;
    return inet_pton(AF_INET, host, &in) == 1 && (ntohl(in.s_addr) >> 24) == 127;
}

bool url_same_service(const char *url, const char *base)
{
    char host[256], home[256];

    if (!host_of(url, host, sizeof host) || !host_of(base, home, sizeof home))
        return false;
    size_t n = strlen(host), m = strlen(home);
    return n >= m && !strcasecmp(host + n - m, home) && (n == m || host[n - m - 1] == '.');
}

char *url_trim(const char *url)
{
    return xmemdup0(url, trimmed_length(url, strlen(url), "/"));
}

char *url_from_host(const char *text, int port)
{
    autofree char *host = url_trim(text);
    bool scheme = !strncmp(host, "http://", 7) || !strncmp(host, "https://", 8);
    const char *p = scheme ? authority(host) : host;
    size_t len = strcspn(p, "/"); /* of host and port */
    const char *end = *p == '[' ? memchr(p, ']', len) : p;

    if (len == 0 || !end || (!scheme && strstr(host, "://")))
        return NULL;
    const char *colon = memchr(end, ':', (size_t)(p + len - end)), *path = p + len;
    size_t name = colon ? (size_t)(colon - p) : len;
    autofree char *behind = colon || scheme ? xmemdup0(p + name, len - name) : xasprintf(":%d", port);
    /* a server may listen on this address, but nobody can connect to it */
    bool any = name == 0 || (name == 7 && !strncmp(p, "0.0.0.0", 7));
    bool versioned = strlen(path) >= 3 && !strcmp(path + strlen(path) - 3, "/v1");

    return xasprintf("%.*s%.*s%s%s%s", scheme ? (int)(p - host) : 7, scheme ? host : "http://",
                     any ? 9 : (int)name, any ? "127.0.0.1" : p, behind, path, versioned ? "" : "/v1");
}

char *url_endpoint(const char *base, const char *path, struct error *err)
{
    bool http = base && (!strncasecmp(base, "http://", 7) || !strncasecmp(base, "https://", 8));
    const char *from = "", *to = from;
    if (http)
        without_credentials(base, &from, &to);
    if (from == to || strpbrk(base, " \t\r\n"))
        return error_null(err, ERROR_USAGE, 0,
                          "base URL \"%.200s\" is not an http:// or https:// URL with a host",
                          base ? base : "");
    const char *query = base + strcspn(base, "?#");
    size_t len = trimmed_length(base, (size_t)(query - base), "/");
    size_t n = strlen(path);
    bool there = len > n && !strncmp(base + len - n, path, n);
    return xasprintf("%.*s%s%s", (int)len, base, there ? "" : path, *query == '?' ? query : "");
}

char *url_host(const char *url)
{
    const char *from, *to;
    without_credentials(url, &from, &to);
    return xmemdup0(from, (size_t)(to - from));
}

char *url_show(const char *url)
{
    const char *from, *to, *scheme = strstr(url, "://");
    without_credentials(url, &from, &to);
    int head = scheme ? (int)(scheme + 3 - url) : 0;
    size_t len = strcspn(from, "?#");
    return xasprintf("%.*s%.*s", head, url, (int)(len < URL_SHOWN ? len : URL_SHOWN), from);
}
