/* loop.c - the straight loop of one question. Every step either goes on or ends the question with a status. */
#include "agent/loop.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "agent/private.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/loop.h"
#include "base/mem.h"

#define GO_ON (-1)              /* no status yet: ask the model again */

static int failed(const struct agent *a, struct error *err)
{
    if (agent_out_of_time(a))
        error_set(err, ERROR_LIMIT, 0, "no answer within %g s (--max-time allows more)", (double)a->o.max_ms / 1000);
    switch (err->kind) {
    case ERROR_USAGE:
        return QUESTION_USAGE;
    case ERROR_AUTH:
        return QUESTION_REFUSED;
    case ERROR_BUSY:
        return QUESTION_TRY_LATER;
    case ERROR_SANDBOX:
        return QUESTION_NO_SANDBOX;
    case ERROR_LIMIT:
        return QUESTION_LIMIT;
    case ERROR_CANCELLED:
        if (!loop_fatal(a->loop))
            return QUESTION_INTERRUPTED;
        error_set(err, ERROR_CANCELLED, 0, loop_fatal(a->loop) == SIGHUP ? "hung up" : "terminated");
        return QUESTION_TERMINATED;
    default:
        return QUESTION_NO_ANSWER;
    }
}

static size_t conversation_bytes(const struct conversation *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n; i++) {
        n += strlen(c->v[i].text);
        for (size_t k = 0; k < c->v[i].n_calls; k++)
            n += strlen(c->v[i].calls[k].arguments);
    }
    return n;
}

/* What the request cost, asked for or not; where the service does not say, it is estimated so that --max-tokens-total bites. */
static void account(struct agent *a, struct question *q, const struct llm_reply *r)
{
    int64_t input = r->usage.input, output = r->usage.output;
    struct event e = {.type = EVENT_USAGE};
    bool estimated = r->usage.estimated;

    if (!r->requests)
        return;
    if (input < 0) {
        input = (int64_t)((double)conversation_bytes(a->c) / 3.5);
        estimated = true;
    }
    if (output < 0) {
        size_t bytes = (r->text ? strlen(r->text) : 0) + (r->reasoning ? strlen(r->reasoning) : 0);

        for (size_t i = 0; i < r->n_calls; i++)
            bytes += strlen(r->calls[i].call.arguments);
        output = (int64_t)((double)bytes / 3.5);
        estimated = true;
    }
    q->input += input;
    q->output += output;
    q->estimated |= estimated;
    budget_asked(&q->budget, r->requests, input + output);
    e.usage.input = input;
    e.usage.output = output;
    e.usage.reasoning = r->usage.reasoning;
    e.usage.estimated = estimated;
    e.usage.seconds = r->seconds;
    agent_send(a, &e);
}

static bool window_full(const struct agent *a, const struct question *q, const struct error *err)
{
    return err->kind == ERROR_LIMIT && strstr(err->text, "context") && !q->late && !loop_cancelled(a->loop);
}

static int request(struct agent *a, struct question *q, struct llm_reply *r, struct error *err)
{
    const struct texts *t = &q->texts;
    struct llm_prompts prompts = {
        .system_native = t->system_native, .system_blocks = t->system_blocks, .nudge = t->nudge, .blocks_ok = t->blocks_ok,
        .blocks_failed = t->blocks_failed, .blocks_malformed = t->blocks_malformed, .blocks_interrupted = t->blocks_interrupted,
        .blocks_no_more = t->blocks_no_more,
    };
    struct llm_tool tools[8];
    char *schemas[8];
    size_t n = agent_n_tools < countof(tools) ? agent_n_tools : countof(tools);
    struct llm_listener listener;

    for (size_t i = 0; i < n; i++) {
        schemas[i] = agent_tools[i].schema(t);
        tools[i] = (struct llm_tool){agent_tools[i].name, t->tool_description, schemas[i], agent_tools[i].code_key};
    }
    struct llm_request req = {.conversation = a->c, .prompts = &prompts, .tools = tools, .n_tools = n, .vary = q->vary};
    q->vary = false;
    agent_listener(a, &listener);
    int status = llm_ask(a->llm, &req, &listener, r, err);
    for (size_t i = 0; i < n; i++)
        free(schemas[i]);
    return status;
}

