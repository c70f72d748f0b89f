/* provider.h - what is known of model services: YAML that is built in, and what the user adds. endpoint.h
 * decides which of them is asked.
 */
#ifndef CONFIG_PROVIDER_H
#define CONFIG_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/argv.h"
#include "yaml/fields.h"
#include "config/profile.h"

struct error;
struct ydoc;

struct provider { /* strings are owned; NULL where not set */
    char *name, *title, *base_url, *other_url, *url_variable, *host_variable, *api_key;
    char *key_variable[KEY_VARIABLES + 1];
    struct argv api_key_command;
    struct argv models; /* the default, then those that replace it when the service has it no longer */
    enum model_api api;
    /* The API of the other service that url_variable leads to, if its host is another one. */
    enum model_api api_elsewhere;
    bool has_api_elsewhere;
    bool key_header; /* the key is sent as "api-key: KEY" */
    enum thinking thinking;
    enum reasoning_back reasoning_back;
    struct service_facts facts; /* its string is owned */
    struct profiles profiles;   /* of models at this service; they come before the general ones */
    bool local, discover, allow_insecure;
    bool by_name;    /* chosen only when it is named, since its key variable is set for much else */
    int key_line;    /* of api_key or api_key_command in config.yaml */
    int api_line;    /* of api in config.yaml */
    int models_line; /* of models or model in config.yaml; 0: the built-in ones */
    int url_line;    /* of base_url in config.yaml; 0: the built-in one */
};

struct providers {
    struct provider *v;
    size_t n;
};

/* Add to, or change field by field, what is there. builtin: line numbers and owners are not kept. */
int providers_read(struct providers *p, const struct ydoc *map, bool builtin, struct error *err);
int providers_builtin(struct providers *p, struct error *err);
void providers_release(struct providers *p);

const struct provider *provider_find(const struct providers *p, const char *name);
const char *provider_nearest(const struct providers *p, const char *name);

#endif
