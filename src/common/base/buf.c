/* buf.c - a growing buffer with a cap. */
#include "base/buf.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

void buf_init(struct buf *b, size_t max)
{
    *b = (struct buf)BUF_INIT(max);
}

void buf_release(struct buf *b)
{
    if (!b)
        return;
    free(b->data);
    buf_init(b, b->max);
}

void buf_clear(struct buf *b)
{
    b->len = 0;
    b->full = false;
    if (b->data != NULL)
        b->data[0] = '\0';
}

/* Make room for need bytes and the NUL. Doubles the size, but never past the cap, which also bounds memory.
 */
static void grow(struct buf *b, size_t need)
{
    if (need < b->alloc)
        return;
    if (need >= SIZE_MAX / 2)
        mem_gone();
    size_t alloc = b->alloc * 2;
    if (b->max != 0 && alloc > b->max + 1)
        alloc = b->max + 1;
    if (alloc < need + 1)
        alloc = need + 1;
    if (alloc < 32)
        alloc = 32;
    b->data = xrealloc(b->data, alloc);
    b->alloc = alloc;
}

/* Returns how many of len bytes still fit; sets full if not all do. */
static size_t fit(struct buf *b, size_t len)
{
    if (b->max == 0)
        return len;
    size_t left = b->max > b->len ? b->max - b->len : 0;
    if (len <= left)
        return len;
    b->full = true;
    return left;
}

bool buf_add(struct buf *b, const void *data, size_t len)
{
    size_t n = fit(b, len);
    if (n > SIZE_MAX / 2 - b->len)
        mem_gone();
    grow(b, b->len + n);
    if (n > 0)
        memcpy(b->data + b->len, data, n);
    b->len += n;
    b->data[b->len] = '\0';
    return n == len;
}

bool buf_addstr(struct buf *b, const char *s)
{
    return buf_add(b, s, strlen(s));
}

bool buf_addch(struct buf *b, char c)
{
    return buf_add(b, &c, 1);
}

bool buf_vaddf(struct buf *b, const char *fmt, va_list ap)
{
    char small[256];
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(small, sizeof(small), fmt, again);
    va_end(again);
    if (n < 0)
        return false;
    if ((size_t)n < sizeof(small))
        return buf_add(b, small, (size_t)n);
    autofree char *big = xvasprintf(fmt, ap);
    return buf_add(b, big, (size_t)n);
}

bool buf_addf(struct buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    bool all = buf_vaddf(b, fmt, ap);
    va_end(ap);
    return all;
}

char *buf_space(struct buf *b, size_t want)
{
    if (b->max != 0 && (b->len > b->max || want > b->max - b->len))
        return NULL;
    if (want > SIZE_MAX / 2 - b->len)
        mem_gone();
    grow(b, b->len + want);
    b->data[b->len] = '\0';
    return b->data + b->len;
}

void buf_end(struct buf *b)
{
    grow(b, b->len);
    b->data[b->len] = '\0';
}

void buf_drop(struct buf *b, size_t n)
{
    if (n == 0 || !b->data)
        return;
    if (n > b->len)
        n = b->len;
    b->len -= n;
    memmove(b->data, b->data + n, b->len + 1);
}

void buf_cut(struct buf *b, size_t len)
{
    if (len >= b->len)
        return;
    b->len = len;
    b->data[len] = '\0';
}

size_t trimmed_length(const char *text, size_t len, const char *set)
{
    while (len > 0 && memchr(set, text[len - 1], strlen(set)))
        len--;
    return len;
}

bool text_is_blank(const char *text)
{
    return !text || !text[strspn(text, " \t\r\n\v\f")];
}

void buf_trim(struct buf *b, const char *set)
{
    buf_cut(b, trimmed_length(b->data, b->len, set));
}

char buf_last(const struct buf *b)
{
    return b->len > 0 ? b->data[b->len - 1] : '\0';
}

const char *buf_str(const struct buf *b)
{
    return b->data != NULL ? b->data : "";
}

char *buf_steal(struct buf *b, size_t *len)
{
    char *data = b->data != NULL ? b->data : xmemdup0("", 0);
    if (len != NULL)
        *len = b->len;
    buf_init(b, b->max);
    return data;
}
