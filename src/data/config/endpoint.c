/* endpoint.c - goes through the layers from the highest down: provider, URL, model, API, and then the key
 * (endpoint_key.c).
 *
 * RULE: A folder's .env says where questions go only where the user chose nothing and, asked once, agreed
 *     (config/folder.c).
 */
#include "config/endpoint.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "base/url.h"
#include "base/value.h"
#include "config/config.h"
#include "config/endpoint_key.h"
#include "config/folder.h"

/* Does the environment (or .env) hold enough of this provider to choose it? */
static bool is_there(const struct config *c, const struct provider *p, enum variable_place in)
{
    struct source from;

    return endpoint_key_variable(c, p, in, &from)
           || (p->url_variable && endpoint_variable(c, p->url_variable, in, &from))
           || (p->host_variable && endpoint_variable(c, p->host_variable, in, &from));
}

/* The user has its key or URL in the environment or in config.yaml. Then a folder's .env cannot say where it
 * is. */
static bool is_own(const struct config *c, const struct provider *p)
{
    return is_there(c, p, IN_ENVIRONMENT) || p->api_key || p->api_key_command.n || p->url_line;
}

/* A value that becomes part of a path must stay one part. At the beginning of base_url it is a URL instead,
 * which url_check reads. */
static bool path_part(const char *s)
{
    for (const char *p = s; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("-_.", *p))
            return false;
    return *s && strcmp(s, ".") != 0 && strcmp(s, "..") != 0;
}

/* Fill in the {NAME}s of the entry's base_url. A variable that is not set is an error. */
static int fill_in(struct config *c, struct endpoint *e, enum variable_place in, struct error *err)
{
    struct buf out autorelease(buf_release) = BUF_INIT(4096);

    for (const char *p = e->entry->base_url; *p;) {
        const char *close = *p == '{' ? strchr(p, '}') : NULL;

        if (!close) {
            buf_addch(&out, *p++);
            continue;
        }
        autofree char *name = xmemdup0(p + 1, (size_t)(close - p) - 1);
        struct source from = {0};
        const char *value = endpoint_variable(c, name, in, &from);
        if (!value)
            return error_set(err, ERROR_USAGE, 0,
                             "%s: %s is not set; the URL of %s needs it\nSet it where its key is: in the "
                             "environment, or in .env.",
                             e->provider, name, e->entry->title ? e->entry->title : e->provider);
        if (out.len > 0 && !path_part(value))
            return error_set(err, ERROR_USAGE, 0, "%s: expected letters, digits, - and _ only", name);
        e->folders_place |= out.len == 0 && from.kind == SOURCE_DOTENV;
        autofree char *trimmed = url_trim(value);
        buf_addstr(&out, trimmed);
        from.name = from.kind == SOURCE_ENV ? config_keep(c, name) : from.name;
        if (e->binding.url != URL_VARIABLE || from.kind < e->url_source.kind)
            e->url_source = from; /* the least trusted source among its variables */
        e->binding.url = URL_VARIABLE;
        p = close + 1;
    }
    if (e->binding.url == URL_VARIABLE)
        e->binding.url_from = e->url_source.kind;
    xreplace(&e->base_url, url_trim(buf_str(&out)));
    return 0;
}

/* Is this the service's usual place? That is its own host, or on this machine its own port. */
static bool usual_place(const struct endpoint *e, const struct provider *p)
{
    autofree char *usual = url_trim(p->base_url);

    return !strcmp(e->base_url, usual)
           || (!url_is_plain(e->base_url) && !url_is_loopback(e->base_url)
               && url_same_service(e->base_url, p->base_url));
}

/* What .env says of the provider's place; NULL: nothing. */
static const struct dotenv_entry *dotenv_place(const struct config *c, const struct provider *p)
{
    const struct dotenv_entry *d = p->url_variable ? dotenv_get(&c->dotenv, p->url_variable) : NULL;

    return d || !p->host_variable ? d : dotenv_get(&c->dotenv, p->host_variable);
}

/* Where a variable names the host alone, its port is that of the provider's own URL. */
static int usual_port(const struct provider *p)
{
    autofree char *host = url_host(p->base_url);
    const char *colon = strrchr(host, ':');
    return colon && !strchr(colon, ']') ? (int)strtol(colon + 1, NULL, 10) : 80;
}

