/* doubt.c - is the result of a small model's code most likely wrong? There are signs of it: the only number
 * that the code printed is below one, or has more than two decimals; or the code makes no use of a number of
 * the question. Then the model is asked the question once more, with other instructions, and the result that
 * looks better counts. Where neither does and they differ, it is asked to solve the problem in words, and the
 * number that it arrives at counts. What this won is in docs/BENCH.md.
 */
#include <math.h>
#include <string.h>

#include "agent/private.h"
#include "base/error.h"
#include "base/mem.h"
#include "codecheck/codecheck.h"
#include "json/json.h"
#include "process/loop.h"
#include "provenance/numbers.h"

#define HARDLY_RIGHT 2 /* of 42 such results for 180 word problems none was right */
#define PERHAPS      1
#define NO_RESULT    (~0u)

/* The only number of a text, with its sign. */
static bool only_number(const char *text, double *value)
{
    const char *digits = text + strcspn(text, "0123456789");
    double found[2];

    if (numbers_read(text, found, countof(found)) != 1)
        return false;
    *value = digits > text && digits[-1] == '-' ? -found[0] : found[0];
    return true;
}

static const char *odd(double value)
{
    if (value < 1)
        return "it is below 1";
    return fabs(value * 100 - round(value * 100)) > 1e-6 * fmax(1, value) ? "it has more than two decimals"
                                                                          : NULL;
}

/* Is the same number the only one of both texts? Either may be NULL. */
static bool same_number(const char *a, const char *b)
{
    double x, y;

    return a && b && only_number(a, &x) && only_number(b, &y) && fabs(x - y) <= 1e-9 * fmax(1, fabs(x));
}

/* The number that a solution in words arrives at; NULL: none can be made out, or it is most likely wrong. The
 * caller frees. */
static char *number_in_words(const char *reply)
{
    const char *at = NULL;
    double value;

    for (const char *p = reply; p && (p = strcasestr(p, "answer")) != NULL; p++)
        at = p;
    return at && only_number(at, &value) && !odd(value) ? xasprintf("%.12g", value) : NULL;
}

unsigned doubts(const char *question, const char *code, const char *output, struct buf *why)
{
    struct buf names autorelease(buf_release) = BUF_INIT(2048);
    double value;
    const char *why_odd = only_number(output, &value) ? odd(value) : NULL;
    size_t left = numbers_left_out(question, code, &names);

    buf_addstr(why, why_odd ? why_odd : "");
    if (left)
        buf_addf(why, "%sthe code does not use %s", why_odd ? "; " : "", buf_str(&names));
    return (why_odd ? HARDLY_RIGHT : 0) + (left ? PERHAPS : 0);
}

/* A question without data, and a model whose first results are worth a look. */
static bool worth_a_look(const struct agent *a)
{
    return !a->data && agent_output_answers(a) && llm_checks_results(a->llm) && a->q->texts.system_again;
}

/* As doubts(), for the last two turns, a reply and its result. NO_RESULT: they are not looked at, since the
 * question has data, the model is not known to need it, or the code failed. */
static unsigned doubts_about_last(const struct agent *a, struct buf *why)
{
    const struct turn *question = &a->c->v[a->q->start], *result = &a->c->v[a->c->n - 1], *reply = result - 1;
    const struct tool *tool = NULL;

    if (!worth_a_look(a) || a->c->n < a->q->start + 3 || reply->n_calls != 1 || result->result != RESULT_OK
        || !a->q->good)
        return NO_RESULT;
    tool = tool_find(a, reply->calls[0].name);
    if (!tool || !tool->code_key)
        return NO_RESULT;
    const char *text = reply->calls[0].arguments;
    autojson struct json *args = json_parse(text, strlen(text), JSON_DUPLICATES, NULL, NULL);
    const char *code = args ? json_str(json_get(args, tool->code_key)) : NULL;
    return code ? doubts(question->text + question->aside, code, a->q->good, why) : NO_RESULT;
}

/* Ask the question anew with these instructions, as if nothing had been said since. The request may fail
 * without harm. 1: there is a reply; 0: there is none; -1: the user interrupted it. */
static int ask_anew(struct agent *a, const char *system, struct llm_reply *r, struct error *err)
{
    struct conversation question = *a->c;
    const char *before = a->q->texts.system_blocks;
    struct error failed = {0};

    question.n = a->q->start + 1;
    a->q->texts.system_blocks = system;
    int status = ask_silently(a, &question, r, &failed);
    a->q->texts.system_blocks = before;
    if (loop_cancelled(a->loop))
        return error_set(err, ERROR_CANCELLED, 0, "interrupted");
    if (status)
        agent_notice(a, NOTICE_INFO, "that request failed: %s", failed.text);
    return !status;
}

/* Two results differ, and both are doubtful. -1: interrupted. 0: *number is the one that the model arrives at
 * in words, which the caller frees; or NULL. */
static int ask_in_words(struct agent *a, struct question *q, char **number, struct error *err)
{
    autorelease(llm_reply_release) struct llm_reply r = {0};

    if (!q->texts.system_words)
        return 0;
    agent_notice(a, NOTICE_INFO, "the second try is no better; asking %s to solve the problem in words",
                 llm_model(a->llm));
    int asked = ask_anew(a, q->texts.system_words, &r, err);
    if (asked <= 0)
        return asked;
    q->reply++;
    agent_send_whole(a, EVENT_TEXT, r.text);
    agent_reply_end(a, REPLY_NUDGED);
    *number = r.n_calls ? NULL : number_in_words(r.text);
    return 0;
}

int look_again(struct agent *a, struct question *q, char **answer, struct error *err)
{
    const size_t n = a->c->n;
    struct buf why autorelease(buf_release) = BUF_INIT(4096);
    autorelease(llm_reply_release) struct llm_reply r = {0};
    autofree char *words = NULL;
    double number;
    unsigned first = n == q->start + 3 ? doubts_about_last(a, &why) : 0;

    if (!first || first == NO_RESULT)
        return 0;
    agent_notice(a, NOTICE_INFO, "the result is doubtful (%s); asking %s once more", buf_str(&why),
                 llm_model(a->llm));
    int asked = ask_anew(a, q->texts.system_again, &r, err);
    if (asked < 0)
        return -1;
    autofree char *good = steal(&q->good);
    if (r.n_calls == 1 && !r.calls[0].problem) {
        q->reply++;
        agent_send_whole(a, EVENT_REASONING, r.reasoning);
        agent_send_whole(a, EVENT_TEXT, r.text);
        if (run_reply(a, q, &r, err))
            return -1;
        if (doubts_about_last(a, &why) < first)
            return 0;
    }
    if (asked && only_number(good, &number) && !same_number(good, q->good) && ask_in_words(a, q, &words, err))
        return -1;
    if (same_number(words, q->good))
        return 0;
    conversation_truncate(a->c, n);
    xreplace(&q->good, steal(&good));
    budget_worked(&q->budget); /* should the second code have failed */
    if (words && !same_number(words, q->good))
        *answer = steal(&words);
    agent_notice(a, NOTICE_INFO,
                 *answer ? "using the solution in words, not the result of the code"
                         : "there is no better result; keeping the first one");
    return 0;
}
