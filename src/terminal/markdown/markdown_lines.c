/* markdown_lines.c - what the beginning of a line says: which quotes and lists it is in, and what kind of
 * block it is. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "markdown/markdown_private.h"

#define UNDECIDED_MAX 200 /* bytes of a line, after which it is text */
#define NESTED_BY     2   /* columns by which what belongs to an item is indented */

struct line_cursor { /* in a line */
    const char *s;
    size_t len, i;
    int column;
    bool whole; /* otherwise more may come */
};

enum verdict { NO, YES, MORE };

static void cursor_skip_blanks(struct line_cursor *c)
{
    for (; c->i < c->len && (c->s[c->i] == ' ' || c->s[c->i] == '\t'); c->i++)
        c->column += c->s[c->i] == '\t' ? 4 - c->column % 4 : 1;
}

/* Step over n characters that take a column each. */
static void skip(struct line_cursor *c, size_t n)
{
    c->i += n;
    c->column += (int)n;
}

static char char_at(const struct line_cursor *c, size_t i)
{
    return c->i + i < c->len ? c->s[c->i + i] : '\0';
}

/* Step over the prefixes of the containers; how many of them the line is in. */
static size_t match(const struct markdown *m, struct line_cursor *c)
{
    size_t n = 0;

    for (; n < m->depth; n++) {
        struct line_cursor before = *c;

        cursor_skip_blanks(c);
        if (m->nested[n].quote ? char_at(c, 0) != '>'
                               : c->i < c->len && c->column < m->nested[n].column + NESTED_BY) {
            *c = before;
            break;
        }
        if (m->nested[n].quote)
            skip(c, 1);
        else
            *c = before; /* the indentation counts from the line's beginning, for each of them */
    }
    return n;
}

struct markdown_rest markdown_rest(const struct markdown *m, const char *s, size_t len)
{
    struct line_cursor c = {.s = s, .len = len, .whole = true};
    size_t quotes = 0, seen = 0;

    for (size_t i = 0; i < m->depth; i++)
        quotes += m->nested[i].quote;
    for (; seen < quotes; seen++) {
        struct line_cursor before = c;

        cursor_skip_blanks(&c);
        if (char_at(&c, 0) != '>') {
            c = before;
            break;
        }
        skip(&c, char_at(&c, 1) == ' ' && seen + 1 == quotes ? 2 : 1);
    }
    size_t from = c.i;
    cursor_skip_blanks(&c);
    if (m->leaf != LEAF_FENCE) /* code keeps its indentation */
        from = c.i;
    return (struct markdown_rest){s + from, len - from, c.column, seen == quotes};
}

void markdown_leave(struct markdown *m, size_t depth)
{
    while (m->depth > depth) {
        if (m->nested[m->depth - 1].fresh && !m->nested[m->depth - 1].quote) {
            /* an item without text */
            markdown_begin_leaf(m, LEAF_PARAGRAPH);
            flow_break(&m->flow);
            markdown_end_leaf(m);
        }
        m->depth--;
    }
}

/* A block begins in the containers up to depth: what is open beyond ends. */
static void close_to(struct markdown *m, size_t depth)
{
    markdown_end_leaf(m);
    markdown_leave(m, depth);
}

/* Three or more of one of "-*_", and blanks. */
static enum verdict is_rule(const struct line_cursor *c)
{
    char mark = char_at(c, 0);
    size_t n = 0;

    if (!mark || !strchr("-*_", mark))
        return NO;
    for (size_t i = c->i; i < c->len; i++)
        if (c->s[i] == mark)
            n++;
        else if (c->s[i] != ' ' && c->s[i] != '\t')
            return NO;
    return c->len > UNDECIDED_MAX ? NO : !c->whole ? MORE : n >= 3 ? YES : NO;
}

/* How many bytes a list's marker takes; 0: it is none. */
static enum verdict is_marker(const struct line_cursor *c, size_t *size)
{
    size_t n = 0;

