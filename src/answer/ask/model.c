/* model.c - which model to use when the configuration leaves it open: a server on this machine is asked. */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "ask/service.h"
#include "config/config.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/url.h"
#include "llm/llm.h"
#include "llm/models.h"
#include "process/signals.h"

#define DISCOVER_MS 150  /* ms; short, since nobody asked for it */
#define BUSY_MS     2000 /* ms; a server that listens may be busy */
#define LIST_MS     3000 /* ms; the user chose this server, so it may take longer */

static size_t add_place(struct local_place *v, size_t n, const struct provider *p, const char *url)
{
    if (n < LOCAL_MAX && url && !strchr(url, '{'))
        v[n++] = (struct local_place){p, url};
    return n;
}

size_t local_places(const struct config *c, struct local_place v[LOCAL_MAX])
{
    const struct providers *known = config_providers(c);
    size_t n = 0;

    for (size_t i = 0; i < known->n; i++) {
        const struct provider *p = &known->v[i];

        if (!p->discover)
            continue;
        n = add_place(v, n, p, p->base_url);
        n = add_place(v, n, p, p->other_url);
    }
    return n;
}

/* Name the places where a model was looked for and something listens, and what each had instead; all: those
 * where nobody listens too. */
static void tell_places(const struct local_place *local, const enum llm_place *places, size_t n, bool all,
                        struct buf *out)
{
    static const char *const words[] = {
        [LLM_NOBODY] = "",
        [LLM_SILENT] = ", which does not answer",
        [LLM_UNTRUSTED] = ", whose certificate is not trusted",
        [LLM_LOADING] = ", which is not ready yet: try again in a moment",
        [LLM_OTHER] = ", where something else answers",
        [LLM_NO_MODEL] = ", which has no models yet",
        [LLM_MODEL] = "",
    };

    for (size_t i = 0; i < n; i++) {
        const struct provider *p = local[i].provider;
        const char *host = strstr(local[i].url, "//"), *name = p->title ? p->title : p->name;

        host = host ? host + 2 : local[i].url;
        if (places[i] == LLM_NOBODY && !all)
            continue;
        buf_addf(out, "%s%s at %.*s%s", out->len ? "; " : " (looked for ", name, (int)strcspn(host, "/"),
                 host, words[places[i]]);
    }
    if (out->len)
        buf_addch(out, ')');
}

static void move_to(struct endpoint *e, const char *url)
{
    xreplace(&e->base_url, xstrdup(url));
}

/* The entry names two places for its server: use the one where something listens. */
static void find_place(struct endpoint *e, struct loop *loop)
{
    enum llm_place places[2];
    char *model = NULL;

    if (!e->entry || !e->entry->other_url || e->binding.url != URL_ENTRY || strchr(e->entry->other_url, '{'))
        return;
    const char *urls[] = {e->base_url, e->entry->other_url};
    struct llm_search search = {urls, 2, e->ca_cert, DISCOVER_MS, DISCOVER_MS};
    llm_discover(&search, loop, &model, places);
    free(model);
    if (places[0] == LLM_NOBODY && places[1] != LLM_NOBODY)
        move_to(e, e->entry->other_url);
}

int none_configured(const char *looked, struct error *err)
{
    return error_set(
        err, ERROR_USAGE, 0,
        "No model yet%s. Choose one:\n"
        "  a key:         export OPENAI_API_KEY=...  (or GROQ_API_KEY, OPENROUTER_API_KEY, ...: "
        "man sandpiper-config)\n"
        "  your machine:  ollama serve, beside it ollama pull qwen3.5:4b  (or llama.cpp, LM Studio; "
        "any other: --base-url URL -m MODEL)\n"
        "  nothing yet:   make run, in sandpiper's source folder, fetches a small model (1.1 "
        "GB) and starts it",
        looked);
}

/* Nothing was chosen: use Ollama, llama.cpp or LM Studio, the first in this order that answers. */
static int discover(const struct service *s, char **model, char **notice, struct error *err)
{
    struct config *c = s->config;
    struct endpoint *e = s->endpoint;
    struct loop *loop = s->loop;
    const char *urls[LOCAL_MAX];
    struct local_place local[LOCAL_MAX];
    enum llm_place places[LOCAL_MAX];
    struct buf looked autorelease(buf_release) = BUF_INIT(600);
    size_t n = local_places(c, local);

    for (size_t i = 0; i < n; i++)
        urls[i] = local[i].url;
    struct llm_search search = {urls, n, c->front.ca_cert, DISCOVER_MS, BUSY_MS};
    int found = c->discover && n ? llm_discover(&search, loop, model, places) : -1;
    if (loop_cancelled(loop))
        return error_set(err, ERROR_CANCELLED, 0, "interrupted");
    if (found < 0) {
        if (c->discover && n)
            tell_places(local, places, n, c->front.verbose, &looked);
        if (c->front.model && *c->front.model)
            return error_set(
                err, ERROR_USAGE, 0,
                "no service is configured for %.100s%s\n"
                "name one (--provider openai, or --base-url URL), or set its key (OPENAI_API_KEY=...)",
                c->front.model, buf_str(&looked));
        return none_configured(buf_str(&looked), err);
    }
    endpoint_take_local(c, e, local[found].provider);
    move_to(e, local[found].url);
    if (e->model)
        xreplace(model, xstrdup(e->model));
    *notice = xasprintf("no provider is configured; using %s of %s at %s", *model,
                        e->entry->title ? e->entry->title : e->entry->name, e->base_url);
    return 0;
}

int endpoint_ready(struct endpoint *e, struct loop *loop, struct error *err)
{
    if (endpoint_fetch_key(e, loop, err) < 0)
        return -1;
    find_place(e, loop);
    return 0;
}

