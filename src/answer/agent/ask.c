/* ask.c - one request to the model: what is sent, what it costs, and how the conversation is shortened until
 * it fits. */
#include <stdio.h>
#include <string.h>

#include "agent/private.h"
#include "agent/small_model.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/remedy.h"
#include "process/loop.h"

/* Bounds memory, whatever the model's window: a request takes twice this again, and six times as long if
 * every byte must be escaped. */
#define HISTORY_MAX ((size_t)8 << 20)

static int64_t estimated_output(const struct llm_reply *r)
{
    size_t bytes = (r->text ? strlen(r->text) : 0) + (r->reasoning ? strlen(r->reasoning) : 0);

    for (size_t i = 0; i < r->n_calls; i++)
        bytes += strlen(r->calls[i].call.arguments);
    return (int64_t)((double)bytes / BYTES_A_TOKEN);
}

/* Count what the request cost. Where the service does not say, the count is estimated so that
 * --max-tokens-total still applies. */
static void account(struct agent *a, struct question *q, const struct llm_reply *r)
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
    usage_add(&q->usage, &u);
    usage_add(&a->usage, &u);
    budget_asked(&q->budget, u.requests, u.input + u.output);
    agent_send(a, &(struct event){.type = EVENT_USAGE, .usage = u});
}

/* Do the limits of the question allow another request, and does --max-cost? What was spent so far decides,
 * since nobody knows what the next request will cost. */
static int may_ask(const struct agent *a, struct error *err)
{
    if (budget_may_ask(&a->q->budget, err))
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

static bool window_full(const struct agent *a, const struct question *q, const struct error *err)
{
    return err->kind == ERROR_CONTEXT && !q->late && !loop_cancelled(a->loop);
}

static int request(struct agent *a, const struct conversation *c, const char *about, struct llm_reply *r,
                   struct error *err)
{
    struct question *q = a->q;
    struct llm_tool tools[PROMPT_TOOLS_MAX];
    size_t n = 0;
    struct llm_listener listener;

    for (size_t i = 0; i < q->texts.n_tools; i++) {
        const struct tool *tool = tool_find(a, q->texts.tools[i].name);

        if (tool)
            tools[n++] = (struct llm_tool){tool->name, q->texts.tools[i].description, tool->parameters,
                                           tool->code_key};
    }
    struct llm_request req = {.conversation = c,
                              .prompts = &q->texts,
                              .examples = small_model_examples(a, &q->texts),
                              .tools = {tools, n},
                              .vary = q->vary,
                              .about = about};
    q->vary = false;
    if (c == a->c) /* another conversation begins with the same turns, made ready as they were last sent */
        images_prepare(a);
    agent_listener(a, &listener);
    /* about: only a call counts, text beside it is not shown unless a call comes */
    if (about || c != a->c)
        listener.text = listener.reasoning = NULL;
    int status = llm_ask(a->llm, &req, &listener, r, err);
    account(a, q, r);
    return status;
}

/* Leave something out of the conversation; the user is told once. False: nothing is left to leave out. */
static bool shrink(struct agent *a, struct question *q)
{
    if (!context_shrink(a->c, &q->start))
        return false;
    if (!a->told_full)
        agent_notice(a, NOTICE_INFO, "context full: the oldest turns are no longer sent to the model");
    a->told_full = true;
    return true;
}

/* The service has refused the conversation as too long: one step that may help, the one that loses least
 * first. */
static bool make_room(struct agent *a, struct question *q)
{
    return context_shorten(a->c, q->start) || compact_refused(a, q) || shrink(a, q);
}

static int bound_history(struct agent *a, struct question *q, struct error *err)
{
    while (conversation_bytes(a->c) > HISTORY_MAX)
        if (!shrink(a, q))
            return error_set(err, ERROR_LIMIT, 0,
                             "%s sent more for this question than a conversation can hold (%zu MiB)\n"
                             "%s",
                             llm_model(a->llm), HISTORY_MAX >> 20, remedy(REMEDY_REPHRASE, a->o.chat));
    return 0;
}

int ask_model(struct agent *a, struct llm_reply *r, struct error *err)
{
    struct question *q = a->q;

    compact_if_full(a, q);
    for (;;) {
        if (may_ask(a, err))
            return -1;
        if (loop_cancelled(a->loop))
            return error_set(err, ERROR_CANCELLED, 0, "interrupted");
        if (bound_history(a, q, err))
            return -1;
        q->reply++;
        if (a->no_sandbox.kind == ERROR_NONE)
            sandbox_start(a->sandbox); /* starts up while the model thinks */
        int status = request(a, a->c, NULL, r, err);
        if (!status || !window_full(a, q, err))
            return status;
        if (!make_room(a, q))
            return -1;
        llm_reply_release(r);
        memset(r, 0, sizeof *r);
        memset(err, 0, sizeof *err);
    }
}

int ask_silently(struct agent *a, const struct conversation *c, struct llm_reply *r, struct error *err)
{
    return may_ask(a, err) ? -1 : request(a, c, NULL, r, err);
}

int ask_about(struct agent *a, const char *text, struct llm_reply *r, struct error *err)
{
    if (may_ask(a, err))
        return -1;
    agent_turn_to(a, PHASE_ASKING); /* the text is whole */
    agent_notice(a, NOTICE_INFO, "the answer contains code; asking %s whether to run it", llm_model(a->llm));
    int status = request(a, a->c, text, r, err);
    if (status)
        agent_notice(a, NOTICE_DETAIL, "that request failed, so the code is shown but not run: %s",
                     err->text);
    return status;
}
