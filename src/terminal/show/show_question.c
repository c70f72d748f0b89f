/* show_question.c - what is said around a question: which of several it is; at its end what was wrong, where
 * the answer comes from, and what it cost.
 */
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "base/size.h"
#include "base/utf8.h"
#include "show/private.h"

#define BLANKS        " \t\r\n"
#define NUMBERS_SHOWN 3

/* Its first line with any text, scrubbed and without tabs. *more: there is a second one. */
static char *headline(const struct show *s, const char *question, bool *more)
{
    const char *begin = question + strspn(question, BLANKS), *end = begin + strcspn(begin, "\r\n");
    autofree char *line = xmemdup0(begin, (size_t)(end - begin));
    char *clean = screen_clean(&s->screen, line);

    for (char *p = clean; (p = strchr(p, '\t')) != NULL;)
        *p = ' ';
    *more = end[strspn(end, BLANKS)] != '\0';
    return clean;
}

void show_question(struct show *s, unsigned number, unsigned total, const char *question)
{
    bool more;

    s->question = number;
    if (!question || s->o.quiet)
        return;
    screen_begin(&s->screen, NULL);
    autofree char *head = headline(s, question, &more);
    autofree char *count = total ? xasprintf("%u", total) : xstrdup("…");
    autofree char *line = xasprintf("[%u/%s] %s", number, count, head);
    more = more || utf8_columns(line, strlen(line)) >= s->screen.width;
    buf_addf(&s->screen.out, "%s%.*s%s%s\n", screen_sgr(&s->screen, SGR_DIM),
             (int)screen_fitting(line, s->screen.width - (more ? 2 : 1)), line, more ? "…" : "",
             screen_sgr(&s->screen, SGR_RESET));
    screen_flush(&s->screen);
}

void show_usage(struct show *s, const struct event *e)
{
    autofree char *text = xasprintf("%lld tokens in, %lld out%s, %.1f s", (long long)e->usage.input,
                                    (long long)e->usage.output, e->usage.estimated ? " (estimated)" : "",
                                    e->usage.seconds);

    show_news(s, NOTICE_DETAIL, text);
}

/* What the question cost, and the session with it. */
static void show_total(struct show *s, const struct event *e)
{
    struct buf line autorelease(buf_release) = BUF_INIT(0);
    const struct usage *one = &e->done.usage;

    usage_add(&s->usage, one);
    if (!s->o.usage || !one->requests)
        return;
    usage_text(one, &line);
    show_line(s, NOTICE_INFO, buf_str(&line));
    if (s->usage.requests == one->requests)
        return;
    buf_clear(&line);
    buf_addstr(&line, "session: ");
    usage_text(&s->usage, &line);
    show_line(s, NOTICE_INFO, buf_str(&line));
}

static void add_numbers(const struct computation *c, const char *where, struct buf *line)
{
    size_t shown = c->n_unsupported < NUMBERS_SHOWN ? c->n_unsupported : NUMBERS_SHOWN;

    for (size_t i = 0; i < shown; i++)
        buf_addf(line, "%s%s", i == 0 ? "" : i + 1 == c->n_unsupported ? " and " : ", ", c->unsupported[i]);
    if (c->n_unsupported > shown)
        buf_addf(line, " and %zu more", c->n_unsupported - shown);
    if (shown)
        buf_addf(line, " %s%s not in any output", where, c->n_unsupported == 1 ? "is" : "are");
}

/* What the line at a terminal says among other things is a warning where there is no such line. */
static void warn_unsupported(struct show *s, const struct computation *c)
{
    struct buf line autorelease(buf_release) = BUF_INIT(0);

    add_numbers(c, "in the answer ", &line);
    if (line.len && !c->memory_only)
        show_line(s, NOTICE_WARNING, buf_str(&line));
}

/* "[1 run, 0.8 s, 690 tokens; 42.1 is not in any output]" */
static void show_computed(struct show *s, const struct event *e)
{
    const struct computation *c = &e->done.computed;
    struct buf line autorelease(buf_release) = BUF_INIT(0);

    if (s->o.quiet || !e->done.answer || !*e->done.answer)
        return;
    if (!s->screen.terminal && !s->screen.dots && !s->o.verbose) {
        warn_unsupported(s, c);
        return;
    }
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
    if (!c->memory_only && c->n_unsupported) {
        buf_addstr(&line, "; ");
        add_numbers(c, "", &line);
    }
    if (c->verified == VERIFIED_AGREES)
        buf_addstr(&line, "; a second computation agrees");
    if (c->again)
        buf_addf(&line, "; small model: %s", c->again);
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
    bool told = e->done.status == QUESTION_UNDELIVERED && !s->o.quiet; /* when the code had run */
    if (e->done.error && *e->done.error && !told)
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
