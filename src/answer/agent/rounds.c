/* rounds.c - the loop of one question. Every step either goes on or ends the question with a status.
 *
 * RULE: A model of unknown dialect is asked whether the code in its answer is to run; llm/learnt.c keeps
 *     what it said for a day.
 */
#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "agent/private.h"
#include "agent/small_model.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/remedy.h"
#include "base/utf8.h"
#include "process/signals.h"

#define GO_ON         (-1) /* no status yet: ask the model again */
#define THOUGHT_SHOWN 300  /* bytes of reasoning quoted in one of our lines */

static int still_fails(const struct question *qn, const char *more, struct error *err)
{
    unsigned n = qn->budget.failing - 1;

    return error_set(err, ERROR_LIMIT, 0, "the code still failed after %u repair%s%s", n, n == 1 ? "" : "s",
                     more);
}

static const char *model_name(const struct agent *a)
{
    const char *name = llm_model(a->llm);

    return name && *name ? name : "the model";
}

/* Keep the reasoning that came with the reply in t. NULL: the reply was not worth a turn. */
static void keep_thoughts(struct agent *a, struct turn *t, struct llm_reply *r)
{
    if (!t)
        return;
    conversation_changed(a->c, t);
    t->reasoning = steal(&r->reasoning);
    t->reasoning_field = steal(&r->reasoning_field);
    t->reasoning_items = steal(&r->reasoning_items);
    t->origin = xstrdup(llm_origin(a->llm));
}

/* The request failed or its connection was lost. What was shown stays in the history, marked; it is not an
 * answer. */
static int reply_cut(struct agent *a, struct llm_reply *r, struct error *err)
{
    if (!text_is_blank(r->text)) {
        autofree char *text = xasprintf("%s\n[interrupted]", r->text);

        keep_thoughts(a, conversation_assistant(a->c, text, NULL, 0), r);
    }
    agent_reply_end(a, REPLY_CUT);
    return question_failed(a, err);
}

/* The reasoning on one line, "" if there was none. A long one is cut at the front, since the conclusion is at
 * the end. */
static char *brief_thought(const struct question *qn)
{
    struct buf line autorelease(buf_release) = BUF_INIT(0);
    size_t from = 0;

    for (const char *p = qn->thought ? qn->thought : ""; *p; p++)
        if (!isspace((unsigned char)*p))
            buf_addch(&line, *p);
        else if (line.len && buf_last(&line) != ' ')
            buf_addch(&line, ' ');
    buf_trim(&line, " ");
    if (line.len > THOUGHT_SHOWN) {
        from = utf8_cut(line.data, line.len, line.len - THOUGHT_SHOWN);
        size_t word = strcspn(line.data + from, " ");
        from += word < 40 ? word + 1 : 0;
    }
    return line.len ? xasprintf(", only reasoning: \"%s%s\"", from ? "... " : "", line.data + from)
                    : xstrdup("");
}

/* The question or result that got an empty reply gets a line that asks for an answer. It stays, since what a
 * reply was given to is part of the conversation. */
static void ask_for_answer(struct agent *a, struct question *qn)
{
    struct turn *t = &a->c->v[a->c->n - 1];

    xreplace(&t->text, xasprintf("%s\n\n%s", t->text, qn->texts.empty));
    conversation_changed(a->c, t);
    qn->budget.asked_for_answer = true;
}

