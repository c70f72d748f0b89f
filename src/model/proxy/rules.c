/* rules.c - reads the forms of --allow-net and --secret, and compares hosts with them.
 */
#include "proxy/rules.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/address.h"
#include "base/error.h"
#include "base/mem.h"

#define LABEL_MAX 63

static bool is_label_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/* Labels of letters, digits, - and _, with a dot between them. */
static bool host_is_name(const char *host)
{
    size_t label = 0;

    for (; *host; host++) {
        if (*host == '.' && !label)
            return false;
        if (*host != '.' && (!is_label_char(*host) || label == LABEL_MAX))
            return false;
        label = *host == '.' ? 0 : label + 1;
    }
    return label > 0;
}

/* Resolvers take 127.1, 0x7f.1 and 2130706433 for addresses: whatever ends in a number is one, or bad. */
static bool ends_in_number(const char *host)
{
    const char *last = strrchr(host, '.');

    last = last ? last + 1 : host;
    return !strncmp(last, "0x", 2) || strspn(last, "0123456789") == strlen(last);
}

static enum host_kind normal_v6(const char *text, size_t len, char out[HOST_SIZE])
{
    struct in6_addr v6;
    char plain[64];

    if (len >= sizeof plain)
        return HOST_BAD;
    memcpy(plain, text, len);
    plain[len] = '\0';
    if (inet_pton(AF_INET6, plain, &v6) != 1)
        return HOST_BAD;
    inet_ntop(AF_INET6, &v6, out, HOST_SIZE);
    return HOST_ADDRESS;
}

enum host_kind host_normal(const char *text, size_t len, char out[HOST_SIZE])
{
    struct in_addr v4;

    if (len >= 2 && text[0] == '[' && text[len - 1] == ']')
        return normal_v6(text + 1, len - 2, out);
    if (memchr(text, ':', len))
        return normal_v6(text, len, out);
    if (len && text[len - 1] == '.')
        len--;
    if (!len || len >= HOST_SIZE - 2)
        return HOST_BAD;
    for (size_t i = 0; i < len; i++)
        out[i] = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] - 'A' + 'a') : text[i];
    out[len] = '\0';
    if (!host_is_name(out))
        return HOST_BAD;
    if (!ends_in_number(out))
        return HOST_NAME;
    if (inet_pton(AF_INET, out, &v4) != 1)
        return HOST_BAD;
    inet_ntop(AF_INET, &v4, out, HOST_SIZE);
    return HOST_ADDRESS;
}

void rules_init(struct net_rules *r)
{
    *r = (struct net_rules){.v = xcalloc(RULES_MAX, sizeof *r->v)};
}

void rules_release(struct net_rules *r)
{
    for (size_t i = 0; i < r->n_secrets; i++) {
        free(r->secrets[i].name);
        free(r->secrets[i].header);
        free_secret(r->secrets[i].value);
    }
    free(r->v);
    *r = (struct net_rules){0};
}

static int rule_bad(const char *text, size_t len, const char *why, struct error *err)
{
    return error_set(err, ERROR_USAGE, 0,
                     "--allow-net %.*s: %s\n"
                     "Name a host, or all below one: api.example.com, *.example.com, 192.168.1.5:8080",
                     (int)(len < 300 ? len : 300), text, why);
}

/* The length of the host in HOST[:PORT]; *port gets the number, or 0. False: that is no port. */
static bool split_port(const char *text, size_t *len, unsigned *port)
{
    const char *end = text + *len, *close = memchr(text, ']', *len);
    const char *colon = memchr(close ? close : text, ':', (size_t)(end - (close ? close : text)));
    unsigned long number = 0;

    *port = 0;
    if (!colon || (!close && memchr(colon + 1, ':', (size_t)(end - colon - 1)))) /* a bare IPv6 address */
        return true;
    for (const char *p = colon + 1; p < end; p++) {
        if (*p < '0' || *p > '9' || number > 65535)
            return false;
        number = number * 10 + (unsigned long)(*p - '0');
    }
    *len = (size_t)(colon - text);
    *port = (unsigned)number;
    return number >= 1 && number <= 65535;
}

static int rule_read(const char *text, size_t len, struct net_rule *r, struct error *err)
{
    size_t host_len = len;

    *r = (struct net_rule){.below = len > 2 && !strncmp(text, "*.", 2)};
    if (memmem(text, len, "://", 3))
        return rule_bad(text, len, "that is a URL, not a host alone", err);
    if (!split_port(text, &host_len, &r->port))
        return rule_bad(text, len, "a port is a number from 1 to 65535", err);
    size_t from = r->below ? 2 : 0;
    enum host_kind kind = host_normal(text + from, host_len - from, r->host);
    r->address = kind == HOST_ADDRESS;
    if (kind == HOST_BAD || (r->below && (r->address || !strchr(r->host, '.'))))
        return rule_bad(text, len, "that is no host", err);
    return 0;
}

