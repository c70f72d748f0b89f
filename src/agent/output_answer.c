/* output_answer.c - what the code of a small model printed, as the answer to the question. To ask it for
 * words about its output costs as much as the code did, and now and then it rewords a right value into a
 * wrong one.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/private.h"
#include "base/mem.h"

#define DECIMALS_SHOWN    6   /* longest fraction in output shown as an answer */
#define OUTPUT_ANSWER_MAX 200 /* longest output, in bytes, that can be the answer as it is */

/* Has a number more decimals than anybody writes? The code should have rounded it. */
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

/* A number such as 120.00000000000001 without what the arithmetic added to it; else the text itself. */
static char *without_noise(const char *text)
{
    char *end, number[32];
    double value = strtod(text, &end);

    if (end == text || *end || !long_fraction(text))
        return xstrdup(text);
    snprintf(number, sizeof number, "%.12g", value);
    return xstrdup(long_fraction(number) ? text : number);
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

char *answer_of_output(const struct agent *a, const struct question *q, const struct llm_reply *r)
{
    const struct turn *t = &a->c->v[a->c->n - 1];
    size_t len = q->good ? strlen(q->good) : 0;

    if (!agent_output_answers(a) || r->n_calls != 1 || t->role != TURN_RESULT || t->result != RESULT_OK)
        return NULL;
    while (len && isspace((unsigned char)q->good[len - 1]))
        len--;
    if (strlen(t->text) != len || memcmp(t->text, q->good, len) != 0)
        return NULL;
    autofree char *text = without_warnings(t->text);
    if (!*text || *text == '{' || strlen(text) > OUTPUT_ANSWER_MAX || strchr(text, '\n'))
        return NULL;
    autofree char *answer = without_noise(text);
    return long_fraction(answer) ? NULL : steal(&answer);
}

char *code_with_value(const struct agent *a, const char *code)
{
    size_t len = strlen(code);
    const char *line = code;

    while (len && isspace((unsigned char)code[len - 1]))
        len--;
    for (const char *p; (p = memchr(line, '\n', len - (size_t)(line - code)));)
        line = p + 1;
    size_t name = assigned_name(line);
    if (!agent_output_answers(a) || !name || strstr(code, "print("))
        return xstrdup(code);
    return xasprintf("%.*s\n%.*s\n", (int)len, code, (int)name, line);
}
