/* guard.c - compares Host, Origin, Sec-Fetch-Site and Content-Type with what a program of ours would send. */
#include "server/guard.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/address.h"
#include "base/argv.h"
#include "base/mem.h"
#include "server/listen.h"

/* Cut "name:port" or "[v6]:port" into name (without brackets) and port (80 where there is none). */
static bool cut_host(const char *host, char *name, size_t size, unsigned *port)
{
    const char *end = host[0] == '[' ? strchr(host, ']') : host + strcspn(host, ":");
    const char *from = host + (host[0] == '[');
    const char *rest = end ? end + (host[0] == '[') : NULL;
    char *stop;

    if (!end || end == from || (size_t)(end - from) >= size)
        return false;
    memcpy(name, from, (size_t)(end - from));
    name[end - from] = '\0';
    *port = 80;
    if (!*rest)
        return true;
    if (rest[0] != ':' || rest[1] < '0' || rest[1] > '9')
        return false;
    *port = (unsigned)strtoul(rest + 1, &stop, 10);
    return *stop == '\0' && strlen(rest + 1) <= 5;
}

bool guard_is_name(const char *name)
{
    char cut[256];
    struct in6_addr six;
    unsigned port;

    if (inet_pton(AF_INET6, name, &six) == 1)
        return true;
    return cut_host(name, cut, sizeof cut, &port) && !strcmp(cut, name) && !strpbrk(name, "/@*[] ");
}

char *guard_name(const char *host)
{
    char name[256];
    unsigned port;

    return cut_host(host, name, sizeof name, &port) ? xstrdup(name) : NULL;
}

/* Is it the address that we listen on, or with a wildcard any? */
static bool is_our_address(const struct listen_address *a, const char *name)
{
    struct in_addr v4;
    struct in6_addr v6;

    if (inet_pton(AF_INET, name, &v4) == 1)
        return a->wildcard
               || (a->addr.ss_family == AF_INET
                   && ((const struct sockaddr_in *)&a->addr)->sin_addr.s_addr == v4.s_addr);
    if (inet_pton(AF_INET6, name, &v6) == 1)
        return a->wildcard
               || (a->addr.ss_family == AF_INET6
                   && !memcmp(&((const struct sockaddr_in6 *)&a->addr)->sin6_addr, &v6, sizeof v6));
    return false;
}

bool guard_host(const struct listen_address *a, const struct argv *allowed, const char *host)
{
    static const char *const loopback[] = {"127.0.0.1", "localhost", "::1"};
    char name[256];
    unsigned port;

    if (a->local)
        return true;
    if (!host || !cut_host(host, name, sizeof name, &port))
        return false;
    for (size_t i = 0; allowed && i < allowed->n; i++)
        if (!strcasecmp(allowed->v[i], name))
            return true;
    if (port != a->port)
        return false;
    for (size_t i = 0; (a->loopback || a->wildcard) && i < countof(loopback); i++)
        if (!strcasecmp(loopback[i], name))
            return true;
    return is_our_address(a, name);
}

bool guard_origin(const struct listen_address *a, const struct argv *allowed, const char *origin)
{
    static const char *const schemes[] = {"http://", "https://"};

    if (!origin)
        return true;
    for (size_t i = 0; !a->local && i < countof(schemes); i++)
        if (!strncasecmp(origin, schemes[i], strlen(schemes[i])))
            return guard_host(a, allowed, origin + strlen(schemes[i]));
    return false;
}

bool guard_fetch_site(const char *value)
{
    return !value || !strcasecmp(value, "same-origin") || !strcasecmp(value, "none");
}

bool guard_json(const char *type)
{
    static const char json[] = "application/json";

    if (!type || strncasecmp(type, json, sizeof json - 1) != 0)
        return false;
    type += sizeof json - 1;
    type += strspn(type, " \t");
    return *type == '\0' || *type == ';';
}

bool guard_is_proxy(const char *text)
{
    return !strcmp(text, "unix") || address_is_range(text);
}

bool guard_proxy(const struct listen_address *a, const struct argv *proxies, const unsigned char address[16])
{
    for (size_t i = 0; i < proxies->n; i++)
        if (a->local ? !strcmp(proxies->v[i], "unix") : address_is_in(address, proxies->v[i]))
            return true;
    return false;
}

char *guard_last(const char *list)
{
    const char *comma = strrchr(list, ','), *last = comma ? comma + 1 : list;

    last += strspn(last, " \t");
    return xmemdup0(last, strcspn(last, " \t"));
}
