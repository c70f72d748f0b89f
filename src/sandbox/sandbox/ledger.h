/* ledger.h - what one session has written to this machine: how many bytes of its quota, and where each file
 * is.
 *
 * It is kept outside the sandbox, because nothing from inside is trusted. A file that comes again unchanged
 * is not written again. Whether its copy is still here is checked on the copy itself, since the user may have
 * changed, moved or removed it.
 */
#ifndef SANDBOX_LEDGER_H
#define SANDBOX_LEDGER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#define LEDGER_FILES 10000 /* files that are remembered: as many as /mnt/data may hold */
#define LEDGER_ROWS  512

struct ledger_file {
    struct ledger_file *next;
    char *name, *path; /* name: as the code calls it; path: where its copy is */
    dev_t dev;
    ino_t ino;
    off_t size;
    struct timespec changed;
};

struct ledger {
    /* bytes; files are rounded up to whole blocks, so that a thousand empty files count too */
    uint64_t most, written;
    bool warned; /* the user was told that the quota is nearly used up */
    struct ledger_file *rows[LEDGER_ROWS];
    unsigned n;
};

void ledger_init(struct ledger *l, int64_t most);
void ledger_release(struct ledger *l);

/* Reserve room for a file of that size; false: there is none. */
bool ledger_reserve(struct ledger *l, uint64_t size);
void ledger_unreserve(struct ledger *l, uint64_t size); /* return the room: the file was not written */
uint64_t ledger_left(const struct ledger *l);
/* Take room for so many bytes more of a file that grows, or for as many as there is room for; returns how
 * many. */
uint64_t ledger_take(struct ledger *l, uint64_t bytes);
bool ledger_warns(struct ledger *l); /* true once, when 80 % of the quota is used */

/* Open the copy of the file of that name, if it is still there, unchanged and of that size. Returns a
 * descriptor to compare with, which the caller closes, and sets *path, which the ledger owns. Otherwise
 * -1. */
int ledger_open(const struct ledger *l, const char *name, uint64_t size, const char **path);
void ledger_note(struct ledger *l, const char *name, const char *path, int fd); /* remember the file's copy */

#endif
