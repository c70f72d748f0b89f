/* lines.c - prints untrusted text as lines after a gutter. */
#include "show/lines.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "show/show.h"

#define RESET "\033[0m"

void lines_resize(struct lines *l, int width)
{
    if (l->mid && width != l->style.width)
        lines_reflowed(l, width);
    l->style.width = width;
    l->width = l->style.terminal && width > 0 ? width - (int)strlen(l->style.gutter) : 0;
    if (l->width < 8)
        l->width = 0; /* too narrow to wrap usefully */
}

void lines_init(struct lines *l, struct buf *out, const struct lines_style *style)
{
    *l = (struct lines){.style = *style, .out = out};
    lines_resize(l, style->width);
    l->moving.live = style->terminal;
    scrub_init(&l->scrub, style->terminal ? SCRUB_TERMINAL : SCRUB_PIPE);
}

static void line_begin(struct lines *l, const char *gutter)
{
    buf_addf(l->out, "%s%s", gutter, l->style.sgr);
    l->mid = true;
    l->column = 0;
    l->before = 0;
    l->wraps = 0;
}

static void end_line(struct lines *l)
{
    if (!l->mid)
        return;
    buf_addf(l->out, "%s\n", *l->style.sgr ? RESET : "");
    l->mid = false;
    l->column = 0;
}

void lines_break(struct lines *l)
{
    lines_settle_moving(l);
    end_line(l);
}

void lines_lost(struct lines *l)
{
    l->mid = false;
    l->column = l->drawn = 0;
}

int lines_column(const struct lines *l)
{
    return l->mid ? (int)strlen(l->style.gutter) + l->column : -1;
}

/* Columns that a character takes; a tab goes to the next multiple of eight. */
static int columns(const struct lines *l, uint32_t cp)
{
    return cp == '\t' ? 8 - l->column % 8 : utf8_width_behind(l->before, cp);
}

static void add_char(struct lines *l, uint32_t cp, const char *s, int n)
{
    int w = l->style.terminal ? columns(l, cp) : 0;

    if (l->mid && l->width > 0 && l->column + w > l->width) {
        int wraps = l->wraps + 1;

        end_line(l);
        line_begin(l, l->style.again ? l->style.again : l->style.gutter);
        l->column = l->style.again ? (int)(strlen(l->style.again) - strlen(l->style.gutter)) : 0;
        l->wraps = wraps;
    }
    if (!l->mid)
        line_begin(l, l->style.gutter);
    if (cp == '\t' && l->style.terminal)
        buf_add(l->out, "        ", (size_t)w); /* a real tab would also count the gutter */
    else
        buf_add(l->out, s, (size_t)n);
    l->column += w;
    utf8_columns_behind(&l->before, s, (size_t)n);
}

/* Write all blanks at text, or a line break in their place if the next word would be cut. */
static size_t add_blanks(struct lines *l, const char *text, size_t len)
{
    size_t blanks = 0, end;

    while (blanks < len && text[blanks] == ' ')
        blanks++;
    for (end = blanks; end < len && text[end] != ' ' && text[end] != '\n'; end++)
        ;
    if (l->mid && end > blanks
        && l->column + (int)blanks + utf8_columns(text + blanks, end - blanks) > l->width) {
        end_line(l);
        line_begin(l, l->style.gutter);
        text = "  "; /* continuation lines are indented, as in show_wrap */
        len = 2;
    } else {
        len = blanks;
    }
    for (size_t i = 0; i < len; i++)
        add_char(l, ' ', text + i, 1);
    return blanks;
}

static bool line_allowed(struct lines_cut *cut)
{
    if (!cut)
        return true;
    if (cut->lines >= cut->max_lines)
        cut->over = cut->by_lines = true;
    else
        cut->lines++;
    return !cut->over;
}

void lines_add(struct lines *l, const char *text, size_t len)
{
    struct lines_cut *cut = l->cut;
    const char *end = text + len;

    while (text < end && !(cut && cut->over)) {
        uint32_t cp = 0xfffd;
        int n = utf8_decode(text, (size_t)(end - text), &cp);

        if (n <= 0)
            n = 1; /* scrubbed text contains none of these */
        if (!l->mid && !line_allowed(cut))
            return;
        if (*text == ' ' && l->style.words && l->width > 0) {
            text += add_blanks(l, text, (size_t)(end - text));
            continue;
        }
        if (*text == '\n') {
            if (!l->mid)
                line_begin(l, l->style.gutter);
            end_line(l);
        } else {
            add_char(l, cp, text, n);
        }
        text += n;
    }
}

static uint64_t count_lines(const char *text, size_t len)
{
    uint64_t n = 0;

    for (size_t i = 0; i < len; i++)
        n += text[i] == '\n';
    return n;
}

void lines_feed(struct lines *l, const char *text, size_t len)
{
    struct lines_cut *cut = l->cut;
    struct buf clean autorelease(buf_release) = BUF_INIT(0);

    if (cut) {
        cut->all_bytes += len;
        cut->all_lines += count_lines(text, len);
        if (cut->over)
            return;
        if (len > cut->max_bytes - cut->bytes)
            len = cut->max_bytes - cut->bytes;
    }
    scrub_feed(&l->scrub, text, len, &clean);
    lines_add(l, buf_str(&clean), clean.len);
    if (cut) {
        cut->bytes += len;
        cut->over = cut->over || cut->all_bytes > cut->bytes;
    }
}

void lines_end(struct lines *l)
{
    struct buf clean autorelease(buf_release) = BUF_INIT(0);

    scrub_end(&l->scrub, &clean);
    lines_add(l, buf_str(&clean), clean.len);
    end_line(l);
}
