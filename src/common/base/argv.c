/* argv.c - a vector of strings for exec. */
#include "base/argv.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

static void push_owned(struct argv *a, char *s)
{
    if (a->n + 2 > a->alloc) {
        a->alloc = a->alloc != 0 ? a->alloc * 2 : 16;
        a->v = xreallocarray(a->v, a->alloc, sizeof(*a->v));
    }
    a->v[a->n++] = s;
    a->v[a->n] = NULL;
}

void argv_push(struct argv *a, const char *s)
{
    push_owned(a, xstrdup(s));
}

void argv_pushf(struct argv *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    push_owned(a, xvasprintf(fmt, ap));
    va_end(ap);
}

void argv_option(struct argv *a, const char *name, const char *fmt, ...)
{
    va_list ap;
    argv_push(a, name);
    va_start(ap, fmt);
    push_owned(a, xvasprintf(fmt, ap));
    va_end(ap);
}

void argv_pushl(struct argv *a, ...)
{
    va_list ap;
    va_start(ap, a);
    for (const char *s; (s = va_arg(ap, const char *)) != NULL;)
        argv_push(a, s);
    va_end(ap);
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void argv_sort(struct argv *a)
{
    if (a->n > 1)
        qsort(a->v, a->n, sizeof(*a->v), by_bytes);
}

void argv_release(struct argv *a)
{
    if (!a)
        return;
    for (size_t i = 0; i < a->n; i++)
        free(a->v[i]);
    free(a->v);
    *a = (struct argv)ARGV_INIT;
}

void argv_quote(const struct argv *a, struct buf *out)
{
    /* '~' and '=' are safe inside a word but not at its start, so they are always quoted. */
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./:,@%";
    for (size_t i = 0; i < a->n; i++) {
        const char *s = a->v[i];
        if (i > 0)
            buf_addch(out, ' ');
        if (*s != '\0' && strspn(s, plain) == strlen(s)) {
            buf_addstr(out, s);
            continue;
        }
        buf_addch(out, '\'');
        for (; *s != '\0'; s++) {
            if (*s == '\'')
                buf_addstr(out, "'\\''");
            else
                buf_addch(out, *s);
        }
        buf_addch(out, '\'');
    }
}
