/* mentions.h - files that a question names: "@sales.csv", @"my file.csv" or @my\ file.csv, at its start or
 * after a blank. They are added as --add does it, and the model is told their names in the sandbox. A word
 * stays as typed if it names no file or folder (a mail address, a decorator) or leads to a hidden file: those
 * hold keys, and people paste text from everywhere.
 */
#ifndef BASE_MENTIONS_H
#define BASE_MENTIONS_H

#include <stddef.h>

#include "base/argv.h"

struct buf;
struct error;
struct inputs;

#define MENTIONS_MAX 100 /* in one question; further ones stay as typed */

struct mentions {
    struct mention {
        size_t at, len; /* of "@name" in the text */
        size_t file;    /* its index in the inputs */
        char *path;
        char *inside; /* its name below /mnt/data; NULL until it is told */
    } v[MENTIONS_MAX];
    size_t n;
    struct argv left; /* a line to tell the user for each of at most three that stay as typed */
};

/* Find the files in the text and open them behind those in *in, which m must outlive. -1: ERROR_USAGE naming
 * one that cannot be read. The caller releases *m, after an error too. */
int mentions_open(struct mentions *m, const char *text, size_t len, struct inputs *in, struct error *err);
/* The file of this index in the inputs now has the name inside in the sandbox. */
void mentions_name(struct mentions *m, size_t file, const char *inside);
/* Append the text with the names in the sandbox. */
void mentions_write(const struct mentions *m, const char *text, size_t len, struct buf *out);
void mentions_release(struct mentions *m);

#endif
