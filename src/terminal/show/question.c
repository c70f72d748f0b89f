/* question.c - marks which of several questions this is: a line before its answer, its number before errors.
 */
#include <string.h>

#include "base/mem.h"
#include "base/scrub.h"
#include "base/utf8.h"
#include "show/private.h"

#define BLANKS " \t\r\n"

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