    if (char_at(c, 0) && strchr("-*+", char_at(c, 0))) {
        n = 1;
    } else {
        while (isdigit((unsigned char)char_at(c, n)) && n < 9)
            n++;
        if (!n)
            return NO;
        if (c->i + n == c->len)
            return c->whole ? NO : MORE;
        if (char_at(c, n) != '.' && char_at(c, n) != ')')
            return NO;
        n++;
    }
    *size = n;
    if (c->i + n == c->len)
        return c->whole ? YES : MORE;
    return char_at(c, n) == ' ' || char_at(c, n) == '\t' ? YES : NO;
}

/* "[ ] " or "[x] ", behind the marker. */
static enum verdict is_task(const struct line_cursor *c)
{
    static const char *const form[] = {"[", " xX", "]", " "};

    for (size_t i = 0; i < countof(form); i++) {
        if (c->i + i == c->len)
            return c->whole ? NO : MORE;
        if (!strchr(form[i], char_at(c, i)))
            return NO;
    }
    return YES;
}

/* What the line begins is behind i: look at that as if it were a line of its own, inside. */
static void consume(struct markdown *m, struct line_cursor *c)
{
    m->inner = true;
    m->column = c->column;
    buf_drop(&m->line, c->i);
    c->s = buf_str(&m->line);
    c->len = m->line.len;
    c->i = 0;
}

static void open_item(struct markdown *m, struct line_cursor *c, size_t marker)
{
    struct container item = {.column = c->column, .fresh = true, .kind = char_at(c, marker - 1)};
    const struct container *before = m->leaf == LEAF_NONE && m->sibling.kind == item.kind ? &m->sibling
                                                                                          : NULL;

    if (marker > 1) {
        item.typed = (unsigned)strtoul(c->s + c->i, NULL, 10);
        /* all of them "1." is a usual way to write 1, 2, 3 */
        item.shown = before && before->typed == item.typed ? before->shown + 1 : item.typed;
        snprintf(item.marker, sizeof item.marker, "%u%c ", item.shown, item.kind);
    } else {
        snprintf(item.marker, sizeof item.marker, "• ");
    }
    skip(c, marker);
    if (c->i < c->len)
        skip(c, 1);
    item.content = c->column;
    m->nested[m->depth++] = item;
    consume(m, c);
}

/* Behind a marker that was just read: a box to tick. */
static enum verdict task(struct markdown *m, struct line_cursor *c)
{
    struct container *item = m->depth ? &m->nested[m->depth - 1] : NULL;
    enum verdict is = item && item->fresh && !item->quote && m->inner ? is_task(c) : NO;

    if (is != YES)
        return is;
    if (!strcmp(item->marker, "• "))
        *item->marker = '\0';
    size_t n = strlen(item->marker);
    snprintf(item->marker + n, sizeof item->marker - n, "[%c] ", char_at(c, 1) == ' ' ? ' ' : 'x');
    skip(c, 4);
    consume(m, c);
    return NO;
}

static const unsigned heading_style[] = {STYLE_BOLD | STYLE_UNDERLINE, STYLE_BOLD, STYLE_BOLD,
                                         STYLE_BOLD | STYLE_ITALIC};

static enum verdict heading(struct markdown *m, struct line_cursor *c, size_t depth)
{
    size_t n = 0;

    while (char_at(c, n) == '#')
        n++;
    if (!n || n > 6 || (c->i + n < c->len && char_at(c, n) != ' ' && char_at(c, n) != '\t'))
        return NO;
    if (c->i + n == c->len && !c->whole)
        return MORE;
    close_to(m, depth);
    markdown_begin_leaf(m, LEAF_HEADING);
    m->style = heading_style[n < 4 ? n - 1 : 3];
    if (!m->flow.o.colour) { /* nothing else tells it from text */
        flow_text(&m->flow, 0, c->s + c->i, n);
        flow_blanks(&m->flow, 1);
    }
    m->mode = LINE_TEXT;
    skip(c, n);
    cursor_skip_blanks(c);
    markdown_text(m, c->s + c->i, c->len - c->i);
    return YES;
}

