/* verify.c - computes an answer a second time, for --verify and for the chat's /check: another agent with a
 * conversation and a sandbox of its own is asked the same in other words. It sees neither the code nor the
 * result of the first. Its text goes to no listener; what it costs counts for the question, and so do the
 * question's limits.
 *
 * RULE: A second computation sees neither the first code nor its result.
 */
#include <ctype.h>
#include <string.h>
#include <unistd.h>

#include "agent/private.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "process/signals.h"
#include "provenance/agree.h"

#define QUOTED_MAX 120 /* bytes of each answer in a message */

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
    if (a->unkept)
        return error_set(err, ERROR_SYSTEM, 0, "not all files of the conversation can be read again");
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
    const struct agent_deps deps = {
        a->llm, a->new_sandbox(a->event_ctx), &c, a->loop, on_second, s, NULL, NULL, NULL};
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
static char *answer_quoted(const char *text)
{
    struct buf out = BUF_INIT(QUOTED_MAX + 8);

    for (; *text && out.len < QUOTED_MAX; text++)
        if (!isspace((unsigned char)*text))
            buf_addch(&out, *text);
        else if (out.len && out.data[out.len - 1] != ' ')
            buf_addch(&out, ' ');
    if (*text) {
        out.len -= utf8_unfinished(out.data, out.len);
        buf_addstr(&out, "...");
    }
    return buf_steal(&out, NULL);
}

/* Compares both answers, and says what that means: in err if the first is not to be trusted. */
static enum question_status compare_answers(struct agent *a, const char *question, struct error *err)
{
    struct question *qn = a->qn;
    struct differing d autorelease(differing_release) = {0};
    autofree char *one = answer_quoted(qn->answer), *two = answer_quoted(qn->second);

    qn->verified = answers_agree(question, qn->answer, qn->second, &d);
    if (qn->verified == VERIFIED_UNCLEAR)
        agent_notice(
            a, NOTICE_WARNING,
            "The answer is not verified: there is no number to compare. First: \"%s\" Second: \"%s\"", one,
            two);
    if (qn->verified != VERIFIED_DISAGREES)
        return QUESTION_ANSWERED;
    if (d.first)
        error_set(err, ERROR_LIMIT, 0, "A second computation gives %s, the first gave %s: trust neither.",
                  d.second, d.first);
    else
        error_set(err, ERROR_LIMIT, 0,
                  "A second computation gives \"%s\", the first gave \"%s\": trust neither.", two, one);
    return QUESTION_UNVERIFIED;
}

enum question_status verify_answer(struct agent *a, const char *question, struct error *err)
{
    struct question *qn = a->qn;
    struct second_agent s = {.first = a, .usage = USAGE_NONE};
    struct error why = {0};

    if (!a->new_sandbox || !computed_worth_checking(qn))
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
    if (question_has_answer(status) && qn->second)
        return compare_answers(a, question, err);
    qn->verified = VERIFIED_FAILED;
    error_set(err, ERROR_LIMIT, 0, "The answer is not verified: the second computation gave no answer: %s",
              agent_out_of_time(a) ? "the time for the question was over" : why.text);
    return QUESTION_UNVERIFIED;
}

/* The turn of the last question, if it was answered; NULL: there is none, or only a summary tells of it. */
static const struct turn *last_question(const struct agent *a)
{
    size_t i = a->c->n;

    if (!i || a->c->v[i - 1].role != TURN_ASSISTANT || a->c->v[i - 1].n_calls)
        return NULL;
    while (i > 0 && a->c->v[i - 1].role != TURN_USER)
        i--;
    return i && a->c->v[i - 1].serial != a->summary ? &a->c->v[i - 1] : NULL;
}

/* How often code ran well for the question of this turn. */
static unsigned runs_of(const struct agent *a, const struct turn *question)
{
    unsigned n = 0;

    for (const struct turn *t = question; t < a->c->v + a->c->n; t++)
        n += t->role == TURN_RESULT && t->result == RESULT_OK;
    return n;
}

bool agent_computed(const struct agent *a)
{
    const struct turn *t = last_question(a);

    return t && runs_of(a, t);
}

/* The next question may refer to what came of it. */
static void tell_second(struct agent *a)
{
    autofree char *two = answer_quoted(a->qn->second);
    autofree char *note = xasprintf(
        "[The user had your last answer computed a second time, independently. That "
        "gave: %s]",
        two);

    agent_tell(a, note);
}

static enum question_status check_last(struct agent *a, const char *question, struct error *err)
{
    if (texts_make(a, &a->qn->texts, err))
        return question_failed(a, err);
    enum question_status status = verify_answer(a, question, err);
    if (a->qn->verified == VERIFIED_AGREES)
        agent_notice(a, NOTICE_INFO, "A second computation agrees.");
    if (a->qn->second)
        tell_second(a);
    return status;
}

enum question_status agent_check(struct agent *a, struct error *err)
{
    const struct turn *asked = last_question(a);
    struct question q;

    if (!asked) {
        error_set(err, ERROR_USAGE, 0, "Nothing to check: no question was answered yet.");
        return QUESTION_USAGE;
    }
    if (asked->aside && !a->n_kept) {
        error_set(
            err, ERROR_USAGE, 0,
            "Cannot check: the files of this question were added in an earlier run. Add them again with "
            "/put and ask again.");
        return QUESTION_USAGE;
    }
    autofree char *question = xstrdup(asked->text + asked->aside);
    question_init(a, &q);
    a->number--; /* it is no question of the user's */
    q.start = (size_t)(asked - a->c->v);
    q.cells = runs_of(a, asked);
    q.answer = xstrdup(a->c->v[a->c->n - 1].text);
    enum question_status status = QUESTION_USAGE;
    if (computed_worth_checking(&q))
        status = check_last(a, question, err);
    else
        error_set(err, ERROR_USAGE, 0,
                  "Nothing to check: no code ran for the last answer, and it has no number.");
    question_release(a, &q);
    return status;
}
