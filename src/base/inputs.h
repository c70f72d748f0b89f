/* inputs.h - the user's own files that were named for reading (--add): all opened before anything is started,
 * so that a wrong name costs nothing.
 */
#ifndef BASE_INPUTS_H
#define BASE_INPUTS_H

#include <stddef.h>

struct error;

struct inputs {
    struct input {
        int fd;           /* -1 once handed over */
        const char *path; /* the caller's string */
    } * v;
    size_t n;
};

/* paths ends with NULL and may be NULL itself. -1: ERROR_USAGE naming the one that cannot be read, nothing
 * left open. */
int inputs_open(struct inputs *in, const char *const *paths, struct error *err);
void inputs_release(struct inputs *in);

/* The ".csv" of "sales.csv": one to eight letters or digits behind the last dot, or "". Points into name. */
const char *name_extension(const char *name);
/* name, or "sales-2.csv" where that is taken: dir1/sales.csv and dir2/sales.csv must not become one file. The
 * caller frees. */
char *name_not_taken(const char *name, const char *const *taken, size_t n);

#endif
