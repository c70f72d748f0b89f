/* argv.h - a vector of strings for exec. Children are started by vector, never by a shell string. */
#ifndef BASE_ARGV_H
#define BASE_ARGV_H

#include <stddef.h>

struct buf;

struct argv {
    char **v; /* NULL-terminated when n > 0; the strings are owned */
    size_t n, alloc;
};

#define ARGV_INIT \
    {             \
        0         \
    }

void argv_push(struct argv *a, const char *s);
void argv_pushf(struct argv *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Adds two words: the name of an option, and its value. */
void argv_option(struct argv *a, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void argv_pushl(struct argv *a, ...) __attribute__((sentinel)); /* strings up to NULL */
void argv_sort(struct argv *a);                                 /* by the values of the bytes */
void argv_release(struct argv *a);
/* Appends the words as one line for a POSIX shell, only for people to read and paste. */
void argv_quote(const struct argv *a, struct buf *out);

#endif
