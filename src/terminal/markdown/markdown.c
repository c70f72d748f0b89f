/* markdown.c - cuts the text into lines and hands them on, and draws paragraphs as they come. */
#include "markdown/markdown.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "markdown/markdown_inline.h"
#include "markdown/markdown_private.h"
#include "base/utf8.h"

#define PENDING_MAX 1024 /* bytes of one word, or of what is held back */
#define STRONG_HOLD 48   /* bytes of strong emphasis after which it is drawn before it is closed */
/* Columns of a line that was broken to fit a page; a shorter or longer one was ended on purpose. */
enum { FULL_LINE = 60, LONG_LINE = 100 };

struct markdown *markdown_new(const struct markdown_options *o, struct buf *out)
{
    struct markdown *m = xcalloc(1, sizeof *m);

    m->o = *o;
    flow_init(&m->flow, out, &o->flow);
    return m;
}

void markdown_free(struct markdown *m)
{
    if (!m)
        return;
    markdown_table_free(m);
    flow_release(&m->flow);
    buf_release(&m->line);
    buf_release(&m->pending);
    buf_release(&m->carry);
    buf_release(&m->held);
    buf_release(&m->live.source);
    refs_release(&m->refs);
    free(m);
}

void markdown_width(struct markdown *m, int width)
{
    m->live.lost = m->live.lost || m->flow.o.width != width;
    m->flow.o.width = m->o.flow.width = width;
}

bool markdown_mid(const struct markdown *m)
{
    return m->flow.mid;
}

int markdown_column(const struct markdown *m)
{
    return m->flow.column;
}

void markdown_line_lost(struct markdown *m)
{
    flow_line_lost(&m->flow);
    m->live.lost = true;
}

/* In front of what is drawn next, if anything is. In a quote an empty line keeps the gutter. */
static void empty_line(struct markdown *m)
{
    struct buf first autorelease(buf_release) = BUF_INIT(0), next autorelease(buf_release) = BUF_INIT(0);
    size_t depth = m->depth;

    while (m->depth > 0 && !(m->nested[m->depth - 1].quote && !m->nested[m->depth - 1].fresh))
        m->depth--;
    for (size_t i = 0; i < m->depth; i++) /* a marker that comes now does not belong here */
        if (m->nested[i].fresh)
            m->depth = 0;
    if (m->depth)
        markdown_prefix(m, &first, &next);
    m->depth = depth;
    buf_trim(&next, " ");
    flow_gap(&m->flow, buf_str(&next));
}

void markdown_begin_leaf(struct markdown *m, enum leaf leaf)
{
    struct buf first autorelease(buf_release) = BUF_INIT(0), next autorelease(buf_release) = BUF_INIT(0);
    bool apart = leaf == LEAF_HEADING || (!m->depth && (leaf > LEAF_HEADING || m->last > LEAF_HEADING));

    if (m->flow.any && (m->blank || apart))
        empty_line(m);
    m->blank = false;
    m->leaf = m->last = leaf;
    m->style = 0;
    m->columns = m->trailing = 0;
    m->soft = m->hard = false;
    markdown_prefix(m, &first, &next);
    flow_begin(&m->flow, buf_str(&first), buf_str(&next));
    for (size_t i = 0; i < m->depth; i++)
        m->nested[i].fresh = false;
}

void markdown_prefix(struct markdown *m, struct buf *first, struct buf *next)
{
    int width = m->flow.o.width, used = 0, spare;

    for (size_t i = 0; i < m->depth; i++)
        used += m->nested[i].quote ? 2 : flow_columns(m->nested[i].marker);
    spare = width ? used - width / 2 : 0; /* deep lists on a narrow screen: the outer ones are not indented */
    for (size_t i = 0; i < m->depth; i++) {
        const struct container *c = &m->nested[i];
        int n = c->quote ? 2 : flow_columns(c->marker);

        if (c->quote) {
            buf_addstr(first, "│ ");
            buf_addstr(next, "│ ");
        } else if (spare > 0 && !c->fresh) {
            spare -= n;
        } else {
            buf_addf(first, "%*s%s", c->fresh ? 0 : n, "", c->fresh ? c->marker : "");
            buf_addf(next, "%*s", n, "");
        }
    }
}

