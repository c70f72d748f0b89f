/* show.c - prints events as text for a person. */
#include "show/show.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "show/private.h"

#define MAX_LINES 200
#define MAX_BYTES (32 * 1024)

void show_on_stderr(struct show_options *o)
{
    o->fd = 2;
    o->terminal = show_is_terminal(2);
    o->dots = show_is_dumb(2);
    o->colour = show_wants_colour(2, o->color);
    o->width = show_width(2);
}

struct show *show_new(const struct show_options *o)
{
    struct show *s = xcalloc(1, sizeof *s);
    const char *accessible = getenv("ACCESSIBLE");

    s->o = *o;
    s->o.max_lines = o->max_lines ? o->max_lines : MAX_LINES;
    s->o.max_bytes = o->max_bytes ? o->max_bytes : MAX_BYTES;
    s->usage = (struct usage)USAGE_NONE;
    s->screen = (struct screen){.fd = o->fd,
                                .terminal = o->terminal,
                                .dots = o->dots,
                                .calm = (accessible && *accessible)
                                        || (o->render && !strcmp(o->render, "plain")),
                                .colour = o->colour,
                                .width = o->width > 0 ? o->width : 80,
                                .loop = o->loop,
                                .above = -1};
    graphics_init(&s->graphics);
    return s;
}

struct graphics *show_graphics(struct show *s)
{
    return &s->graphics;
}

void show_set_verbose(struct show *s, bool on)
{
    s->o.verbose = on;
}

void show_free(struct show *s)
{
    if (!s)
        return;
    show_status(s, NULL);
    show_held(s);
    graphics_ask_end(&s->graphics, s->o.loop);
    for (int i = 0; i < 2; i++)
        overwrite_release(&s->stream[i].moving);
    screen_release(&s->screen);
    show_files_release(&s->files);
    free(s->model);
    free(s);
}

void show_clear(struct show *s)
{
    screen_begin(&s->screen, NULL);
    s->screen.section = SECTION_NONE;
    screen_flush(&s->screen);
}

void show_asked(struct show *s)
{
    s->screen.section = SECTION_QUESTION;
}

static const char *const level_sgr[] = {
    [NOTICE_INFO] = SGR_DIM,
    [NOTICE_WARNING] = SGR_YELLOW,
    [NOTICE_ERROR] = SGR_RED,
    [NOTICE_DETAIL] = SGR_DIM,
};

void show_line(struct show *s, enum notice_level level, const char *text)
{
    autofree char *numbered = level == NOTICE_ERROR && s->question
                                  ? xasprintf("sandpiper: question %u: ", s->question)
                                  : NULL;
    const char *sgr = screen_sgr(&s->screen, level_sgr[level]);
    const char *prefix = numbered ? numbered : s->o.chat && *sgr ? "" : "sandpiper: ";

    if ((s->o.quiet && level != NOTICE_ERROR) || (level == NOTICE_DETAIL && !s->o.verbose))
        return;
    screen_begin(&s->screen, NULL);
    /* A second line (the remedy) is indented, so it cannot pass for another program's output. */
    while (*text) {
        size_t n = strcspn(text, "\n");
        autofree char *raw = xmemdup0(text, n);
        autofree char *clean = screen_clean(&s->screen, raw);

        buf_addf(&s->screen.out, "%s%s", sgr, prefix);
        show_wrap(&s->screen.out, clean, strlen(clean), (int)strlen(prefix),
                  s->screen.terminal ? s->screen.width : 0);
        buf_addf(&s->screen.out, "%s\n", *sgr ? SGR_RESET : "");
        text += n + (text[n] == '\n');
        prefix = "  ";
    }
    screen_flush(&s->screen);
}

void show_talk(struct show *s, const char *text, size_t len)
{
    const struct lines_style style = screen_style(&s->screen, "", SGR_DIM);
    struct lines l;

    len = trimmed_length(text, len, "\n ");
    if (s->o.quiet || !len)
        return;
    lines_init(&l, &s->screen.out, &style);
    screen_begin(&s->screen, NULL);
    lines_feed(&l, text, len);
    lines_end(&l);
    screen_flush(&s->screen);
}

static void show_reasoning(struct show *s, const struct event *e)
{
    if (!s->o.reasoning)
        return;
    const struct lines_style style = screen_style(&s->screen, "  ", SGR_DIM);
    if (!s->thought.out)
        lines_init(&s->thought, &s->screen.out, &style);
    screen_begin(&s->screen, &s->thought);
    lines_feed(&s->thought, e->text.text, e->text.len);
    screen_flush(&s->screen);
}

static void reasoning_end(struct show *s)
{
    if (!s->thought.out)
        return;
    screen_begin(&s->screen, &s->thought);
    lines_end(&s->thought);
    s->thought.out = NULL;
    screen_flush(&s->screen);
}

static void show_session(struct show *s, const struct event *e)
{
    autofree char *text = xasprintf("%s at %s (%s), sandbox: %s", e->session.model ? e->session.model : "?",
                                    e->session.endpoint ? e->session.endpoint : "?",
                                    e->session.provider ? e->session.provider : "?",
                                    e->session.sandbox ? e->session.sandbox : "?");

    xreplace(&s->model, xstrdup(e->session.model));
    show_line(s, NOTICE_DETAIL, text);
}

void show_held(struct show *s)
{
    struct show_held *held = s->held;
    size_t n = s->n_held;

    s->held = NULL;
    s->n_held = 0;
    for (size_t i = 0; i < n; i++) {
        show_line(s, held[i].level, held[i].text);
        free(held[i].text);
    }
    free(held);
}

void show_news(struct show *s, enum notice_level level, const char *text)
{
    if (!s->screen.text_line || level == NOTICE_ERROR) {
        show_line(s, level, text);
        return;
    }
    s->held = xreallocarray(s->held, s->n_held + 1, sizeof *s->held);
    s->held[s->n_held++] = (struct show_held){level, xstrdup(text)};
}

static void show_notice(struct show *s, const struct event *e)
{
    show_news(s, e->notice.level, e->notice.text);
}

/* How a request ended is a detail, unless it was refused. */
static void show_network(struct show *s, const struct event *e)
{
    autofree char *line = network_line(&e->network);

    show_news(s,
              e->network.state == NETWORK_DONE   ? NOTICE_DETAIL
              : e->network.state == NETWORK_OPEN ? NOTICE_INFO
                                                 : NOTICE_WARNING,
              line);
}

static void show_reply_end(struct show *s, const struct event *e)
{
    if (e->reply_end.kind == REPLY_THOUGHTS)
        show_line(s, NOTICE_INFO, "The text above was the model's reasoning; the answer follows.");
}

void show_event(struct show *s, const struct event *e)
{
    static void (*const shows[EVENT_SESSION_END + 1])(struct show *, const struct event *) = {
        [EVENT_SESSION] = show_session,
        [EVENT_PHASE] = show_phase,
        [EVENT_REASONING] = show_reasoning,
        [EVENT_REPLY_END] = show_reply_end,
        [EVENT_TOOL_CALL] = show_cell_call,
        [EVENT_TOOL_OUTPUT] = show_cell_output,
        [EVENT_TOOL_RESULT] = show_cell_result,
        [EVENT_FILE] = show_file,
        [EVENT_NETWORK] = show_network,
        [EVENT_NOTICE] = show_notice,
        [EVENT_USAGE] = show_usage,
        [EVENT_DONE] = show_done,
    };

    if (e->type != EVENT_REASONING && e->type != EVENT_USAGE && e->type != EVENT_PHASE)
        reasoning_end(s);
    if (shows[e->type])
        shows[e->type](s, e);
}
