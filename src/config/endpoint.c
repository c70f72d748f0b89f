/* endpoint.c - see endpoint.h. */
#include "config/endpoint.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/child.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "config/config.h"
#include "config/url.h"

#define KEY_MAX 8192
#define KEY_COMMAND_MS 60000

/* A provider's variable: of the environment first, then of .env; or of one of them alone. */
static const char *variable(const struct config *c, const char *name, bool env, bool dotenv, struct source *from)
{
    const char *value = env ? config_env(c, name) : NULL;
    const struct dotenv_entry *d;

    if (value) {
        *from = (struct source){SOURCE_ENV, 0, name};
        return value;
    }
    d = dotenv ? dotenv_get(&c->dotenv, name) : NULL;
    if (!d)
        return NULL;
    *from = (struct source){SOURCE_DOTENV, d->line, d->name};
    return d->value;
}

static const char *key_variable(const struct config *c, const struct provider *p, bool env, bool dotenv, struct source *from)
{
    for (char *const *name = p->key_variable; *name; name++) {
        const char *value = variable(c, *name, env, dotenv, from);
        if (value)
            return value;
    }
    return NULL;
}

/* A value that becomes a part of a path must not be able to become anything else. At the very beginning it is a URL, which url_check reads. */
static bool path_part(const char *s)
{
    for (const char *p = s; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("-_.", *p))
            return false;
    return *s && strcmp(s, ".") != 0 && strcmp(s, "..") != 0;
}

/* base_url with its {NAME}s filled in. *missing names the first that is not set. */
static int fill_in(struct config *c, const char *text, struct endpoint *e, const char **missing, struct error *err)
{
    struct buf out autorelease(buf_release) = BUF_INIT(4096);

    for (const char *p = text; *p;) {
        const char *close = *p == '{' ? strchr(p, '}') : NULL;

        if (!close) {
            buf_addch(&out, *p++);
            continue;
        }
        autofree char *name = xmemdup0(p + 1, (size_t)(close - p) - 1);
        struct source from = {0};
        const char *value = variable(c, name, true, true, &from);
        if (!value) {
            *missing = config_keep(c, name);
            return 0;
        }
        if (out.len > 0 && !path_part(value))
            return error_set(err, ERROR_USAGE, 0, "%s: expected letters, digits, - and _ only", name);
        autofree char *trimmed = url_trim(value);
        buf_addstr(&out, trimmed);
        from.name = from.kind == SOURCE_ENV ? config_keep(c, name) : from.name;
        if (e->binding.url != URL_VARIABLE || from.kind < e->url_source.kind)
            e->url_source = from;       /* the least trusted of its variables */
        e->binding.url = URL_VARIABLE;
        p = close + 1;
    }
    if (e->binding.url == URL_VARIABLE)
        e->binding.url_from = e->url_source.kind;
    free(e->base_url);
    e->base_url = url_trim(buf_str(&out));
    return 0;
}

/* The URL of a provider's entry: a variable that replaces it, or its own text. */
static int entry_url(struct config *c, const struct provider *p, struct endpoint *e, const char **missing, struct error *err)
{
    struct source from = {0};
    const char *value = p->url_variable ? variable(c, p->url_variable, true, true, &from) : NULL;

    e->binding.url = URL_ENTRY;
    free(e->base_url);
    e->base_url = value ? url_trim(value) : NULL;
    if (!value && p->host_variable && (value = variable(c, p->host_variable, true, true, &from)) != NULL) {
        e->base_url = url_from_host(value, strcmp(p->name, "ollama") == 0 ? 11434 : 80);
        if (!e->base_url)
            return error_set(err, ERROR_USAGE, 0, "%s: expected HOST, HOST:PORT or a URL", from.name);
    }
    if (value) {
        e->url_source = from;
        e->elsewhere = p->url_variable && !url_same_service(e->base_url, p->base_url);
        e->binding.url = URL_VARIABLE;
        e->binding.url_from = from.kind;
        return 0;
    }
    e->url_source = p->url_line ? (struct source){SOURCE_FILE, p->url_line, c->file} : (struct source){0};
    e->binding.url_from = e->url_source.kind;
    return fill_in(c, p->base_url, e, missing, err);
}

static int take_entry(struct config *c, const struct provider *p, struct endpoint *e, struct error *err)
{
    const char *missing = NULL;

    e->entry = p;
    e->provider = p->name;
    if (entry_url(c, p, e, &missing, err) < 0)
        return -1;
    if (missing)
        return error_set(err, ERROR_USAGE, 0, "%s: %s is not set; the URL of %s needs it\nSet it where its key is: in the environment, or in .env.",
                         p->name, missing, p->title ? p->title : p->name);
    e->found = true;
    return 0;
}

