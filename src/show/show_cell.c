/* show_cell.c - one cell for a person: its code with line numbers, its output behind a gutter as it comes,
 * value, error, and where the rest of an output is that was cut.
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
#include "base/utf8.h"
#include "show/private.h"
#include "show/highlight.h"

#define DISK_MAX    (16 * 1024 * 1024) /* of a cell's output kept on disk (DESIGN 6) */
#define VALUE_LINES 50
#define VALUE_BYTES (8 * 1024)

static const char *class_sgr(unsigned char class)
{
    static const char *const sgr[] = {
        [CODE_KEYWORD] = SGR_MAGENTA,
        [CODE_STRING] = SGR_GREEN,
        [CODE_COMMENT] = SGR_DIM,
    };

    return class == CODE_PLAIN ? "" : sgr[class];
}

/* One line of code, coloured, as pieces of one class; lines_add wraps it. */
static void code_line(struct show *s, struct lines *l, const char *text, const unsigned char *class,
                      size_t len)
{
    size_t i = 0;

    if (!len)
        lines_add(l, NULL, "\n", 1, &s->out);
    while (i < len) {
        size_t from = i;

        while (i < len && class[i] == class[from])
            i++;
        l->sgr = s->o.colour ? class_sgr(class[from]) : ""; /* a wrapped line begins with it again */
        if (l->mid)
            buf_addstr(&s->out, l->sgr);
        lines_add(l, NULL, text + from, i - from, &s->out);
        if (*l->sgr && i < len)
            buf_addstr(&s->out, SGR_RESET);
    }
    lines_break(l, &s->out);
}

static void show_code(struct show *s, const char *code, const struct language *language)
{
    struct scrub scrub;
    struct buf clean = BUF_INIT(0);
    unsigned char *class;
    size_t len, at = 0, shown = 0;

    scrub_init(&scrub, s->o.terminal ? SCRUB_TERMINAL : SCRUB_PIPE);
    scrub_feed(&scrub, code, strlen(code), &clean);
    scrub_end(&scrub, &clean);
    while (clean.len > 0 && clean.data[clean.len - 1] == '\n')
        clean.len--;
    len = clean.len;
    class = xmalloc(len + 1);
    highlight(language, buf_str(&clean), len, class);
    while (at < len && shown < s->o.max_lines && at < s->o.max_bytes) {
        const char *nl = memchr(clean.data + at, '\n', len - at);
        size_t n = nl ? (size_t)(nl - clean.data) - at : len - at;
        char gutter[32];
        struct lines l;

        if (n > s->o.max_bytes - at)
            n = utf8_cut(clean.data + at, n, s->o.max_bytes - at);
        snprintf(gutter, sizeof gutter, "%3zu  ", ++shown);
        lines_init(&l, gutter, "", s->o.terminal, s->o.width);
        l.again = "     ";
        code_line(s, &l, clean.data + at, class + at, n);
        at += n + 1;
    }
    if (at < len) {
        char rest[32];

        show_count(len - at, rest);
        buf_addf(&s->out, "[code cut: %s more bytes]\n", rest);
    }
    free(class);
    buf_release(&clean);
}

void show_cell_call(struct show *s, const struct event *e)
{
    char status[64];

    memset(&s->cut, 0, sizeof s->cut);
    s->cut.max_lines = s->o.max_lines;
    s->cut.max_bytes = s->o.max_bytes;
    lines_init(&s->stream[0], "| ", "", s->o.terminal, s->o.width);
    lines_init(&s->stream[1], "| ", show_sgr(s, SGR_YELLOW), s->o.terminal, s->o.width);
    if (!s->o.quiet) {
        show_begin(s, NULL);
        show_code(s, e->call.code, e->call.language);
        show_flush(s);
    }
    if (e->call.cell) { /* 0: it will not run */
        snprintf(status, sizeof status, "running cell %u", e->call.cell);
        show_status(s, status);
    }
}

