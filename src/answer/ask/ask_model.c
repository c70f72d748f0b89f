/* ask_model.c - which model a question goes to, with which options: at the start, after /model, and when the
 * service no longer has it. */
#include <stdio.h>
#include <string.h>

#include "ask/setup.h"
#include "base/mem.h"
#include "config/config.h"
#include "llm/learnt.h"
#include "llm/replay.h"
#include "ask/ask.h"

void ask_tell_known(struct ask *a)
{
    for (size_t i = 0; i < a->known.notices.n; i++)
        ask_notice(a, NOTICE_WARNING, a->known.notices.v[i]);
    argv_release(&a->known.notices);
}

void ask_learn_window(struct ask *a)
{
    int window = known_window(&a->endpoint, llm_model(a->llm), &a->known);

    if (window > 0)
        llm_set_context(a->llm, window);
    ask_tell_known(a);
}

/* The user's word goes before the agent's definition. */
static const char *effort_of(const struct ask *a)
{
    const char *users = a->effort ? a->effort : a->c->reasoning_effort;

    return users ? users : a->prompts->reasoning_effort;
}

void ask_model_options(struct ask *a, const char *model, struct llm_options *o)
{
    setup_llm(a->c, &a->endpoint, model, o);
    known_apply(&a->service, o, &a->known);
    o->reasoning_effort = effort_of(a);
    o->chat = a->chat;
}

int ask_change_model(struct ask *a, const char *name, struct error *err)
{
    struct llm_options o;

    ask_model_options(a, name, &o);
    if (llm_reconfigure(a->llm, &o, err) < 0)
        return -1;
    a->endpoint.models = NULL; /* the user has named one, so there is no fallback */
    return 0;
}

bool ask_model_gone(void *ctx, const char *model, struct llm_options *next, char advice[LLM_ADVICE])
{
    struct ask *a = ctx;
    const char *name = model_after(&a->service, model, advice, LLM_ADVICE);

    char near[LLM_ADVICE - 50];

    if (name)
        ask_model_options(a, name, next);
    else if (!*advice && known_nearest(&a->service, model, near, sizeof near))
        snprintf(advice, LLM_ADVICE, "Did you mean: %s %s", a->chat ? "/model" : "-m", near);
    return name != NULL;
}

int ask_choose_model(struct ask *a, struct error *err)
{
    if (agents_load(&a->agents, a->c, err) < 0)
        return -1;
    a->prompts = agents_last(&a->agents);
    if (a->c->replay) { /* needs no endpoint and no key: the recording names the model */
        a->endpoint.provider = "replay";
        a->endpoint.base_url = xstrdup("http://replay.invalid/v1");
        int status = replay_model(a->c->replay, &a->replayed, err);

        a->model = steal(&a->replayed.model);
        return status;
    }
    if (endpoint_choose(a->c, &a->endpoint, err) < 0)
        return -1;
    if (!a->unsent && endpoint_check_key(&a->endpoint, err) < 0)
        return -1;
    model_prefer(&a->endpoint, a->prompts->model);
    return model_settle(&a->service, &a->model, &a->found, err);
}

void ask_skip_gone(struct ask *a, struct llm_options *o, const char *kept)
{
    char advice[LLM_ADVICE];

    /* as often as there are others, since all of them may be gone */
    for (size_t i = 1; a->endpoint.models && i < a->endpoint.models->n && learnt_is_gone(o, kept); i++) {
        const char *name = model_after(&a->service, a->model, advice, sizeof advice);
        if (!name)
            return;
        xreplace(&a->model, xstrdup(name));
        ask_model_options(a, a->model, o);
    }
}
