/* show_cell.c - prints one cell: its code with line numbers, its output behind a gutter as it arrives, its
 * value or error, and where the full output is if it was cut.
 *
 *       1  import math
 *       2  print("hello")
 *     | hello
 *     = 42
 *     ! KeyError: 'b'
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/size.h"
#include "base/utf8.h"
#include "show/private.h"
#include "markdown/highlight.h"

#define HALF_LEAST  5
#define VALUE_LINES 50
#define VALUE_BYTES (8 * 1024)

static const char *const class_sgr[] = {
    [CODE_PLAIN] = "",
    [CODE_KEYWORD] = SGR_MAGENTA,
    [CODE_STRING] = SGR_GREEN,
    [CODE_COMMENT] = SGR_DIM,
};

/* Where a line of code goes on: below its own beginning, or in the middle of the screen. */
static char *gutter_again(const struct show *s, const char *gutter, const char *line, size_t len)
{
    int indent = 0, most = s->screen.width / 2 - (int)strlen(gutter);

    while ((size_t)indent < len && line[indent] == ' ')
        indent++;
    return xasprintf("%*s", (int)strlen(gutter) + (indent < most ? indent : most > 0 ? most : 0), "");
}

/* Write one line of code, coloured, in pieces of one class; lines_add wraps it. */
static void code_line(struct show *s, struct lines *l, const char *text, const unsigned char *class,
                      size_t len)
{
    size_t i = 0;

    if (!len)
        lines_add(l, "\n", 1);
    while (i < len) {
        size_t from = i;

        while (i < len && class[i] == class[from])
            i++;
        l->style.sgr = screen_sgr(&s->screen, class_sgr[class[from]]); /* repeated after each wrap */
        if (l->mid)
            buf_addstr(&s->screen.out, l->style.sgr);
        lines_add(l, text + from, i - from);
        if (*l->style.sgr && i < len)
            buf_addstr(&s->screen.out, SGR_RESET);
    }
    lines_break(l);
}

static void show_code(struct show *s, const char *code, const struct language *language)
{
    struct buf clean autorelease(buf_release) = BUF_INIT(0);
    size_t at = 0, shown = 0;

    scrub_text(code, strlen(code), s->screen.terminal ? SCRUB_TERMINAL : SCRUB_PIPE, &clean);
    buf_trim(&clean, "\n");
    size_t len = clean.len;
    unsigned char *class = xmalloc(len + 1);
    highlight(language, buf_str(&clean), len, class);
    while (at < len && shown < s->o.max_lines && at < s->o.max_bytes) {
        const char *nl = memchr(clean.data + at, '\n', len - at);
        size_t n = nl ? (size_t)(nl - clean.data) - at : len - at;
        char gutter[32];
        struct lines l;

        if (n > s->o.max_bytes - at)
            n = utf8_cut(clean.data + at, n, s->o.max_bytes - at);
        snprintf(gutter, sizeof gutter, "%3zu  ", ++shown);
        struct lines_style style = screen_style(&s->screen, gutter, "");
        autofree char *again = gutter_again(s, gutter, clean.data + at, n);
        style.again = again;
        lines_init(&l, &s->screen.out, &style);
        code_line(s, &l, clean.data + at, class + at, n);
        at += n + 1;
    }
    if (at < len) {
        buf_addf(&s->screen.out, "[%s more bytes of code not shown]\n", count_text((int64_t)(len - at)).text);
    }
    free(class);
}

/* With fold half a screen: what comes before it is to be seen as well. */
static struct lines_cut output_shown(const struct show *s)
{
    struct lines_cut cut = {.max_lines = s->o.max_lines, .max_bytes = s->o.max_bytes};
    int rows, width, height;

    if (!s->o.fold || s->o.verbose || !s->screen.terminal)
        return cut;
    show_screen_size(s->o.fd, &rows, &width, &height);
    size_t half = rows / 2 > HALF_LEAST ? (size_t)rows / 2 : HALF_LEAST,
           bytes = half * (size_t)s->screen.width;
    cut.max_lines = half < cut.max_lines ? half : cut.max_lines;
    cut.max_bytes = bytes < cut.max_bytes ? bytes : cut.max_bytes;
    return cut;
}