/* Text: a paragraph goes on, even if the line is not indented like it. */
static void text(struct markdown *m, const struct line_cursor *c, size_t depth)
{
    bool goes_on = m->leaf == LEAF_PARAGRAPH && !m->inner;

    if (!goes_on) {
        close_to(m, depth);
    }
    m->mode = LINE_TEXT;
    markdown_begin_text(m);
    markdown_text(m, c->s + c->i, c->len - c->i);
}

/* The line of marks below a title. Without colour it is what tells the title from text, so it stays. */
static enum verdict underline(struct markdown *m, struct line_cursor *c, size_t depth)
{
    char mark = char_at(c, 0);
    size_t n = 0;

    if (m->leaf != LEAF_PARAGRAPH || m->inner || depth != m->depth || (mark != '=' && mark != '-'))
        return NO;
    while (char_at(c, n) == mark)
        n++;
    for (size_t i = c->i + n; i < c->len; i++)
        if (c->s[i] != ' ' && c->s[i] != '\t')
            return NO;
    if (!c->whole)
        return MORE;
    if (c->len > UNDECIDED_MAX || n < (mark == '=' ? 2 : 3) || (mark == '-' && !markdown_is_title(m)))
        return NO;
    if (m->flow.o.colour && markdown_make_heading(m, heading_style[mark == '-']))
        return YES;
    if (m->flow.o.colour && mark == '-')
        return NO;
    m->hard = true;
    text(m, c, depth);
    return YES;
}

/* Below a line that may be the head of a table without outer bars. */
static enum verdict delimiters(struct markdown *m, struct line_cursor *c, size_t depth)
{
    bool bar = false;

    if (m->leaf != LEAF_PARAGRAPH || m->inner || depth != m->depth
        || !memchr(buf_str(&m->live.source), '|', m->live.source.len))
        return NO;
    for (size_t i = c->i; i < c->len; i++) {
        if (!strchr("-:| \t", c->s[i]))
            return NO;
        bar = bar || c->s[i] == '|';
    }
    if (!c->whole)
        return MORE;
    return bar && markdown_make_table(m, c->s + c->i, c->len - c->i) ? YES : NO;
}

static enum verdict rule(struct markdown *m, struct line_cursor *c, size_t depth)
{
    if (is_rule(c) != YES)
        return NO;
    close_to(m, depth);
    markdown_begin_leaf(m, LEAF_RULE);
    int width = m->flow.o.width ? m->flow.o.width - flow_columns(buf_str(&m->flow.first)) : 3;

    for (int i = 0; i < width; i++)
        flow_text(&m->flow, STYLE_DIM, "─", strlen("─"));
    markdown_end_leaf(m);
    return YES;
}

/* What block begins whose lines are looked at when they are whole? */
static enum verdict whole_kind(struct markdown *m, const struct line_cursor *c, enum leaf *kind)
{
    char first = char_at(c, 0);
    const struct container *item = m->depth && !m->nested[m->depth - 1].quote ? &m->nested[m->depth - 1]
                                                                              : NULL;
    size_t n = 0;

    *kind = LEAF_NONE;
    if (m->leaf == LEAF_NONE && !m->inner && c->column >= (item ? item->content : 0) + 4) {
        *kind = LEAF_INDENTED;
        m->indent = (item ? item->content : 0) + 4;
    } else if (first == '|') {
        *kind = LEAF_TABLE;
    } else if (first == '[' && char_at(c, 1) != '^') {
        const char *close = memchr(c->s + c->i, ']', c->len - c->i);

        if (!c->whole && (close ? close + 1 == c->s + c->len : c->len - c->i <= REF_LABEL_MAX))
            return MORE;
        *kind = close && close[1] == ':' ? LEAF_REFERENCE : LEAF_NONE;
    } else if (first == '`' || first == '~') {
        while (char_at(c, n) == first)
            n++;
        if (n < 3 && c->i + n == c->len && !c->whole)
            return MORE;
        *kind = n >= 3 ? LEAF_FENCE : LEAF_NONE;
    } else if (first == '$' || first == '\\') {
        char second = char_at(c, 1);

        if (c->i + 1 == c->len && !c->whole)
            return MORE;
        *kind = second == (first == '$' ? '$' : '[') ? LEAF_MATH : LEAF_NONE;
    }
    return *kind ? YES : NO;
}

