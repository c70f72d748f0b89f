/* status.c - the status line of a terminal: drawn after 0.3 s without output, animated by a timer of the
 * loop, and removed before anything else is written. Behind an unfinished line it is drawn after a second, on
 * the line below; the cursor then goes back to where it was. A terminal that cannot move its cursor
 * (TERM=dumb) gets dots, and a newline before anything else.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "process/loop.h"
#include "show/screen.h"
#include "show/show.h"

#define SILENCE_MS 300
#define MID_MS     1000 /* behind an unfinished line: words that come slowly are no silence */
#define FRAME_MS   120
#define DOT_MS     1000
#define CALM_MS    1000
#define DRAFT_MS   60 /* a draft comes back so soon after words of the answer */
#define DRAFT_MOST 400

static void status_tick(void *ctx);

void screen_status_hide(struct screen *s)
{
    int rows = s->drawn && s->width != s->drawn_width && show_reflows()
                   ? show_rows(s->drawn_columns, s->width)
                   : 1;

    for (; rows > 1; rows--)
        buf_addstr(&s->out, "\r\033[K\033[A");
    if (s->drawn)
        buf_addstr(&s->out, s->dots ? "\n" : "\r\033[K");
    if (s->drawn && s->above >= 0) {
        buf_addf(&s->out, "\033[A\033[%dG", s->above + 1);
        if (s->line && s->line->mid)
            buf_addstr(&s->out, s->line->style.sgr);
    }
    s->drawn = false;
    s->above = -1;
}

static bool is_mid(const struct screen *s)
{
    return s->text_line || (s->line && s->line->mid);
}

/* Where the unfinished line ends. A full one may have the terminal wait with its line break, to which the
 * cursor could not come back. */
static int mid_column(const struct screen *s)
{
    int column = s->text_line ? s->text_column : s->line ? lines_column(s->line) : -1;

    return column < s->width ? column : -1;
}

static bool can_move(const struct screen *s)
{
    return s->terminal || s->dots;
}

void screen_status_arm(struct screen *s)
{
    int frame = s->calm ? CALM_MS : FRAME_MS;
    int wait = s->dots ? DOT_MS : s->drawn ? frame : s->draft ? DRAFT_MS : SILENCE_MS;

    if (s->loop && (s->words || s->draft))
        loop_timer(s->loop, clock_ms() + wait, status_tick, s);
}

size_t screen_fitting(const char *text, int columns)
{
    size_t len = strlen(text), i = 0;
    uint32_t before = 0;

    while (i < len) {
        uint32_t cp = 0;
        int n = utf8_decode(text + i, len - i, &cp);

        if (n <= 0)
            break;
        columns -= utf8_columns_behind(&before, text + i, (size_t)n);
        if (columns < 0)
            break;
        i += (size_t)n;
    }
    return i;
}

/* "3 s", "24 lines", or nothing yet. */
static void add_figure(const struct screen *s, struct buf *line)
{
    int64_t now = clock_ms(), seconds = (now - s->status_since) / 1000;
    const struct status *t = &s->status;

    if (t->total)
        buf_addf(line, " %s of %s", show_size(t->done).text, show_size(t->total).text);
    if (t->until)
        buf_addf(line, " %lld s", (long long)(t->until > now ? (t->until - now + 999) / 1000 : 0));
    else if (t->lines)
        buf_addf(line, " %u line%s", t->lines, t->lines == 1 ? "" : "s");
    else if (seconds > 0)
        buf_addf(line, "%s %lld s", t->total ? "," : "", (long long)seconds);
    if (s->unshown)
        buf_addf(line, ", %s of output", show_size(s->unshown).text);
}