void show_cell_call(struct show *s, const struct event *e)
{
    if (s->o.quiet)
        return;
    screen_begin(&s->screen, NULL);
    if (*e->call.code && e->call.language)
        screen_section(&s->screen, SECTION_CODE);
    s->cut = output_shown(s);
    for (int i = 0; i < 2; i++) {
        const struct lines_style style = screen_style(&s->screen, OUTPUT_GUTTER, i ? SGR_YELLOW : "");

        lines_init(&s->stream[i], &s->screen.out, &style);
        s->stream[i].cut = &s->cut;
    }
    if (e->call.language)
        show_code(s, e->call.code, e->call.language);
    screen_flush(&s->screen);
}

void show_cell_output(struct show *s, const struct event *e)
{
    struct lines *l = &s->stream[e->output.stream == 2];

    if (s->o.quiet || !l->out)
        return;
    if (!s->cut.over)
        screen_begin(&s->screen, l);
    lines_feed_moving(l, e->output.text, e->output.len);
    s->screen.unshown = s->cut.over ? s->cut.all_bytes : 0;
    screen_flush(&s->screen);
}

/* Write a text of a few lines after its gutter; a longer one is cut, with a count. */
static void add_block(struct show *s, const char *gutter, const char *sgr, const char *text)
{
    struct lines_cut cut = {.max_lines = VALUE_LINES, .max_bytes = VALUE_BYTES};
    struct lines l;
    struct lines_style style = screen_style(&s->screen, gutter, sgr);
    style.words = *gutter == '!'; /* these are mostly our own sentences */
    lines_init(&l, &s->screen.out, &style);
    l.cut = &cut;
    lines_feed(&l, text, trimmed_length(text, strlen(text), "\n"));
    lines_end(&l);
    if (cut.over) {
        buf_addf(&s->screen.out, "[cut off: %s bytes in total]\n", count_text((int64_t)(cut.all_bytes)).text);
    }
}

static void add_cut_line(struct show *s, unsigned cell, const struct cell_result *r)
{
    struct buf line autorelease(buf_release) = BUF_INIT(0);
    const char *path = r->output_path;
    uint64_t made = r->out_bytes + r->err_bytes, all = s->cut.all_bytes > made ? s->cut.all_bytes : made;

    if (!s->cut.over)
        return;
    buf_addf(&line, "[first %s of %s %s shown",
             count_text((int64_t)(s->cut.by_lines ? s->cut.lines : s->cut.bytes)).text,
             count_text((int64_t)(s->cut.by_lines ? s->cut.all_lines : all)).text,
             s->cut.by_lines ? "lines" : "bytes");
    if (s->o.fold)
        buf_addf(&line, "; /last %u shows all", cell);
    if (path) {
        autofree char *clean = screen_clean(&s->screen, path);

        buf_addf(&line, "; ");
        if (r->output_kept)
            buf_addf(&line, "first %s of the ", size_text((int64_t)r->output_kept).text);
        buf_addf(&line, "full output (%s): %s", show_size(all).text, clean);
    }
    buf_addch(&line, ']');
    screen_dim_line(&s->screen, line.data);
}

static const char *status_words(enum cell_status status)
{
    static const char *const words[] = {
        [CELL_EXIT] = "the code called exit",
        [CELL_TIMEOUT] = "the code reached its time limit",
        [CELL_INTERRUPTED] = "interrupted",
        [CELL_MEMORY] = "the code ran out of memory",
        [CELL_OUTPUT] = "the code wrote too much output",
        [CELL_DIED] = "Python died",
        [CELL_NOT_RUN] = "not run",
    };

    return words[status] ? words[status] : "the code failed";
}

void show_cell_result(struct show *s, const struct event *e)
{
    const struct cell_result *r = e->result.r;
    autofree char *error = cell_error(r);

    if (!s->o.quiet) {
        screen_begin(&s->screen, NULL);
        for (int i = 0; i < 2; i++)
            if (s->stream[i].out)
                lines_end_moving(&s->stream[i]);
        add_cut_line(s, e->result.cell, r);
        if (r->value && *r->value)
            add_block(s, "= ", "", r->value);
        if (r->status != CELL_OK)
            add_block(s, "! ", SGR_RED, error && *error ? error : status_words(r->status));
        if (s->o.verbose && e->result.model_text && *e->result.model_text)
            add_block(s, "told: ", SGR_DIM, e->result.model_text);
        screen_flush(&s->screen);
    }
    s->stream[0].out = s->stream[1].out = NULL;
    s->cut = (struct lines_cut){0};
    s->screen.unshown = 0;
}
