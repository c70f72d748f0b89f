/* status.c - the status line of a terminal: drawn after 0.3 s without output, animated by a timer of the
 * loop, and removed before anything else is written.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "show/private.h"

#define SILENCE_MS 300
#define FRAME_MS   120

static void status_tick(void *ctx, short revents);

void show_status_hide(struct show *s)
{
    if (s->drawn)
        buf_addstr(&s->out, "\r\033[K");
    s->drawn = false;
}

void show_status_arm(struct show *s)
{
    if (s->o.loop && s->status)
        loop_timer(s->o.loop, clock_ms() + (s->drawn ? FRAME_MS : SILENCE_MS), status_tick, s);
}

size_t show_fitting(const char *text, int columns)
{
    size_t len = strlen(text), i = 0;

    while (i < len) {
        uint32_t cp = 0;
        int n = utf8_decode(text + i, len - i, &cp);

        if (n <= 0)
            break;
        columns -= utf8_width(cp);
        if (columns < 0)
            break;
        i += (size_t)n;
    }
    return i;
}

static bool line_unfinished(const struct show *s)
{
    return s->stream[0].mid || s->stream[1].mid || s->thought.mid || (s->text && show_text_mid(s->text));
}

static void status_draw(struct show *s)
{
    int64_t seconds = (clock_ms() - s->status_since) / 1000;
    struct buf line = BUF_INIT(4096);
    char size[32];

    show_follow_width(s);
    buf_addf(&line, "%c %s", "-\\|/"[s->frame++ % 4], s -> status);
    if (seconds > 0)
        buf_addf(&line, " %lld s", (long long)seconds);
    if (s->cut.over) {
        show_size(s->cut.all_bytes, size);
        buf_addf(&line, ", %s of output", size);
    }
    buf_addstr(&line, " (Ctrl-C stops)");
    /* one column stays free: if the terminal wrapped, "\r" would not reach the start of the line */
    buf_addf(&s->out, "\r%s%.*s%s\033[K", show_sgr(s, SGR_DIM),
             (int)show_fitting(buf_str(&line), s->o.width - 1), buf_str(&line), show_sgr(s, SGR_RESET));
    buf_release(&line);
    s->drawn = true;
}

static void status_tick(void *ctx, short revents)
{
    struct show *s = ctx;

    (void)revents;
    if (!s->status)
        return;
    if (!line_unfinished(s) && clock_ms() - s->last_write >= SILENCE_MS) {
        int64_t last = s->last_write;

        status_draw(s);
        show_flush(s);
        s->last_write = last;
    }
    show_status_arm(s);
}

void show_status(struct show *s, const char *text)
{
    char *clean;

    if (!s->o.terminal || s->o.quiet)
        return;
    clean = text ? scrub_line(text, SCRUB_TERMINAL) : NULL;
    if (clean && s->status && !strcmp(clean, s->status)) {
        free(clean);
        return;
    }
    show_status_hide(s);
    free(s->status);
    s->status = clean;
    s->status_since = clock_ms();
    show_flush(s);
    if (s->status)
        show_status_arm(s);
    else if (s->o.loop)
        loop_timer_stop(s->o.loop, s);
}

void show_asking(struct show *s, const char *model)
{
    autofree char *text = NULL;

    if (model) {
        free(s->model);
        s->model = xstrdup(model);
    }
    text = xasprintf("Waiting for %s...", s->model ? s->model : "the model");
    show_status(s, text);
}