static int named_provider(const struct config *c, const char *name, const struct provider **p, const char *where, struct error *err)
{
    autofree char *shown = scrub_line(name, SCRUB_TERMINAL);
    const char *near;

    *p = provider_find(&c->providers, name);
    if (*p)
        return 0;
    near = provider_nearest(&c->providers, name);
    if (near)
        return error_set(err, ERROR_USAGE, 0, "%s: there is no provider \"%.60s\"; did you mean %s?", where, shown, near);
    struct buf names autorelease(buf_release) = BUF_INIT(4096);
    for (size_t i = 0; i < c->providers.n; i++)
        buf_addf(&names, "%s%s", i ? ", " : "", c->providers.v[i].name);
    return error_set(err, ERROR_USAGE, 0, "%s: there is no provider \"%.60s\"\nKnown: %s. Others can be added in config.yaml.", where,
                     shown, buf_str(&names));
}

/* Somebody said where: the highest layer with a provider or a base URL. 0 also when nobody did. */
static int explicit_choice(struct config *c, struct endpoint *e, struct error *err)
{
    int k = SOURCE_FLAG;
    char where[256];
    const struct provider *p = NULL;

    while (k > SOURCE_DEFAULT && !c->choice[k].provider.value && !c->choice[k].base_url.value)
        k--;
    if (k == SOURCE_DEFAULT)
        return 0;
    if (c->choice[k].provider.value) {
        e->provider_source = c->choice[k].provider.from;
        source_text(&e->provider_source, where, sizeof where);
        if (named_provider(c, c->choice[k].provider.value, &p, where, err) < 0)
            return -1;
    }
    if (!c->choice[k].base_url.value) {
        e->binding.provider_from_file = k == SOURCE_FILE;
        return take_entry(c, p, e, err);
    }
    e->entry = p;
    e->provider = p ? p->name : "custom";
    e->base_url = url_trim(c->choice[k].base_url.value);
    e->url_source = c->choice[k].base_url.from;
    e->binding = (struct binding){.url = URL_OPTION, .url_from = (enum source_kind)k, .provider_beside = p != NULL};
    e->found = true;
    return 0;
}

/* Is there something of this provider in the environment (or .env), enough to choose it? */
static bool is_there(const struct config *c, const struct provider *p, bool env)
{
    struct source from;

    return key_variable(c, p, env, !env, &from) || (p->url_variable && variable(c, p->url_variable, env, !env, &from)) ||
           (p->host_variable && variable(c, p->host_variable, env, !env, &from));
}

/* Nobody said where, but a key or a URL lies there: the environment's counts before .env's, both before config.yaml's. */
static int implicit_choice(struct config *c, struct endpoint *e, struct error *err)
{
    struct error first = {0};

    for (int layer = 0; layer < 3; layer++)
        for (size_t i = 0; i < c->providers.n; i++) {
            const struct provider *p = &c->providers.v[i];
            struct error why = {0};

            if (p->by_name)
                continue;
            if (layer < 2 ? !is_there(c, p, layer == 0) : !p->api_key && !p->api_key_command.n)
                continue;
            if (take_entry(c, p, e, &why) == 0)
                return 0;
            if (!first.kind)
                first = why;
        }
    if (first.kind && err)
        *err = first;
    return first.kind ? -1 : 0;
}

/* The highest layer that names a model; but one that was named beside another provider belongs there. */
static void choose_model(struct config *c, struct endpoint *e)
{
    int chosen = e->binding.url == URL_OPTION ? (int)e->url_source.kind : (int)e->provider_source.kind;

    for (int k = SOURCE_FLAG; k > SOURCE_DEFAULT; k--) {
        const struct config_choice *layer = &c->choice[k];

        if (!layer->model.value)
            continue;
        if (k < chosen && (layer->provider.value || layer->base_url.value) &&
            !(layer->provider.value && e->entry && strcmp(layer->provider.value, e->entry->name) == 0))
            continue;
        e->model = layer->model.value;
        e->model_source = layer->model.from;
        return;
    }
    /* What listens on this machine has models of its own. */
    if (e->entry && e->entry->models.n && !(e->elsewhere && url_is_loopback(e->base_url))) {
        e->models = &e->entry->models;
        e->model = e->models->v[0];
        e->model_source = (struct source){e->entry->models_line ? SOURCE_FILE : SOURCE_DEFAULT, e->entry->models_line, c->file};
    }
}

