/* show.c - events as text for a person. */
#include "show/show.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/out.h"
#include "show/private.h"

#define MAX_LINES 200
#define MAX_BYTES (32 * 1024)

struct show *show_new(const struct show_options *o)
{
    struct show *s = xcalloc(1, sizeof *s);

    s->o = *o;
    if (!s->o.max_lines)
        s->o.max_lines = MAX_LINES;
    if (!s->o.max_bytes)
        s->o.max_bytes = MAX_BYTES;
    s->o.width = o->width > 0 ? o->width : 80;
    buf_init(&s->out, 0);
    return s;
}

void show_free(struct show *s)
{
    if (!s)
        return;
    show_status(s, NULL);
    if (s->o.loop)
        loop_timer_stop(s->o.loop, s);
    buf_release(&s->out);
    free(s->status);
    free(s->model);
    free(s);
}

void show_follow_width(struct show *s)
{
    struct lines *all[] = {&s->stream[0], &s->stream[1], &s->thought};
    int width = s->o.terminal ? show_width_or(s->o.fd, s->o.width) : s->o.width;

    if (width == s->o.width)
        return;
    s->o.width = width;
    for (size_t i = 0; i < countof(all); i++)
        if (all[i]->gutter)
            lines_resize(all[i], width);
}

const char *show_sgr(const struct show *s, const char *sgr)
{
    return s->o.colour ? sgr : "";
}

void show_begin(struct show *s, const struct lines *keep)
{
    struct lines *all[] = {&s->stream[0], &s->stream[1], &s->thought};

    show_follow_width(s);
    show_status_hide(s);
    for (size_t i = 0; i < countof(all); i++)
        if (all[i] != keep)
            lines_break(all[i], &s->out);
    if (s->text && show_text_mid(s->text)) {
        buf_addch(&s->out, '\n');
        show_text_broken(s->text);
    }
}

void show_flush(struct show *s)
{
    if (s->out.len > 0) {
        if (!s->dead && out_write(s->o.fd, s->out.data, s->out.len, s->o.loop) < 0)
            /* bad news about stderr has nowhere to go; who only stalled may read again */
            s->dead = errno != EINTR;
        s->last_write = clock_ms();
        show_status_arm(s);
    }
    buf_clear(&s->out);
    if (s->out.alloc > MAX_BYTES * 2)
        buf_release(&s->out);
}

void show_clear(struct show *s)
{
    show_begin(s, NULL);
    show_flush(s);
}

static const char *level_sgr(const struct show *s, enum notice_level level)
{
    switch (level) {
    case NOTICE_ERROR:
        return show_sgr(s, SGR_RED);
    case NOTICE_WARNING:
        return show_sgr(s, SGR_YELLOW);
    default:
        return show_sgr(s, SGR_DIM);
    }
}

void show_line(struct show *s, enum notice_level level, const char *text)
{
    autofree char *numbered = level == NOTICE_ERROR && s->question
                                  ? xasprintf("sandpiper: question %u: ", s->question)
                                  : NULL;
    const char *sgr = level_sgr(s, level), *prefix = numbered ? numbered : "sandpiper: ";

    if ((s->o.quiet && level != NOTICE_ERROR) || (level == NOTICE_DETAIL && !s->o.verbose))
        return;
    show_begin(s, NULL);
    /* a second line (the remedy) is indented, so it cannot pass for another program's */
    while (*text) {
        size_t n = strcspn(text, "\n");
        autofree char *raw = xmemdup0(text, n);
        autofree char *clean = scrub_line(raw, s->o.terminal ? SCRUB_TERMINAL : SCRUB_PIPE);

        buf_addf(&s->out, "%s%s", sgr, prefix);
        show_wrap(&s->out, clean, strlen(clean), (int)strlen(prefix), s->o.terminal ? s->o.width : 0);
        buf_addf(&s->out, "%s\n", *sgr ? SGR_RESET : "");
        text += n + (text[n] == '\n');
        prefix = "  ";
    }
    show_flush(s);
}

void show_talk(struct show *s, const char *text, size_t len)
{
    struct lines l;

    while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == ' '))
        len--;
    if (s->o.quiet || !len)
        return;
    lines_init(&l, "", show_sgr(s, SGR_DIM), s->o.terminal, s->o.width);
    show_begin(s, NULL);
    lines_feed(&l, NULL, text, len, &s->out);
    lines_end(&l, NULL, &s->out);
    show_flush(s);
}

