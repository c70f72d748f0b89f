/* status.c - the status line of a terminal: drawn after 0.3 s without output, animated by a timer of the
 * loop, and removed before anything else is written.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "show/screen.h"
#include "show/show.h"

#define SILENCE_MS 300
#define FRAME_MS   120

static void status_tick(void *ctx, short revents);

void screen_status_hide(struct screen *s)
{
    if (s->drawn)
        buf_addstr(&s->out, "\r\033[K");
    s->drawn = false;
}

void screen_status_arm(struct screen *s)
{
    if (s->loop && s->status)
        loop_timer(s->loop, clock_ms() + (s->drawn ? FRAME_MS : SILENCE_MS), status_tick, s);
}

size_t screen_fitting(const char *text, int columns)
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

static void status_draw(struct screen *s)
{
    int64_t seconds = (clock_ms() - s->status_since) / 1000;
    struct buf line = BUF_INIT(4096);
    char size[32];

    screen_follow_width(s);
    buf_addf(&line, "%c %s", "-\\|/"[s->frame++ % 4], s -> status);
    if (seconds > 0)
        buf_addf(&line, " %lld s", (long long)seconds);
    if (s->unshown) {
        show_size(s->unshown, size);
        buf_addf(&line, ", %s of output", size);
    }
    buf_addstr(&line, " (Ctrl-C stops)");
    /* Leave one column free: otherwise the terminal wraps, and "\r" no longer reaches the beginning of the
     * line. */
    buf_addf(&s->out, "\r%s%.*s%s\033[K", screen_sgr(s, SGR_DIM),
             (int)screen_fitting(buf_str(&line), s->width - 1), buf_str(&line), screen_sgr(s, SGR_RESET));
    buf_release(&line);
    s->drawn = true;
}

static void status_tick(void *ctx, short revents)
{
    struct screen *s = ctx;

    (void)revents;
    if (!s->status)
        return;
    if (!(s->line && s->line->mid) && !s->text_line && clock_ms() - s->last_write >= SILENCE_MS) {
        int64_t last = s->last_write;

        status_draw(s);
        screen_flush(s);
        s->last_write = last;
    }
    screen_status_arm(s);
}

void screen_status(struct screen *s, const char *text)
{
    char *clean;

    if (!s->terminal)
        return;
    clean = text ? scrub_line(text, SCRUB_TERMINAL) : NULL;
    if (clean && s->status && !strcmp(clean, s->status)) {
        free(clean);
        return;
    }
    screen_status_hide(s);
    free(s->status);
    s->status = clean;
    s->status_since = clock_ms();
    screen_flush(s);
    if (s->status)
        screen_status_arm(s);
    else if (s->loop)
        loop_timer_stop(s->loop, s);
}
