/* first_packet.c - the first packet: both how it is written and how it is read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "json/json.h"
#include "proxy/private.h"
#include "proxy/proxy.h"

#define CA_CERT_MAX (4 << 20)

static struct json *secret_json(const struct net_secret *s)
{
    autofree char *to = rule_text(&s->to);
    autofree char *text = xasprintf("%s=%s%s%s", s->name, to, s->header ? "=" : "",
                                    s->header ? s->header : "");

    return json_object_of({"text", json_string(text)}, {"value", json_string(s->value)});
}

char *proxy_setup(const struct net_rules *r, const struct proxy_limits *most, const char *ca_cert,
                  struct error *err)
{
    struct json *allow = json_array(), *secrets = json_array();

    for (size_t i = 0; i < r->n; i++) {
        autofree char *one = rule_text(&r->v[i]);
        json_add(allow, json_string(one));
    }
    for (size_t i = 0; i < r->n_secrets; i++)
        json_add(secrets, secret_json(&r->secrets[i]));
    autojson struct json *o = json_object_of(
        {"allow", allow}, {"secrets", secrets}, {"max_sent", json_integer(most->sent)},
        {"max_received", json_integer(most->received)}, {"max_requests", json_integer(most->requests)});
    if (ca_cert && r->n_secrets) {
        autofree char *path = realpath(ca_cert, NULL); /* the process works elsewhere */
        if (!path) {
            error_set(err, ERROR_USAGE, errno, "--ca-cert %.300s cannot be read", ca_cert);
            return NULL;
        }
        json_set(o, "ca_cert", json_string(path));
    }
    return json_print(o);
}

int setup_read(struct gate *g, const char *text, size_t len, struct error *err)
{
    autojson struct json *o = json_parse(text, len, 0, NULL, err);
    const char *ca_cert = json_str(json_get(o, "ca_cert"));
    struct buf certificates = BUF_INIT(CA_CERT_MAX);

    if (!o)
        return -1;
    rules_init(&g->rules);
    for (const struct json *one = json_first(json_get(o, "allow")); one; one = json_next(one))
        if (rules_add(&g->rules, json_text(one), err) < 0)
            return -1;
    for (const struct json *one = json_first(json_get(o, "secrets")); one; one = json_next(one))
        if (rules_add_secret(&g->rules, json_text(json_get(one, "text")), json_str(json_get(one, "value")),
                             err)
            < 0)
            return -1;
    g->max_sent = json_int(json_get(o, "max_sent"), 0);
    g->max_received = json_int(json_get(o, "max_received"), 0);
    g->max_requests = (unsigned)json_int(json_get(o, "max_requests"), 0);
    if (ca_cert && file_read(ca_cert, CA_CERT_MAX, &certificates, err) < 0)
        return -1;
    g->ca_cert = ca_cert ? buf_steal(&certificates, &g->ca_cert_len) : NULL;
    return 0;
}
