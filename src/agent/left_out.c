/* left_out.c - does code leave out a number of its question? The answer of a small model that forgets
 * one is hardly ever right, and this can be seen before the code runs. Then the model is asked once more,
 * with other instructions, and the code that leaves out less is run. The other is neither run nor remembered.
 */
#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "agent/private.h"
#include "base/error.h"
#include "base/mem.h"
#include "json/json.h"
#include "process/loop.h"

#define ASKED_MAX 32  /* numbers of a question; one with more of them lists data */
#define USED_MAX  256 /* numbers of code; more of them are data as well */

static size_t name_length(const char *s)
{
    size_t n = 0;

    while (isalnum((unsigned char)s[n]) || s[n] == '_')
        n++;
    return isdigit((unsigned char)*s) ? 0 : n;
}

/* Copy Python code without its comments and long strings. A blank follows each comma, so that two arguments
 * are not read as one number with its digits in groups. */
static void add_plain(struct buf *out, const char *s)
{
    char quote = '\0';

    for (; *s; s++) {
        bool opens = !quote && (*s == '"' || *s == '\'');

        if (opens && s[1] == *s && s[2] == *s) {
            const char three[] = {*s, *s, *s, '\0'}, *end = strstr(s + 3, three);

            if (!end)
                return;
            s = end + 2;
            continue;
        }
        if (!quote && *s == '#')
            s += strcspn(s, "\n");
        if (!*s)
            return;
        if (opens)
            quote = *s;
        else if (*s == quote || *s == '\n')
            quote = '\0';
        buf_addch(out, *s);
        if (quote && *s == '\\' && s[1])
            buf_addch(out, *++s);
        if (*s == ',')
            buf_addch(out, ' ');
    }
}

static size_t count_name(const char *code, const char *name, size_t len)
{
    size_t count = 0;

    while (*code) {
        size_t n = name_length(code);

        count += n == len && !strncmp(code, name, n);
        code += n ? n : 1;
    }
    return count;
}

/* Does this line only give a value to a name that stands nowhere else in the code? */
static bool assigns_unused_name(const char *line, const char *code)
{
    const char *name = line + strspn(line, " \t");
    size_t len = name_length(name);
    const char *equals = name + len + strspn(name + len, " \t");

    return len && *equals == '=' && equals[1 + strcspn(equals + 1, "=\n")] != '='
           && count_name(code, name, len) == 1;
}

static size_t numbers_used(const char *code, double *out, bool *counts)
{
    struct buf plain autorelease(buf_release) = BUF_INIT(2 * SANDBOX_CODE_MAX),
                     used autorelease(buf_release) = BUF_INIT(2 * SANDBOX_CODE_MAX);

    add_plain(&plain, code);
    for (const char *line = buf_str(&plain); *line;) {
        size_t len = strcspn(line, "\n");

        if (!assigns_unused_name(line, buf_str(&plain)))
            buf_add(&used, line, len + (line[len] == '\n'));
        line += len + (line[len] == '\n');
    }
    *counts = strstr(buf_str(&used), "range(") != NULL;
    return numbers_read(buf_str(&used), out, USED_MAX);
}

/* May code write number as value? As a share of a hundred, in another unit, as the end of a range. */
static bool stands_for(double value, double number, bool counts)
{
    const double forms[] = {number,
                            number / 100,
                            1 + number / 100,
                            1 - number / 100,
                            100 - number,
                            100 + number,
                            number * 1000,
                            number / 1000,
                            number * 100,
                            number * 60,
                            counts ? number + 1 : number};

    for (size_t i = 0; i < countof(forms); i++)
        if (fabs(value - forms[i]) <= 1e-9 * fmax(1, fabs(value)))
            return true;
    return false;
}

size_t numbers_left_out(const char *question, const char *code, struct buf *out)
{
    double asked[ASKED_MAX + 1], used[USED_MAX];
    bool counts;
    size_t n = numbers_read(question, asked, countof(asked)), n_used = numbers_used(code, used, &counts);
    size_t left = 0;

    if (n > ASKED_MAX || n_used == USED_MAX)
        return 0;
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;

        while (k < n_used && !stands_for(used[k], asked[i], counts))
            k++;
        if (k < n_used)
            continue;
        buf_addf(out, "%s%.12g", left++ ? ", " : "", asked[i]);
    }
    return left;
}

/* The same for the only code of a reply. SIZE_MAX: there is no such code. */
static size_t left_out_by(const struct agent *a, const char *question, const struct llm_reply *r,
                          struct buf *out)
{
    const struct call *call = r->n_calls == 1 && !r->calls[0].problem ? &r->calls[0].call : NULL;
    const struct tool *tool = call ? tool_find(a, call->name) : NULL;

    if (!tool || !tool->code_key)
        return SIZE_MAX;
    autojson struct json *args = json_parse(call->arguments, strlen(call->arguments), JSON_DUPLICATES, NULL,
                                            NULL);
    const char *code = args ? json_str(json_get(args, tool->code_key)) : NULL;
    return text_is_blank(code) ? SIZE_MAX : numbers_left_out(question, code, out);
}

static int ask_with_other_instructions(struct agent *a, struct llm_reply *r, struct error *err)
{
    struct prompts *t = &a->q->texts;
    const struct conversation same = *a->c; /* not a->c itself, so that nobody hears the reply */
    const char *before = t->system_blocks;

    t->system_blocks = t->system_again;
    int status = ask_silently(a, &same, r, err);
    t->system_blocks = before;
    return status;
}

/* The second reply takes the place of the first. */
static void replace(struct agent *a, struct llm_reply *first, struct llm_reply *second)
{
    const struct llm_reply lost = *first;

    agent_reply_end(a, REPLY_NUDGED);
    a->q->reply++;
    agent_send_whole(a, EVENT_REASONING, second->reasoning);
    agent_send_whole(a, EVENT_TEXT, second->text);
    *first = *second;
    *second = lost;
}

/* A question without data, and a model known to forget numbers. */
static bool worth_a_look(const struct agent *a, const struct turn *t)
{
    return t->role == TURN_USER && !a->data && agent_output_answers(a) && llm_checks_numbers(a->llm)
           && a->q->texts.system_again;
}

int left_out_check(struct agent *a, struct llm_reply *r, struct error *err)
{
    const struct turn *t = &a->c->v[a->c->n - 1];
    struct buf names autorelease(buf_release) = BUF_INIT(2048),
                     rest autorelease(buf_release) = BUF_INIT(2048);
    struct llm_reply second = {0};
    struct error why = {0};

    if (!worth_a_look(a, t))
        return 0;
    size_t first = left_out_by(a, t->text + t->aside, r, &names);
    if (!first || first == SIZE_MAX)
        return 0;
    agent_notice(a, NOTICE_DETAIL, "the code leaves out numbers of the question (%s); asking %s once more",
                 buf_str(&names), llm_model(a->llm));
    if (ask_with_other_instructions(a, &second, &why)) {
        agent_notice(a, NOTICE_DETAIL, "that request failed, so the code is run: %s", why.text);
    } else if (left_out_by(a, t->text + t->aside, &second, &rest) < first) {
        replace(a, r, &second);
    } else {
        agent_notice(a, NOTICE_DETAIL, "the new code is no better, so the first is run");
    }
    llm_reply_release(&second);
    if (!loop_cancelled(a->loop))
        return 0;
    return error_set(err, ERROR_CANCELLED, 0, "interrupted");
}
