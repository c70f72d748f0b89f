/* gather.h - the files in a folder of the user's, such as one that is copied into a sandbox. Whoever
 * filled it may be hostile: nothing outside of it is reached, by no link and however it changes meanwhile
 * (openat2). */
#ifndef BASE_GATHER_H
#define BASE_GATHER_H

#include <stddef.h>
#include <stdint.h>

#include "base/argv.h"

struct error;

#define GATHER_DEPTH 16    /* folders in folders */
#define GATHER_FILES 10000 /* files and folders, those left out too */

struct gathered {
    struct gathered_file {
        char *path; /* below the folder, as it is there: any bytes */
        int64_t size;
    } * v;
    size_t n;
    int64_t total;       /* bytes */
    unsigned hidden;     /* names that begin with a dot, left out: they configure programs and hold keys */
    struct argv refused; /* "a/b: a socket": what else was left out */
};

/* List the regular files below the folder, in the order of their names. A link to a regular file within
 * the folder counts as that file. name is the folder's in errors. -1: ERROR_USAGE (more than GATHER_FILES,
 * deeper than GATHER_DEPTH), ERROR_SYSTEM. The caller releases *g, after an error too. */
int gather(int folder, const char *name, struct gathered *g, struct error *err);
void gathered_release(struct gathered *g);

/* Open one of these files for reading. -1 with errno: EXDEV where it leads out of the folder, ENXIO where
 * it is no regular file. */
int gather_open(int folder, const char *path);

#endif
