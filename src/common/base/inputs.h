/* inputs.h - the files and folders given by --add. They are all opened before anything is started, so that a
 * wrong name costs nothing.
 */
#ifndef BASE_INPUTS_H
#define BASE_INPUTS_H

#include <stddef.h>

struct error;

struct inputs {
    struct input {
        int fd;           /* -1 once handed over */
        const char *path; /* the caller's string, or owned */
        char *owned;
    } * v;
    size_t n;
};

/* Open all paths (ends with NULL; may be NULL), in addition to those that are open already. If a SQLite
 * database has a -wal file, that is opened too and comes before it. Errors begin with word, which is
 * "--add " or "@". Never waits, not even for the writer of a named pipe. -1: ERROR_USAGE naming the file that
 * cannot be read, or is a URL; nothing is left open. */
int inputs_open(struct inputs *in, const char *word, const char *const *paths, struct error *err);
void inputs_release(struct inputs *in);

/* The last part of a path as a name in the sandbox: valid UTF-8, at most 150 bytes, no control characters.
 * "data" where nothing is left of it. The caller frees. */
char *name_plain(const char *path);
/* The ".csv" of "sales.csv": a dot and one to eight letters or digits at the end, or "". Points into name. */
const char *name_extension(const char *name);
/* name, or "sales-2.csv" where that is taken: dir1/sales.csv and dir2/sales.csv must not become one file. The
 * caller frees. */
char *name_not_taken(const char *name, const char *const *taken, size_t n);

#endif