/* Draw what is pending, if all of it is settled or this is the end of it. False: it is held back. */
static bool cut(struct markdown *m, bool end)
{
    struct buf text autorelease(buf_release) = BUF_INIT(0), ready autorelease(buf_release) = BUF_INIT(0);

    if (!m->pending.len)
        return true;
    if (!m->special && !m->carry.len) {
        flow_text(&m->flow, m->style, m->pending.data, m->pending.len);
        buf_clear(&m->pending);
        return true;
    }
    buf_add(&text, buf_str(&m->carry), m->carry.len);
    buf_add(&text, m->pending.data, m->pending.len);
    struct inline_open open = inline_scan(text.data, text.len, &m->refs, &ready);
    bool strong = open.strong && !end && (m->carry.len || open.held > STRONG_HOLD);
    if (open.held && !end && !strong)
        return false;
    if (!m->carry.len && !strong)
        *open.marks = '\0';
    buf_addstr(&ready, open.marks);
    inline_draw(&m->flow, &m->o, m->style, &ready);
    buf_clear(&m->carry);
    if (!end)
        buf_addstr(&m->carry, open.marks);
    buf_clear(&m->pending);
    m->special = false;
    return true;
}

void markdown_settle(struct markdown *m)
{
    cut(m, true);
    m->special = false;
}

void markdown_inline(struct markdown *m, struct flow *f, unsigned style, const char *s)
{
    struct buf ready autorelease(buf_release) = BUF_INIT(0);
    struct markdown_options o = m->o;

    if (f != &m->flow) /* a cell, which is measured before it is drawn, and has no room for a picture */
        o.image = NULL;
    inline_scan(s, strlen(s), &m->refs, &ready);
    inline_draw(f, &o, style, &ready);
}

static void add_word(struct markdown *m, const char *s, size_t len)
{
    size_t from = 0;

    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)s[i];

        /* Scripts without blanks (U+3000 on): text may be drawn in front of each character, but not
         * between marks of Markdown. */
        if (c >= 0xe3 && c <= 0xef
            && (i ? !inline_special(s[i - 1])
                  : m->pending.len && !inline_special(m->pending.data[m->pending.len - 1]))) {
            buf_add(&m->pending, s + from, i - from);
            from = i;
            cut(m, false);
        }
        m->special = m->special || inline_special(s[i]);
    }
    buf_add(&m->pending, s + from, len - from);
    if (m->pending.len > PENDING_MAX)
        cut(m, true);
}

void markdown_text(struct markdown *m, const char *s, size_t len)
{
    size_t i = 0;

    markdown_live_add(m, s, len);
    while (i < len) {
        size_t from = i;

        while (i < len && (s[i] == ' ' || s[i] == '\t'))
            i++;
        if (i > from) {
            m->trailing += (int)(i - from);
            m->columns += (int)(i - from);
            cut(m, false);
            continue;
        }
        while (i < len && s[i] != ' ' && s[i] != '\t')
            i++;
        if (m->trailing && m->columns > m->trailing) {
            if (m->pending.len) /* it was held back */
                buf_addch(&m->pending, ' ');
            else
                flow_blanks(&m->flow, 1);
        }
        m->trailing = 0;
        m->columns += utf8_columns_behind(&m->before, s + from, i - from);
        add_word(m, s + from, i - from);
    }
}

/* A line of a paragraph is followed by another one. */
static void join(struct markdown *m)
{
    bool kept = m->hard || m->trailing >= 2 || m->columns < FULL_LINE || m->columns > LONG_LINE;

    if (!cut(m, false)) {
        buf_addch(&m->pending, kept ? INLINE_BREAK : ' ');
        m->special = true;
    } else if (kept) {
        if (m->flow.mid || m->flow.n_runs) /* a line of tags alone is none */
            flow_break(&m->flow);
    } else {
        flow_blanks(&m->flow, 1);
    }
    m->columns = m->trailing = 0;
    m->soft = m->hard = false;
}

