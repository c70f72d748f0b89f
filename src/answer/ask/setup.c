/* setup.c - copies struct config into the option structs of the rooms. Every decision was made in config.
 */
#include <string.h>

#include "ask/setup.h"
#include "config/config.h"
#include "config/endpoint.h"
#include "agent/agent.h"
#include "base/argv.h"
#include "base/mem.h"
#include "conversation/language.h"
#include "engine/engine.h"
#include "engine/engines.h"
#include "engine/recipe.h"
#include "mount/mount.h"
#include "llm/llm.h"
#include "sandbox/sandbox.h"

/* The engine's failures are a table of the same words. */
static void setup_recipe(const struct custom_engine *e, struct engine_recipe *r)
{
    struct engine_failure *failures = xcalloc(e->n_failures + 1, sizeof *failures);

    for (size_t i = 0; i < e->n_failures; i++)
        failures[i] = (struct engine_failure){e->failures[i].says, e->failures[i].means,
                                              e->failures[i].remedy};
    *r = (struct engine_recipe){
        .name = e->name,
        .open = e->open,
        .state = e->state,
        .close = e->close,
        .before = e->before,
        .start = e->start,
        .after = e->after,
        .env = e->env,
        .gives = e->gives,
        .queue_ms = e->queue_ms,
        .walls = custom_engine_setting(e, "walls"),
        .image = custom_engine_setting(e, "image"),
        .program = custom_engine_setting(e, "program"),
        .failures = failures,
        .n_failures = e->n_failures,
    };
}

void setup_engines(const struct config *c)
{
    static struct engine_recipe recipes[CUSTOM_ENGINES_MAX + 1]; /* borrowed for good, as config is */

    for (size_t i = 0; i < c->engines.n && i < countof(recipes); i++) {
        setup_recipe(&c->engines.v[i], &recipes[i]);
        engines_define(&recipes[i]);
    }
}

/* A list for good, as the config is, with NULL at its end. */
static const char *const *language_words(const struct argv *v)
{
    const char **list = xcalloc(v->n + 1, sizeof *list);

    for (size_t i = 0; i < v->n; i++)
        list[i] = v->v[i];
    return list;
}

void setup_languages(const struct config *c)
{
    static const char *const none[] = {NULL};

    for (size_t i = 0; i < c->own_languages.n; i++) {
        const struct own_language *o = &c->own_languages.v[i];
        const struct argv name = {.v = (char **)&o->name, .n = 1};

        language_define(&(struct language){.name = o->name,
                                           .tool = xasprintf("execute_%s", o->name),
                                           .tags = language_words(&name),
                                           .keywords = none,
                                           .comment = "#",
                                           .quotes = "\"'",
                                           .ends = language_words(&o->ends),
                                           .run = language_words(&o->run),
                                           .about = o->about,
                                           .keeps = "nothing"});
    }
}

int setup_name_check(const struct config *c, struct error *err)
{
    if (!c->sandbox_name)
        return 0;
    const struct engine *engine = engines_find(c->sandbox);
    if (engine && !engine->named)
        return error_set(err, ERROR_USAGE, 0,
                         "%s cannot keep a sandbox: --sandbox-name needs docker, podman or bwrap",
                         c->sandbox);
    return sandbox_name_check(c->sandbox_name, err);
}

int setup_engine_check(const struct config *c, struct error *err)
{
    const struct engine *engine = engines_find(c->sandbox);
    struct sandbox_options o;

    if ((c->allow_net.n || c->secrets.n) && engine && engine->custom)
        return error_set(err, ERROR_USAGE, 0,
                         "%s cannot be given hosts: --allow-net and --secret need docker, podman or bwrap",
                         c->sandbox);
    if (c->mounts.n && engine && !engine->mounts)
        return error_set(err, ERROR_USAGE, 0,
                         "%s cannot mount folders: --mount needs docker, podman or bwrap", c->sandbox);
    setup_sandbox(c, &o);
    return engine_check(&o.run, err);
}

