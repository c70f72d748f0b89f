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
#include "json/json.h"

#define HARDLY_RIGHT 2 /* of 42 such results for 180 word problems none was right */
#define PERHAPS      1

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

bool same_number(const char *a, const char *b)
{
    double x, y;

    return a && b && only_number(a, &x) && only_number(b, &y) && fabs(x - y) <= 1e-9 * fmax(1, fabs(x));
}

char *number_in_words(const char *reply)
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
        buf_addf(why, "%sthe code makes no use of %s", why_odd ? "; " : "", buf_str(&names));
    return (why_odd ? HARDLY_RIGHT : 0) + (left ? PERHAPS : 0);
}

/* A question without data, and a model whose first results are worth a look. */
static bool worth_a_look(const struct agent *a)
{
    return !a->data && agent_output_answers(a) && llm_checks_results(a->llm) && a->q->texts.system_again;
}

unsigned doubts_about_last(const struct agent *a, struct buf *why)
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

int ask_otherwise(struct agent *a, const char *system, struct llm_reply *r, struct error *err)
{
    struct prompts *t = &a->q->texts;
    struct conversation question = *a->c;
    const char *before = t->system_blocks;

    question.n = a->q->start + 1;
    t->system_blocks = system;
    int status = ask_silently(a, &question, r, err);
    t->system_blocks = before;
    return status;
}
