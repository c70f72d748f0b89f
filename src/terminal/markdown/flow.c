/* flow.c - collects a word, and decides before it is written whether the line must break. */
#include "markdown/flow.h"

#include <stdlib.h>
#include <string.h>
#include <uchar.h>

#include "base/mem.h"
#include "base/utf8.h"

#define GUTTER "\xe2\x94\x82" /* U+2502, dim wherever it stands in a prefix */

/* The colours of 256 are fixed, whatever the theme, and each is readable on white and on black; of the
 * eight, magenta is. */
static const struct {
    unsigned style;
    const char *many, *few;
} codes[] = {
    {STYLE_BOLD, "1", "1"},          {STYLE_ITALIC, "3", "3"},
    {STYLE_UNDERLINE, "4", "4"},     {STYLE_STRIKE, "9", "9"},
    {STYLE_DIM, "2", "2"},           {STYLE_CODE, "38;5;30", "35"},
    {STYLE_LINK, "4;38;5;32", "4"},  {STYLE_KEYWORD, "38;5;97", "35"},
    {STYLE_STRING, "38;5;64", "32"}, {STYLE_COMMENT, "38;5;102", "2"},
};

void flow_init(struct flow *f, struct buf *out, const struct flow_options *o)
{
    *f = (struct flow){.o = *o, .out = out};
}

static void forget_urls(struct flow *f)
{
    argv_release(&f->urls);
    f->within = 0;
}

void flow_release(struct flow *f)
{
    forget_urls(f);
    buf_release(&f->first);
    buf_release(&f->next);
    buf_release(&f->word);
    free(f->runs);
    free(f->gap);
}

int flow_columns(const char *s)
{
    return utf8_columns(s, strlen(s));
}

void flow_begin(struct flow *f, const char *first, const char *next)
{
    buf_clear(&f->first);
    buf_clear(&f->next);
    buf_addstr(&f->first, first);
    buf_addstr(&f->next, next);
    f->begun = f->wrote = f->code = false;
    f->again = 0;
    f->longest_word = f->longest_line = 0;
}

void flow_code(struct flow *f)
{
    f->code = true;
}

void flow_link(struct flow *f, const char *url)
{
    if (url)
        argv_push(&f->urls, url);
    f->within = url ? (unsigned)f->urls.n : 0;
}

static void set_link(struct flow *f, unsigned link)
{
    if (!f->o.hyperlink || f->link == link)
        return;
    f->link = link;
    if (link) /* the same id says that the pieces in two lines are one link */
        buf_addf(f->out, "\033]8;id=s%u;%s\033\\", f->link_ids + link, f->urls.v[link - 1]);
    else
        buf_addstr(f->out, "\033]8;;\033\\");
}

static void set_style(struct flow *f, unsigned style)
{
    if (!f->o.colour || f->style == style)
        return;
    buf_addstr(f->out, "\033[0");
    for (size_t i = 0; i < countof(codes); i++)
        if (style & codes[i].style)
            buf_addf(f->out, ";%s", f->o.many ? codes[i].many : codes[i].few);
    buf_addch(f->out, 'm');
    f->style = style;
}

void flow_pause(struct flow *f)
{
    set_style(f, 0);
    set_link(f, 0);
}

static void flow_line_end(struct flow *f)
{
    flow_pause(f);
    buf_addch(f->out, '\n');
    if (f->column > f->longest_line)
        f->longest_line = f->column;
    flow_line_lost(f);
    f->lines++;
}

void flow_gap(struct flow *f, const char *prefix)
{
    xreplace(&f->gap, xstrdup(prefix));
}

/* A prefix, its gutters dim. */
static void put_prefix(struct flow *f, const char *p)
{
    for (const char *g; (g = strstr(p, GUTTER)) != NULL; p = g + strlen(GUTTER)) {
        buf_add(f->out, p, (size_t)(g - p));
        set_style(f, STYLE_DIM);
        buf_addstr(f->out, GUTTER);
        set_style(f, 0);
    }
    buf_addstr(f->out, p);
}

void flow_put_gap(struct flow *f)
{
    if (!f->gap)
        return;
    put_prefix(f, f->gap);
    buf_addch(f->out, '\n');
    free(steal(&f->gap));
}

/* Begin a line with the prefix, or with as many blanks as leave room columns free. */
static void line_begin(struct flow *f, int room)
{
    const char *p = f->begun ? buf_str(&f->next) : buf_str(&f->first);
    int width = flow_columns(p);

    flow_put_gap(f);
    if (f->begun && room <= f->o.width && width + f->again + room > f->o.width) {
        width = f->o.width - room;
        buf_addf(f->out, "%*s", width, "");
    } else {
        put_prefix(f, p);
        if (f->begun && f->again) {
            buf_addf(f->out, "%*s", f->again, "");
            width += f->again;
        }
    }
    f->column = width;
    f->mid = f->begun = f->any = true;
}

void flow_prefix(struct flow *f)
{
    line_begin(f, 0);
}

void flow_again(struct flow *f, int n)
{
    f->again = n;
    if (f->begun) {
        buf_clear(&f->first);
        buf_add(&f->first, buf_str(&f->next), f->next.len);
    }
    f->begun = false;
}

static void put_blanks(struct flow *f)
{
    const struct flow_run *r = &f->runs[0];

    /* between two words of one link or of one emphasis the style goes on */
    if (r->style != f->style)
        set_style(f, 0);
    if (r->link != f->link)
        set_link(f, 0);
    buf_addf(f->out, "%*s", f->blanks, "");
    f->column += f->blanks;
}

