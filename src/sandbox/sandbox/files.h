/* files.h - copy files from a sandbox to this machine. Names and contents come from the code: names are made
 * safe, nothing is ever overwritten, no link is followed, no folder is made below the target, and sizes are
 * counted here. A file gets its name only when it is complete. One that is here already, byte for byte, is
 * not written again.
 */
#ifndef SANDBOX_FILES_H
#define SANDBOX_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/newfile.h"

struct ledger;

#define FILES_CELL_COUNT 200
#define FILES_CELL_SLACK (16u << 20) /* bytes beyond the most that the supervisor was told to send */

struct delivery { /* one file on its way */
    struct ledger *ledger;
    const char *folder; /* the target folder; NULL: there is none */
    struct newfile file;
    /* descriptor of the file's earlier copy, as long as everything received equals it; -1: it is being
     * written anew */
    int same;
    char *name, *safe; /* name: as the code calls it; safe: as it is called here */
    char *before;      /* the path of the earlier copy */
    uint64_t size, got;
    bool taken, over; /* taken: its size is on the ledger; over: the ledger had no room for it */
    char why[400];    /* why it could not be made or written; or "" */
};

/* l and folder are borrowed until delivery_release(). The folder is made if it does not exist. */
void delivery_init(struct delivery *d, struct ledger *l, const char *folder);
void delivery_release(struct delivery *d); /* nothing is left of an incomplete file */
/* Begin folder/SAFE, or SAFE-1, SAFE-2 ... if that is taken; size bytes will follow. name: the key under
 * which the ledger knows the file from cell to cell; safe: from file_safe_name(). */
void delivery_begin(struct delivery *d, const char *name, const char *safe, uint64_t size);
bool delivery_add(struct delivery *d, const char *data, size_t len); /* false: more bytes than announced */
/* The file is complete. Returns its path, which the caller frees: that of the earlier copy if nothing
 * changed. NULL: see d->why and d->over. */
char *delivery_end(struct delivery *d);

/* A name that is safe in any folder: no '/', no control or text-direction characters, no leading dot or
 * dash, at most 200 bytes. The caller frees. */
char *file_safe_name(const char *name);

#endif