/* What is said for all goes before the provider's entry. */
static void choose_api(struct config *c, struct endpoint *e)
{
    e->api = e->entry ? e->entry->api : PROVIDER_CHAT_COMPLETIONS;
    if (e->elsewhere && e->entry->has_api_elsewhere && !e->entry->api_line)
        e->api = e->entry->api_elsewhere;
    e->api_source = (struct source){e->entry && e->entry->api_line ? SOURCE_FILE : SOURCE_DEFAULT, e->entry ? e->entry->api_line : 0, c->file};
    if (!c->api)
        return;
    e->api = strcmp(c->api, "responses") == 0 ? PROVIDER_RESPONSES : strcmp(c->api, "workers_ai") == 0 ? PROVIDER_WORKERS_AI : PROVIDER_CHAT_COMPLETIONS;
    e->api_source = *config_source(c, &c->api);
}

static const char *key_from(const struct config *c, const struct endpoint *e, enum key_origin origin, const struct argv **command,
                            struct source *from)
{
    const struct provider *p = e->entry;

    *command = NULL;
    switch (origin) {
    case KEY_OPTION_ENV:
        *from = (struct source){SOURCE_ENV, 0, "SANDPIPER_API_KEY"};
        return config_env(c, "SANDPIPER_API_KEY");
    case KEY_OPTION_FILE:
        *from = c->choice[SOURCE_FILE].api_key.from;
        if (c->choice[SOURCE_FILE].api_key.value)
            return c->choice[SOURCE_FILE].api_key.value;
        *from = *config_source(c, &c->api_key_command);
        *command = c->api_key_command.n ? &c->api_key_command : NULL;
        return NULL;
    case KEY_VARIABLE_ENV:
        return p ? key_variable(c, p, true, false, from) : NULL;
    case KEY_VARIABLE_DOTENV:
        return p ? key_variable(c, p, false, true, from) : NULL;
    case KEY_ENTRY_FILE:
        *from = (struct source){SOURCE_FILE, p ? p->key_line : 0, c->file};
        if (p && p->api_key)
            return p->api_key;
        *command = p && p->api_key_command.n ? &p->api_key_command : NULL;
        return NULL;
    case KEY_ORIGINS:
        break;
    }
    return NULL;
}

/* A copy without blanks around it; a line break in the middle would end the header it is sent in. */
static int clean_key(const char *key, size_t len, const char *where, char **out, struct error *err)
{
    while (len && isspace((unsigned char)*key))
        key++, len--;
    while (len && isspace((unsigned char)key[len - 1]))
        len--;
    if (len > KEY_MAX)
        return error_set(err, ERROR_USAGE, 0, "%s: a key of %zu bytes; at most %d are taken", where, len, KEY_MAX);
    for (size_t i = 0; i < len; i++)
        if (!isgraph((unsigned char)key[i]))
            return error_set(err, ERROR_USAGE, 0, "%s: the key has a character that cannot be in one (byte %zu)", where, i + 1);
    *out = len ? xmemdup0(key, len) : NULL;
    return 0;
}

static int choose_key(struct config *c, struct endpoint *e, struct error *err)
{
    char text[256];

    for (int o = 0; o < KEY_ORIGINS && !e->key_name; o++) {
        const struct argv *command;
        struct source from = {0};
        const char *key = key_from(c, e, (enum key_origin)o, &command, &from);

        if (!key && !command)
            continue;
        source_text(&from, text, sizeof text);
        if (!binding_allows(&e->binding, (enum key_origin)o)) {
            char url[256];
            source_text(&e->url_source, url, sizeof url);
            free(e->unbound);
            e->unbound = xasprintf("the key of %s is not sent to %s (URL of %s): a key goes only to the URL of the same place", text,
                                   e->base_url, url);
            continue;
        }
        e->key_source = from;
        e->key_command = command;
        e->key_name = xstrdup(from.kind == SOURCE_ENV ? from.name : text);
        if (key && clean_key(key, strlen(key), text, &e->key, err) < 0)
            return -1;
    }
    if (!e->key_name)
        e->key_name = xstrdup(e->binding.url != URL_OPTION && e->entry && e->entry->key_variable[0] ? e->entry->key_variable[0] : "SANDPIPER_API_KEY");
    else {
        free(e->unbound);
        e->unbound = NULL;
    }
    return 0;
}

static int check_url(const struct config *c, const struct endpoint *e, struct error *err)
{
    char where[256];

    source_text(&e->url_source, where, sizeof where);
    if (url_check(e->base_url, where, err) < 0)
        return -1;
    if ((e->key || e->key_command) && url_is_plain(e->base_url) && !url_is_loopback(e->base_url) && !c->allow_insecure &&
        !(e->entry && e->entry->allow_insecure))
        return error_set(err, ERROR_USAGE, 0, "%s: a key would go over the network in clear text to %s\n"
                         "Use https://, or set allow_insecure: true in config.yaml.", where, e->base_url);
    return 0;
}

