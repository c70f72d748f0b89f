/* cmd_check.c - /check: is the last answer right? */
#include <ctype.h>
#include <string.h>

#include "agent/agent.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "process/signals.h"
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
