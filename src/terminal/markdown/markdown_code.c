/* markdown_code.c - code and formulas that stand on lines of their own. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "conversation/language.h"
#include "markdown/latex.h"
#include "markdown/markdown_inline.h"
#include "markdown/markdown_private.h"

#define INDENT   "  "
#define LEFT_MIN 4 /* columns of a line of code behind its indentation */

/* The prefix of what is open, and n blanks; again: so many more in the lines that it goes on in. */
static void begin_line(struct markdown *m, int n, int again)
{
    struct buf first autorelease(buf_release) = BUF_INIT(0), next autorelease(buf_release) = BUF_INIT(0);
    autofree char *own = NULL;

    markdown_prefix(m, &first, &next);
    if (!m->flow.begun) { /* behind an item's marker, perhaps */
        buf_clear(&first);
        buf_add(&first, buf_str(&m->flow.first), m->flow.first.len);
    }
    own = xasprintf("%s%*s", buf_str(&first), n, "");
    buf_addf(&next, "%*s", n + again, "");
    flow_begin(&m->flow, own, buf_str(&next));
}

static const unsigned styles[] = {[CODE_PLAIN] = 0,
                                  [CODE_KEYWORD] = STYLE_KEYWORD,
                                  [CODE_STRING] = STYLE_STRING,
                                  [CODE_COMMENT] = STYLE_COMMENT};

/* The line keeps its indentation where there is room for it and a little text. What it goes on in has half of
 * the screen. */
static void begin_code(struct markdown *m, size_t indent)
{
    int n = (int)(strlen(INDENT) + (indent > 200 ? 200 : indent)), width = m->flow.o.width;
    int most = width ? width - LEFT_MIN : n, again = n + 4, half = width ? width / 2 : again;

    n = n < most ? n : most > 0 ? most : 0;
    again = again < half ? again : half;
    begin_line(m, n, again - n);
    flow_code(&m->flow);
}

static void draw_code(struct markdown *m, const char *s, size_t len)
{
    struct buf line autorelease(buf_release) = BUF_INIT(0);
    size_t indent, i;

    for (i = 0; i < len; i++) /* tabs go to the next multiple of four */
        if (s[i] == '\t')
            buf_addf(&line, "%*s", (int)(4 - line.len % 4), "");
        else
            buf_addch(&line, s[i]);
    buf_trim(&line, " ");
    if (!line.len) {
        begin_line(m, 0, 0);
        if (!m->depth)
            flow_begin(&m->flow, "", "");
        flow_break(&m->flow);
        return;
    }
    indent = strspn(line.data, " ");
    unsigned char *class = xmalloc(line.len);
    highlight_line(&m->highlight, line.data, line.len, class);
    begin_code(m, indent);
    for (i = indent; i < line.len;) {
        size_t from = i;

        while (i < line.len && class[i] == class[from])
            i++;
        flow_text(&m->flow, styles[class[from]], line.data + from, i - from);
    }
    flow_end(&m->flow);
    free(class);
}

void markdown_fence_open(struct markdown *m, const char *s, size_t len, int column)
{
    size_t n = 0, tag;

    while (n < len && s[n] == *s)
        n++;
    m->fence = *s;
    m->fence_len = n;
    m->indent = column;
    while (n < len && s[n] == ' ')
        n++;
    for (tag = n; tag < len && !strchr(" \t{,:", s[tag]); tag++)
        ;
    m->highlight = (struct highlight){.language = language_of_tag(s + n, tag - n)};
    markdown_begin_leaf(m, LEAF_FENCE);
}

/* Without so much of its indentation as the fence has. */
static size_t outdent(const char *s, size_t len, int columns)
{
    size_t i = 0;

    for (int column = 0; i < len && column < columns && (s[i] == ' ' || s[i] == '\t'); i++)
        column += s[i] == '\t' ? 4 - column % 4 : 1;
    return i;
}

void markdown_fence_line(struct markdown *m, const char *s, size_t len)
{
    size_t i = 0, n = 0;

    while (i < len && s[i] == ' ')
        i++;
    while (i + n < len && s[i + n] == m->fence)
        n++;
    if (n >= m->fence_len && i + n + strspn(s + i + n, " \t") >= len) {
        markdown_end_leaf(m);
        return;
    }
    i = outdent(s, len, m->indent);
    draw_code(m, s + i, len - i);
}

void markdown_indented_line(struct markdown *m, const char *s, size_t len, int column)
{
    size_t i = 0;
    struct buf line autorelease(buf_release) = BUF_INIT(0);

    while (i < len && (s[i] == ' ' || s[i] == '\t'))
        i++;
    if (i == len) { /* perhaps behind the block already */
        m->blank_lines++;
        return;
    }
    for (; m->blank_lines > 0; m->blank_lines--)
        draw_code(m, "", 0);
    buf_addf(&line, "%*s", column > m->indent ? column - m->indent : 0, "");
    buf_add(&line, s + i, len - i);
    m->highlight = (struct highlight){0};
    draw_code(m, line.data, line.len);
}

/* The end of the formula: the mark that closes it, or NULL if it has not come yet. */
static const char *closing(const struct markdown *m)
{
    const char *s = buf_str(&m->held);

    return m->held.len < 2 ? NULL : strstr(s + 2, *s == '$' ? "$$" : "\\]");
}

void markdown_math_line(struct markdown *m, const char *s, size_t len)
{
    while (len && (*s == ' ' || *s == '\t')) {
        s++;
        len--;
    }
    if (!len) {
        markdown_end_leaf(m);
        m->blank = true;
        return;
    }
    if (m->held.len)
        buf_addch(&m->held, '\n');
    buf_add(&m->held, s, len);
    if (closing(m) || m->held.len > LATEX_MAX)
        markdown_end_leaf(m);
}

static void draw_rows(struct markdown *m, char *s)
{
    for (char *row = s, *end; row; row = end) {
        end = strchr(row, '\n');
        if (end)
            *end++ = '\0';
        begin_line(m, strlen(INDENT), 2);
        flow_text(&m->flow, 0, row, strlen(row));
        flow_end(&m->flow);
    }
}

void markdown_math_end(struct markdown *m)
{
    struct buf text autorelease(buf_release) = BUF_INIT(4 * LATEX_MAX),
                    source autorelease(buf_release) = m->held;
    const char *close = closing(m);
    size_t behind = close ? strspn(close + 2, ".,; ") : 0;

    m->held = (struct buf){0};
    if (!source.len)
        return;
    if (close && !close[2 + behind]
        && latex_unicode(source.data + 2, (size_t)(close - source.data - 2), &text)) {
        buf_addstr(&text, close + 2);
        draw_rows(m, text.data);
        return;
    }
    for (size_t i = 0; i < source.len; i++)
        if (source.data[i] == '\n')
            source.data[i] = INLINE_BREAK;
    markdown_inline(m, &m->flow, 0, buf_str(&source));
}
