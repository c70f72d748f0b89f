/* rules.h - which hosts the code of a sandbox may reach (--allow-net), and what is added for which of them
 * (--secret). Pure: text in, answers out; nothing here resolves a name.
 *
 *     HOST[:PORT]        api.example.com, 192.168.1.5:8080, [::1]:8080
 *     *.HOST[:PORT]      every name below it, not the name itself
 *     NAME=HOST[:PORT][=HEADER]
 *                        the variable NAME; "Authorization: Bearer VALUE", or with HEADER "HEADER: VALUE"
 *
 * Without a port, a host is meant with 80 and 443.
 *
 * RULE: A name that is allowed leads to public addresses only; any other address must be written out.
 */
#ifndef PROXY_RULES_H
#define PROXY_RULES_H

#include <stdbool.h>
#include <stddef.h>

struct error;
struct sockaddr;

#define HOST_SIZE          256 /* with its NUL */
#define RULES_MAX          200
#define SECRETS_MAX        20
#define SECRET_VALUE_LEAST 8 /* bytes; a shorter one would be found all over an answer */
#define SECRET_VALUE_MOST  4096

enum host_kind { HOST_BAD, HOST_NAME, HOST_ADDRESS };

/* A host as it is compared: in lower case, without a dot at its end; an address as inet_ntop writes it. What
 * only looks like an address (127.1, 0x7f000001) is bad. text need not end in a NUL. */
enum host_kind host_normal(const char *text, size_t len, char out[HOST_SIZE]);

struct net_rule {
    char host[HOST_SIZE]; /* of "*.example.com": "example.com" */
    bool below;           /* every name below it */
    bool address;
    unsigned port; /* 0: 80 and 443 */
};

struct net_secret {
    char *name, *value;
    char *header; /* NULL: "Authorization: Bearer" */
    struct net_rule to;
};

struct net_rules {
    struct net_rule *v;
    size_t n;
    struct net_secret secrets[SECRETS_MAX];
    size_t n_secrets;
};

void rules_init(struct net_rules *r);
void rules_release(struct net_rules *r);

/* text: one or more of the forms above, with commas between them. -1 with ERROR_USAGE. */
int rules_add(struct net_rules *r, const char *text, struct error *err);
/* Allows http:// to that host too, and only that. value is copied; NULL: it is not set in the environment,
 * which is an error. */
int rules_add_secret(struct net_rules *r, const char *text, const char *value, struct error *err);
/* The name of the variable in the text of a secret; *len is 0 if there is none. */
const char *secret_variable(const char *text, size_t *len);

char *rule_text(const struct net_rule *r); /* as it is written; the caller frees */
/* The rule that allows the host (normal) at that port; NULL: none does. */
const struct net_rule *rules_find(const struct net_rules *r, const char *host, unsigned port);
/* The secret that is added to a request for http://HOST:PORT; NULL: none is. */
const struct net_secret *rules_secret(const struct net_rules *r, const char *host, unsigned port);
/* May we connect to it for that rule? */
bool rule_permits(const struct net_rule *r, const struct sockaddr *address);

#endif
