/* ask.c - one request to the model: whether it is allowed, what is sent, what it costs. */
#include <stdio.h>
#include <string.h>

#include "agent/private.h"
#include "agent/small_model.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/remedy.h"
#include "process/loop.h"

static int64_t estimated_output(const struct llm_reply *r)
{
    size_t bytes = (r->text ? strlen(r->text) : 0) + (r->reasoning ? strlen(r->reasoning) : 0);

    for (size_t i = 0; i < r->n_calls; i++)
        bytes += strlen(r->calls[i].call.arguments);
    return (int64_t)((double)bytes / BYTES_A_TOKEN);
}

/* Count what the request cost. Where the service does not say, the count is estimated so that
 * --max-tokens-total still applies. */
static void account(struct agent *a, struct question *qn, const struct llm_reply *r)
{
    struct usage u = {
        .input = r->usage.input < 0 ? agent_conversation_tokens(a) : r->usage.input,
        .output = r->usage.output < 0 ? estimated_output(r) : r->usage.output,
        .cached = r->usage.cached,
        .reasoning = r->usage.reasoning,
        .estimated = r->usage.estimated || r->usage.input < 0 || r->usage.output < 0,
        .requests = r->requests,
        .seconds = r->seconds,
    };

    if (!r->requests)
        return;
    u.cost = price_cost(&llm_facts(a->llm)->price, u.input, u.cached, u.output);
    usage_add(&qn->usage, &u);
    usage_add(&a->usage, &u);
    budget_asked(&qn->budget, u.requests, u.input + u.output);
    agent_send(a, &(struct event){.type = EVENT_USAGE, .usage = u});
}

/* What was spent so far decides, since nobody knows what the next request will cost. */
int ask_allowed(const struct agent *a, struct error *err)
{
    if (budget_may_ask(&a->qn->budget, err))
        return -1;
    if (a->o.max_cost <= 0)
        return 0;
    if (!llm_facts(a->llm)->price.known)
        return error_set(
            err, ERROR_USAGE, 0,
            "--max-cost: no price is known for %s\n"
            "Give it in config.yaml, in dollars per million tokens: models: {\"%s\": {price: [in, out]}}",
            llm_model(a->llm), llm_model(a->llm));
    if (a->usage.cost >= a->o.max_cost)
        return error_set(err, ERROR_LIMIT, 0, "this session has cost $%.4g, its limit is $%.4g (--max-cost)",
                         a->usage.cost, a->o.max_cost);
    return 0;
}

int ask_once(struct agent *a, const struct conversation *c, const char *about, struct llm_reply *r,
             struct error *err)
{
    struct question *qn = a->qn;
    struct llm_tool *tools = xcalloc(PROMPT_TOOLS_MAX + a->callers.n, sizeof *tools);
    size_t n = 0;
    struct llm_listener listener;
    bool own = c == a->c;

    for (size_t i = 0; i < qn->texts.n_tools; i++) {
        const struct tool *tool = tool_find(a, qn->texts.tools[i].name);

        if (tool)
            tools[n++] = (struct llm_tool){tool->name, qn->texts.tools[i].description, tool->parameters,
                                           tool->code_key};
    }
    callers_offer(a, tools + n);
    n += a->callers.n;
    struct llm_request req = {.conversation = c,
                              .prompts = &qn->texts,
                              .examples = small_model_examples(a, &qn->texts),
                              .tools = {tools, n},
                              .vary = qn->vary,
                              .about = own && !about ? qn->objected : about,
                              .objection = own && !about ? qn->objection : NULL};
    qn->vary = false;
    if (own) /* another conversation begins with the same turns, made ready as they were last sent */
        images_prepare(a);
    agent_listener(a, &listener);
    /* about: only a call counts, text beside it is not shown unless a call comes */
    if (about || !own)
        listener.text = listener.reasoning = NULL;
    int status = callers_possible(a, err) < 0 ? -1 : llm_ask(a->llm, &req, &listener, r, err);
    free(tools);
    account(a, qn, r);
    if (status == 0) /* it may have come out only now */
        status = callers_possible(a, err);
    if (status == 0 && own && !about) {
        free(steal(&qn->objected));
        free(steal(&qn->objection));
    }
    return status;
}

int ask_about(struct agent *a, const char *text, struct llm_reply *r, struct error *err)
{
    if (ask_allowed(a, err))
        return -1;
    agent_turn_to(a, PHASE_ASKING); /* the text is whole */
    agent_notice(a, NOTICE_INFO, "the answer contains code; asking %s whether to run it", llm_model(a->llm));
    int status = ask_once(a, a->c, text, r, err);
    if (status)
        agent_notice(a, NOTICE_DETAIL, "that request failed, so the code is shown but not run: %s",
                     err->text);
    return status;
}
