/* newfile.h - a new file that gets its name only when it is complete, so that even kill -9 leaves no half
 * file.
 *
 * Until newfile_name() it has no name at all (O_TMPFILE) or, where the file system does not support that, a
 * hidden one, ".sandpiper-....part", which the next newfile in that folder removes if its writer was killed.
 * No file is ever replaced, and no link is followed.
 */
#ifndef BASE_NEWFILE_H
#define BASE_NEWFILE_H

#include <stddef.h>

struct error;

struct newfile {
    int dir, fd; /* its folder; the file, for reading and writing; -1: none */
    char *temp;  /* its hidden name; NULL: it has none */
};

#define NEWFILE_INIT ((struct newfile){.dir = -1, .fd = -1})

int newfile_open(struct newfile *f, const char *folder, int mode); /* 0, or -1 with errno */
/* The same with a hidden name in any case, for whoever opens files by their names: a library. */
int newfile_open_hidden(struct newfile *f, const char *folder, int mode);
/* Give it its name. -1 with errno: EEXIST, and it can be tried again with another. */
int newfile_name(struct newfile *f, const char *name);
/* Copies a file that code may have made, so no link is followed. -1 with errno: EEXIST, the name is taken. */
int newfile_copy(const char *from, const char *folder, const char *name);
/* All of it at once, in a file that only the user can read. -1: ERROR_USAGE where that name is taken. */
int newfile_write(const char *path, const void *data, size_t len, struct error *err);
void newfile_release(struct newfile *f); /* without a name it is gone */

#endif
