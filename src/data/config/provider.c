/* provider.c - reads the providers, and finds one by its name or the nearest. */
#include "config/provider.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "config/embedded.h"
#include "yaml/fields.h"
#include "config/option.h"
#include "yaml/ydoc.h"

#define P(member) offsetof(struct provider, member)
static const struct field provider_fields[] = {
    {"title", F_STRING, P(title), NULL, false, 0},
    {"base_url", F_URL, P(base_url), NULL, false, 0},
    {"other_url", F_URL, P(other_url), NULL, false, 0},
    {"url_variable", F_VARIABLE, P(url_variable), NULL, false, 0},
    {"host_variable", F_VARIABLE, P(host_variable), NULL, false, 0},
    {"key_variable", F_VARIABLES, P(key_variable), NULL, false, 0},
    {"auth", F_CHOICE_BOOL, P(key_header), "api-key|bearer", false, 0},
    {"models", F_STRINGS, P(models), NULL, false, 0},
    {"model", F_STRINGS, P(models), NULL, false, 0},
    {"api", F_CHOICE, P(api), MODEL_APIS, false, 0},
    {"api_elsewhere", F_CHOICE, P(api_elsewhere), MODEL_APIS, false, P(has_api_elsewhere)},
    {"max_tokens", F_CHOICE_BOOL, P(facts.send_max_tokens), "send|omit", false, 0},
    {"max_tokens_field", F_CHOICE_BOOL, P(facts.max_completion_tokens), "max_completion_tokens|max_tokens",
     false, 0},
    {"thinking", F_CHOICE, P(thinking), THINKINGS, false, 0},
    {"reasoning_back", F_CHOICE, P(reasoning_back), REASONING_BACK, false, 0},
    {"signatures", F_BOOL, P(facts.signatures), NULL, false, 0},
    {"own_names", F_BOOL, P(facts.own_names), NULL, false, 0},
    {"result_images", F_BOOL, P(facts.result_images), NULL, false, 0},
    {"body", F_JSON, P(facts.body), NULL, false, 0},
    {"profiles", F_OTHER, 0, NULL, false, 0},
    {"by_name", F_BOOL, P(by_name), NULL, false, 0},
    {"local", F_BOOL, P(local), NULL, false, 0},
    {"discover", F_BOOL, P(discover), NULL, false, 0},
    {"api_key", F_STRING, P(api_key), NULL, true, 0},
    {"api_key_command", F_COMMAND, P(api_key_command), NULL, true, 0},
    {"allow_insecure", F_BOOL, P(allow_insecure), NULL, true, 0},
};
static const struct schema schema = {provider_fields, countof(provider_fields)};

static struct provider *provider_slot(struct providers *p, const char *name)
{
    struct provider *known = (struct provider *)provider_find(p, name);

    if (known)
        return known;
    p->v = xreallocarray(p->v, p->n + 1, sizeof(*p->v));
    p->v[p->n] = (struct provider){.name = xstrdup(name)};
    return &p->v[p->n++];
}

int providers_read(struct providers *p, const struct ydoc *map, bool builtin, struct error *err)
{
    if (map->type != YDOC_MAP)
        return ydoc_expected(map, "a map: the names of providers, each with its fields", err);
    for (size_t i = 0; i < map->n; i++) {
        const struct ydoc *entry = &map->v[i], *key = ydoc_get(entry, "api_key"),
                          *url = ydoc_get(entry, "base_url");
        const struct ydoc *api = ydoc_get(entry, "api"), *models = ydoc_get(entry, "models"),
                          *profiles = ydoc_get(entry, "profiles");
        struct provider *slot = provider_slot(p, entry->key);

        if (!models)
            models = ydoc_get(entry, "model");
        if (!key)
            key = ydoc_get(entry, "api_key_command");
        if (fields_read(&schema, entry, builtin, slot, err) < 0
            || (profiles && profiles_read_before(&slot->profiles, profiles, err) < 0))
            return -1;
        if (!slot->base_url)
            return ydoc_key_error(entry, err, "providers: %.60s: base_url is missing", entry->key);
        if (builtin)
            continue;
        if (url && !ydoc_get(entry, "other_url"))
            free(steal(&slot->other_url)); /* it belonged to the built-in place, which this one replaces */
        slot->key_line = key ? key->line : 0;
        slot->url_line = url ? url->line : 0;
        slot->models_line = models ? models->line : slot->models_line;
        slot->api_line = api ? api->line : 0;
    }
    return 0;
}

int providers_builtin(struct providers *p, struct error *err)
{
    autoydoc struct ydoc *root = ydoc_parse(providers_yaml, EMBED_SIZE(providers_yaml), "providers.yaml",
                                            err);

    return root ? providers_read(p, root, true, err) : -1;
}

void providers_release(struct providers *p)
{
    for (size_t i = 0; i < p->n; i++) {
        struct provider *v = &p->v[i];
        free(v->name);
        free(v->title);
        free(v->base_url);
        free(v->other_url);
        free(v->url_variable);
        free(v->host_variable);
        argv_release(&v->models);
        free((char *)v->facts.body);
        profiles_release(&v->profiles);
        free_secret(v->api_key);
        for (size_t k = 0; k < KEY_VARIABLES; k++)
            free(v->key_variable[k]);
        argv_release(&v->api_key_command);
    }
    free(p->v);
    *p = (struct providers){0};
}

const struct provider *provider_find(const struct providers *p, const char *name)
{
    for (size_t i = 0; i < p->n; i++)
        if (!strcmp(p->v[i].name, name))
            return &p->v[i];
    return NULL;
}

const char *provider_nearest(const struct providers *p, const char *name)
{
    struct nearest near = {.word = name, .len = strlen(name)};

    for (size_t i = 0; i < p->n; i++)
        nearest_offer(&near, p->v[i].name);
    return nearest_found(&near);
}
