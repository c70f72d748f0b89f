/* screen.c - begins, ends and clears what is on the last line. */
#include "show/screen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "process/loop.h"
#include "process/signals.h"
#include "process/out.h"
#include "show/show.h"

#define KEPT_MAX (64 * 1024) /* maximum bytes of a buffer kept for the next call */

void screen_release(struct screen *s)
{
    if (s->loop)
        loop_timer_stop(s->loop, s);
    buf_release(&s->out);
    free(s->words);
    free(s->draft);
    free(s->drawn_text);
}

void screen_follow_width(struct screen *s)
{
    if (s->terminal)
        s->width = show_width_or(s->fd, s->width);
}

const char *screen_sgr(const struct screen *s, const char *sgr)
{
    return s->colour ? sgr : "";
}

struct lines_style screen_style(const struct screen *s, const char *gutter, const char *sgr)
{
    return (struct lines_style){
        .gutter = gutter, .sgr = screen_sgr(s, sgr), .terminal = s->terminal, .width = s->width};
}

char *screen_clean(const struct screen *s, const char *text)
{
    return scrub_line(text, s->terminal ? SCRUB_TERMINAL : SCRUB_PIPE);
}

static void lose_line(struct screen *s)
{
    s->text_line = false;
    s->above = -1;
    if (s->line)
        lines_lost(s->line);
}

void screen_look(struct screen *s)
{
    if (s->loop && s->terminal && loop_continued(s->loop)) {
        s->drawn = false;
        lose_line(s);
    }
    if (!s->drawn || s->dots) /* dots are never drawn over */
        return;
    screen_follow_width(s);
    if (s->width == s->drawn_width)
        return;
    if (s->above >= 0)
        lose_line(s);
    screen_status_hide(s);
    screen_flush(s);
}

/* Clear everything but the model's text. */
static void clear_line(struct screen *s, struct lines *line)
{
    screen_look(s);
    screen_follow_width(s);
    screen_status_hide(s);
    if (s->line && s->line != line)
        lines_break(s->line);
    if (line)
        lines_resize(line, s->width);
    s->line = line;
}

void screen_begin(struct screen *s, struct lines *line)
{
    clear_line(s, line);
    if (s->text_line)
        buf_addch(&s->out, '\n');
    s->text_line = false;
}

void screen_dim_line(struct screen *s, const char *text)
{
    buf_addstr(&s->out, screen_sgr(s, SGR_DIM));
    show_wrap(&s->out, text, strlen(text), 0, s->terminal ? s->width : 0);
    buf_addf(&s->out, "%s\n", screen_sgr(s, SGR_RESET));
}

void screen_section(struct screen *s, enum screen_section section)
{
    if (s->spaced && s->section != SECTION_NONE && s->section != section)
        buf_addch(&s->out, '\n');
    s->section = section;
}

void screen_yield(struct screen *s)
{
    clear_line(s, NULL);
    screen_flush(s);
}

void screen_flush(struct screen *s)
{
    if (s->out.len > 0) {
        if (!s->dead && out_write(s->fd, s->out.data, s->out.len, s->loop) < 0)
            /* a failure of stderr cannot be reported; a reader that only stalled may read again */
            s->dead = errno != EINTR;
        s->last_write = clock_ms();
        screen_status_arm(s);
    }
    buf_clear(&s->out);
    if (s->out.alloc > KEPT_MAX)
        buf_release(&s->out);
}