/* A line of a paragraph is whole; a backslash at its end keeps the line break. */
static void text_line_end(struct markdown *m)
{
    size_t before = trimmed_length(m->pending.data, m->pending.len, "\\");

    m->hard = (m->pending.len - before) % 2;
    if (m->hard)
        buf_cut(&m->pending, m->pending.len - 1);
    m->soft = true;
    cut(m, false);
}

void markdown_begin_text(struct markdown *m)
{
    bool goes_on = m->leaf == LEAF_PARAGRAPH && m->soft;

    if (goes_on)
        join(m);
    else if (m->leaf == LEAF_NONE)
        markdown_begin_leaf(m, LEAF_PARAGRAPH);
    markdown_live_begin(m, !goes_on);
}

void markdown_end_leaf(struct markdown *m)
{
    enum leaf leaf = m->leaf;

    m->leaf = LEAF_NONE;
    if (leaf == LEAF_HEADING) { /* "## Title ##" */
        size_t n = trimmed_length(m->pending.data, m->pending.len, "#");

        if (n == 0 || m->pending.data[n - 1] == ' ')
            buf_cut(&m->pending, n);
    }
    if (leaf == LEAF_PARAGRAPH || leaf == LEAF_HEADING)
        markdown_settle(m);
    if (leaf == LEAF_INDENTED && m->blank_lines) {
        m->blank = true;
        m->blank_lines = 0;
    }
    if (leaf == LEAF_TABLE)
        markdown_table_end(m);
    if (leaf == LEAF_MATH)
        markdown_math_end(m);
    flow_end(&m->flow);
}

/* Draw a line as text that was kept whole because it might have been something else. */
static void as_text(struct markdown *m, const char *s, size_t len)
{
    markdown_begin_text(m);
    markdown_text(m, s, len);
    text_line_end(m);
}

/* A definition as it was typed: its label is no link. */
static void show_definition(struct markdown *m, const char *s, size_t len)
{
    autofree char *text = xasprintf("&#91;%.*s", (int)len - 1, s + 1);

    if (m->leaf == LEAF_PARAGRAPH)
        m->hard = true;
    as_text(m, text, strlen(text));
}

/* The definition of a link, or not. */
static void maybe_reference(struct markdown *m, const char *s, size_t len)
{
    switch (refs_define(&m->refs, s, len)) {
    case REF_HIDDEN:
        markdown_end_leaf(m);
        break;
    case REF_SHOWN:
        show_definition(m, s, len);
        break;
    case REF_NONE:
        as_text(m, s, len);
    }
}

/* Definitions that nothing has used. */
static void show_unused(struct markdown *m)
{
    m->blank = true;
    for (size_t i = 0; i < m->refs.n; i++)
        if (m->refs.v[i].line && !m->refs.v[i].used)
            show_definition(m, m->refs.v[i].line, strlen(m->refs.v[i].line));
    markdown_end_leaf(m);
    refs_release(&m->refs);
}

/* What was held as the first line of a table was none. */
static void held_as_text(struct markdown *m)
{
    struct buf first autorelease(buf_release) = m->held;

    m->held = (struct buf){0};
    as_text(m, first.data, first.len);
}

static void reread(struct markdown *m, const char *s, size_t len);

/* The first line of a table, or not: the second one tells. */
static void maybe_table(struct markdown *m, const char *s, size_t len)
{
    struct markdown_rest rest = markdown_rest(m, s, len);

    if (rest.inside && markdown_table_open(m, rest.s, rest.len))
        return;
    held_as_text(m);
    reread(m, s, len);
}

