/* address.c - compares an address with the ranges that are not public: private, loopback, link-local,
 * documentation and so on. A range that the user names is read here, too.
 */
#include "base/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct address_range {
    unsigned char bytes[16];
    unsigned bits;
};

static const struct address_range v4_none[] = {
    {{0}, 8},            /* this network */
    {{10}, 8},           /* private */
    {{100, 64}, 10},     /* carriers' NAT */
    {{127}, 8},          /* loopback */
    {{169, 254}, 16},    /* link-local, and the metadata of clouds */
    {{172, 16}, 12},     /* private */
    {{192, 0, 0}, 24},   /* protocol assignments */
    {{192, 0, 2}, 24},   /* documentation */
    {{192, 88, 99}, 24}, /* relays of 6to4 */
    {{192, 168}, 16},    /* private */
    {{198, 18}, 15},     /* measuring */
    {{198, 51, 100}, 24},
    {{203, 0, 113}, 24}, /* documentation */
    {{224}, 3},          /* multicast, reserved, broadcast */
};

/* All of IPv6 that is not 2000::/3 is none: loopback, mapped IPv4, NAT64, local, link-local, multicast. */
static const struct address_range v6_unicast = {{0x20}, 3};
static const struct address_range v6_none[] = {
    {{0x20, 0x01}, 23},             /* protocol assignments, Teredo */
    {{0x20, 0x01, 0x0d, 0xb8}, 32}, /* documentation */
    {{0x20, 0x02}, 16},             /* 6to4 */
    {{0x3f, 0xff}, 20},             /* documentation */
};

static bool within(const unsigned char *address, const struct address_range *r)
{
    unsigned whole = r->bits / 8, rest = r->bits % 8;
    unsigned mask = 0xff00u >> rest & 0xff;

    return !memcmp(address, r->bytes, whole)
           && (!rest || (address[whole] & mask) == (r->bytes[whole] & mask));
}

static bool within_any(const unsigned char *address, const struct address_range *r, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (within(address, &r[i]))
            return true;
    return false;
}

bool address_is_public(const struct sockaddr *address)
{
    unsigned char bytes[16];

    if (address->sa_family == AF_INET) {
        memcpy(bytes, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
        return !within_any(bytes, v4_none, countof(v4_none));
    }
    if (address->sa_family != AF_INET6)
        return false;
    memcpy(bytes, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, 16);
    return within(bytes, &v6_unicast) && !within_any(bytes, v6_none, countof(v6_none));
}

/* Reads the range as one of IPv6. */
static bool read_range(const char *text, struct address_range *out)
{
    size_t len = strcspn(text, "/"), digits = text[len] ? strspn(text + len + 1, "0123456789") : 0;
    autofree char *name = xmemdup0(text, len);
    unsigned char *at = out->bytes;
    unsigned most = 128;

    *out = (struct address_range){.bytes = {[10] = 0xff, [11] = 0xff}};
    if (inet_pton(AF_INET, name, at + 12) == 1)
        most = 32;
    else if (inet_pton(AF_INET6, name, at) != 1)
        return false;
    out->bits = 128;
    if (!text[len])
        return true;
    out->bits = 128 - most + (unsigned)strtoul(text + len + 1, NULL, 10);
    return digits > 0 && digits <= 3 && !text[len + 1 + digits] && out->bits <= 128;
}

bool address_is_range(const char *text)
{
    struct address_range r;

    return read_range(text, &r);
}

bool address_is_in(const unsigned char address[16], const char *range)
{
    struct address_range r;

    return read_range(range, &r) && within(address, &r);
}
