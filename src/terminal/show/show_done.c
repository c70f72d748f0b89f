/* show_done.c - the end of a question: what was wrong, what may help, and where the answer comes from. */
#include <string.h>

#include "base/mem.h"
#include "base/size.h"
#include "show/private.h"

#define NUMBERS_SHOWN 3

static void add_numbers(const struct computed *c, struct buf *line)
{
    size_t shown = c->n_unsupported < NUMBERS_SHOWN ? c->n_unsupported : NUMBERS_SHOWN;

    for (size_t i = 0; i < shown; i++)
        buf_addf(line, "%s%s", i == 0 ? "; " : i + 1 == c->n_unsupported ? " and " : ", ", c->unsupported[i]);
    if (c->n_unsupported > shown)
        buf_addf(line, " and %zu more", c->n_unsupported - shown);
    if (shown)
        buf_addf(line, " %s not in any output", c->n_unsupported == 1 ? "is" : "are");
}

/* "[1 run, 0.8 s, 690 tokens; 42.1 is not in any output]" */
static void show_computed(struct show *s, const struct event *e)
{
    const struct computed *c = &e->done.computed;
    struct buf line autorelease(buf_release) = BUF_INIT(0);

    if (s->o.quiet || !(s->screen.terminal || s->screen.dots || s->o.verbose) || !e->done.answer
        || !*e->done.answer)
        return;
    if (c->runs == 0)
        buf_addf(&line, "[no code ran%s", c->memory_only ? ": from the model's memory" : "");
    else
        buf_addf(&line, "[%u run%s", c->runs, c->runs == 1 ? "" : "s");
    if (c->failed)
        buf_addf(&line, " (%u failed)", c->failed);
    if (c->runs && c->seconds < 0.1)
        buf_addf(&line, ", %.0f ms", c->seconds * 1000);
    else if (c->runs)
        buf_addf(&line, ", %.*f s", c->seconds < 10, c->seconds);
    buf_addf(&line, ", %s%s tokens", e->done.usage.estimated ? "about " : "",
             count_text(e->done.usage.input + e->done.usage.output).text);
    if (!c->memory_only)
        add_numbers(c, &line);
    if (c->verified == VERIFIED_AGREES)
        buf_addstr(&line, "; a second computation agrees");
    else if (c->verified == VERIFIED_UNCLEAR)
        buf_addstr(&line, "; a second computation cannot be compared");
    buf_addch(&line, ']');
    autofree char *clean = screen_clean(&s->screen, buf_str(&line));
    screen_begin(&s->screen, NULL);
    screen_dim_line(&s->screen, clean);
    screen_flush(&s->screen);
}

void show_done(struct show *s, const struct event *e)
{
    show_status(s, NULL);
    if (s->o.verbose && !s->o.reasoning && e->done.reasoning) { /* otherwise it was shown as it came */
        show_line(s, NOTICE_DETAIL, "the model's reasoning:");
        show_talk(s, e->done.reasoning, strlen(e->done.reasoning));
    }
    if (e->done.error && *e->done.error)
        show_line(s,
                  e->done.status == QUESTION_ANSWERED || e->done.status == QUESTION_INTERRUPTED
                          || e->done.status == QUESTION_UNVERIFIED || e->done.status == QUESTION_TERMINATED
                      ? NOTICE_WARNING
                      : NOTICE_ERROR,
                  e->done.error);
    if (s->o.verbose && e->done.last_output && *e->done.last_output) {
        show_line(s, NOTICE_DETAIL, "the last output of the code:");
        show_talk(s, e->done.last_output, strlen(e->done.last_output));
    }
    show_computed(s, e);
    show_total(s, e);
    show_files_seen(&s->files);
}
