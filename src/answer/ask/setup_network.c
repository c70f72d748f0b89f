/* setup_network.c - what --allow-net and --secret say, as the setup of the proxy and in words.
 */
#include <string.h>

#include "ask/setup.h"
#include "base/argv.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "config/config.h"
#include "proxy/proxy.h"
#include "proxy/rules.h"
#include "sandbox/sandbox.h"

void network_setup_release(struct network_setup *n)
{
    free_secret(n->text);
    free(n->line);
    free(n->no_proxy);
    free(n->added);
    *n = (struct network_setup){0};
}

static int read_rules(const struct config *c, struct net_rules *r, struct error *err)
{
    for (size_t i = 0; i < c->allow_net.n; i++)
        if (rules_add(r, c->allow_net.v[i], err) < 0)
            return -1;
    for (size_t i = 0; i < c->secrets.n; i++) {
        size_t len;
        autofree char *name = xstrdup(secret_variable(c->secrets.v[i], &len));

        name[len] = '\0';
        if (rules_add_secret(r, c->secrets.v[i], config_env(c, name), err) < 0)
            return -1;
    }
    return 0;
}

/* The code's own servers are not asked through the proxy, unless that address of this machine is allowed. */
static char *own_loopback(const struct net_rules *r)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "::1"};
    struct buf out = BUF_INIT(0);

    for (size_t i = 0; i < countof(names); i++) {
        bool allowed = false;

        for (size_t k = 0; k < r->n + r->n_secrets; k++)
            allowed |= !strcmp(names[i], k < r->n ? r->v[k].host : r->secrets[k - r->n].to.host);
        if (!allowed)
            buf_addf(&out, "%s%s", out.len ? "," : "", names[i]);
    }
    return buf_steal(&out, NULL);
}

static void network_words(const struct net_rules *r, struct network_setup *n)
{
    struct buf line = BUF_INIT(0), added = BUF_INIT(0);

    for (size_t i = 0; i < r->n; i++) {
        autofree char *host = rule_text(&r->v[i]);
        buf_addf(&line, "%s%s", line.len ? ", " : "", host);
    }
    for (size_t i = 0; i < r->n_secrets; i++) {
        autofree char *host = rule_text(&r->secrets[i].to);
        buf_addf(&line, "%shttp://%s", line.len ? ", " : "", host);
        buf_addf(&added, "%s%s is added to requests to http://%s", added.len ? "; " : "", r->secrets[i].name,
                 host);
    }
    n->line = buf_steal(&line, NULL);
    n->no_proxy = own_loopback(r);
    n->added = r->n_secrets ? buf_steal(&added, NULL) : NULL;
}

int setup_network(const struct config *c, struct network_setup *n, struct error *err)
{
    const struct proxy_limits most = {c->net_max_sent, c->net_max_received, c->net_max_requests};
    struct net_rules r autorelease(rules_release);

    *n = (struct network_setup){0};
    rules_init(&r);
    if (read_rules(c, &r, err) < 0)
        return -1;
    if (!r.n && !r.n_secrets)
        return 0;
    network_words(&r, n);
    n->text = proxy_setup(&r, &most, c->front.ca_cert, err);
    return n->text ? 0 : -1;
}

void network_setup_use(const struct network_setup *n, struct sandbox_options *o)
{
    o->network = n->text;
    o->run.no_proxy = n->no_proxy;
    o->hosts = n->line;
}

char *network_setup_line(const struct network_setup *n)
{
    return xasprintf("network: code may reach %s%s%s", n->line, n->added ? "; " : "",
                     n->added ? n->added : "");
}
