/* endpoint.h - decides which model is asked, at which URL, with which key.
 *
 * base_url and provider are taken from the highest layer that sets either of them. If no layer does, the
 * first known provider counts whose key or URL is in the environment, then in .env, then in config.yaml. A
 * model set in the same layer as another provider belongs to that provider. A folder's .env cannot override
 * the user's choices: it cannot set the URL of a provider whose key or URL the user has set, and if the
 * environment chooses a provider, it may only name another one that the user has a key or URL for. A URL that
 * is not the provider's own must be allowed by the user (folder.h). Keys: binding.h.
 */
#ifndef CONFIG_ENDPOINT_H
#define CONFIG_ENDPOINT_H

#include <stdbool.h>

#include "config/binding.h"
#include "config/provider.h"
#include "config/source.h"

struct config;
struct error;
struct loop;

struct endpoint {
    bool found;                   /* false: nothing is configured (a local server may be looked for) */
    const struct provider *entry; /* NULL: a bare base URL */
    const char *provider;         /* its name, or "custom" */
    char *base_url;
    enum model_api api;
    bool by_folder;     /* .env chose where questions go: provider or URL */
    bool folders_place; /* and the place itself is one that .env names, not a service's own */
    bool passed_over;   /* .env's key belongs to a URL of its own that does not count */
    /* the entry's URL variable leads to another host: what the entry says of its service does not hold */
    bool elsewhere;
    const char *model;              /* NULL: none is known */
    const struct argv *models;      /* the preference list that it is the first of; NULL: the user named it */
    char *key;                      /* NULL: none is bound, or it comes from a command that was not run yet */
    const struct argv *key_command; /* the bound key comes from here */
    const char *ca_cert;            /* a file of certificates to trust, or NULL */
    /* for messages: the variable or place it came from, or should come from */
    char *key_name;
    char *unbound; /* a key there is that is not sent, and why; or NULL */
    struct binding binding;
    struct source provider_source, url_source, api_source, model_source, key_source;
};

/* What the user knows it by: the service's title, or its URL where that leads elsewhere or nobody knows it.
 * Lives as long as e. */
const char *endpoint_title(const struct endpoint *e);
/* Everything known of a model at this endpoint: the user's options go before its profile, and what the
 * provider's entry says of thinking counts where its profile says nothing. */
struct model_facts endpoint_facts(const struct config *c, const struct endpoint *e, const char *model);
/* look: what it would be, with nobody asked and nothing said (folder.h). */
int endpoint_look(struct config *c, struct endpoint *e, struct error *err);
int endpoint_choose(struct config *c, struct endpoint *e, struct error *err);
/* A service of its own place that wants a key, and there is none for it: said before anything is sent. */
int endpoint_check_key(const struct endpoint *e, struct error *err);
/* The first local server that answered, or one of the user's choice, becomes the endpoint. */
void endpoint_take_local(struct config *c, struct endpoint *e, const struct provider *p);
/* Run the command that the key comes from, if it does. At most 60 s; its first line is the key. */
int endpoint_fetch_key(struct endpoint *e, struct loop *loop, struct error *err);
void endpoint_release(struct endpoint *e);

#endif