/* The URL of a provider's entry: from the variable that replaces it, or its own text. */
static int entry_url(struct config *c, struct endpoint *e, struct error *err)
{
    const struct provider *p = e->entry;
    struct source from = {0};
    enum variable_place in = is_own(c, p) ? IN_ENVIRONMENT : ANYWHERE;
    const char *value = p->url_variable ? endpoint_variable(c, p->url_variable, in, &from) : NULL;

    e->binding.url = URL_ENTRY;
    e->folders_place = false;
    xreplace(&e->base_url, value ? url_trim(value) : NULL);
    if (!value && p->host_variable && (value = endpoint_variable(c, p->host_variable, in, &from)) != NULL) {
        e->base_url = url_from_host(value, usual_port(p));
        if (!e->base_url)
            return error_set(err, ERROR_USAGE, 0, "%s: expected HOST, HOST:PORT or a URL", from.name);
    }
    e->passed_over = in == IN_ENVIRONMENT && dotenv_place(c, p);
    if (value) {
        e->url_source = from;
        e->elsewhere = p->url_variable && !url_same_service(e->base_url, p->base_url);
        e->binding.url = URL_VARIABLE;
        e->binding.url_from = from.kind;
        e->folders_place = from.kind == SOURCE_DOTENV && !usual_place(e, p);
        return 0;
    }
    e->url_source = p->url_line ? (struct source){SOURCE_FILE, p->url_line, c->file} : (struct source){0};
    e->binding.url_from = e->url_source.kind;
    return fill_in(c, e, in, err);
}

static int take_entry(struct config *c, const struct provider *p, struct endpoint *e, struct error *err)
{
    e->entry = p;
    e->provider = p->name;
    if (entry_url(c, e, err) < 0)
        return -1;
    e->found = true;
    return 0;
}

static const struct provider *named_provider(const struct config *c, const char *name, const char *where,
                                             struct error *err)
{
    const struct providers *known = config_providers(c);
    const struct provider *p = provider_find(known, name);
    autofree char *shown = scrub_line(name, SCRUB_TERMINAL);

    if (p)
        return p;
    const char *near = provider_nearest(known, name);
    if (near)
        return error_null(err, ERROR_USAGE, 0, "%s: unknown provider \"%.60s\"; did you mean %s?", where,
                          shown, near);
    struct buf names autorelease(buf_release) = BUF_INIT(4096);
    for (size_t i = 0; i < known->n; i++)
        buf_addf(&names, "%s%s", i ? ", " : "", known->v[i].name);
    return error_null(err, ERROR_USAGE, 0,
                      "%s: unknown provider \"%.60s\"\n"
                      "Known: %s. Others can be added in config.yaml.",
                      where, shown, buf_str(&names));
}

/* Nobody said where, but a key or a URL is set: in the environment (layer 0), then in .env (1), then in
 * config.yaml (2). */
static int implicit_choice(struct config *c, struct endpoint *e, int last, struct error *err)
{
    const struct providers *known = config_providers(c);
    struct error earlier = {0};

    for (int layer = 0; layer <= last; layer++)
        for (size_t i = 0; i < known->n; i++) {
            const struct provider *p = &known->v[i];
            struct error why = {0};

            if (p->by_name)
                continue;
            if (layer < 2 ? !is_there(c, p, layer == 0 ? IN_ENVIRONMENT : IN_DOTENV)
                          : !p->api_key && !p->api_key_command.n)
                continue;
            e->by_folder = layer == 1;
            if (take_entry(c, p, e, &why) == 0)
                return 0;
            if (!earlier.kind)
                earlier = why;
        }
    e->by_folder = false;
    if (earlier.kind && err)
        *err = earlier;
    return earlier.kind ? -1 : 0;
}

/* A folder may choose among the providers for which the user has something configured; others only if the
 * environment chooses none. */
static bool folder_may_name(struct config *c, const char *name)
{
    const struct provider *p = provider_find(config_providers(c), name);
    struct endpoint e = {0};

    if (!p || is_own(c, p))
        return true;
    implicit_choice(c, &e, 0, NULL);
    bool chosen = e.found;
    if (chosen)
        argv_pushf(&c->notices, "./.env:%d: SANDPIPER_PROVIDER is ignored: your environment chooses %s",
                   c->choice[SOURCE_DOTENV].provider.from.line, e.provider);
    endpoint_release(&e);
    return !chosen;
}