/* After an empty reply, an answer is asked for, once per question. */
static int empty_reply(struct agent *a, struct question *qn, const struct llm_reply *r, struct error *err)
{
    if (!text_is_blank(r->reasoning))
        xreplace(&qn->thought, xstrdup(r->reasoning));
    autofree char *thought = brief_thought(qn);
    if (r->endless) {
        agent_reply_end(a, REPLY_CUT);
        error_set(err, ERROR_LIMIT, 0, "the reasoning of %s did not end; it was cut off after 1 MiB%s\n%s",
                  model_name(a), thought, remedy(REMEDY_REPHRASE, a->o.chat));
        qn->thought_told = true;
        return QUESTION_LIMIT;
    }
    if (r->finish == LLM_FINISH_LENGTH) {
        agent_reply_end(a, REPLY_CUT);
        error_set(err, ERROR_LIMIT, 0, "the reply reached its token limit before it said anything%s; %s",
                  thought, remedy(REMEDY_MAX_TOKENS, a->o.chat));
        qn->thought_told = true;
        return QUESTION_LIMIT;
    }
    if (r->finish == LLM_FINISH_FILTER) {
        agent_reply_end(a, REPLY_CUT);
        error_set(err, ERROR_API, 0,
                  "the service's content filter withheld the answer of %s\n"
                  "Rephrase the question",
                  model_name(a));
        return QUESTION_NO_ANSWER;
    }
    agent_reply_end(a, REPLY_NUDGED);
    if (!qn->budget.asked_for_answer) {
        ask_for_answer(a, qn);
        return GO_ON;
    }
    error_set(err, ERROR_API, 0, "%s returned no text (tried twice)%s\n%s", model_name(a),
              *thought ? thought : ": the reply was empty", remedy(REMEDY_REPHRASE, a->o.chat));
    qn->thought_told = true;
    return QUESTION_NO_ANSWER;
}

static int answered(struct agent *a, struct question *qn, const struct llm_reply *r, struct error *err)
{
    xreplace(&qn->answer, xstrdup(r->text));
    if (r->endless) {
        error_set(err, ERROR_LIMIT, 0, "the answer of %s did not end; it was cut off after 1 MiB\n%s",
                  model_name(a), remedy(REMEDY_REPHRASE, a->o.chat));
        return QUESTION_LIMIT;
    }
    if (r->finish == LLM_FINISH_LENGTH) {
        error_set(err, ERROR_LIMIT, 0, "the answer reached its token limit and was cut off; %s",
                  remedy(REMEDY_MAX_TOKENS, a->o.chat));
        return QUESTION_LIMIT;
    }
    if (r->finish == LLM_FINISH_FILTER)
        agent_notice(a, NOTICE_WARNING, "the service's content filter cut off the answer");
    if (qn->budget.no_more) {
        still_fails(qn, "", err);
        return QUESTION_CODE_FAILED;
    }
    return QUESTION_ANSWERED;
}

static int take_answer(struct agent *a, struct question *qn, struct llm_reply *r, struct error *err)
{
    /* first into the conversation: who is told that it is complete can save it */
    keep_thoughts(a, conversation_assistant(a->c, r->text, NULL, 0), r);
    agent_reply_end(a, REPLY_ANSWER);
    return answered(a, qn, r, err);
}

/* A text that was sent as talk has become the answer, so listeners get it once more, as the answer. */
static void say_answer(struct agent *a, struct question *qn, const char *text)
{
    qn->reply++;
    conversation_assistant(a->c, text, NULL, 0);
    agent_send_whole(a, EVENT_TEXT, text);
    agent_reply_end(a, REPLY_ANSWER);
    xreplace(&qn->answer, xstrdup(text));
}

/* The model calls although no more code runs. The first time it is asked again; the second time its last text
 * is the answer. */
static int last_text(struct agent *a, struct question *qn, struct llm_reply *r, struct error *err)
{
    if (!text_is_blank(r->text))
        return take_answer(a, qn, r, err);
    agent_reply_end(a, REPLY_CALLS);
    still_fails(qn, ", and the model gave no answer in words", err);
    if (!qn->last_text)
        return QUESTION_NO_ANSWER;
    say_answer(a, qn, qn->last_text);
    return QUESTION_CODE_FAILED;
}

/* The model sent the same code again after it was told the result. That result is the best answer there is.
 */
