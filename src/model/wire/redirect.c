/* redirect.c - makes a whole URL of a Location, and compares its host and scheme with the one that was
 * asked.
 *
 * RULE: A redirect is never followed, and the user is told of its URL only where the chosen server still
 *     answers.
 */
#include "wire/redirect.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/url.h"

static bool is_https(const char *url)
{
    return !strncasecmp(url, "https://", 8);
}
static bool is_http(const char *url)
{
    return !strncasecmp(url, "http://", 7);
}

/* Compares hosts without their ports, because http and https never share one. */
static bool same_name(const char *a, const char *b)
{
    autofree char *one = url_host(a), *two = url_host(b);
    for (char *s[] = {one, two}, **p = s; p < s + countof(s); p++) {
        char *port = strrchr(*p, ':');
        if (port && !strchr(port, ']'))
            *port = '\0';
    }
    return *one && !strcasecmp(one, two);
}

static bool same_host(const char *a, const char *b)
{
    autofree char *one = url_host(a), *two = url_host(b);
    return *one && !strcasecmp(one, two);
}

/* Makes a whole URL of a location that may be a path or begin with "//". The caller frees it. */
static char *resolve(const char *url, const char *location)
{
    size_t scheme = strcspn(url, ":");
    if (!strncmp(location, "//", 2))
        return xasprintf("%.*s:%s", (int)scheme, url, location);
    if (*location != '/')
        return xstrdup(location);
    size_t host = scheme + 3 + strcspn(url + scheme + 3, "/?#");
    return xasprintf("%.*s%s", (int)host, url, location);
}

/* The length of the API's own path after the base URL, which a new base URL must not include. */
static size_t tail(const char *url, const char *base_url)
{
    size_t n = strcspn(url, "?#"), b = strcspn(base_url, "?#");
    while (b && base_url[b - 1] == '/')
        b--;
    return b < n && !strncmp(url, base_url, b) ? n - b : 0;
}

enum redirect redirect_read(const char *url, const char *base_url, const char *location, char **base)
{
    *base = NULL;
    if (!location || !*location)
        return REDIRECT_NOWHERE;
    autofree char *to = resolve(url, location);
    if (!is_http(to) && !is_https(to))
        return strstr(to, "://") ? REDIRECT_SCHEME : REDIRECT_NOWHERE;
    bool upgrade = is_http(url) && is_https(to);
    if (upgrade ? !same_name(url, to) : !same_host(url, to))
        return REDIRECT_HOST;
    if (is_https(url) && is_http(to))
        return REDIRECT_SCHEME;
    to[strcspn(to, "?#")] = '\0';
    size_t n = strlen(to), asked = strcspn(url, "?#"), path = tail(url, base_url);
    if (n == asked && !strncmp(to, url, n))
        return REDIRECT_NOWHERE;
    if (n > path && !strncmp(to + n - path, url + asked - path, path))
        to[n - path] = '\0';
    *base = url_show(to);
    return REDIRECT_SAME;
}
