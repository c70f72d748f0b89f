/* mem.c - allocation that ends the program when memory runs out, since there is nothing better to do then.
 * The supervisor sees the channel close and ends the sandbox.
 */
#include "base/mem.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

void mem_gone(void)
{
    static const char text[] = "sandpiper: out of memory\n";
    (void)!write(2, text, sizeof(text) - 1); /* no stdio, which may need memory too */
    _exit(1);
}

void *xmalloc(size_t n)
{
    void *p = malloc(n != 0 ? n : 1);
    if (!p)
        mem_gone();
    return p;
}

void *xcalloc(size_t n, size_t size)
{
    void *p = n != 0 && size != 0 ? calloc(n, size) : calloc(1, 1);
    if (!p)
        mem_gone();
    return p;
}

void *xrealloc(void *p, size_t n)
{
    void *q = realloc(p, n != 0 ? n : 1);
    if (!q)
        mem_gone();
    return q;
}

void *xreallocarray(void *p, size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes))
        mem_gone();
    return xrealloc(p, bytes);
}

char *xstrdup(const char *s)
{
    return s != NULL ? xmemdup0(s, strlen(s)) : NULL;
}

char *xmemdup0(const void *s, size_t len)
{
    if (len == SIZE_MAX)
        mem_gone();
    char *p = xmalloc(len + 1);
    if (len > 0)
        memcpy(p, s, len);
    p[len] = '\0';
    return p;
}

char *xvasprintf(const char *fmt, va_list ap)
{
    char *p = NULL;
    if (vasprintf(&p, fmt, ap) < 0)
        mem_gone();
    return p;
}

char *xasprintf(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *p = xvasprintf(fmt, ap);
    va_end(ap);
    return p;
}

void xreplace(char **at, char *text)
{
    free(*at);
    *at = text;
}

void free_secret(char *s)
{
    if (s)
        explicit_bzero(s, strlen(s));
    free(s);
}
