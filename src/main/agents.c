/* agents.c - the agents of a pipeline before the one that answers: each has a definition, a model and a
 * conversation of its own, and shares the sandbox and the loop.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/host_files.h"
#include "agent/tools.h"
#include "base/mem.h"
#include "llm/llm.h"
#include "main/command.h"

int agents_load(struct agents *g, const struct config *c, struct error *err)
{
    if (pipeline_load(&g->pipeline, c->agents, err) < 0)
        return -1;
    for (size_t i = 0; i < g->pipeline.n; i++)
        if (tools_check(&g->pipeline.v[i], err) < 0)
            return -1;
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

static int open_folders(struct agents *g, const struct agents_rooms *r, struct error *err)
{
    bool terminal = isatty(0) && isatty(2);

    g->host = host_files_new(terminal ? r->ask : NULL, r->agent.event_ctx);
    for (size_t i = 0; i < r->config->allow_folders.n; i++)
        if (host_files_allow(g->host, r->config->allow_folders.v[i], err) < 0)
            return error_wrap(err, "--allow-folder");
    return 0;
}

struct agent *agents_open(struct agents *g, const struct agents_rooms *r, struct error *err)
{
    struct agent *before = NULL;

    if (g->pipeline.n > 1 && open_folders(g, r, err) < 0)
        return NULL;
    for (size_t i = 0; i + 1 < g->pipeline.n; i++) {
        struct agents_one *one = &g->v[g->n];
        struct agent_options o = *r->options;
        struct agent_rooms rooms = r->agent;
        struct llm_session ls = *r->session;
        struct llm_options lo;

        conversation_init(&one->conversation);
        g->n++;
        o.prompts = &g->pipeline.v[i];
        o.system = NULL; /* the user's instructions are for the one that answers */
        o.verify = false;
        r->model(r->agent.event_ctx, o.prompts, &lo);
        ls.agent = o.prompts->role;
        if (!(one->llm = llm_new(&lo, &ls, rooms.loop, err)))
            return NULL;
        rooms.llm = one->llm;
        rooms.conversation = &one->conversation;
        rooms.fresh = NULL;
        rooms.host = g->host;
        rooms.before = before;
        before = one->agent = agent_new(&o, &rooms);
    }
    struct agent_rooms last = r->agent;
    last.before = before;
    return agent_new(r->options, &last);
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