static int stuck(struct agent *a, struct question *qn, struct error *err)
{
    autofree char *basis = xstrdup(qn->good ? qn->good : qn->last_text);

    error_set(err, ERROR_LIMIT, 0, "%s sent the same code again and again instead of an answer%s\n%s",
              model_name(a), qn->good ? "; the output of the code is shown instead" : "",
              remedy(REMEDY_REPHRASE, a->o.chat));
    if (!text_is_blank(basis)) {
        for (size_t n = strlen(basis); n && basis[n - 1] == '\n';)
            basis[--n] = '\0';
        say_answer(a, qn, basis);
    }
    return QUESTION_LIMIT;
}

/* This round used up the repairs: say so in the last result. */
static void tell_no_more(struct agent *a, struct question *qn)
{
    struct turn *t = &a->c->v[a->c->n - 1];

    xreplace(&t->text, xasprintf("%s\n\n%s", t->text, qn->texts.no_more_code));
    t->result = RESULT_NO_MORE;
    conversation_changed(a->c, t);
}

static int run_calls(struct agent *a, const struct llm_reply *r, size_t turn, struct error *err)
{
    for (size_t i = 0; i < r->n_calls; i++) {
        /* Adding results may move the turn; its calls stay where they are. */
        const struct call *call = &a->c->v[turn].calls[i];
        struct tool_use use = {
            .call = call, .index = i, .problem = r->calls[i].problem, .text = BUF_INIT(TOLD_MAX + 32 * 1024)};
        int status = tool_call(a, &use, err);

        if (use.text.len)
            conversation_result(a->c, call->id, use.kind, use.text.data, use.text.len);
        if (use.text.len)
            image_list_take(&use.images, a->c);
        image_list_release(&use.images);
        buf_release(&use.text);
        if (status)
            return -1;
        if (loop_cancelled(a->loop))
            return error_set(err, ERROR_CANCELLED, 0, "interrupted");
    }
    return 0;
}

/* Run what a reply calls, and put both into the conversation. -1: it was interrupted, or nothing can run. */
static int run_reply(struct agent *a, struct question *qn, struct llm_reply *r, struct error *err)
{
    struct call *calls = xcalloc(r->n_calls, sizeof *calls);
    for (size_t i = 0; i < r->n_calls; i++) {
        calls[i] = r->calls[i].call;
        memset(&r->calls[i].call, 0, sizeof r->calls[i].call);
    }
    keep_thoughts(a, conversation_assistant(a->c, r->text, calls, r->n_calls), r);
    free(calls);
    if (!text_is_blank(r->text))
        xreplace(&qn->last_text, xstrdup(r->text));
    agent_reply_end(a, REPLY_CALLS);

    if (!run_calls(a, r, a->c->n - 1, err))
        return 0;
    conversation_close_open_calls(a->c, err->kind != ERROR_CANCELLED ? err->text
                                        : agent_out_of_time(a)
                                            ? "Not run: the time for the question was over."
                                            : "Not run: the user interrupted.");
    return -1;
}

static int take_reply_calls(struct agent *a, struct question *qn, struct llm_reply *r, struct error *err)
{
    if (qn->budget.no_more && !callers_called(a, r) && ++qn->budget.further >= 2)
        return last_text(a, qn, r, err);
    if (run_reply(a, qn, r, err))
        return question_failed(a, err);
    if (qn->handed) {
        xreplace(&qn->answer, text_is_blank(r->text) ? NULL : xstrdup(r->text));
        return QUESTION_CALLS;
    }
    if (budget_round_end(&qn->budget))
        tell_no_more(a, qn);
    if (qn->budget.stuck)
        return stuck(a, qn, err);
    autofree char *answer = a->form || a->callers.must ? NULL : small_model_answer(a, qn, r);
    if (!answer)
        return GO_ON;
    say_answer(a, qn, answer);
    return QUESTION_ANSWERED;
}

/* The answer shows code, and it is not known yet whether this model means such code to run, so it is asked.
 * If it does, that reply replaces the first one, which becomes talk. In every other case, an interrupt
 * included, the first reply is the answer. */
