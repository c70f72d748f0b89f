/* think.c - see think.h. */
#include "llm/think.h"

#include <stdbool.h>
#include <string.h>

enum { THINK_START, THINK_INSIDE, THINK_PLAIN };

#define SPACE_MAX 256           /* white space held back before the first word */

void think_init(struct think *t)
{
    *t = (struct think){.state = THINK_START};
    buf_init(&t->held, 4096);
}

void think_release(struct think *t)
{
    if (t)
        buf_release(&t->held);
}

static const char open_tag[] = "<think>", close_tag[] = "</think>";

/* At the start: 1 the tag is there, 0 it cannot come, -1 undecided. */
static int opens(const char *s, size_t n)
{
    size_t i = 0;
    while (i < n && strchr(" \t\r\n", s[i]))
        i++;
    if (i == n)
        return n > SPACE_MAX ? 0 : -1;
    size_t have = n - i, want = sizeof open_tag - 1;
    if (memcmp(s + i, open_tag, have < want ? have : want))
        return 0;
    return have >= want ? 1 : -1;
}

static size_t feed_start(struct think *t, const char *s, struct buf *out)
{
    buf_addch(&t->held, *s);
    int is = opens(t->held.data, t->held.len);
    if (is < 0)
        return 1;
    t->state = is ? THINK_INSIDE : THINK_PLAIN;
    size_t skip = t->thought ? strspn(t->held.data, " \t\r\n") : 0;     /* the blank lines behind </think> are not text */
    if (!is)
        buf_add(out, t->held.data + skip, t->held.len - skip);
    buf_clear(&t->held);
    return 1;
}

/* held is the beginning of "</think>" that was seen so far. */
static size_t feed_inside(struct think *t, const char *s, size_t n, struct buf *inner)
{
    size_t want = sizeof close_tag - 1;
    if (t->held.len) {
        if (*s == close_tag[t->held.len]) {
            buf_addch(&t->held, *s);
            if (t->held.len == want) {
                t->state = THINK_START;
                t->thought = true;
                buf_clear(&t->held);
            }
            return 1;
        }
        buf_add(inner, t->held.data, t->held.len);
        buf_clear(&t->held);
    }
    const char *lt = memchr(s, '<', n);
    size_t k = lt ? (size_t)(lt - s) : n;
    buf_add(inner, s, k);
    if (lt) {
        buf_addch(&t->held, '<');
        k++;
    }
    return k;
}

void think_feed(struct think *t, const char *s, size_t n, struct buf *out, struct buf *inner)
{
    while (n && t->state != THINK_PLAIN) {
        size_t k = t->state == THINK_START ? feed_start(t, s, out) : feed_inside(t, s, n, inner);
        s += k;
        n -= k;
    }
    buf_add(out, s, n);
}

void think_end(struct think *t, struct buf *out, struct buf *inner)
{
    if (t->state == THINK_INSIDE || !t->thought)
        buf_add(t->state == THINK_INSIDE ? inner : out, buf_str(&t->held), t->held.len);
    buf_clear(&t->held);
}
