/* markdown_live.c - the unfinished last line of a paragraph, which the next line may make a heading or the
 * head of a table. It is the only thing that is ever drawn again: in place, at once, and only while it is
 * one line of the screen that nothing else has touched.
 *
 * RULE: What was drawn of an answer is never taken back, but for the unfinished last line.
 */
#include <string.h>

#include "base/mem.h"
#include "markdown/markdown_private.h"

#define LIVE_MAX 400 /* bytes of a line that can be drawn again */

void markdown_live_begin(struct markdown *m, bool first)
{
    buf_clear(&m->live.source);
    m->live.first = first;
    m->live.lost = m->flow.mid || m->pending.len;
    m->live.line = m->flow.lines;
}

void markdown_live_add(struct markdown *m, const char *s, size_t len)
{
    if (m->live.source.len + len > LIVE_MAX)
        m->live.lost = true;
    if (!m->live.lost)
        buf_add(&m->live.source, s, len);
}

/* The line without blanks at its end; NULL: it cannot be drawn again. */
static const char *source(struct markdown *m, size_t *len)
{
    struct buf *b = &m->live.source;

    if (m->leaf != LEAF_PARAGRAPH || m->live.lost || !b->len || strstr(b->data, "!["))
        return NULL;
    *len = trimmed_length(b->data, b->len, " \t");
    return b->data;
}

/* Take what is drawn of the line from the screen. False: it is not one line there. */
static bool take_back(struct markdown *m)
{
    struct flow *f = &m->flow;

    markdown_settle(m);
    flow_word_end(f);
    if (f->lines != m->live.line || (f->o.width && f->longest_word > f->o.width))
        return false;
    m->soft = m->hard = false;
    m->live.lost = true;
    flow_take_back(f, m->live.first);
    return true;
}

bool markdown_make_heading(struct markdown *m, unsigned style)
{
    size_t len;
    const char *title = source(m, &len);

    if (!title || !m->live.first || !take_back(m))
        return false;
    m->last = LEAF_HEADING;
    autofree char *text = xmemdup0(title, len);
    markdown_inline(m, &m->flow, style, text);
    markdown_end_leaf(m);
    return true;
}

bool markdown_is_title(struct markdown *m)
{
    size_t len;
    const char *title = source(m, &len);

    return title && len && m->live.first && !strchr(".:,;", title[len - 1]);
}

bool markdown_make_table(struct markdown *m, const char *s, size_t len)
{
    struct buf prefix autorelease(buf_release) = BUF_INIT(0);
    size_t head_len;
    const char *head = source(m, &head_len);

    if (!head || !markdown_table_fits(head, head_len, s, len))
        return false;
    bool drawn = m->live.first && m->flow.begun;
    if (!take_back(m))
        return false;
    buf_add(&prefix, buf_str(&m->flow.first), m->flow.first.len);
    buf_add(&m->held, head, head_len);
    markdown_table_open(m, s, len);
    buf_clear(&m->flow.first);
    buf_add(&m->flow.first, buf_str(&prefix), prefix.len);
    if (drawn) /* behind the empty line that is there */
        flow_gap(&m->flow, NULL);
    return true;
}