/* Where the next column is after something wider than the screen. */
static int after(const struct flow *f, int width)
{
    int column = f->column + width;

    return f->o.width && column > f->o.width ? f->o.width : column;
}

void flow_word_end(struct flow *f)
{
    size_t at = 0;

    if (!f->n_runs)
        return;
    if (!f->mid)
        line_begin(f, f->code ? 0 : f->word_width);
    bool over = f->o.width && f->column + (f->wrote ? f->blanks : 0) + f->word_width > f->o.width;
    if (over && (f->wrote || (!f->code && f->column > 0 && f->word_width <= f->o.width))) {
        flow_line_end(f);
        line_begin(f, f->word_width);
    } else if (f->wrote && f->blanks) {
        put_blanks(f);
    }
    for (size_t i = 0; i < f->n_runs; at += f->runs[i++].len) {
        set_link(f, f->runs[i].link);
        set_style(f, f->runs[i].style);
        buf_add(f->out, f->word.data + at, f->runs[i].len);
    }
    if (f->word_width > f->longest_word)
        f->longest_word = f->word_width;
    f->column = after(f, f->word_width);
    f->wrote = true;
    buf_clear(&f->word);
    f->n_runs = 0;
    f->word_width = f->blanks = 0;
    f->last = 0;
}

void flow_break(struct flow *f)
{
    flow_word_end(f);
    f->blanks = 0;
    if (!f->mid)
        flow_prefix(f);
    flow_line_end(f);
}

void flow_end(struct flow *f)
{
    flow_word_end(f);
    f->blanks = 0;
    if (f->mid)
        flow_line_end(f);
    f->link_ids += (unsigned)f->urls.n;
    forget_urls(f);
}

void flow_take_back(struct flow *f, bool first)
{
    flow_word_end(f);
    flow_pause(f);
    if (f->mid)
        buf_addstr(f->out, "\r\033[K");
    flow_line_lost(f);
    f->blanks = 0;
    if (!first)
        flow_again(f, 0);
    f->begun = false;
}

void flow_line_lost(struct flow *f)
{
    f->mid = f->wrote = false;
    f->column = 0;
}

void flow_blanks(struct flow *f, int n)
{
    flow_word_end(f);
    if (f->blanks < n)
        f->blanks = n;
}

static void add_run(struct flow *f, unsigned style, const char *text, size_t len)
{
    struct flow_run *r = f->n_runs ? &f->runs[f->n_runs - 1] : NULL;

    if (!r || r->style != style || r->link != f->within) {
        if (f->n_runs == f->alloc_runs) {
            f->alloc_runs = f->alloc_runs ? 2 * f->alloc_runs : 8;
            f->runs = xreallocarray(f->runs, f->alloc_runs, sizeof *f->runs);
        }
        r = &f->runs[f->n_runs++];
        *r = (struct flow_run){style, f->within, 0};
    }
    r->len += len;
    buf_add(&f->word, text, len);
}

static bool within(uint32_t cp, const uint32_t (*ranges)[2], size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (cp >= ranges[i][0] && cp <= ranges[i][1])
            return true;
    return false;
}

/* Written without blanks between words, so that a line may be broken beside it. Hangul has blanks. */
static bool stands_alone(uint32_t cp)
{
    static const uint32_t ranges[][2] = {{0x2e80, 0xa4cf},   {0xf900, 0xfaff},  {0xfe30, 0xfe4f},
                                         {0xff00, 0xff60},   {0xffe0, 0xffe6},  {0x1f300, 0x1f3fa},
                                         {0x1f400, 0x1faff}, {0x20000, 0x3ffff}};
    return cp >= 0x2e80 && within(cp, ranges, countof(ranges));
}

static bool one_of(uint32_t cp, const char32_t *set)
{
    while (*set && *set != cp)
        set++;
    return *set != 0;
}

/* Punctuation stays with the character that it belongs to, and a joined emoji is one. */
static bool may_break(uint32_t a, uint32_t b)
{
    bool tone = b >= 0x1f3fb && b <= 0x1f3ff;

    if ((!stands_alone(a) && !stands_alone(b)) || a == 0x200d || b == 0x200d || tone || utf8_width(b) == 0)
        return false;
    return !one_of(a, U"([{（［｛「『【〈《〔“‘$￥")
           && !one_of(b,
                      U")]}.,:;!?%"
                      U"、。，．：；！？）］｝」』】〉》〕”’…‥ー々ぁぃぅぇぉっゃゅょァィゥェォッャュョ・％");
}

void flow_text(struct flow *f, unsigned style, const char *text, size_t len)
{
    size_t i = 0;

    while (i < len) {
        size_t from = i;
        uint32_t cp = 0xfffd;

        if (text[i] == ' ' || text[i] == '\t') {
            while (i < len && (text[i] == ' ' || text[i] == '\t'))
                i++;
            flow_blanks(f, (int)(i - from));
            continue;
        }
        while (i < len && (unsigned char)text[i] > ' ' && (unsigned char)text[i] < 0x7f)
            i++;
        if (i == from) {
            int n = utf8_decode(text + i, len - i, &cp);
            i += n > 0 ? (size_t)n : 1;
        }
        if (f->last && may_break(f->last, cp == 0xfffd ? (uint32_t)(unsigned char)text[from] : cp))
            flow_word_end(f);
        add_run(f, style, text + from, i - from);
        if ((unsigned char)text[from] < 0x80) {
            f->word_width += (int)(i - from);
            f->last = (unsigned char)text[i - 1];
        } else {
            f->word_width += utf8_width_behind(f->last, cp);
            f->last = utf8_width(cp) || cp == 0x200d ? cp : f->last;
        }
    }
}