static enum verdict whole_block(struct markdown *m, struct line_cursor *c, size_t depth)
{
    enum leaf kind;
    enum verdict is = whole_kind(m, c, &kind);

    if (is != YES)
        return is;
    if (m->leaf != LEAF_PARAGRAPH || (kind != LEAF_TABLE && kind != LEAF_REFERENCE))
        close_to(m, depth);
    m->opening = kind;
    m->column = c->column;
    buf_drop(&m->line, c->i);
    m->mode = LINE_WHOLE;
    return YES;
}

static void blank_line(struct markdown *m, size_t depth)
{
    size_t quote = depth;

    if (m->leaf == LEAF_PARAGRAPH)
        markdown_end_leaf(m);
    while (quote < m->depth && !m->nested[quote].quote)
        quote++;
    markdown_leave(m, quote);
    m->blank = true;
}

/* A quote or an item begins. */
static enum verdict container(struct markdown *m, struct line_cursor *c, size_t depth)
{
    size_t marker = 0;

    if (depth >= NESTED_MAX)
        return NO;
    if (char_at(c, 0) == '>') {
        close_to(m, depth);
        skip(c, 1);
        m->nested[m->depth++] = (struct container){.quote = true, .fresh = true};
        consume(m, c);
        return YES;
    }
    enum verdict is = is_rule(c);
    if (is == NO)
        is = is_marker(c, &marker);
    else if (is == YES)
        return NO;
    if (is != YES)
        return is;
    /* a number that ends a sentence, and a dash alone, do not interrupt a paragraph */
    bool in_list = m->depth > 0 && !m->nested[m->depth - 1].quote;
    bool one = marker == 1 || (marker == 2 && char_at(c, 0) == '1');
    if (m->leaf == LEAF_PARAGRAPH && !m->inner && !in_list && (!one || c->i + marker == c->len))
        return NO;
    markdown_end_leaf(m);
    m->sibling = depth < m->depth ? m->nested[depth] : (struct container){0};
    markdown_leave(m, depth);
    open_item(m, c, marker);
    return YES;
}

bool markdown_line_begin(struct markdown *m, bool whole)
{
    struct line_cursor c = {.s = buf_str(&m->line), .len = m->line.len, .column = m->column, .whole = whole};
    static enum verdict (*const blocks[])(struct markdown *, struct line_cursor *, size_t) = {
        heading, underline, delimiters, rule, whole_block,
    };
    size_t depth = m->inner ? m->depth : match(m, &c);
    enum verdict is;

    c.whole = whole || c.len > UNDECIDED_MAX;
    for (;;) {
        cursor_skip_blanks(&c);
        if (c.i == c.len) {
            if (whole)
                blank_line(m, depth);
            else if (c.len > UNDECIDED_MAX)
                buf_clear(&m->line);
            return whole;
        }
        is = task(m, &c);
        if (is == NO)
            is = container(m, &c, depth);
        if (is != YES)
            break;
        depth = m->depth;
    }
    if (is == MORE)
        return false;
    cursor_skip_blanks(&c);
    if (c.i == c.len && !whole)
        return false;
    is = NO;
    for (size_t i = 0; i < countof(blocks) && is == NO; i++)
        is = blocks[i](m, &c, depth);
    if (is == NO)
        text(m, &c, depth);
    return is != MORE;
}