/* A .env that decides where questions go must not do so silently: the folder may be somebody else's. */
static void tell_dotenv(struct config *c, const struct endpoint *e)
{
    const struct source *by = e->url_source.kind == SOURCE_DOTENV        ? &e->url_source
                              : e->provider_source.kind == SOURCE_DOTENV ? &e->provider_source
                              : e->key_source.kind == SOURCE_DOTENV      ? &e->key_source
                                                                         : NULL;
    autofree char *url = NULL;

    if (!by)
        return;
    url = scrub_line(e->base_url, SCRUB_TERMINAL);
    argv_pushf(&c->notices, ".env in this folder decides the endpoint (%s): %s at %.200s, %s", by->name, e->provider, url,
               e->key_source.kind == SOURCE_DOTENV ? "with its own key" : e->key || e->key_command ? "with your key" : "without a key");
}

const char *endpoint_title(const struct endpoint *e)
{
    if (!e->entry || e->elsewhere)
        return e->base_url;
    return e->entry->title ? e->entry->title : e->provider;
}

struct profile endpoint_profile(const struct config *c, const struct endpoint *e, const char *model)
{
    const struct provider *p = e->elsewhere ? NULL : e->entry;
    const struct profiles *const lists[] = {&c->profiles, p ? &p->profiles : NULL, &c->builtin_profiles};
    struct profile all = profile_of(lists, countof(lists), model);

    if (p && !all.has_thinking)
        all.thinking = p->thinking;
    if (p && !all.has_reasoning_back)
        all.reasoning_back = p->reasoning_back;
    return all;
}

int endpoint_choose(struct config *c, struct endpoint *e, struct error *err)
{
    *e = (struct endpoint){.ca_cert = c->ca_cert};
    if (explicit_choice(c, e, err) < 0)
        return -1;
    if (!e->found && implicit_choice(c, e, err) < 0)
        return -1;
    choose_model(c, e);
    choose_api(c, e);
    if (!e->found)
        return 0;
    if (choose_key(c, e, err) < 0 || check_url(c, e, err) < 0)
        return -1;
    tell_dotenv(c, e);
    return 0;
}

void endpoint_take_local(struct config *c, struct endpoint *e, const struct provider *p)
{
    const char *missing = NULL;

    e->entry = p;
    e->provider = p->name;
    choose_api(c, e);
    e->found = entry_url(c, p, e, &missing, NULL) == 0 && !missing;
    if (!e->key_name)
        e->key_name = xstrdup(p->key_variable[0] ? p->key_variable[0] : "SANDPIPER_API_KEY");
}

int endpoint_fetch_key(struct endpoint *e, struct loop *loop, struct error *err)
{
    struct child_result r = {0};
    char what[64];
    int status = -1;

    if (e->key || !e->key_command)
        return 0;
    if (child_run(e->key_command->v, KEY_COMMAND_MS, KEY_MAX, loop, &r, err) < 0) {
        error_wrap(err, "api_key_command");
    } else if (r.timed_out) {
        error_set(err, ERROR_USAGE, 0, "api_key_command: %s did not end within %d s", e->key_command->v[0], KEY_COMMAND_MS / 1000);
    } else if (!WIFEXITED(r.status) || WEXITSTATUS(r.status) != 0) {
        autofree char *said = scrub_line(buf_str(&r.err), SCRUB_TERMINAL);
        child_status_text(r.status, what, sizeof what);
        error_set(err, ERROR_USAGE, 0, "api_key_command: %s ended with %s%s%.200s", e->key_command->v[0], what, *said ? ": " : "", said);
    } else {
        size_t len = strcspn(buf_str(&r.out), "\n");
        status = clean_key(buf_str(&r.out), len, "api_key_command", &e->key, err);
        if (status == 0 && !e->key)
            status = error_set(err, ERROR_USAGE, 0, "api_key_command: %s printed nothing on its first line", e->key_command->v[0]);
    }
    if (r.out.data)
        explicit_bzero(r.out.data, r.out.len);
    child_result_release(&r);
    return status;
}

void endpoint_release(struct endpoint *e)
{
    if (e->key)
        explicit_bzero(e->key, strlen(e->key));
    free(e->key);
    free(e->base_url);
    free(e->key_name);
    free(e->unbound);
    *e = (struct endpoint){0};
}
