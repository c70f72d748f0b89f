/* question.c - which question of several this is: a line before its answer, its number in front of errors. */
#include <string.h>

#include "base/mem.h"
#include "base/scrub.h"
#include "show/private.h"

#define BLANKS " \t\r\n"

/* The first line of it that says something, clean and without tabs. *more: there is a second. */
static char *headline(const struct show *s, const char *question, bool *more)
{
    const char *begin = question + strspn(question, BLANKS), *end = begin + strcspn(begin, "\r\n");
    autofree char *line = xmemdup0(begin, (size_t)(end - begin));
    char *clean = scrub_line(line, s->o.terminal ? SCRUB_TERMINAL : SCRUB_PIPE);

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
    show_begin(s, NULL);
    autofree char *head = headline(s, question, &more);
    autofree char *count = total ? xasprintf("%u", total) : xstrdup("…");
    autofree char *line = xasprintf("[%u/%s] %s", number, count, head);
    more = more || show_columns(line, strlen(line)) >= s->o.width;
    buf_addf(&s->out, "%s%.*s%s%s\n", show_sgr(s, SGR_DIM),
             (int)show_fitting(line, s->o.width - (more ? 2 : 1)), line, more ? "…" : "",
             show_sgr(s, SGR_RESET));
    show_flush(s);
}
