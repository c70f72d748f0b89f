/* ledger.h - what one session has written to this machine: how much of what it may, and where each file is.
 *
 * Kept out here: nothing from inside is believed. A file that comes again as it is already here is not
 * written again; whether it is here is asked of the file itself, which its user may have changed, moved or
 * removed.
 */
#ifndef SANDBOX_LEDGER_H
#define SANDBOX_LEDGER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#define LEDGER_FILES 10000 /* that are remembered: as many as /mnt/data may hold */
#define LEDGER_ROWS  512

struct ledger_file {
    struct ledger_file *next;
    char *name, *path; /* as the code calls it; where its copy is */
    dev_t dev;
    ino_t ino;
    off_t size;
    struct timespec changed;
};

struct ledger {
    uint64_t most, written; /* bytes, in whole blocks: a thousand empty files are not nothing */
    bool warned;            /* that it is nearly full */
    struct ledger_file *rows[LEDGER_ROWS];
    unsigned n;
};

void ledger_init(struct ledger *l, int64_t most);
void ledger_release(struct ledger *l);

/* room for a file of that size; false: there is none */
bool ledger_take(struct ledger *l, uint64_t size);
void ledger_give(struct ledger *l, uint64_t size); /* it was not written after all */
uint64_t ledger_left(const struct ledger *l);
bool ledger_warns(struct ledger *l); /* true once, when 80 % are used */

/* The copy that was made of a file of that name, if it is still there, as we left it, and of that size: a
 * descriptor to compare with, and its path, which is the ledger's. Else -1. */
int ledger_open(const struct ledger *l, const char *name, uint64_t size, const char **path);
void ledger_note(struct ledger *l, const char *name, const char *path, int fd); /* here it is now */

#endif
