/* model.c - which model, when the configuration leaves it open: a server on this machine is asked. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/loop.h"
#include "base/mem.h"
#include "config/url.h"
#include "llm/llm.h"
#include "main/command.h"

#define DISCOVER_MS 150         /* nobody waits longer for something that nobody asked for */
#define BUSY_MS 2000            /* but where something listens, it may be busy */
#define LIST_MS 3000            /* a server of the user's choice may take its time */
#define LOCAL_MAX 16

/* Where it was looked, and what was there instead of a model. */
static void tell_places(const struct provider *const *local, const enum llm_place *places, size_t n, struct buf *out)
{
    static const char *const words[] = {
        [LLM_NOBODY] = "", [LLM_SILENT] = ", which gives no answer", [LLM_OTHER] = ", where something else answers",
        [LLM_NO_MODEL] = ", which has no model yet", [LLM_MODEL] = "",
    };

    buf_addstr(out, ", and no model server answers on this machine (looked for ");
    for (size_t i = 0; i < n; i++) {
        const char *host = strstr(local[i]->base_url, "//"), *name = local[i]->title ? local[i]->title : local[i]->name;

        host = host ? host + 2 : local[i]->base_url;
        buf_addf(out, "%s%s at %.*s%s", i ? "; " : "", name, (int)strcspn(host, "/"), host, words[places[i]]);
    }
    buf_addch(out, ')');
}

static int none(const char *looked, struct error *err)
{
    return error_set(err, ERROR_USAGE, 0, "no model is configured%s. Any of these gives one:\n"
                     "  a key:         export OPENAI_API_KEY=...  (or GROQ_API_KEY, OPENROUTER_API_KEY, ...: man sandpiper)\n"
                     "  your machine:  ollama pull qwen2.5-coder:7b && ollama serve  (or llama.cpp, LM Studio; any other: --base-url URL -m MODEL)\n"
                     "  nothing yet:   make run, in sandpiper's source folder, fetches a small model (1.1 GB) and starts it",
                     looked);
}

/* Nobody said anything: Ollama, llama.cpp, LM Studio, whichever answers first in that order. */
static int discover(struct config *c, struct endpoint *e, struct loop *loop, char **model, char **notice, struct error *err)
{
    const char *urls[LOCAL_MAX];
    const struct provider *local[LOCAL_MAX];
    enum llm_place places[LOCAL_MAX];
    struct buf looked autorelease(buf_release) = BUF_INIT(600);
    size_t n = 0;
    int found;

    for (size_t i = 0; i < c->providers.n && n < LOCAL_MAX; i++)
        if (c->providers.v[i].discover && !strchr(c->providers.v[i].base_url, '{')) {
            local[n] = &c->providers.v[i];
            urls[n] = local[n]->base_url;
            n++;
        }
    found = c->discover && n ? llm_discover(urls, n, DISCOVER_MS, BUSY_MS, loop, model, places) : -1;
    if (loop_cancelled(loop))
        return error_set(err, ERROR_CANCELLED, 0, "interrupted");
    if (found < 0) {
        if (c->discover && n)
            tell_places(local, places, n, &looked);
        return none(buf_str(&looked), err);
    }
    endpoint_take_local(c, e, local[found]);
    if (e->model) {
        free(*model);
        *model = xstrdup(e->model);
    }
    *notice = xasprintf("no provider is configured; using %s of %s at %s", *model, local[found]->title ? local[found]->title : local[found]->name,
                        e->base_url);
    return 0;
}

const char *model_after(const struct config *c, const struct endpoint *e, const char *model, bool chat, char *advice, size_t size)
{
    struct profile p = endpoint_profile(c, e, model);

    *advice = '\0';
    for (size_t i = 0; e->models && i + 1 < e->models->n; i++)
        if (strcmp(e->models->v[i], model) == 0)
            return e->models->v[i + 1];
    if (p.replaced_by)
        snprintf(advice, size, "Use %s instead: %s %s", p.replaced_by, chat ? "/model" : "-m", p.replaced_by);
    return NULL;
}

int model_settle(struct config *c, struct endpoint *e, struct loop *loop, char **model, char **notice, struct error *err)
{
    *model = *notice = NULL;
    if (!e->found)
        return discover(c, e, loop, model, notice, err);
    if (endpoint_fetch_key(e, loop, err) < 0)
        return -1;
    if (e->model) {
        *model = xstrdup(e->model);
        return 0;
    }
    if (url_is_loopback(e->base_url) || (e->entry && e->entry->local)) {
        const char *url = e->base_url;
        if (llm_discover(&url, 1, LIST_MS, LIST_MS, loop, model, NULL) == 0) {
            *notice = xasprintf("no model is named; using %s, the first that %s lists", *model, e->base_url);
            return 0;
        }
        if (loop_cancelled(loop))
            return error_set(err, ERROR_CANCELLED, 0, "interrupted");
        return error_set(err, ERROR_USAGE, 0, "no model is named, and %s gives no list of its models\nStart the server, or name one: -m MODEL",
                         e->base_url);
    }
    return error_set(err, ERROR_USAGE, 0, "%s at %s: no model is named, and it has no default\nName one: -m MODEL, SANDPIPER_MODEL, or model: in config.yaml",
                     e->provider, e->base_url);
}
