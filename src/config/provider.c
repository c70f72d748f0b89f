/* provider.c - providers and model profiles from YAML, each field through one table. */
#include "config/provider.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "config/embedded.h"
#include "config/option.h"
#include "config/value.h"
#include "config/ydoc.h"

enum field_type { F_STRING, F_URL, F_VARIABLE, F_VARIABLES, F_COMMAND, F_BOOL, F_CHOICE_BOOL, F_CHOICE, F_COUNT, F_NUMBER };

struct field {
    const char *key;
    enum field_type type;
    size_t offset;
    const char *choices;    /* CHOICE_BOOL: the first word is true */
    bool users_only;        /* a secret, or a permission: never built in */
    size_t has;             /* offset of the has_... flag; 0: none */
};

#define P(member) offsetof(struct provider, member)
static const struct field provider_fields[] = {
    {"title", F_STRING, P(title), NULL, false, 0},
    {"base_url", F_URL, P(base_url), NULL, false, 0},
    {"other_url", F_URL, P(other_url), NULL, false, 0},
    {"url_variable", F_VARIABLE, P(url_variable), NULL, false, 0},
    {"host_variable", F_VARIABLE, P(host_variable), NULL, false, 0},
    {"key_variable", F_VARIABLES, P(key_variable), NULL, false, 0},
    {"auth", F_CHOICE_BOOL, P(header_auth), "api-key|bearer", false, 0},
    {"model", F_STRING, P(model), NULL, false, 0},
    {"api", F_CHOICE, P(api), PROVIDER_APIS, false, 0},
    {"max_tokens", F_CHOICE_BOOL, P(send_max_tokens), "send|omit", false, 0},
    {"local", F_BOOL, P(local), NULL, false, 0},
    {"discover", F_BOOL, P(discover), NULL, false, 0},
    {"api_key", F_STRING, P(api_key), NULL, true, 0},
    {"api_key_command", F_COMMAND, P(api_key_command), NULL, true, 0},
    {"allow_insecure", F_BOOL, P(allow_insecure), NULL, true, 0},
};

#define M(member) offsetof(struct profile, member)
static const struct field profile_fields[] = {
    {"dialect", F_CHOICE, M(dialect), "auto|native|blocks", false, M(has_dialect)},
    {"context", F_COUNT, M(context), NULL, false, 0},
    {"max_tokens", F_COUNT, M(max_tokens), NULL, false, 0},
    {"temperature", F_NUMBER, M(temperature), NULL, false, 0},
    {"vision", F_BOOL, M(vision), NULL, false, M(has_vision)},
    {"reasoning", F_BOOL, M(reasoning), NULL, false, M(has_reasoning)},
};

static int expected(const struct ydoc *y, const char *name, const char *what, struct error *err)
{
    const char *key = y->key ? y->key : "this";

    if (y->type == YDOC_TEXT && !ydoc_nothing(y) && strcmp(key, "api_key") != 0)
        return error_set(err, ERROR_USAGE, 0, "%s:%d: %.60s: expected %s, found \"%.60s\"", name, y->line, key, what, y->text);
    return error_set(err, ERROR_USAGE, 0, "%s:%d: %.60s: expected %s, found %s", name, y->line, key, what, ydoc_kind(y));
}

static void replace(char **at, const char *s)
{
    free(*at);
    *at = xstrdup(s);
}

static bool is_variable(const struct ydoc *y)
{
    const char *s = y->text;

    if (y->type != YDOC_TEXT || (!isalpha((unsigned char)*s) && *s != '_'))
        return false;
    for (; *s; s++)
        if (!isalnum((unsigned char)*s) && *s != '_')
            return false;
    return true;
}

static int read_variables(char **at, const struct ydoc *y, const char *name, struct error *err)
{
    size_t n = y->type == YDOC_LIST ? y->n : 1;

    for (size_t i = 0; i < KEY_VARIABLES; i++)
        replace(&at[i], NULL);
    if (n > KEY_VARIABLES)
        return error_set(err, ERROR_USAGE, 0, "%s:%d: %s: at most %d names", name, y->line, y->key, KEY_VARIABLES);
    for (size_t i = 0; i < n; i++) {
        const struct ydoc *item = y->type == YDOC_LIST ? &y->v[i] : y;
        if (!is_variable(item))
            return expected(y, name, "the name of an environment variable, or a list of such", err);
        replace(&at[i], item->text);
    }
    return 0;
}

