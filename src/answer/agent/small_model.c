/* small_model.c - what a small model's code printed is its answer (small_model.h). To ask it for words about
 * its output costs as much as the code did, and now and then it rewords a right value into a wrong one.
 *
 * RULE: A small model is treated otherwise in one place: what its code printed is its answer, without
 *     warnings and noise in the last decimals, rounded as the question wants it.
 */
#include "agent/small_model.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/private.h"
#include "base/mem.h"
#include "base/remedy.h"
#include "conversation/language.h"

#define DECIMALS_SHOWN    6   /* in a longer fraction the last decimals are noise */
#define OUTPUT_ANSWER_MAX 200 /* longest output, in bytes, that can be the answer as it is */

/* The user's own instructions may want its output put otherwise. */
static bool is_small(const struct agent *a)
{
    return llm_output_answers(a->llm) && text_is_blank(a->system);
}

void small_model_texts(const struct agent *a, struct prompts *t)
{
    const char *blocks = t->system_blocks;

    if (!is_small(a) || !t->system_output)
        return;
    t->system_blocks = t->system_output;
    t->system_output = blocks; /* prompts_release() frees both */
}

/* There are none after a result: a repair has its own code to go by, and text about output needs none, so
 * they would only cost tokens. */
const char *small_model_examples(const struct agent *a, const struct prompts *t)
{
    if (!is_small(a) || a->c->v[a->c->n - 1].role == TURN_RESULT)
        return NULL;
    /* JSON is read as such, unless all of it is one table. */
    if (facts_last(a, languages[0].reads_json) && !facts_last(a, languages[0].one_table))
        return t->examples_json;
    return facts_last(a, languages[0].reads_table) ? t->examples_table : NULL;
}

bool small_model_reads_files(const struct agent *a)
{
    return is_small(a);
}

const char *small_model_again(const struct agent *a)
{
    return llm_output_answers(a->llm) ? remedy(REMEDY_COMPUTE_AGAIN, a->o.chat) : NULL;
}

bool small_model_keeps_turns(const struct agent *a)
{
    return is_small(a);
}

/* Output that says that nothing was found: a name that is spelt otherwise in the data, a filter that nothing
 * passes. */
static bool found_nothing(const char *text)
{
    static const char *const whole[] = {"None", "nan", "NaT", "[]", "{}", "set()"};
    static const char *const begins[] = {"Series([]", "Empty DataFrame"};
    size_t len = strcspn(text, "\n");

    for (size_t i = 0; i < countof(whole); i++)
        if (len == strlen(whole[i]) && !strncmp(text, whole[i], len))
            return true;
    for (size_t i = 0; i < countof(begins); i++)
        if (!strncmp(text, begins[i], strlen(begins[i])))
            return true;
    return false;
}

const char *small_model_objection(const struct agent *a, const char *output)
{
    return is_small(a) && found_nothing(output)
               ? "Nothing was found. Look at how the names and values are written in the data."
               : NULL;
}

/* Has a number more decimals than anybody writes? */
static bool long_fraction(const char *text)
{
    size_t digits = 0;

    for (; *text; text++) {
        bool goes_on = digits && isdigit((unsigned char)*text);

        digits = *text == '.' ? 1 : goes_on ? digits + 1 : 0;
        if (digits > DECIMALS_SHOWN + 1)
            return true;
    }
    return false;
}

/* "rounded to two decimals", "to 2 decimal places", "to the cent"; -1: the question says nothing of it. */
static int decimals_asked(const char *question)
{
    static const char *const numbers[] = {"no", "one", "two", "three", "four", "five", "six"};

    /* It may stand behind the lines that read a file, which have decimal=','. */
    for (const char *word = question; (word = strcasestr(word, " decimal")); word++)
        for (size_t i = 0; i < countof(numbers); i++) {
            size_t len = strlen(numbers[i]), at = (size_t)(word - question);

            if ((at >= len && !strncasecmp(word - len, numbers[i], len)) || (at && word[-1] == '0' + (int)i))
                return (int)i;
        }
    return strcasestr(question, "to the cent") || strcasestr(question, "nearest cent") ? 2 : -1;
}

/* A number with as many decimals as the question wants, and without what the arithmetic added to it, as in
 * 120.00000000000001. Any other text as it is. */
static char *number_said(const char *text, int decimals)
{
    char *end;
    double value = strtod(text, &end);
    const char *point = strchr(text, '.');

    if (end == text || *end || !point)
        return xstrdup(text);
    if (decimals >= 0 && strspn(point + 1, "0123456789") > (size_t)decimals && fabs(value) < 1e15)
        return xasprintf("%.*f", decimals, value);
    return long_fraction(text) ? xasprintf("%.12g", value) : xstrdup(text);
}

/* The output without Python's warnings: a line with the place and what is said, or the beginning of it, and
 * finally the line of code, indented. */
static char *without_warnings(const char *text)
{
    struct buf out = BUF_INIT(0);
    bool more = false, code = false; /* of a warning may follow */

    for (size_t len; *text; text += len) {
        len = strcspn(text, "\n");
        const char *said = memmem(text, len, "Warning:", strlen("Warning:"));

        if (said && *text == '<' && memmem(text, (size_t)(said - text), ">:", 2)) {
            said += strlen("Warning:");
            code = true;
            more = strspn(said, " ") == (size_t)(text + len - said);
        } else if (*text == ' ' && code) {
            more = code = false;
        } else if (!more) {
            code = false;
            buf_add(&out, text, len + (text[len] == '\n'));
        }
        len += text[len] == '\n';
    }
    buf_trim(&out, " \n\t\r");
    return buf_steal(&out, NULL);
}

char *small_model_answer(const struct agent *a, const struct question *qn, const struct llm_reply *r)
{
    const struct turn *t = &a->c->v[a->c->n - 1];
    size_t len = qn->good ? strlen(qn->good) : 0;

    if (!is_small(a) || r->n_calls != 1 || t->role != TURN_RESULT || t->result != RESULT_OK)
        return NULL;
    while (len && isspace((unsigned char)qn->good[len - 1]))
        len--;
    if (strlen(t->text) != len || memcmp(t->text, qn->good, len) != 0)
        return NULL;
    autofree char *text = without_warnings(t->text);
    if (!*text || *text == '{' || strlen(text) > OUTPUT_ANSWER_MAX || strchr(text, '\n'))
        return NULL;
    int decimals = decimals_asked(a->c->v[qn->start].text);
    autofree char *answer = number_said(text, decimals);
    return decimals >= 0 && long_fraction(answer) ? NULL : steal(&answer);
}

char *small_model_code(const struct agent *a, const char *code)
{
    size_t len = strlen(code);
    const char *line = code;

    while (len && isspace((unsigned char)code[len - 1]))
        len--;
    for (const char *p; (p = memchr(line, '\n', len - (size_t)(line - code)));)
        line = p + 1;
    size_t name = assigned_name(line);
    if (!is_small(a) || !name || strstr(code, "print("))
        return xstrdup(code);
    return xasprintf("%.*s\n%.*s\n", (int)len, code, (int)name, line);
}
