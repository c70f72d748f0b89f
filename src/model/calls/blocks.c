/* blocks.c - finds code in a fence (```python) while a reply comes, line by line: text outside of fences,
 * code inside, and a line that may become either is held.
 */
#include "calls/blocks.h"

#include <string.h>

#include "conversation/language.h"

#define CODE_MAX       (1u << 20)
#define FENCE_LINE_MAX 256 /* bytes; a longer line is decided by what came so far */

void blocks_init(struct blocks *b)
{
    *b = (struct blocks){0};
    buf_init(&b->line, CODE_MAX);
    buf_init(&b->code, CODE_MAX);
    buf_init(&b->after, CODE_MAX);
}

void blocks_release(struct blocks *b)
{
    if (!b)
        return;
    buf_release(&b->line);
    buf_release(&b->code);
    buf_release(&b->after);
}

struct fence {
    char c;
    size_t indent, len;
    const char *info;
    size_t info_len;
};

/* Is the line (without its end) a fence, or may it become one? 1 yes, 0 no, -1 undecided. */
static int fence_read(const char *s, size_t n, struct fence *f)
{
    *f = (struct fence){0};
    while (n && s[n - 1] == '\r')
        n--;
    size_t i = 0;
    while (i < n && (s[i] == ' ' || s[i] == '\t'))
        i++;
    f->indent = i;
    if (i == n)
        return -1;
    f->c = s[i];
    if (f->c != '`' && f->c != '~')
        return 0;
    while (i < n && s[i] == f->c)
        i++;
    f->len = i - f->indent;
    if (f->len < 3)
        return i == n ? -1 : 0;
    while (i < n && (s[i] == ' ' || s[i] == '\t'))
        i++;
    f->info = s + i;
    f->info_len = n - i;
    while (f->info_len && (f->info[f->info_len - 1] == ' ' || f->info[f->info_len - 1] == '\t'))
        f->info_len--;
    /* ```x``` on one line is code within text */
    return f->c == '`' && memchr(f->info, '`', f->info_len) ? 0 : 1;
}

static bool is_code(const struct fence *f)
{
    size_t n = 0;
    while (n < f->info_len && !strchr(" \t{,:", f->info[n]))
        n++;
    /* A block in another language than the one that is run is only to be read. */
    return language_of_tag(f->info, n) == languages;
}

static bool is_closing_fence(const struct blocks *b, const char *s, size_t n)
{
    struct fence f;
    return fence_read(s, n, &f) == 1 && f.c == b->fence && f.len >= b->fence_len && !f.info_len
           && f.indent <= b->indent + 3;
}

/* Decides a line in TEXT that began like a fence, once it is whole or long enough. */
static void decide_fence(struct blocks *b, bool newline, struct buf *out)
{
    struct fence f;
    bool is = fence_read(buf_str(&b->line), b->line.len, &f) == 1;
    if (is) {
        b->fence = f.c;
        b->fence_len = f.len;
        b->indent = f.indent;
        b->state = is_code(&f) ? BLOCKS_CODE : BLOCKS_OTHER;
    }
    if (b->state != BLOCKS_CODE) {
        buf_add(out, b->line.data, b->line.len);
        if (newline)
            buf_addch(out, '\n');
    }
    b->mid_line = !newline;
    buf_clear(&b->line);
}

static size_t feed_text(struct blocks *b, const char *s, size_t n, struct buf *out)
{
    const char *lf = memchr(s, '\n', n);
    size_t k = lf ? (size_t)(lf - s) : n;
    if (b->mid_line) {
        k += lf != NULL;
        buf_add(out, s, k);
        b->mid_line = !lf;
        return k;
    }
    buf_add(&b->line, s, k);
    struct fence f;
    int may = fence_read(buf_str(&b->line), b->line.len, &f);
    if (lf || may == 0 || b->line.len > FENCE_LINE_MAX) {
        decide_fence(b, lf != NULL, out);
        return k + (lf != NULL);
    }
    return k;
}

/* Inside another fence everything is text; each line is only checked for the end of the fence. */
static size_t feed_other(struct blocks *b, const char *s, size_t n, struct buf *out)
{
    const char *lf = memchr(s, '\n', n);
    size_t k = lf ? (size_t)(lf - s) : n;
    if (b->line.len <= FENCE_LINE_MAX)
        buf_add(&b->line, s, k);
    k += lf != NULL;
    buf_add(out, s, k);
    if (lf) {
        if (is_closing_fence(b, buf_str(&b->line), b->line.len))
            b->state = BLOCKS_TEXT;
        buf_clear(&b->line);
        b->mid_line = false;
    }
    return k;
}

static void code_line(struct blocks *b, bool newline)
{
    const char *s = buf_str(&b->line);
    size_t n = b->line.len, skip = 0;
    while (skip < b->indent && skip < n && (s[skip] == ' ' || s[skip] == '\t'))
        skip++; /* a block inside a list is indented as a whole */
    if (n > skip && s[n - 1] == '\r')
        n--;
    buf_add(&b->code, s + skip, n - skip);
    if (newline)
        buf_addch(&b->code, '\n');
    b->lines++;
    buf_clear(&b->line);
}

static size_t feed_code(struct blocks *b, const char *s, size_t n)
{
    if (b->mid_line) { /* the rest of an overlong opening line */
        const char *end = memchr(s, '\n', n);
        b->mid_line = !end;
        return end ? (size_t)(end - s) + 1 : n;
    }
    const char *lf = memchr(s, '\n', n);
    size_t k = lf ? (size_t)(lf - s) : n;
    buf_add(&b->line, s, k);
    if (!lf)
        return k;
    if (is_closing_fence(b, buf_str(&b->line), b->line.len)) {
        b->state = BLOCKS_CLOSED;
        buf_clear(&b->line);
    } else {
        code_line(b, true);
    }
    return k + 1;
}

bool blocks_feed(struct blocks *b, const char *s, size_t n, struct buf *out)
{
    while (n && b->state != BLOCKS_CLOSED) {
        size_t k = b->state == BLOCKS_TEXT    ? feed_text(b, s, n, out)
                   : b->state == BLOCKS_OTHER ? feed_other(b, s, n, out)
                                              : feed_code(b, s, n);
        s += k;
        n -= k;
    }
    if (n)
        buf_add(&b->after, s, n);
    return b->state == BLOCKS_CLOSED;
}

void blocks_end(struct blocks *b, bool whole, struct buf *out)
{
    if (b->state == BLOCKS_TEXT && b->line.len) {
        buf_add(out, b->line.data, b->line.len);
        buf_clear(&b->line);
    } else if (b->state == BLOCKS_CODE && b->line.len) {
        if (whole && is_closing_fence(b, b->line.data, b->line.len)) {
            b->state = BLOCKS_CLOSED;
            buf_clear(&b->line);
        } else {
            code_line(b, false);
        }
    }
}
