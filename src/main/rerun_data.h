/* rerun_data.h - finds the data of a receipt on this machine: what the user names, else beside the
 * receipt, else in the working directory. A receipt may be a stranger's, so a file is taken for its bytes
 * alone: one with another SHA-256 is refused. */
#ifndef MAIN_RERUN_DATA_H
#define MAIN_RERUN_DATA_H

#include "base/inputs.h"

struct error;
struct receipt_file;

struct rerun_data {
    struct inputs added; /* --add: files, and folders to look in */
    int folders[2];      /* beside the receipt, and the working directory; -1: none */
};

/* receipt "-": stdin, which nothing lies beside. add: paths, ends with NULL; or NULL. -1: one of them
 * cannot be read. */
int rerun_data_open(struct rerun_data *d, const char *receipt, const char *const *add, struct error *err);
/* That file, open at its beginning. -1: ERROR_USAGE, it is missing or has changed. */
int rerun_data_file(const struct rerun_data *d, const struct receipt_file *f, struct error *err);
void rerun_data_release(struct rerun_data *d);

#endif