int provider_read_command(const struct ydoc *y, const char *name, struct argv *out, struct error *err)
{
    static const char what[] = "a command: words separated by blanks, or a list of words";

    argv_release(out);
    if (y->type == YDOC_LIST)
        for (size_t i = 0; i < y->n; i++) {
            if (y->v[i].type != YDOC_TEXT)
                return expected(y, name, what, err);
            argv_push(out, y->v[i].text);
        }
    else if (y->type == YDOC_TEXT && !ydoc_nothing(y))
        for (const char *p = y->text + strspn(y->text, " \t\n"); *p; p += strspn(p, " \t\n")) {
            size_t len = strcspn(p, " \t\n");
            argv_pushf(out, "%.*s", (int)len, p);
            p += len;
        }
    return out->n ? 0 : expected(y, name, what, err);
}

static int read_choice(const struct field *f, const struct ydoc *y, const char *name, char *at, struct error *err)
{
    autofree char *what = xasprintf("one of %s", f->choices);
    int index = 0;

    if (y->type != YDOC_TEXT || !value_choice(y->text, f->choices))
        return expected(y, name, what, err);
    for (const char *p = f->choices; strcspn(p, "|") != strlen(y->text) || strncmp(p, y->text, strlen(y->text)) != 0; index++)
        p += strcspn(p, "|") + 1;
    if (f->type == F_CHOICE_BOOL)
        *(bool *)(void *)at = index == 0;
    else
        *(unsigned *)(void *)at = (unsigned)index;      /* an enum, in the order of choices */
    return 0;
}

static int read_field(const struct field *f, const struct ydoc *y, const char *name, void *object, struct error *err)
{
    char *at = (char *)object + f->offset;
    bool text = y->type == YDOC_TEXT && !ydoc_nothing(y);
    int64_t n = 0;

    if (f->has)
        *(bool *)(void *)((char *)object + f->has) = true;
    switch (f->type) {
    case F_STRING:
        if (!text)
            return expected(y, name, "a string", err);
        replace((char **)(void *)at, y->text);
        return 0;
    case F_URL:
        if (!text || (strncmp(y->text, "http://", 7) != 0 && strncmp(y->text, "https://", 8) != 0 && y->text[0] != '{'))
            return expected(y, name, "a URL that begins with https:// or http://", err);
        replace((char **)(void *)at, y->text);
        return 0;
    case F_VARIABLE:
        if (!is_variable(y))
            return expected(y, name, "the name of an environment variable", err);
        replace((char **)(void *)at, y->text);
        return 0;
    case F_VARIABLES:
        return read_variables((char **)(void *)at, y, name, err);
    case F_COMMAND:
        return provider_read_command(y, name, (struct argv *)(void *)at, err);
    case F_BOOL:
        if (!text || y->quoted || (strcmp(y->text, "true") != 0 && strcmp(y->text, "false") != 0))
            return expected(y, name, "true or false", err);
        *(bool *)(void *)at = y->text[0] == 't';
        return 0;
    case F_CHOICE:
    case F_CHOICE_BOOL:
        return read_choice(f, y, name, at, err);
    case F_COUNT:
        if (!text || !value_int(y->text, &n) || n < 16 || n > 100000000)
            return expected(y, name, "a number of tokens", err);
        *(int *)(void *)at = (int)n;
        return 0;
    case F_NUMBER:
        if (!text || !value_number(y->text, (double *)(void *)at) || *(double *)(void *)at > 2)
            return expected(y, name, "a number from 0 to 2", err);
        return 0;
    }
    return 0;
}

static int unknown_field(const struct ydoc *y, const char *name, const struct field *fields, size_t n, struct error *err)
{
    const char *names[32], *near;

    for (size_t i = 0; i < n; i++)
        names[i] = fields[i].key;
    names[n] = NULL;
    near = nearest_name(y->key, strlen(y->key), names);
    if (near)
        return error_set(err, ERROR_USAGE, 0, "%s:%d: unknown key %.60s; did you mean %s?", name, y->key_line, y->key, near);
    return error_set(err, ERROR_USAGE, 0, "%s:%d: unknown key %.60s; expected %s, %s, %s, ...", name, y->key_line, y->key, names[0], names[1], names[2]);
}

static int read_fields(const struct ydoc *map, const char *name, const struct field *fields, size_t n, bool builtin, void *object,
                       struct error *err)
{
    if (map->type != YDOC_MAP)
        return expected(map, name, "a map of fields", err);
    for (size_t i = 0; i < map->n; i++) {
        const struct ydoc *y = &map->v[i];
        const struct field *f = NULL;

        for (size_t k = 0; k < n; k++)
            if (strcmp(fields[k].key, y->key) == 0 && !(builtin && fields[k].users_only))
                f = &fields[k];
        if (!f)
            return unknown_field(y, name, fields, n, err);
        if (read_field(f, y, name, object, err) < 0)
            return -1;
    }
    return 0;
}

static struct provider *provider_slot(struct providers *p, const char *name)
{
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->v[i].name, name) == 0)
            return &p->v[i];
    p->v = xreallocarray(p->v, p->n + 1, sizeof(*p->v));
    p->v[p->n] = (struct provider){.name = xstrdup(name)};
    return &p->v[p->n++];
}