static void status_draw(struct screen *s)
{
    struct buf line autorelease(buf_release) = BUF_INIT(4096);
    bool was = s->drawn;

    s->drawn = true;
    if (s->dots) {
        buf_addch(&s->out, '.');
        return;
    }
    if (s->above >= 0 && !was)
        buf_addf(&s->out, "%s\n", screen_sgr(s, SGR_RESET));
    if (s->draft) {
        buf_addstr(&line, s->draft);
    } else {
        buf_addf(&line, "%c %s", "-\\|/"[s->frame++ % 4], s -> words);
        add_figure(s, &line);
        buf_addf(&line, " (%s)", s->status.hint ? s->status.hint : "Ctrl-C stops");
    }
    /* Leave one column free: otherwise the terminal wraps, and "\r" no longer reaches the beginning of the
     * line. */
    buf_cut(&line, screen_fitting(buf_str(&line), s->width - 1));
    const char *text = buf_str(&line);
    bool same = was && s->drawn_text && line.len && !strcmp(text + 1, s->drawn_text + 1);
    if (same && *text == *s->drawn_text)
        return;
    s->drawn_width = s->width;
    s->drawn_columns = utf8_columns(text, line.len);
    if (same) /* but for what turns; the cursor goes back to its end */
        buf_addf(&s->out, "\r%s%c%s\033[%dG", screen_sgr(s, SGR_DIM), *text, screen_sgr(s, SGR_RESET),
                 s->drawn_columns + 1);
    else
        buf_addf(&s->out, "\r%s%s%s\033[K", screen_sgr(s, SGR_DIM), text, screen_sgr(s, SGR_RESET));
    xreplace(&s->drawn_text, buf_steal(&line, NULL));
}

static void status_tick(void *ctx)
{
    struct screen *s = ctx;

    if (!s->words && !s->draft)
        return;
    screen_look(s);
    screen_follow_width(s);
    bool mid = is_mid(s);
    int silence = s->draft ? 0 : s->drawn ? SILENCE_MS : s->dots ? DOT_MS : mid ? MID_MS : SILENCE_MS;
    if (!s->drawn)
        s->above = mid && !s->dots ? mid_column(s) : -1;
    if ((!mid || s->above >= 0) && clock_ms() - s->last_write >= silence) {
        int64_t last = s->last_write;

        status_draw(s);
        screen_flush(s);
        s->last_write = last;
    }
    screen_status_arm(s);
}

void screen_status(struct screen *s, const struct status *status)
{
    char *clean = status && can_move(s) ? scrub_line(status->text, SCRUB_TERMINAL) : NULL;
    bool same = clean && s->words && !strcmp(clean, s->words);

    if (!can_move(s))
        return;
    if (!same && !(clean && s->words && s->drawn)) /* one that stands there is drawn over at the next tick */
        screen_status_hide(s);
    if (!same)
        s->status_since = clock_ms();
    xreplace(&s->words, clean);
    s->status = status ? *status : (struct status){0};
    s->status.text = s->words;
    screen_flush(s);
    if (!s->words && !s->draft && s->loop)
        loop_timer_stop(s->loop, s);
    else if (!same)
        screen_status_arm(s);
}

/* So much of the end of text as fits. */
static const char *end_that_fits(const char *text, int columns)
{
    size_t len = strlen(text);
    const char *from = len > DRAFT_MOST ? text + len - DRAFT_MOST : text;

    while (((unsigned char)*from & 0xc0) == 0x80)
        from++;
    while (*from && screen_fitting(from, columns) < strlen(from))
        do
            from++;
        while (((unsigned char)*from & 0xc0) == 0x80);
    return from;
}

void screen_draft(struct screen *s, const char *draft, const char *queued)
{
    const char *hint = !queued  ? "Enter queues it"
                       : *draft ? "one is queued; Esc takes it back"
                                : "Esc takes it back";
    autofree char *clean = scrub_line(*draft ? draft : queued ? queued : "", SCRUB_TERMINAL);
    const char *sign = *draft ? ">" : "queued:";

    if (!s->terminal || s->dots || (!*clean && !s->draft))
        return;
    screen_follow_width(s);
    int room = s->width - 1 - (int)(strlen(sign) + 1 + strlen(hint) + 3);
    if (room < 8) { /* no room for the hint */
        hint = "";
        room = s->width - 1 - (int)(strlen(sign) + 1);
    }
    xreplace(&s->draft, *clean ? xasprintf("%s %s%s%s%s", sign, end_that_fits(clean, room), *hint ? " (" : "",
                                           hint, *hint ? ")" : "")
                               : NULL);
    if (s->draft || s->words) {
        status_tick(s);
    } else {
        screen_status_hide(s);
        screen_flush(s);
        if (s->loop)
            loop_timer_stop(s->loop, s);
    }
}