/* The next reply. When the window is full the conversation is made smaller, a step at a time, and the model asked again. */
static int ask_model(struct agent *a, struct question *q, struct llm_reply *r, struct error *err)
{
    for (;;) {
        if (budget_may_ask(&q->budget, err))
            return -1;
        if (loop_cancelled(a->loop))
            return error_set(err, ERROR_CANCELLED, 0, "interrupted");
        q->reply++;
        if (a->no_sandbox.kind == ERROR_NONE)
            sandbox_start(a->sandbox);  /* comes up while the model thinks */
        int status = request(a, q, r, err);
        account(a, q, r);
        if (!status || !window_full(a, q, err))
            return status;
        if (!context_shrink(a->c, &q->start))
            return -1;
        if (!q->shrunk)
            agent_notice(a, NOTICE_INFO, "the model's window is full: older output and questions are left out of what it is sent");
        q->shrunk = true;
        llm_reply_release(r);
        memset(r, 0, sizeof *r);
        memset(err, 0, sizeof *err);
    }
}

static void set_text(char **at, const char *text)
{
    free(*at);
    *at = xstrdup(text);
}

static struct turn *store_reply(struct agent *a, struct llm_reply *r, const char *text, struct call *calls, size_t n)
{
    struct turn *t = conversation_assistant(a->c, text, calls, n);

    if (!t)
        return NULL;
    t->reasoning = steal(&r->reasoning);
    t->reasoning_field = steal(&r->reasoning_field);
    t->reasoning_items = steal(&r->reasoning_items);
    t->origin = xstrdup(llm_origin(a->llm));
    return t;
}

/* The request failed, or its connection was lost: what was shown stays, marked; it is no answer. */
static int reply_cut(struct agent *a, struct llm_reply *r, struct error *err)
{
    if (!text_blank(r->text)) {
        autofree char *text = xasprintf("%s\n[interrupted]", r->text);

        store_reply(a, r, text, NULL, 0);
    }
    agent_reply_end(a, REPLY_CUT);
    return failed(a, err);
}

/* An empty reply: one nudge a question. It goes behind the last turn for one request only; the history never keeps it. */
static int empty_reply(struct agent *a, struct question *q, const struct llm_reply *r, struct error *err)
{
    if (r->finish == LLM_FINISH_LENGTH) {
        agent_reply_end(a, REPLY_CUT);
        error_set(err, ERROR_LIMIT, 0, "the reply was cut by length before it said anything; --max-tokens allows more");
        return QUESTION_LIMIT;
    }
    if (r->finish == LLM_FINISH_FILTER) {
        agent_reply_end(a, REPLY_CUT);
        error_set(err, ERROR_API, 0, "the content filter of the service withheld the answer (%s)\nPut the question in other words", llm_origin(a->llm));
        return QUESTION_NO_ANSWER;
    }
    agent_reply_end(a, REPLY_NUDGED);
    if (!q->budget.nudged) {
        q->budget.nudged = true;
        q->nudge_now = true;
        return GO_ON;
    }
    error_set(err, ERROR_API, 0, "the model gave an empty answer twice (%s)\nPut the question in other words, or use another model", llm_origin(a->llm));
    return QUESTION_NO_ANSWER;
}

static int answered(struct agent *a, struct question *q, const struct llm_reply *r, struct error *err)
{
    set_text(&q->answer, r->text);
    if (r->finish == LLM_FINISH_LENGTH) {
        error_set(err, ERROR_LIMIT, 0, "the answer was cut by length; --max-tokens allows more");
        return QUESTION_LIMIT;
    }
    if (r->finish == LLM_FINISH_FILTER)
        agent_notice(a, NOTICE_WARNING, "the service's content filter cut the answer");
    if (q->budget.no_more) {
        error_set(err, ERROR_LIMIT, 0, "the code still failed after %u repairs", a->o.max_repairs);
        return QUESTION_CODE_FAILED;
    }
    return QUESTION_ANSWERED;
}

static int take_text(struct agent *a, struct question *q, struct llm_reply *r, struct error *err)
{
    if (r->truncated) {
        error_set(err, ERROR_NETWORK, 0, "the connection was lost in the middle of the answer of %s: %s\nAsk again (/retry in the chat)",
                  llm_origin(a->llm), r->cause ? r->cause : "no cause is known");
        return reply_cut(a, r, err);
    }
    if (text_blank(r->text))
        return empty_reply(a, q, r, err);
    agent_reply_end(a, REPLY_ANSWER);
    store_reply(a, r, r->text, NULL, 0);
    return answered(a, q, r, err);
}

