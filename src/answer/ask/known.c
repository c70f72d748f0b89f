/* known.c - what a service itself says of the model: its window, whether it takes tools, the day on which it
 * ends. It yields to the user's word and replaces what is built in. A question makes no extra request for
 * this, except to a server on this machine, which alone knows the model's present window. A chat asks it when
 * its prompt stands, since loading libcurl takes as long as all the rest of a start.
 *
 * RULE: Of a model the user's word counts first, then the service's list, then what is built in, then an
 *     error of the service.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "ask/service.h"
#include "config/config.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "base/size.h"
#include "base/url.h"
#include "llm/llm.h"
#include "llm/models.h"

#define LOCAL_MS 150   /* ms; short, since nobody asked for it */
#define HEARD_MS 20000 /* for which its answer is good; a model may be loaded anew at any time */
#define GONE_MS  5000  /* ms; for the list when a model is gone */
#define NAMES_MS 2000  /* ms; the user has pressed Tab and is waiting */

/* A TLS request is never cheap, and nobody runs a model behind TLS on their own machine. */
static bool has_cheap_list(const struct endpoint *e)
{
    return !strncmp(e->base_url, "http://", 7)
           && (url_is_loopback(e->base_url) || (e->entry && e->entry->local));
}

void models_query(const struct endpoint *e, int timeout_ms, int max_age_s, struct llm_models_query *q)
{
    *q = (struct llm_models_query){
        .base_url = e->base_url,
        .api_key = e->key,
        .key_name = e->key_name,
        .ca_cert = e->ca_cert,
        .timeout_ms = timeout_ms,
        .max_age_s = max_age_s,
        .key_header = e->entry && e->entry->key_header,
    };
}

static void copy_model(const struct llm_model *m, struct llm_model *out)
{
    *out = *m;
    out->id = xstrdup(m->id);
    out->replaced_by = xstrdup(m->replaced_by);
}

/* A process that asks row after row of a batch asks for this once in a while, not before each of them. */
static bool ask_local(const struct endpoint *e, const char *model, struct loop *loop, struct llm_model *out)
{
    static struct {
        char *url, *model;
        int64_t at;
        bool found;
        struct llm_model said;
    } heard; /* the last answer, if there was one */
    struct llm_models_query q;

    if (!heard.found || heard.said.unloaded || strcmp(heard.url, e->base_url) != 0
        || strcmp(heard.model, model) != 0 || clock_ms() - heard.at >= HEARD_MS) {
        if (heard.found)
            llm_model_release(&heard.said);
        models_query(e, LOCAL_MS, 0, &q);
        heard.found = llm_models_ask_local(&q, model, loop, &heard.said) == 0;
        heard.at = clock_ms();
        xreplace(&heard.url, xstrdup(e->base_url));
        xreplace(&heard.model, xstrdup(model));
    }
    if (heard.found)
        copy_model(&heard.said, out);
    return heard.found;
}

/* Ask a server on this machine, since its answer may change; for the others look in the cached list. */
static bool look_up(const struct endpoint *e, const char *model, struct loop *loop, struct llm_model *out)
{
    struct llm_models kept;
    const struct llm_model *found = NULL;

    if (has_cheap_list(e) && ask_local(e, model, loop, out))
        return true;
    if (llm_models_cached(e->base_url, MODELS_KEPT_S, &kept) == 0
        && (found = llm_models_find(&kept, model)) != NULL)
        copy_model(found, out);
    llm_models_release(&kept);
    return found != NULL;
}

/* Where the service does not say when a model ends, use what is built in. */
static void built_in_end(const struct model_facts *f, struct llm_model *m)
{
    if (!*m->ends && f->ends && strlen(f->ends) < sizeof m->ends)
        memcpy(m->ends, f->ends, strlen(f->ends) + 1);
    if (!m->replaced_by)
        m->replaced_by = xstrdup(f->replaced_by);
}

/* Once a day (llm/models_kept.c): the model is retired soon. */
static void tell_end(const struct endpoint *e, const struct llm_model *m, struct argv *notices)
{
    time_t now = time(NULL);
    int days;

    if (!llm_model_days_left(m, now, &days) || days > MODELS_WARN_DAYS
        || !llm_models_first_today(e->base_url, m->id, now))
        return;
    autofree char *next = m->replaced_by ? xasprintf("; %s takes its place", m->replaced_by) : xstrdup("");
    if (days < 0)
        argv_pushf(notices, "%s was due to be retired on %s%s. Others: sandpiper models", m->id, m->ends,
                   next);
    else
        argv_pushf(notices, "%s will be retired on %s, in %d day%s%s. Others: sandpiper models", m->id,
                   m->ends, days, days == 1 ? "" : "s", next);
}

/* Ollama and LM Studio load a model with a small window unless told otherwise, and silently cut off the
 * beginning of a longer conversation. */
