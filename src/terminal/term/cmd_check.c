/* cmd_check.c - /check and /why: is the last answer right, and where does a number of it come from? */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "process/signals.h"
#include "provenance/why.h"
#include "show/show.h"
#include "term/commands.h"
#include "term/private.h"

static void slash_check(struct term *t)
{
    struct error err = {0};

    loop_arm(t->loop);
    show_status(t->show, "Computing it a second time...");
    enum question_status status = agent_check(t->agent, &err);
    show_status(t->show, NULL);
    if (status == QUESTION_INTERRUPTED)
        term_say(t, NOTICE_INFO, "Stopped: the answer was not checked.");
    else if (status == QUESTION_UNVERIFIED)
        term_say(t, NOTICE_WARNING, err.text);
    else if (status != QUESTION_ANSWERED && !loop_fatal(t->loop))
        term_say_error(t, &err);
    free(steal(&t->stopped));
}

const struct chat_command command_check = {
    .name = "/check",
    .argument = "",
    .help = "compute the last answer a second time, and compare",
    .act = slash_check,
    .more = "The question is computed again in a sandbox of its own, by code that sees\n"
            "neither the first code nor its result. \"Are you sure?\" does the same after an\n"
            "answer that was computed. \"check: always\" in config.yaml does so after each.\n",
};

/* One line of code or output. */
static void add_line(struct buf *out, const struct text_line *l)
{
    buf_addf(out, ":\n    %.*s\n", (int)l->len, l->text);
}

/* "run 2 of the last question" */
static char *run_text(const struct term *t, const struct past_run *r)
{
    bool last = r->serial == agent_question_serial(t->agent);

    if (!r->number)
        return xstrdup("your own code");
    return xasprintf("run %u of %s question", r->number, last ? "the last" : "an earlier");
}

/* The latest run that has the number in its output, or (code) in its code. */
static const struct past_run *run_with(const struct past *p, const struct numeral *n, bool exactly, bool code,
                                       struct text_line *l)
{
    for (size_t i = p->n_runs; i > 0; i--) {
        const struct past_run *r = &p->runs[i - 1];

        *l = why_line(code ? r->code : r->output, n, exactly);
        if (l->number)
            return r;
    }
    return NULL;
}

static bool say_where_printed(struct term *t, const char *typed, const struct numeral *n, bool exactly)
{
    struct buf out autorelease(buf_release) = BUF_INIT(0);
    struct text_line l;
    const struct past_run *r = run_with(&t->past, n, exactly, false, &l);

    if (!r)
        return false;
    autofree char *run = run_text(t, r);
    buf_addf(&out, "%s%s is in line %zu of the output of %s", typed,
             exactly ? "" : ", rounded or in another unit,", l.number, run);
    add_line(&out, &l);
    struct text_line by = why_printed(r->code, r->output, l), written = why_line(r->code, n, true);
    if (by.number) {
        buf_addf(&out, "Line %zu of its code printed that", by.number);
        add_line(&out, &by);
    } else {
        buf_addstr(&out, "Several lines of its code print; /code shows the last code.\n");
    }
    if (written.number && written.number != by.number) {
        buf_addf(&out, "The code has it, too, in line %zu", written.number);
        add_line(&out, &written);
    }
    term_print_wrapped(t, buf_str(&out));
    return true;
}

static bool say_where_written(struct term *t, const char *typed, const struct numeral *n)
{
    struct buf out autorelease(buf_release) = BUF_INIT(0);
    struct text_line l;
    const struct past_run *r = run_with(&t->past, n, true, true, &l);

    if (!r)
        return false;
    autofree char *run = run_text(t, r);
    buf_addf(&out, "%s is in no output. It stands in line %zu of %s%s", typed, l.number,
             r->number ? "the code of " : "", run);
    add_line(&out, &l);
    term_print_wrapped(t, buf_str(&out));
    return true;
}

static void slash_why(struct term *t, const char *typed)
{
    struct numeral n;

    if (!why_number(typed, &n))
        term_say(t, NOTICE_ERROR, "/why needs a number of an answer, for example: /why 42.1");
    else if (!t->past.n_runs)
        term_say(t, NOTICE_INFO, "No code has run yet.");
    else if (!say_where_printed(t, typed, &n, true) && !say_where_printed(t, typed, &n, false)
             && !say_where_written(t, typed, &n))
        term_sayf(t, NOTICE_WARNING, "%s is in no output and in no code. /check computes the answer again.",
                  typed);
}

const struct chat_command command_why = {
    .name = "/why",
    .argument = "NUMBER",
    .help = "which line of code and of output a number comes from",
    .run = slash_why,
    .more = "Looks through all code that ran in this chat, the latest first. A number that\n"
            "was rounded, or that is in per cent or another unit, is found too.\n",
};

#define DOUBT_MAX 60 /* bytes of a question that only doubts */

/* Lower-case words between single blanks. */
static char *lower_words(const char *line)
{
    struct buf out = BUF_INIT(0);

    for (; *line; line++)
        if (isalnum((unsigned char)*line) || (unsigned char)*line >= 0x80)
            buf_addch(&out, (char)tolower((unsigned char)*line));
        else if (*line != '\'' && out.len && buf_last(&out) != ' ')
            buf_addch(&out, ' ');
    buf_trim(&out, " ");
    return buf_steal(&out, NULL);
}

bool command_doubt(const char *line)
{
    static const char doubts[] = "|are you sure|are you really sure|are you sure about that|are you certain"
                                 "|you sure|is that right|is this right|is it right|is that correct"
                                 "|is this correct|is it correct|is that really right|is that true|really"
                                 "|check that|check this|check it|check again|check that again|check it again"
                                 "|double check|double check that|please check|please check that"
                                 "|check your answer|verify|verify that|verify it|";
    bool may_be = strlen(line) <= DOUBT_MAX && !isspace((unsigned char)*line);
    autofree char *words = may_be ? lower_words(line) : NULL;
    autofree char *one = words && *words ? xasprintf("|%s|", words) : NULL;

    return one && strstr(doubts, one);
}