/* Calls although no more code runs: after the first the model is asked again, with the second the last text is the answer. */
static int last_text(struct agent *a, struct question *q, struct llm_reply *r, struct error *err)
{
    if (!text_blank(r->text)) {
        agent_reply_end(a, REPLY_ANSWER);
        store_reply(a, r, r->text, NULL, 0);
        return answered(a, q, r, err);
    }
    agent_reply_end(a, REPLY_CALLS);
    error_set(err, ERROR_LIMIT, 0, "the code still failed after %u repairs, and the model gave no answer in words", a->o.max_repairs);
    if (!q->last_text)
        return QUESTION_NO_ANSWER;

    /* Said earlier beside a call, so listeners took it for talk: say it again as what it has become. */
    struct event e = {.type = EVENT_TEXT};
    e.text.reply = ++q->reply;
    e.text.text = q->last_text;
    e.text.len = strlen(q->last_text);
    agent_send(a, &e);
    agent_reply_end(a, REPLY_ANSWER);
    conversation_assistant(a->c, q->last_text, NULL, 0);
    set_text(&q->answer, q->last_text);
    return QUESTION_CODE_FAILED;
}

/* With this round the repairs are used up: the last result says so. */
static void tell_no_more(struct agent *a, struct question *q)
{
    struct turn *t = &a->c->v[a->c->n - 1];
    char *text = xasprintf("%s\n\n%s", t->text, q->texts.no_more_code);

    free(t->text);
    t->text = text;
    t->result = RESULT_NO_MORE;
}

static int run_calls(struct agent *a, const struct llm_reply *r, size_t turn, struct error *err)
{
    for (size_t i = 0; i < r->n_calls; i++) {
        /* The turn may move when results are added; its calls stay where they are. */
        const struct call *call = &a->c->v[turn].calls[i];
        struct tool_outcome out = {.text = BUF_INIT(TOLD_MAX + 32 * 1024)};
        int status = tool_call(a, call, r->calls[i].problem, i, &out, err);

        if (out.text.len)
            conversation_result(a->c, call->id, out.kind, out.text.data, out.text.len);
        buf_release(&out.text);
        if (status)
            return -1;
        if (loop_cancelled(a->loop))
            return error_set(err, ERROR_CANCELLED, 0, "interrupted");
    }
    return 0;
}

static int take_calls(struct agent *a, struct question *q, struct llm_reply *r, struct error *err)
{
    if (q->budget.no_more && ++q->budget.further >= 2)
        return last_text(a, q, r, err);

    struct call *calls = xcalloc(r->n_calls, sizeof *calls);
    for (size_t i = 0; i < r->n_calls; i++) {
        calls[i] = r->calls[i].call;
        memset(&r->calls[i].call, 0, sizeof r->calls[i].call);
    }
    store_reply(a, r, r->text, calls, r->n_calls);
    free(calls);
    if (!text_blank(r->text))
        set_text(&q->last_text, r->text);
    agent_reply_end(a, REPLY_CALLS);

    if (run_calls(a, r, a->c->n - 1, err)) {
        conversation_close_open_calls(a->c, err->kind != ERROR_CANCELLED ? err->text
                                      : agent_out_of_time(a) ? "Not run: the time for the question was over." : "Not run: the user interrupted.");
        return failed(a, err);
    }
    if (budget_round_end(&q->budget))
        tell_no_more(a, q);
    return GO_ON;
}

/* Behind the last turn for one request, then gone: a history full of nudges teaches a model to wait for them. */
static char *add_nudge(struct agent *a, struct question *q)
{
    struct turn *t = &a->c->v[a->c->n - 1];
    char *before = t->text;

    t->text = xasprintf("%s\n\n%s", before, q->texts.empty);
    q->nudge_now = false;
    return before;
}

static int one_round(struct agent *a, struct question *q, struct error *err)
{
    struct llm_reply r = {0};
    char *before = q->nudge_now ? add_nudge(a, q) : NULL;
    int status = ask_model(a, q, &r, err);

    if (before) {
        /* context_shrink may have cut its text meanwhile; only the untouched one is put back. */
        struct turn *t = &a->c->v[a->c->n - 1];
        if (!strncmp(t->text, before, strlen(before))) {
            free(t->text);
            t->text = steal(&before);
        }
        free(before);
    }
    if (status)
        status = reply_cut(a, &r, err);
    else if (r.n_calls)
        status = take_calls(a, q, &r, err);
    else
        status = take_text(a, q, &r, err);
    llm_reply_release(&r);
    return status;
}

enum question_status loop_run(struct agent *a, struct question *q, struct error *err)
{
    int status;

    sandbox_start(a->sandbox);
    if (texts_make(a, &q->texts, err))
        return (enum question_status)failed(a, err);
    do
        status = one_round(a, q, err);
    while (status == GO_ON);
    return (enum question_status)status;
}