static bool layer_chooses(struct config *c, int k)
{
    const struct config_choice *layer = &c->choice[k];

    return (layer->provider.value || layer->base_url.value)
           && (k != SOURCE_DOTENV || folder_may_name(c, layer->provider.value));
}

/* Somebody said where: use the highest layer with a provider or a base URL. Also returns 0 if there is none.
 */
static int explicit_choice(struct config *c, struct endpoint *e, struct error *err)
{
    int k = SOURCE_FLAG;
    const struct provider *p = NULL;

    while (k > SOURCE_DEFAULT && !layer_chooses(c, k))
        k--;
    if (k == SOURCE_DEFAULT)
        return 0;
    if (c->choice[k].provider.value) {
        e->provider_source = c->choice[k].provider.from;
        autofree char *where = source_text(&e->provider_source);
        if (!(p = named_provider(c, c->choice[k].provider.value, where, err)))
            return -1;
    }
    if (!c->choice[k].base_url.value) {
        e->binding.provider_from_file = k == SOURCE_FILE;
        e->by_folder = k == SOURCE_DOTENV;
        return take_entry(c, p, e, err);
    }
    e->entry = p;
    e->provider = p ? p->name : "custom";
    e->base_url = url_trim(c->choice[k].base_url.value);
    e->url_source = c->choice[k].base_url.from;
    e->binding = (struct binding){
        .url = URL_OPTION, .url_from = (enum source_kind)k, .provider_beside = p != NULL};
    e->found = true;
    return 0;
}

/* Use the highest layer that names a model, except a model that was named beside another provider. */
static void choose_model(struct config *c, struct endpoint *e)
{
    int chosen = e->binding.url == URL_OPTION ? (int)e->url_source.kind : (int)e->provider_source.kind;

    for (int k = SOURCE_FLAG; k > SOURCE_DEFAULT; k--) {
        const struct config_choice *layer = &c->choice[k];

        if (!layer->model.value)
            continue;
        if (k < chosen && (layer->provider.value || layer->base_url.value)
            && !(layer->provider.value && e->entry && !strcmp(layer->provider.value, e->entry->name)))
            continue;
        e->model = layer->model.value;
        e->model_source = layer->model.from;
        return;
    }
    /* A server on this machine has models of its own. */
    if (e->entry && e->entry->models.n && !(e->elsewhere && url_is_loopback(e->base_url))) {
        e->models = &e->entry->models;
        e->model = e->models->v[0];
        e->model_source = (struct source){e->entry->models_line ? SOURCE_FILE : SOURCE_DEFAULT,
                                          e->entry->models_line, c->file};
    }
}

/* A value set for all providers goes before the provider's entry. */
static void choose_api(struct config *c, struct endpoint *e)
{
    e->api = e->entry ? e->entry->api : API_CHAT_COMPLETIONS;
    if (e->elsewhere && e->entry->has_api_elsewhere && !e->entry->api_line)
        e->api = e->entry->api_elsewhere;
    e->api_source = (struct source){e->entry && e->entry->api_line ? SOURCE_FILE : SOURCE_DEFAULT,
                                    e->entry ? e->entry->api_line : 0, c->file};
    if (!c->api)
        return;
    e->api = (enum model_api)value_choice_index(c->api, strlen(c->api), MODEL_APIS);
    e->api_source = *config_source(c, &c->api);
}

static int check_url(const struct config *c, const struct endpoint *e, struct error *err)
{
    autofree char *where = source_text(&e->url_source);

    if (url_check(e->base_url, where, err) < 0)
        return -1;
    if ((e->key || e->key_command) && url_is_plain(e->base_url) && !url_is_loopback(e->base_url)
        && !c->allow_insecure && !(e->entry && e->entry->allow_insecure))
        return error_set(err, ERROR_USAGE, 0,
                         "%s: the key would be sent unencrypted to %s\n"
                         "Use https://, or set allow_insecure: true in config.yaml.",
                         where, e->base_url);
    return 0;
}

const char *endpoint_title(const struct endpoint *e)
{
    if (!e->entry || e->elsewhere)
        return e->base_url;
    return e->entry->title ? e->entry->title : e->provider;
}