static bool is_pattern(const char *entry)
{
    return strpbrk(entry, "*?") != NULL;
}

static bool is_other(const char *model, const char *but)
{
    return !but || strcmp(model, but) != 0;
}

/* The first model in the service's list that matches the pattern, other than but; NULL if there is none. */
static const char *listed(const struct llm_models *m, const char *pattern, const char *but)
{
    for (size_t i = 0; i < m->n; i++)
        if (is_other(m->v[i].id, but) && fnmatch(pattern, m->v[i].id, FNM_CASEFOLD) == 0)
            return m->v[i].id;
    return NULL;
}

/* There a model need not be named: the first of its list is asked. */
static bool is_local_service(const struct endpoint *e)
{
    return url_is_loopback(e->base_url) || (e->entry && e->entry->local);
}

const char *model_in_list(const struct endpoint *e, const struct llm_models *m)
{
    const char *name = e->models ? NULL : e->model;

    for (size_t i = 0; e->models && i < e->models->n && !name; i++)
        name = is_pattern(e->models->v[i]) ? listed(m, e->models->v[i], NULL) : e->models->v[i];
    if (!name && !e->models && is_local_service(e))
        name = llm_models_first(m);
    const struct llm_model *named = name ? llm_models_find(m, name) : NULL;
    return named ? named->id : NULL;
}

/* The first usable model from entry i of the preference list on, other than but (NULL: any). The service is
 * asked for its list only if an entry is a pattern, and a list from the same day is enough. NULL: there is
 * none, or, with err set, the service did not tell. */
static const char *preferred(const struct service *s, size_t i, const char *but, struct error *err)
{
    const struct argv *models = s->endpoint->models;
    const char *found = NULL;
    struct llm_models_query q;
    struct llm_models m = {0};
    bool known = false;

    for (; i < models->n && !found; i++) {
        if (!is_pattern(models->v[i])) {
            found = is_other(models->v[i], but) ? models->v[i] : NULL;
            continue;
        }
        models_query(s->endpoint, LIST_MS, MODELS_KEPT_S, &q);
        if (!known && llm_models_get(&q, s->loop, &m, err) < 0)
            break;
        known = true;
        const char *id = listed(&m, models->v[i], but);
        found = id ? config_keep(s->config, id) : NULL;
    }
    llm_models_release(&m);
    return found;
}

const char *model_after(const struct service *s, const char *model, char *advice, size_t size)
{
    const struct endpoint *e = s->endpoint;
    const char *replaced_by = endpoint_facts(s->config, e, model).replaced_by;
    const char *next = NULL;

    *advice = '\0';
    for (size_t i = 0; e->models && i < e->models->n && !next; i++)
        if (fnmatch(e->models->v[i], model, FNM_CASEFOLD) == 0)
            next = preferred(s, i + 1, model, NULL);
    if (next)
        return next;
    if (replaced_by)
        snprintf(advice, size, "Use %s instead: %s %s", replaced_by, s->chat ? "/model" : "-m", replaced_by);
    return NULL;
}

void model_prefer(struct endpoint *e, const char *model)
{
    if (!model || e->model_source.kind != SOURCE_DEFAULT)
        return;
    e->model = model;
    e->models = NULL;
}

int model_settle(const struct service *s, char **model, char **notice, struct error *err)
{
    struct config *c = s->config;
    struct endpoint *e = s->endpoint;
    struct loop *loop = s->loop;

    *model = *notice = NULL;
    if (!e->found)
        return discover(s, model, notice, err);
    if (endpoint_ready(e, loop, err) < 0)
        return -1;
    if (e->models && !(e->model = preferred(s, 0, NULL, err)))
        return err->kind ? -1
                         : error_set(err, ERROR_USAGE, 0,
                                     "%s has none of the default models of %s\n"
                                     "Choose one with -m MODEL; sandpiper models lists them.",
                                     e->base_url, e->provider);
    if (e->model) {
        *model = xstrdup(e->model);
        return 0;
    }
    if (is_local_service(e)) {
        const char *url = e->base_url;
        enum llm_place place;
        struct llm_search search = {&url, 1, c->front.ca_cert, LIST_MS, LIST_MS};
        if (llm_discover(&search, loop, model, &place) == 0) {
            *notice = xasprintf("Using %s, the first model at %s (-m chooses).", *model, e->base_url);
            return 0;
        }
        if (loop_cancelled(loop))
            return error_set(err, ERROR_CANCELLED, 0, "interrupted");
        if (place == LLM_UNTRUSTED)
            return error_set(
                err, ERROR_USAGE, 0,
                "no model was chosen, and %s cannot be asked for its list: its certificate is not trusted\n"
                "Trust its issuer with --ca-cert FILE; with -m MODEL the error says more",
                e->base_url);
        if (place == LLM_NOBODY || place == LLM_SILENT)
            return error_set(err, ERROR_USAGE, 0,
                             "no model was chosen, and nothing answers at %s\n"
                             "Is the server running? With -m MODEL the error says more",
                             e->base_url);
        if (place == LLM_LOADING)
            return error_set(err, ERROR_BUSY, 503,
                             "no model was chosen, and %s is not ready yet (503)\n"
                             "Try again in a moment, or choose one: -m MODEL",
                             e->base_url);
        return error_set(err, ERROR_USAGE, 0,
                         "no model was chosen, and %s lists none\n"
                         "Choose one: -m MODEL",
                         e->base_url);
    }
    return error_set(err, ERROR_USAGE, 0,
                     "%s at %s: no model was chosen, and there is no default\n"
                     "Choose one: -m MODEL, SANDPIPER_MODEL, or model: in config.yaml",
                     e->provider, e->base_url);
}
