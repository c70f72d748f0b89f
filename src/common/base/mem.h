/* mem.h - allocation that cannot fail (when memory runs out, the program ends with a line on stderr) and
 * cleanup at the end of a scope. A caller that gets a char * from a function named ..._new, ..._steal or x...
 * frees it with free().
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Prints a line on stderr and ends the program; for allocators of libraries. */
_Noreturn void mem_gone(void);
void *xmalloc(size_t n);
void *xcalloc(size_t n, size_t size);
void *xrealloc(void *p, size_t n);
void *xreallocarray(void *p, size_t n, size_t size); /* ends the program if n * size overflows */
char *xstrdup(const char *s);                        /* NULL gives NULL */
char *xmemdup0(const void *s, size_t len);           /* copies len bytes and adds a NUL */
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
char *xvasprintf(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));

/* Frees the string at *at and puts text there, which *at owns from then on. Either may be NULL. text may have
 * been made from the old string. */
void xreplace(char **at, char *text);

/* Frees a string and leaves nothing of it in memory; NULL is fine. */
void free_secret(char *s);

static inline void free_charp(char **p)
{
    free(*p);
}
#define autofree        __attribute__((cleanup(free_charp))) /* frees a char * at the end of the scope */
#define autorelease(fn) __attribute__((cleanup(fn)))         /* calls fn(&object) at the end of the scope */

/* Take over a pointer: returns it and sets the variable to NULL. */
#define steal(pp)                     \
    __extension__({                   \
        __typeof__(*(pp)) s_ = *(pp); \
        *(pp) = NULL;                 \
        s_;                           \
    })

#define countof(a) (sizeof(a) / sizeof((a)[0]))

#endif
