/* files.h - files from a sandbox onto the host. Names and bytes are the code's: names are made harmless,
 * nothing is ever overwritten or followed, no folder below the target is made, sizes are counted here. A file
 * has its name only when it is whole, and one that is here already, byte for byte, is not written again.
 */
#ifndef SANDBOX_FILES_H
#define SANDBOX_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/newfile.h"

struct ledger;

#define FILES_CELL_COUNT 150
#define FILES_CELL_SLACK (16u << 20) /* of bytes, beyond what the supervisor was told to send at most */

struct delivery { /* one file on its way */
    struct ledger *ledger;
    const char *folder; /* where it goes; NULL: there is none */
    struct newfile file;
    /* its copy of before, as long as all that came is equal to it; -1: it is written */
    int same;
    char *name, *safe; /* as the code calls it; as it is to be called here */
    char *before;      /* the path of that copy */
    uint64_t size, got;
    bool taken, over; /* its size is on the ledger; there was no room on it */
    char why[400];    /* why it could not be made or written; "" */
};

/* Both are borrowed, for as long as d is used; the folder is made when it is not there. */
void delivery_init(struct delivery *d, struct ledger *l, const char *folder);
void delivery_release(struct delivery *d); /* of a file that is not whole nothing is left */
/* Begin folder/SAFE, or SAFE-1, SAFE-2 ...; size bytes are to come. name: what it is known by to the ledger,
 * for as long as it is the same file; safe: file_safe_name(). */
void delivery_begin(struct delivery *d, const char *name, const char *safe, uint64_t size);
bool delivery_add(struct delivery *d, const char *data, size_t len); /* false: more bytes than it said */
/* It is whole: its path (the caller frees), which is that of before when it is as it was; or NULL with
 * d->why, or d->over. */
char *delivery_end(struct delivery *d);

/* A name that is safe in any folder: no '/', no control or direction characters, no leading dot or dash, at
 * most 200 bytes. The caller frees. */
char *file_safe_name(const char *name);

#endif
