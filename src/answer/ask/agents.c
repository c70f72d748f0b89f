/* agents.c - the agents of a pipeline before the one that answers: each has a definition, a model and a
 * conversation of its own, and shares the sandbox and the loop.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/tools.h"
#include "base/error.h"
#include "base/mem.h"
#include "config/config.h"
#include "conversation/language.h"
#include "llm/llm.h"
#include "ask/ask.h"

static bool runs_code(const struct prompts *p)
{
    for (size_t i = 0; i < p->n_tools; i++)
        if (!strcmp(p->tools[i].name, languages[0].tool))
            return true;
    return false;
}

/* What the model is told of a language of the user's own. */
static char *own_text(const struct language *l)
{
    return xasprintf(
        "Run %s code and return what it prints: %s. Each call is a program of its own, from a file; "
        "nothing stays but files in /mnt/data, which Python sees too. {Network}. Limits: {limits}.",
        l->name, l->about ? l->about : l->run[0]);
}

/* "sh,js" */
static int give_languages(struct agents *g, const char *names, struct error *err)
{
    for (size_t len; *names; names += len + (names[len] == ',')) {
        len = strcspn(names, ",");
        const struct language *l = language_of_tag(names, len);

        if (!l) {
            autofree char *known = language_names();

            return error_set(err, ERROR_USAGE, 0, "--languages: there is no language \"%.*s\", only %s",
                             (int)(len < 40 ? len : 40), names, known);
        }
        autofree char *own = l->run ? own_text(l) : NULL;
        for (size_t i = 0; i < g->pipeline.n; i++)
            if (runs_code(&g->pipeline.v[i]) && prompts_give_language(&g->pipeline.v[i], l->tool, own) < 0)
                return error_set(err, ERROR_USAGE, 0, "--languages %s: the prompts have no text for %s",
                                 l->tags[0], l->tool);
    }
    return 0;
}

int languages_check(const struct config *c, struct error *err)
{
    struct agents none = {0};

    for (size_t i = 0; i < c->front.languages.n; i++)
        if (give_languages(&none, c->front.languages.v[i], err) < 0)
            return -1;
    return 0;
}

int agents_load(struct agents *g, const struct config *c, struct error *err)
{
    if (pipeline_load(&g->pipeline, c->agents, err) < 0)
        return -1;
    for (size_t i = 0; i < c->front.languages.n; i++)
        if (give_languages(g, c->front.languages.v[i], err) < 0)
            return -1;
    for (size_t i = 0; i < g->pipeline.n; i++)
        if (tools_check(&g->pipeline.v[i], err) < 0)
            return -1;
    while (g->n + 1 < g->pipeline.n) /* their saved turns may be put into them before they are opened */
        conversation_init(&g->v[g->n++].conversation);
    if (!c->agents && c->allow_folders.n && config_source(c, &c->allow_folders)->kind == SOURCE_FLAG)
        return error_set(err, ERROR_USAGE, 0,
                         "--allow-folder is for agents that look at files: add --agents files+code");
    if (g->pipeline.n > 1 && (c->record || c->replay))
        return error_set(err, ERROR_USAGE, 0, "--%s is for one agent, not for --agents %s",
                         c->record ? "record" : "replay", c->agents);
    return 0;
}

const struct prompts *agents_last(const struct agents *g)
{
    return &g->pipeline.v[g->pipeline.n - 1];
}

/* A model that the agent's definition names takes precedence over that of the session. */
static void model_of(struct ask *a, const struct prompts *agent, struct llm_options *o)
{
    ask_model_options(a, agent->model ? agent->model : a->model, o);
    if (agent->reasoning_effort)
        o->reasoning_effort = agent->reasoning_effort;
}

static int open_folders(struct ask *a, struct error *err)
{
    const struct argv *named = &a->c->allow_folders;

    a->agents.host = host_files_new(a->listener.folder, a->listener.ctx);
    for (size_t i = 0; i < named->n; i++)
        if (host_files_allow(a->agents.host, named->v[i], err) < 0)
            return error_wrap(err, "--allow-folder");
    return 0;
}

/* The agent number i, which is asked after the one before it. */
static struct agent *open_one(struct ask *a, size_t i, const struct agents_work *w, struct error *err)
{
    const struct prompts *p = &a->agents.pipeline.v[i];
    struct agents_one *one = &a->agents.v[i];
    struct agent_options o = *w->options;
    struct agent_deps deps = *w->deps;
    struct llm_session s = *w->session;
    struct llm_options lo;

    o.prompts = p;
    o.system = NULL; /* the user's instructions are for the one that answers */
    o.verify = false;
    s.agent = p->role;
    model_of(a, p, &lo);
    if (!(one->llm = llm_new(&lo, &s, deps.loop, err)))
        return NULL;
    deps.llm = one->llm;
    deps.conversation = &one->conversation;
    deps.new_sandbox = NULL;
    deps.host = a->agents.host;
    one->agent = agent_new(&o, &deps);
    if (i)
        agent_put_before(one->agent, one[-1].agent);
    return one->agent;
}

struct agent *agents_open(struct ask *a, const struct agents_work *w, struct error *err)
{
    const struct pipeline *p = &a->agents.pipeline;
    struct agent *before = NULL;

    if (p->n > 1 && open_folders(a, err) < 0)
        return NULL;
    for (size_t i = 0; i + 1 < p->n; i++)
        if (!(before = open_one(a, i, w, err)))
            return NULL;
    struct agent *last = agent_new(w->options, w->deps);
    if (before)
        agent_put_before(last, before);
    return last;
}

void agents_end(struct agents *g)
{
    for (size_t i = 0; i < g->n; i++) {
        agent_free(g->v[i].agent);
        g->v[i].agent = NULL;
    }
}

void agents_release(struct agents *g)
{
    agents_end(g);
    for (size_t i = 0; i < g->n; i++) {
        llm_free(g->v[i].llm);
        conversation_release(&g->v[i].conversation);
    }
    host_files_free(g->host);
    pipeline_release(&g->pipeline);
}
