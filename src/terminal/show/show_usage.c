/* show_usage.c - what requests cost: a line for each with --verbose, one at the end of a question with
 * --usage. */
#include "base/buf.h"
#include "base/mem.h"
#include "show/private.h"

void show_usage(struct show *s, const struct event *e)
{
    autofree char *text = xasprintf("%lld tokens in, %lld out%s, %.1f s", (long long)e->usage.input,
                                    (long long)e->usage.output, e->usage.estimated ? " (estimated)" : "",
                                    e->usage.seconds);

    show_line(s, NOTICE_DETAIL, text);
}

void show_total(struct show *s, const struct event *e)
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