int setup_mounts(const struct config *c, struct mounts *m, struct error *err)
{
    if (setup_engine_check(c, err) < 0)
        return -1;
    for (size_t i = 0; i < c->mounts.n; i++)
        if (mounts_add(m, c->mounts.v[i], err) < 0)
            return -1;
    return 0;
}

void setup_sandbox(const struct config *c, struct sandbox_options *o)
{
    sandbox_defaults(o);
    o->run.engine = c->sandbox;
    o->run.image = c->image;
    o->run.runtime = c->runtime && *c->runtime ? c->runtime : NULL;
    o->run.memory = c->memory;
    o->run.cpus = c->cpus;
    o->run.pids = c->pids;
    o->run.data_size = c->data_size;
    sandbox_fit(o);
    /* what /mnt/data holds may be saved, unless the user wants less */
    o->max_file = config_source(c, &c->max_file)->kind == SOURCE_DEFAULT ? c->data_size : c->max_file;
    o->max_files_total = c->max_files_total;
    o->max_output = c->max_output;
    o->figure_svg = !strcmp(c->figure_format, "svg") || !strcmp(c->figure_format, "all");
    o->figure_pdf = !strcmp(c->figure_format, "pdf") || !strcmp(c->figure_format, "all");
    o->cell_ms = (int)c->timeout;
    o->run.name = c->sandbox_name;
    o->run.idle_ms = c->sandbox_idle;
    const struct {
        const void *member;
        unsigned bit;
    } asked[] = {
        {&c->image, ENGINE_ASKED_IMAGE},         {&c->memory, ENGINE_ASKED_MEMORY},
        {&c->cpus, ENGINE_ASKED_CPUS},           {&c->pids, ENGINE_ASKED_PIDS},
        {&c->data_size, ENGINE_ASKED_DATA_SIZE},
    };
    for (size_t i = 0; i < countof(asked); i++)
        o->run.asked |= config_source(c, asked[i].member)->kind == SOURCE_DEFAULT ? 0 : asked[i].bit;
    /* For instance an image from config.yaml with bwrap on the command line: the nearer setting wins. */
    const struct engine *engine = engines_find(c->sandbox);
    bool farther = config_source(c, &c->image)->kind < config_source(c, &c->sandbox)->kind;
    if (engine && !engine->images && (farther || custom_engine_takes_image(c)))
        o->run.asked &= ~(unsigned)ENGINE_ASKED_IMAGE;
    o->run.snapshots = c->snapshots;
}

void setup_agent(const struct config *c, struct agent_options *o)
{
    agent_defaults(o);
    o->max_requests = (unsigned)c->max_rounds;
    o->max_ms = c->max_time;
    o->max_tokens_total = c->front.max_tokens_total;
    o->max_cost = c->front.max_cost;
    o->verify = !strcmp(c->check, "always");
    o->data_size = c->data_size;
    o->cell_ms = c->timeout;
    o->memory = c->memory;
    o->system = c->system && *c->system ? c->system : NULL;
}

void setup_llm(const struct config *c, const struct endpoint *e, const char *model, struct llm_options *o)
{
    *o = (struct llm_options){
        .provider = endpoint_title(e),
        .base_url = e->base_url,
        .model = model,
        .api_key = e->key,
        .key_name = e->key_name,
        .key_header = e->entry && e->entry->key_header,
        .api = e->api,
        .stream = c->stream,
        .max_tokens = c->max_tokens,
        .reasoning_summary = c->show_reasoning,
        .facts = endpoint_facts(c, e, model),
    };
    if (e->entry && !e->elsewhere)
        o->service = e->entry->facts;
}

void setup_llm_session(const struct config *c, struct llm_session *s)
{
    *s = (struct llm_session){
        .ca_cert = c->front.ca_cert,
        .connect_ms = (int)c->connect_timeout,
        .idle_ms = (int)c->idle_timeout,
        .quiet_ms = (int)c->quiet_timeout,
    };
}