static void show_reasoning(struct show *s, const struct event *e)
{
    if (!s->o.reasoning) {
        autofree char *text = xasprintf("%s is thinking...", s->model ? s->model : "the model");

        show_status(s, text);
        return;
    }
    if (!s->thought.gutter)
        lines_init(&s->thought, "  ", show_sgr(s, SGR_DIM), s->o.terminal, s->o.width);
    show_begin(s, &s->thought);
    lines_feed(&s->thought, NULL, e->text.text, e->text.len, &s->out);
    show_flush(s);
}

static void reasoning_end(struct show *s)
{
    if (!s->thought.gutter)
        return;
    show_begin(s, &s->thought);
    lines_end(&s->thought, NULL, &s->out);
    s->thought.gutter = NULL;
    show_flush(s);
}

static void show_session(struct show *s, const struct event *e)
{
    const char *engine = e->session.engine && *e->session.engine ? e->session.engine : "starting";
    autofree char *text = xasprintf("%s at %s (%s), sandbox: %s", e->session.model ? e->session.model : "?",
                                    e->session.endpoint ? e->session.endpoint : "?",
                                    e->session.provider ? e->session.provider : "?", engine);

    free(s->model);
    s->model = xstrdup(e->session.model);
    show_line(s, NOTICE_DETAIL, text);
}

static void show_file(struct show *s, const struct event *e)
{
    autofree char *path = scrub_line(e->file.path, s->o.terminal ? SCRUB_TERMINAL : SCRUB_PIPE);
    char size[32];

    if (s->o.quiet)
        return;
    show_size(e->file.size, size);
    show_begin(s, NULL);
    buf_addf(&s->out, "%ssaved: %s (%s)%s\n", show_sgr(s, SGR_GREEN), path, size, show_sgr(s, SGR_RESET));
    show_flush(s);
}

static void show_usage(struct show *s, const struct event *e)
{
    autofree char *text = xasprintf("%lld tokens in, %lld out%s, %.1f s", (long long)e->usage.input,
                                    (long long)e->usage.output, e->usage.estimated ? " (estimated)" : "",
                                    e->usage.seconds);

    show_line(s, NOTICE_DETAIL, text);
}

static void show_done(struct show *s, const struct event *e)
{
    show_status(s, NULL);
    if (s->o.verbose && !s->o.reasoning && e->done.reasoning) { /* else it was shown as it came */
        show_line(s, NOTICE_DETAIL, "the model's reasoning:");
        show_talk(s, e->done.reasoning, strlen(e->done.reasoning));
    }
    if (e->done.error && *e->done.error)
        show_line(s,
                  e->done.status == QUESTION_ANSWERED || e->done.status == QUESTION_INTERRUPTED
                          || e->done.status == QUESTION_TERMINATED
                      ? NOTICE_WARNING
                      : NOTICE_ERROR,
                  e->done.error);
    if (s->o.verbose && e->done.last_output && *e->done.last_output) {
        show_line(s, NOTICE_DETAIL, "the last output of the code:");
        show_talk(s, e->done.last_output, strlen(e->done.last_output));
    }
}

void show_event(struct show *s, const struct event *e)
{
    if (e->type != EVENT_REASONING && e->type != EVENT_USAGE)
        reasoning_end(s);
    switch (e->type) {
    case EVENT_SESSION:
        show_session(s, e);
        break;
    case EVENT_REASONING:
        show_reasoning(s, e);
        break;
    case EVENT_TOOL_CALL:
        show_cell_call(s, e);
        break;
    case EVENT_TOOL_OUTPUT:
        show_cell_output(s, e);
        break;
    case EVENT_TOOL_RESULT:
        show_cell_result(s, e);
        break;
    case EVENT_FILE:
        show_file(s, e);
        break;
    case EVENT_NOTICE:
        show_line(s, e->notice.level, e->notice.text);
        break;
    case EVENT_USAGE:
        show_usage(s, e);
        break;
    case EVENT_DONE:
        show_done(s, e);
        break;
    case EVENT_SANDBOX:
        break;
    case EVENT_REPLY_END:
        if (e->reply_end.kind == REPLY_THOUGHTS)
            show_line(s, NOTICE_INFO, "The text above was the model's reasoning; the answer follows.");
        break;
    case EVENT_TEXT:
    case EVENT_SESSION_END:
        break;
    }
}