static void tell_window(const struct endpoint *e, const struct llm_model *m, struct argv *notices)
{
    const struct short_text window = count_text(m->context);
    bool ollama = m->server == LLM_SERVER_OLLAMA;

    if (m->context <= 0 || m->context >= MODELS_SMALL_WINDOW
        || (!ollama && m->server != LLM_SERVER_LM_STUDIO))
        return;
    autofree char *what = xasprintf("window of %s", m->id);
    if (!llm_models_first_today(e->base_url, what, time(NULL)))
        return;
    if (ollama)
        argv_pushf(notices,
                   "Ollama runs %s with a context window of %s tokens, too small for longer work. Enlarge "
                   "it: OLLAMA_CONTEXT_LENGTH=65536 ollama serve",
                   m->id, window.text);
    else
        argv_pushf(notices,
                   "LM Studio runs %s with a context window of %s tokens, too small for longer work. Enlarge "
                   "it: lms load %s --context-length 65536",
                   m->id, window.text, m->id);
}

/* What config.yaml says of this model. */
static struct profile users_profile(const struct config *c, const char *model)
{
    const struct profiles *const users[] = {&c->profiles};

    return profile_of(users, countof(users), model);
}

bool known_merge(const struct config *c, const struct llm_model *m, struct llm_options *o)
{
    struct profile users = users_profile(c, o->model);
    bool own_window = c->context || users.facts.context;

    if (!own_window && (m->context > 0 || m->unloaded))
        o->facts.context = m->context;
    if (m->tools == 0 && !c->dialect && !users.has_dialect)
        o->facts.dialect = DIALECT_BLOCKS;
    if (m->max_output > 0 && m->max_output < 4096 && !o->facts.max_tokens)
        o->facts.max_tokens = m->max_output;
    if (m->price_input >= 0 && m->price_output >= 0 && !users.facts.price.known)
        o->facts.price = (struct price){
            true, m->price_input, m->price_cached >= 0 ? m->price_cached : m->price_input, m->price_output};
    return !own_window;
}

void known_apply(const struct service *s, struct llm_options *o, struct known_model *k)
{
    const struct config *c = s->config;
    const struct endpoint *e = s->endpoint;
    struct llm_model m;

    k->waits_for_window = false;
    k->waits_for_prompt = k->waits_for_prompt && e->found && has_cheap_list(e);
    if (!e->found || k->waits_for_prompt)
        return;
    if (!look_up(e, o->model, s->loop, &m))
        m = (struct llm_model){.id = xstrdup(o->model), .tools = -1, .price_input = -1};
    bool its_window = known_merge(c, &m, o);
    k->waits_for_window = its_window && m.unloaded;
    built_in_end(&o->facts, &m);
    tell_end(e, &m, &k->notices);
    if (its_window)
        tell_window(e, &m, &k->notices);
    llm_model_release(&m);
}

int known_window(const struct endpoint *e, const char *model, struct known_model *k)
{
    struct llm_models_query q;
    struct llm_model m;
    int window = 0;

    k->waits_for_window = false;
    models_query(e, LOCAL_MS, 0, &q);
    if (llm_models_ask_local(&q, model, NULL, &m) == 0) { /* no loop: this is called from an event */
        tell_window(e, &m, &k->notices);
        window = m.context;
        llm_model_release(&m);
    }
    return window;
}

int known_listed(const struct endpoint *e, const char *model)
{
    struct llm_models kept;
    int listed = llm_models_cached(e->base_url, MODELS_KEPT_S, &kept) < 0
                     ? -1
                     : llm_models_find(&kept, model) != NULL;

    llm_models_release(&kept);
    return listed;
}

void known_names(const struct endpoint *e, struct argv *out)
{
    struct llm_models_query q;
    struct llm_models m = {0};

    models_query(e, NAMES_MS, MODELS_KEPT_S, &q);
    /* no loop: this is called while a line is edited */
    if (e->found && llm_models_get(&q, NULL, &m, NULL) == 0)
        for (size_t i = 0; i < m.n; i++) {
            autofree char *clean = scrub_line(m.v[i].id, SCRUB_TERMINAL);

            if (!strcmp(clean, m.v[i].id) && !strchr(clean, ' '))
                argv_push(out, clean);
        }
    llm_models_release(&m);
}

bool known_nearest(const struct service *s, const char *model, char *id, size_t size)
{
    struct llm_models_query q;
    struct llm_models m = {0};
    const struct llm_model *near = NULL;

    models_query(s->endpoint, GONE_MS, 0, &q);
    if (s->endpoint->found && llm_models_get(&q, s->loop, &m, NULL) == 0)
        near = llm_models_nearest(&m, model);
    bool fits = near && strlen(near->id) < size;
    if (fits)
        snprintf(id, size, "%s", near->id);
    llm_models_release(&m);
    return fits;
}