void show_cell_output(struct show *s, const struct event *e)
{
    struct lines *l = &s->stream[e->output.stream == 2];

    if (s->o.quiet || !l->gutter)
        return;
    if (!s->cut.over)
        show_begin(s, l);
    lines_feed(l, &s->cut, e->output.text, e->output.len, &s->out);
    show_flush(s);
}

/* A text of a few lines behind its gutter; cut with a count. */
static void add_block(struct show *s, const char *gutter, const char *sgr, const char *text)
{
    struct lines_cut cut = {.max_lines = VALUE_LINES, .max_bytes = VALUE_BYTES};
    struct lines l;
    size_t len = strlen(text);

    while (len > 0 && text[len - 1] == '\n')
        len--;
    lines_init(&l, gutter, sgr, s->o.terminal, s->o.width);
    l.words = *gutter == '!'; /* mostly sentences of ours */
    lines_feed(&l, &cut, text, len, &s->out);
    lines_end(&l, &cut, &s->out);
    if (cut.over) {
        char all[32];

        show_count(cut.all_bytes, all);
        buf_addf(&s->out, "[cut: %s bytes in all]\n", all);
    }
}

static void add_cut_line(struct show *s, const struct cell_result *r)
{
    struct buf line autorelease(buf_release) = BUF_INIT(0);
    char lines[32], shown[32], bytes[32];
    const char *path = r->output_path;
    uint64_t made = r->out_bytes + r->err_bytes, all = s->cut.all_bytes > made ? s->cut.all_bytes : made;

    if (!s->cut.over)
        return;
    show_count(s->cut.by_lines ? s->cut.lines : s->cut.bytes, shown);
    show_count(s->cut.all_lines, lines);
    show_count(all, bytes);
    if (s->cut.by_lines)
        buf_addf(&line, "[output cut at %s of %s lines, %s bytes in all", shown, lines, bytes);
    else
        buf_addf(&line, "[output cut at %s of %s bytes", shown, bytes);
    if (path) {
        autofree char *clean = scrub_line(path, s->o.terminal ? SCRUB_TERMINAL : SCRUB_PIPE);

        buf_addf(&line, "; %s in %s", all > DISK_MAX ? "the first 16 MiB are" : "all of it is", clean);
    }
    buf_addch(&line, ']');
    buf_addstr(&s->out, show_sgr(s, SGR_DIM));
    show_wrap(&s->out, line.data, line.len, 0, s->o.terminal ? s->o.width : 0);
    buf_addf(&s->out, "%s\n", show_sgr(s, SGR_RESET));
}

static const char *status_words(enum cell_status status)
{
    switch (status) {
    case CELL_EXIT:
        return "the code called exit";
    case CELL_TIMEOUT:
        return "the code reached its time limit";
    case CELL_INTERRUPTED:
        return "interrupted";
    case CELL_MEMORY:
        return "the code ran out of memory";
    case CELL_DIED:
        return "the interpreter died";
    case CELL_NOT_RUN:
        return "not run";
    default:
        return "the code failed";
    }
}

void show_cell_result(struct show *s, const struct event *e)
{
    const struct cell_result *r = e->result.r;
    autofree char *error = cell_error(r);

    if (!s->o.quiet) {
        show_begin(s, NULL);
        for (int i = 0; i < 2; i++)
            if (s->stream[i].gutter)
                lines_end(&s->stream[i], &s->cut, &s->out);
        add_cut_line(s, r);
        if (r->value && *r->value)
            add_block(s, "= ", "", r->value);
        if (r->status != CELL_OK)
            add_block(s, "! ", show_sgr(s, SGR_RED), error && *error ? error : status_words(r->status));
        if (r->state_lost && !r->left && !r->before)
            add_block(s, "! ", show_sgr(s, SGR_RED), "all variables are gone");
        if (s->o.verbose && e->result.model_text && *e->result.model_text)
            add_block(s, "> ", show_sgr(s, SGR_DIM), e->result.model_text);
        show_flush(s);
    }
    s->stream[0].gutter = s->stream[1].gutter = NULL;
    memset(&s->cut, 0, sizeof s->cut);
    show_asking(s, NULL);
}