int providers_read(struct providers *p, const struct ydoc *map, const char *name, bool builtin, struct error *err)
{
    if (map->type != YDOC_MAP)
        return expected(map, name, "a map: the names of providers, each with its fields", err);
    for (size_t i = 0; i < map->n; i++) {
        const struct ydoc *entry = &map->v[i], *key = ydoc_get(entry, "api_key"), *url = ydoc_get(entry, "base_url"), *api = ydoc_get(entry, "api");
        struct provider *slot = provider_slot(p, entry->key);

        if (!key)
            key = ydoc_get(entry, "api_key_command");
        if (read_fields(entry, name, provider_fields, countof(provider_fields), builtin, slot, err) < 0)
            return -1;
        if (!slot->base_url)
            return error_set(err, ERROR_USAGE, 0, "%s:%d: providers: %.60s: base_url is missing", name, entry->key_line, entry->key);
        if (builtin)
            continue;
        if (url && !ydoc_get(entry, "other_url"))
            replace(&slot->other_url, NULL);        /* of the built-in place, which this one replaces */
        slot->users = true;
        slot->key_line = key ? key->line : 0;
        slot->url_line = url ? url->line : 0;
        slot->api_line = api ? api->line : 0;
    }
    return 0;
}

int profiles_read(struct profiles *p, const struct ydoc *map, const char *name, struct error *err)
{
    if (map->type != YDOC_MAP)
        return expected(map, name, "a map: name patterns of models, each with its fields", err);
    for (size_t i = 0; i < map->n; i++) {
        p->v = xreallocarray(p->v, p->n + 1, sizeof(*p->v));
        p->v[p->n] = (struct profile){.pattern = xstrdup(map->v[i].key), .temperature = -1};
        if (read_fields(&map->v[i], name, profile_fields, countof(profile_fields), false, &p->v[p->n++], err) < 0)
            return -1;
    }
    return 0;
}

int providers_builtin(struct providers *p, struct error *err)
{
    struct ydoc *root = NULL;
    int status = ydoc_parse(providers_yaml, EMBED_SIZE(providers_yaml), "providers.yaml", &root, err);

    if (status == 0)
        status = providers_read(p, root, "providers.yaml", true, err);
    ydoc_free(root);
    return status;
}

int profiles_builtin(struct profiles *p, struct error *err)
{
    struct ydoc *root = NULL;
    int status = ydoc_parse(models_yaml, EMBED_SIZE(models_yaml), "models.yaml", &root, err);

    if (status == 0)
        status = profiles_read(p, root, "models.yaml", err);
    ydoc_free(root);
    return status;
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
        free(v->model);
        if (v->api_key)
            explicit_bzero(v->api_key, strlen(v->api_key));
        free(v->api_key);
        for (size_t k = 0; k < KEY_VARIABLES; k++)
            free(v->key_variable[k]);
        argv_release(&v->api_key_command);
    }
    free(p->v);
    *p = (struct providers){0};
}

void profiles_release(struct profiles *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->v[i].pattern);
    free(p->v);
    *p = (struct profiles){0};
}

const struct provider *provider_find(const struct providers *p, const char *name)
{
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->v[i].name, name) == 0)
            return &p->v[i];
    return NULL;
}

const char *provider_nearest(const struct providers *p, const char *name)
{
    const char **names = xcalloc(p->n + 1, sizeof(*names));
    const char *near;

    for (size_t i = 0; i < p->n; i++)
        names[i] = p->v[i].name;
    near = nearest_name(name, strlen(name), names);
    free(names);
    return near;
}

static bool matches(const char *pattern, const char *model)
{
    const char *slash = strrchr(model, '/');

    return fnmatch(pattern, model, FNM_CASEFOLD) == 0 || (slash && fnmatch(pattern, slash + 1, FNM_CASEFOLD) == 0);
}

struct profile profile_of(const struct profiles *p, const char *model)
{
    struct profile all = {.temperature = -1};

    for (size_t i = 0; i < p->n; i++) {
        const struct profile *f = &p->v[i];

        if (!matches(f->pattern, model))
            continue;
        if (f->has_dialect && !all.has_dialect) {
            all.dialect = f->dialect;
            all.has_dialect = true;
        }
        if (f->has_vision && !all.has_vision)
            all.vision = f->vision, all.has_vision = true;
        if (f->has_reasoning && !all.has_reasoning)
            all.reasoning = f->reasoning, all.has_reasoning = true;
        all.context = all.context ? all.context : f->context;
        all.max_tokens = all.max_tokens ? all.max_tokens : f->max_tokens;
        if (all.temperature < 0)
            all.temperature = f->temperature;
    }
    return all;
}