int rules_add(struct net_rules *r, const char *text, struct error *err)
{
    if (!text[strspn(text, ", ")])
        return rule_bad(text, strlen(text), "no host is named", err);
    while (*text) {
        text += strspn(text, ", ");
        size_t len = strcspn(text, ", ");

        if (len && r->n == RULES_MAX)
            return error_set(err, ERROR_USAGE, 0, "--allow-net: more than %d hosts", RULES_MAX);
        if (len && rule_read(text, len, &r->v[r->n], err) < 0)
            return -1;
        r->n += len > 0;
        text += len;
    }
    return 0;
}

const char *secret_variable(const char *text, size_t *len)
{
    static const char chars[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";

    *len = strspn(text, chars);
    if (text[*len] != '=' || (*text >= '0' && *text <= '9'))
        *len = 0;
    return text;
}

static bool is_header_name(const char *s)
{
    static const char chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    /* those are the proxy's own to set */
    static const char *const ours[] = {"host",    "connection", "content-length", "transfer-encoding", "te",
                                       "upgrade", "trailer",    "expect",         "accept-encoding"};

    for (size_t i = 0; i < countof(ours); i++)
        if (!strcasecmp(s, ours[i]))
            return false;
    return *s && strlen(s) <= 100 && strspn(s, chars) == strlen(s);
}

static int check_secret(const char *name, const char *value, struct error *err)
{
    size_t len = value ? strlen(value) : 0;

    if (!len)
        return error_set(err, ERROR_USAGE, 0,
                         "--secret %s: the environment has no variable of that name\n"
                         "Set it first: export %s=...",
                         name, name);
    if (len < SECRET_VALUE_LEAST || len > SECRET_VALUE_MOST)
        return error_set(err, ERROR_USAGE, 0, "--secret %s: its value must have %d to %d bytes", name,
                         SECRET_VALUE_LEAST, SECRET_VALUE_MOST);
    for (; *value; value++)
        if (*value < 0x20 || *value > 0x7e)
            return error_set(err, ERROR_USAGE, 0,
                             "--secret %s: its value has characters that no header may have", name);
    return 0;
}

int rules_add_secret(struct net_rules *r, const char *text, const char *value, struct error *err)
{
    size_t n;
    autofree char *name = secret_variable(text, &n) && n ? xmemdup0(text, n) : NULL;

    if (!name)
        return error_set(err, ERROR_USAGE, 0,
                         "--secret %.100s: expected NAME=HOST, where NAME is a variable of the environment",
                         text);
    const char *host = text + n + 1, *header = strchr(host, '=');
    size_t len = header ? (size_t)(header++ - host) : strlen(host);
    if (header && !is_header_name(header))
        return error_set(err, ERROR_USAGE, 0, "--secret %s: \"%.100s\" is no header that can be added", name,
                         header);
    if (memchr(host, '*', len) || memchr(host, ',', len) || !len)
        return error_set(err, ERROR_USAGE, 0, "--secret %s: it goes to one host: NAME=api.example.com", name);
    if (r->n_secrets == SECRETS_MAX)
        return error_set(err, ERROR_USAGE, 0, "--secret: more than %d of them", SECRETS_MAX);
    if (check_secret(name, value, err) < 0)
        return -1;
    struct net_rule to;
    if (rule_read(host, len, &to, NULL) < 0)
        return error_set(err, ERROR_USAGE, 0,
                         "--secret %s: \"%.*s\" is no host\n"
                         "Name it alone: NAME=api.example.com, NAME=192.168.1.5:8080",
                         name, (int)(len < 300 ? len : 300), host);
    r->secrets[r->n_secrets++] = (struct net_secret){
        .name = steal(&name), .value = xstrdup(value), .header = xstrdup(header), .to = to};
    return 0;
}

char *rule_text(const struct net_rule *r)
{
    bool v6 = strchr(r->host, ':');
    autofree char *host = xasprintf("%s%s%s%s", r->below ? "*." : "", v6 ? "[" : "", r->host, v6 ? "]" : "");

    return r->port ? xasprintf("%s:%u", host, r->port) : steal(&host);
}

static bool rule_names(const struct net_rule *r, const char *host, unsigned port)
{
    size_t len = strlen(host), of = strlen(r->host);

    if (r->port ? r->port != port : port != 80 && port != 443)
        return false;
    if (!r->below)
        return !strcmp(host, r->host);
    return len > of + 1 && host[len - of - 1] == '.' && !strcmp(host + len - of, r->host);
}

const struct net_rule *rules_find(const struct net_rules *r, const char *host, unsigned port)
{
    for (size_t i = 0; i < r->n; i++)
        if (rule_names(&r->v[i], host, port))
            return &r->v[i];
    return NULL;
}

const struct net_secret *rules_secret(const struct net_rules *r, const char *host, unsigned port)
{
    for (size_t i = 0; i < r->n_secrets; i++)
        if (rule_names(&r->secrets[i].to, host, port))
            return &r->secrets[i];
    return NULL;
}

bool rule_permits(const struct net_rule *r, const struct sockaddr *address)
{
    char text[HOST_SIZE] = "";

    if (!r->address)
        return address_is_public(address);
    if (address->sa_family == AF_INET)
        inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)address)->sin_addr, text, sizeof text);
    else if (address->sa_family == AF_INET6)
        inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, text,
                  sizeof text);
    return !strcmp(text, r->host);
}