static int ask_to_run(struct agent *a, struct question *qn, struct llm_reply *said, struct error *err)
{
    struct llm_reply r = {0};
    struct error why = {0};
    int status = ask_about(a, said->text, &r, &why);

    if (!status && r.n_calls) {
        agent_reply_end(a, REPLY_NUDGED);
        xreplace(&qn->last_text, xstrdup(said->text));
        qn->reply++;
        agent_send_whole(a, EVENT_REASONING, r.reasoning);
        agent_send_whole(a, EVENT_TEXT, r.text);
        status = take_reply_calls(a, qn, &r, err);
    } else {
        status = take_answer(a, qn, said, err);
        if (why.kind == ERROR_CANCELLED && !agent_out_of_time(a)) {
            *err = why;
            status = question_failed(a, err);
        }
    }
    llm_reply_release(&r);
    return status;
}

static bool may_run(const struct agent *a, const struct question *qn)
{
    return !qn->budget.no_more && a->no_sandbox.kind == ERROR_NONE;
}

/* What is to be said to an answer that is not what the caller's program waits for; NULL: it is. */
static char *objection(const struct agent *a, const struct question *qn, const struct llm_reply *r)
{
    struct error why = {0};

    if (r->finish == LLM_FINISH_LENGTH || r->finish == LLM_FINISH_FILTER)
        return NULL;
    if (a->callers.must)
        return callers_told(a, qn->texts.must_call_again);
    return a->form && form_check(a, r->text, &why) < 0 ? form_objection(&qn->texts, &why) : NULL;
}

/* The model is told what is wrong with its answer and asked again, once. */
static bool ask_for_form(struct agent *a, struct question *qn, struct llm_reply *r)
{
    char *said = qn->asked_for_form ? NULL : objection(a, qn, r);

    if (!said)
        return false;
    qn->asked_for_form = true;
    agent_reply_end(a, REPLY_NUDGED);
    xreplace(&qn->objection, said);
    xreplace(&qn->objected, steal(&r->text));
    return true;
}

static int take_text(struct agent *a, struct question *qn, struct llm_reply *r, struct error *err)
{
    if (r->truncated) {
        const char *origin = llm_origin(a->llm); /* its first word is the base URL */
        error_set(err, ERROR_NETWORK, 0,
                  "the connection to %.*s, model %s, was lost in the middle of the answer: %s\n"
                  "Ask again",
                  (int)strcspn(origin, " "), origin, model_name(a), r->cause ? r->cause : "unknown cause");
        return reply_cut(a, r, err);
    }
    if (text_is_blank(r->text))
        return empty_reply(a, qn, r, err);
    if (ask_for_form(a, qn, r))
        return GO_ON;
    return r->unsure && may_run(a, qn) ? ask_to_run(a, qn, r, err) : take_answer(a, qn, r, err);
}

static int one_round(struct agent *a, struct question *qn, struct error *err)
{
    struct llm_reply r = {0};
    int status = ask_model(a, &r, err);

    if (status)
        status = reply_cut(a, &r, err);
    else if (r.n_calls)
        status = take_reply_calls(a, qn, &r, err);
    else
        status = take_text(a, qn, &r, err);
    llm_reply_release(&r);
    return status;
}

enum question_status rounds_run(struct agent *a, const char *question, struct error *err)
{
    struct question *qn = a->qn;
    int status;

    (void)question; /* it is in the conversation */

    sandbox_start(a->sandbox);
    tools_look_inside(a);
    if (texts_make(a, &qn->texts, err))
        return question_failed(a, err);
    do
        status = one_round(a, qn, err);
    while (status == GO_ON);
    if (qn->thought && !qn->thought_told && !qn->answer) {
        autofree char *thought = brief_thought(qn);
        agent_notice(a, NOTICE_INFO, "%s returned no text%s", model_name(a), thought);
    }
    return (enum question_status)status;
}
