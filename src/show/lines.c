/* lines.c - untrusted text as lines behind a gutter. */
#include "show/lines.h"

#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "show/show.h"

#define RESET "\033[0m"

void lines_resize(struct lines *l, int width)
{
    l->width = l->terminal && width > 0 ? width - (int)strlen(l->gutter) : 0;
    if (l->width < 8)
        l->width = 0; /* too narrow to wrap with sense */
}

void lines_init(struct lines *l, const char *gutter, const char *sgr, bool terminal, int width)
{
    memset(l, 0, sizeof *l);
    l->gutter = gutter;
    l->sgr = sgr;
    l->terminal = terminal;
    lines_resize(l, width);
    scrub_init(&l->scrub, terminal ? SCRUB_TERMINAL : SCRUB_PIPE);
}

static void line_begin(struct lines *l, const char *gutter, struct buf *out)
{
    buf_addstr(out, gutter);
    buf_addstr(out, l->sgr);
    l->mid = true;
    l->column = 0;
}

void lines_break(struct lines *l, struct buf *out)
{
    if (!l->mid)
        return;
    if (*l->sgr)
        buf_addstr(out, RESET);
    buf_addch(out, '\n');
    l->mid = false;
    l->column = 0;
}

/* Columns a character takes; a tab goes on to the next multiple of eight. */
static int columns(const struct lines *l, uint32_t cp)
{
    return cp == '\t' ? 8 - l->column % 8 : utf8_width(cp);
}

static void add_char(struct lines *l, uint32_t cp, const char *s, int n, struct buf *out)
{
    int w = l->terminal ? columns(l, cp) : 0;

    if (l->mid && l->width > 0 && l->column + w > l->width) {
        lines_break(l, out);
        line_begin(l, l->again ? l->again : l->gutter, out);
    }
    if (!l->mid)
        line_begin(l, l->gutter, out);
    if (cp == '\t' && l->terminal)
        buf_add(out, "        ", (size_t)w); /* a real tab would count from the gutter */
    else
        buf_add(out, s, (size_t)n);
    l->column += w;
}

/* The blanks at text, whole; a line break in their place where the word behind them would be cut. */
static size_t add_blanks(struct lines *l, const char *text, size_t len, struct buf *out)
{
    size_t blanks = 0, end;

    while (blanks < len && text[blanks] == ' ')
        blanks++;
    for (end = blanks; end < len && text[end] != ' ' && text[end] != '\n'; end++)
        ;
    if (l->mid && end > blanks
        && l->column + (int)blanks + show_columns(text + blanks, end - blanks) > l->width) {
        lines_break(l, out);
        line_begin(l, l->gutter, out);
        text = "  "; /* what goes on is indented, as in show_wrap */
        len = 2;
    } else {
        len = blanks;
    }
    for (size_t i = 0; i < len; i++)
        add_char(l, ' ', text + i, 1, out);
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

void lines_add(struct lines *l, struct lines_cut *cut, const char *text, size_t len, struct buf *out)
{
    const char *end = text + len;

    while (text < end && !(cut && cut->over)) {
        uint32_t cp = 0xfffd;
        int n = utf8_decode(text, (size_t)(end - text), &cp);

        if (n <= 0)
            n = 1; /* scrubbed text has none of these */
        if (!l->mid && !line_allowed(cut))
            return;
        if (*text == ' ' && l->words && l->width > 0) {
            text += add_blanks(l, text, (size_t)(end - text), out);
            continue;
        }
        if (*text == '\n') {
            if (!l->mid)
                line_begin(l, l->gutter, out);
            lines_break(l, out);
        } else {
            add_char(l, cp, text, n, out);
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

void lines_feed(struct lines *l, struct lines_cut *cut, const char *text, size_t len, struct buf *out)
{
    struct buf clean = BUF_INIT(0);

    if (cut) {
        cut->all_bytes += len;
        cut->all_lines += count_lines(text, len);
        if (cut->over)
            return;
        if (len > cut->max_bytes - cut->bytes)
            len = cut->max_bytes - cut->bytes;
    }
    scrub_feed(&l->scrub, text, len, &clean);
    lines_add(l, cut, buf_str(&clean), clean.len, out);
    if (cut) {
        cut->bytes += len;
        cut->over = cut->over || cut->all_bytes > cut->bytes;
    }
    buf_release(&clean);
}

void lines_end(struct lines *l, struct lines_cut *cut, struct buf *out)
{
    struct buf clean = BUF_INIT(0);

    scrub_end(&l->scrub, &clean);
    lines_add(l, cut, buf_str(&clean), clean.len, out);
    lines_break(l, out);
    buf_release(&clean);
}
