/* library.h - opens a shared library when it is first needed, so that a start does not pay for it, and a
 * machine without the library lacks only the features that need it.
 */
#ifndef BASE_LIBRARY_H
#define BASE_LIBRARY_H

#include <stddef.h>

struct error;

struct library {
    const char *name, *package, *version; /* "libcurl", Debian's package, the oldest version that will do */
    const char *files[2];                 /* tried in order; NULL: none */
    const char *const *functions;         /* n names */
    size_t n;
};

/* Fill table, a struct of n pointers to functions and nothing else, in the order of the names. The library
 * stays open for good. ERROR_SYSTEM when it is missing or too old. */
int library_open(const struct library *lib, void *table, struct error *err);

#endif