/* The first line of a block, behind the prefixes of its containers. */
static void open_block(struct markdown *m, const char *s, size_t len)
{
    enum leaf leaf = m->opening;
    size_t ticks = strspn(s, "`");

    m->opening = LEAF_NONE;
    if (leaf == LEAF_TABLE) {
        buf_add(&m->held, s, len);
    } else if (leaf == LEAF_REFERENCE) {
        maybe_reference(m, s, len);
    } else if (leaf == LEAF_FENCE && ticks && memchr(s + ticks, '`', len - ticks)) {
        as_text(m, s, len); /* code within one line */
    } else if (leaf == LEAF_FENCE) {
        markdown_fence_open(m, s, len, m->column);
    } else {
        markdown_begin_leaf(m, leaf);
        if (leaf == LEAF_MATH)
            markdown_math_line(m, s, len);
        else
            markdown_indented_line(m, s, len, m->column);
    }
}

/* A line that was kept until it was whole. */
static void whole_line(struct markdown *m, const char *s, size_t len)
{
    struct markdown_rest rest = markdown_rest(m, s, len);

    if (m->opening) {
        open_block(m, s, len);
    } else if (m->held.len && m->leaf != LEAF_MATH) {
        maybe_table(m, s, len);
    } else if (m->leaf == LEAF_TABLE && rest.inside && memchr(rest.s, '|', rest.len)) {
        markdown_table_row(m, rest.s, rest.len);
    } else if (m->leaf == LEAF_MATH) {
        markdown_math_line(m, rest.s, rest.len);
    } else if (m->leaf == LEAF_FENCE && rest.inside) {
        markdown_fence_line(m, rest.s, rest.len);
    } else if (m->leaf == LEAF_INDENTED && (!rest.len || (rest.inside && rest.column >= m->indent))) {
        markdown_indented_line(m, rest.s, rest.len, rest.column);
    } else {
        markdown_end_leaf(m);
        reread(m, s, len);
    }
}

static void line_start(struct markdown *m)
{
    m->mode = m->leaf > LEAF_RULE || m->held.len ? LINE_WHOLE : LINE_BEGIN;
    m->inner = false;
    m->column = 0;
}

static void read_line_end(struct markdown *m)
{
    if (m->mode == LINE_BEGIN)
        markdown_line_begin(m, true);
    if (m->mode == LINE_WHOLE) {
        struct buf line autorelease(buf_release) = m->line;

        m->line = (struct buf){0};
        m->mode = LINE_BEGIN;
        whole_line(m, buf_str(&line), line.len);
    } else if (m->mode == LINE_TEXT) {
        if (m->leaf == LEAF_HEADING)
            markdown_end_leaf(m);
        else
            text_line_end(m);
    }
    buf_clear(&m->line);
    line_start(m);
}

/* Bytes of one line. */
static void take_bytes(struct markdown *m, const char *s, size_t len)
{
    size_t i = 0;

    while (i < len && m->mode == LINE_BEGIN) {
        buf_addch(&m->line, s[i++]);
        markdown_line_begin(m, false);
    }
    if (m->mode == LINE_TEXT)
        markdown_text(m, s + i, len - i);
    else if (i < len)
        buf_add(&m->line, s + i, len - i);
}

/* Read a line as if it came now, at the beginning of a line. */
static void reread(struct markdown *m, const char *s, size_t len)
{
    line_start(m);
    take_bytes(m, s, len);
    read_line_end(m);
}

void markdown_feed(struct markdown *m, const char *text, size_t len)
{
    while (len) {
        const char *nl = memchr(text, '\n', len);
        size_t n = nl ? (size_t)(nl - text) : len;

        take_bytes(m, text, n);
        if (nl || (m->mode == LINE_WHOLE && m->line.len > LINE_MAX_BYTES))
            read_line_end(m);
        n += nl != NULL;
        text += n;
        len -= n;
    }
    flow_pause(&m->flow);
}

void markdown_end(struct markdown *m)
{
    if (m->mode == LINE_TEXT || m->line.len)
        read_line_end(m);
    if (m->held.len && m->leaf != LEAF_MATH)
        held_as_text(m);
    markdown_end_leaf(m);
    markdown_leave(m, 0);
    show_unused(m);
    flow_pause(&m->flow);
    free(steal(&m->flow.gap));
    m->flow.any = m->blank = m->inner = false;
    m->last = LEAF_NONE;
    m->mode = LINE_BEGIN;
    buf_clear(&m->line);
}