/* What the user's options say of whatever model is asked. */
static void users_word(const struct config *c, struct model_facts *f)
{
    if (c->dialect)
        f->dialect = (enum dialect)value_choice_index(c->dialect, strlen(c->dialect), DIALECTS);
    if (c->context)
        f->context = c->context;
    if (c->temperature >= 0)
        f->temperature = c->temperature;
    if (strcmp(c->vision, "auto") != 0)
        f->vision = !strcmp(c->vision, "on");
}

struct model_facts endpoint_facts(const struct config *c, const struct endpoint *e, const char *model)
{
    const struct provider *p = e->elsewhere ? NULL : e->entry;
    const struct profiles *const lists[] = {&c->profiles, p ? &p->profiles : NULL,
                                            config_builtin_profiles(c)};
    struct profile all = profile_of(lists, countof(lists), model);

    if (p && !all.has_thinking)
        all.facts.thinking = p->thinking;
    if (p && !all.has_reasoning_back)
        all.facts.reasoning_back = p->reasoning_back;
    if (p && p->local)
        all.facts.price.known = true; /* it costs nothing, unless somebody has said otherwise */
    users_word(c, &all.facts);
    return all.facts;
}

int endpoint_look(struct config *c, struct endpoint *e, struct error *err)
{
    *e = (struct endpoint){.ca_cert = c->front.ca_cert};
    if (explicit_choice(c, e, err) < 0)
        return -1;
    if (!e->found && implicit_choice(c, e, 2, err) < 0)
        return -1;
    e->by_folder |= e->folders_place;
    choose_model(c, e);
    choose_api(c, e);
    if (!e->found)
        return 0;
    return endpoint_choose_key(c, e, err) < 0 || check_url(c, e, err) < 0 ? -1 : 0;
}

static void tell_passed_over(struct config *c, const struct endpoint *e)
{
    const struct dotenv_entry *d = e->passed_over ? dotenv_place(c, e->entry) : NULL;

    if (d)
        argv_pushf(&c->notices, "./.env:%d: %s is ignored: you have set a key or URL for %s yourself",
                   d->line, d->name, e->provider);
}

int endpoint_choose(struct config *c, struct endpoint *e, struct error *err)
{
    enum folder_answer answer = FOLDER_ALLOWED;

    if (endpoint_look(c, e, err) < 0)
        return -1;
    if (e->found && e->folders_place)
        answer = folder_verdict(c, e, err);
    if (answer == FOLDER_NOBODY || answer == FOLDER_INTERRUPTED)
        return -1;
    if (answer == FOLDER_DENIED) {
        argv_pushf(&c->notices, "./.env is ignored: you did not allow it to send questions to %.200s",
                   e->base_url);
        endpoint_release(e);
        folder_leave_out(c);
        return endpoint_look(c, e, err);
    }
    if (e->found) {
        tell_passed_over(c, e);
        folder_tell(c, e);
    }
    return 0;
}

int endpoint_check_key(const struct endpoint *e, struct error *err)
{
    const struct provider *p = e->entry;

    if (!e->found || !p || !p->key_variable[0] || p->local || e->elsewhere || e->binding.url == URL_OPTION)
        return 0;
    if (e->key || e->key_command || e->unbound || url_is_plain(e->base_url) || url_is_loopback(e->base_url))
        return 0;
    return error_set(err, ERROR_USAGE, 0,
                     "%s needs an API key, and %s is not set\n"
                     "export %s=..., or put it in .env, or set api_key_command: in config.yaml",
                     endpoint_title(e), p->key_variable[0], p->key_variable[0]);
}

void endpoint_take_local(struct config *c, struct endpoint *e, const struct provider *p)
{
    e->entry = p;
    e->provider = p->name;
    choose_api(c, e);
    e->found = entry_url(c, e, NULL) == 0;
    if (!e->key_name)
        e->key_name = xstrdup(p->key_variable[0] ? p->key_variable[0] : "SANDPIPER_API_KEY");
}

void endpoint_release(struct endpoint *e)
{
    free_secret(e->key);
    free(e->base_url);
    free(e->key_name);
    free(e->unbound);
    *e = (struct endpoint){0};
}
