/* verify.c - computes an answer a second time: another agent with a conversation and a sandbox of its own is
 * asked the same in other words. It sees neither the code nor the result of the first. Its text goes to no
 * listener; what it costs counts for the question, and so do the question's limits.
 *
 * RULE: A second computation sees neither the first code nor its result.
 */
#include <ctype.h>
#include <string.h>
#include <unistd.h>

#include "agent/private.h"
#include "base/file.h"
#include "base/mem.h"
#include "process/signals.h"
#include "provenance/agree.h"

#define QUOTED_MAX 300 /* bytes of each answer in the message */

/* The second agent, and what its events tell. */
struct second_agent {
    struct agent *first;
    struct usage usage;
    char *answer;
};

static void on_second(void *ctx, const struct event *e)
{
    struct second_agent *s = ctx;
    struct event notice = *e;

    if (e->type == EVENT_DONE) {
        s->usage = e->done.usage;
        s->answer = xstrdup(e->done.answer);
    } else if (e->type == EVENT_NOTICE) {
        notice.notice.level = NOTICE_DETAIL;
        agent_send(s->first, &notice);
    } else if (e->type == EVENT_USAGE || e->type == EVENT_PHASE) {
        agent_send(s->first, &notice);
    }
}

/* What the user asked before: a question such as "and in March?" means nothing without it. */
static void add_earlier(const struct agent *a, struct buf *out)
{
    bool any = false;

    for (size_t i = 0; i < a->qn->start; i++)
        if (a->c->v[i].role == TURN_USER) {
            buf_addstr(out, any ? "\n" : "Asked before, for what the question refers to:\n");
            buf_addstr(out, a->c->v[i].text + a->c->v[i].aside);
            any = true;
        }
    if (any)
        buf_addstr(out, "\n\nThe question:\n");
}

static char *in_other_words(const struct agent *a, const char *question)
{
    struct buf out = BUF_INIT(QUESTION_MAX);

    buf_addf(&out, "%s\n\n", a->qn->texts.verify);
    add_earlier(a, &out);
    buf_addstr(&out, question);
    return buf_steal(&out, NULL);
}

static int attach_again(const struct agent *a, struct agent *b, struct error *err)
{
    for (size_t i = 0; i < a->n_kept; i++)
        if (lseek(a->kept[i].fd, (off_t)a->kept[i].at, SEEK_SET) < 0
            || agent_attach(b, a->kept[i].name, a->kept[i].fd, err))
            return -1;
    return 0;
}

static enum question_status ask_again(struct agent *a, struct second_agent *s, const char *question,
                                      struct error *err)
{
    struct agent_options o = a->o;
    struct conversation c;
    const struct agent_deps deps = {a->llm, a->new_sandbox(a->event_ctx), &c, a->loop, on_second, s, NULL,
                                    NULL};
    enum question_status status = QUESTION_NO_ANSWER;
    autofree char *text = in_other_words(a, question);
    int64_t spent = a->qn->usage.input + a->qn->usage.output;

    o.verify = false;
    o.system = a->system;
    o.max_ms = 0; /* the first agent's timer runs on and interrupts both */
    if (o.max_tokens_total > 0)
        o.max_tokens_total = o.max_tokens_total > spent ? o.max_tokens_total - spent : 1;
    conversation_init(&c);
    struct agent *b = agent_new(&o, &deps);
    b->number = a->qn->number - 1;
    b->usage = a->usage; /* the limit of cost is the session's */
    if (!attach_again(a, b, err))
        status = agent_answer(b, text, strlen(text), rounds_run, err);
    else if (err->kind == ERROR_CANCELLED)
        status = loop_fatal(a->loop) ? QUESTION_TERMINATED : QUESTION_INTERRUPTED;
    a->usage = b->usage;
    usage_add(&a->qn->usage, &s->usage);
    a->qn->budget.requests += s->usage.requests;
    agent_free(b);
    sandbox_free(deps.sandbox);
    conversation_release(&c);
    return status;
}

/* One line of an answer, for a message. */
static char *brief(const char *text)
{
    struct buf out = BUF_INIT(QUOTED_MAX + 8);

    for (; *text && out.len < QUOTED_MAX; text++)
        if (!isspace((unsigned char)*text))
            buf_addch(&out, *text);
        else if (out.len && out.data[out.len - 1] != ' ')
            buf_addch(&out, ' ');
    if (*text)
        buf_addstr(&out, "...");
    return buf_steal(&out, NULL);
}

static bool worth_it(const struct question *qn)
{
    return qn->cells || strpbrk(qn->answer, "0123456789");
}

enum question_status verify_answer(struct agent *a, const char *question, struct error *err)
{
    struct question *qn = a->qn;
    struct second_agent s = {.first = a, .usage = USAGE_NONE};
    struct error why = {0};

    if (!a->new_sandbox || !worth_it(qn))
        return QUESTION_ANSWERED;
    enum question_status status = ask_again(a, &s, question, &why);
    qn->second = text_is_blank(s.answer) ? NULL : steal(&s.answer);
    free(s.answer);
    if (status == QUESTION_INTERRUPTED && !agent_out_of_time(a)) {
        error_set(err, ERROR_CANCELLED, 0, "interrupted");
        return status;
    }
    if (status == QUESTION_TERMINATED) {
        *err = why;
        return status;
    }
    qn->verified = question_has_answer(status) && qn->second ? answers_agree(question, qn->answer, qn->second)
                                                             : VERIFIED_FAILED;
    if (qn->verified == VERIFIED_AGREES || qn->verified == VERIFIED_UNCLEAR)
        return QUESTION_ANSWERED;
    if (qn->verified == VERIFIED_FAILED) {
        error_set(err, ERROR_LIMIT, 0, "not verified: the second computation gave no answer: %s",
                  agent_out_of_time(a) ? "the time for the question was over" : why.text);
        return QUESTION_UNVERIFIED;
    }
    autofree char *one = brief(qn->answer), *two = brief(qn->second);
    error_set(err, ERROR_LIMIT, 0, "two independent computations disagree\nfirst:  %s\nsecond: %s", one, two);
    return QUESTION_UNVERIFIED;
}
