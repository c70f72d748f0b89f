/* files.h - files from a sandbox onto the host. Names and bytes are the code's: names are made harmless, nothing is ever
 * overwritten or followed, no folder below the target is made, sizes are counted here.
 */
#ifndef SANDBOX_FILES_H
#define SANDBOX_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FILES_CELL_COUNT 150
#define FILES_CELL_SLACK (16u << 20)    /* of bytes, beyond what the supervisor was told to send at most */

struct delivery {                   /* one file on its way */
    int dir, fd;
    char *folder;
    char *name;                     /* on the host; NULL when it could not be made */
    uint64_t size, got;
    char why[400];                  /* why it could not be made or written; "" */
};

void delivery_init(struct delivery *d);
void delivery_release(struct delivery *d);              /* a file that is not whole is removed */
/* Begin folder/NAME (folder is made when it is not there); size bytes are to come. */
void delivery_begin(struct delivery *d, const char *folder, const char *name, uint64_t size);
bool delivery_add(struct delivery *d, const char *data, size_t len);   /* false: more bytes than it said */
/* It is whole: its path (the caller frees), or NULL with d->why. */
char *delivery_end(struct delivery *d);

/* A name that is safe in any folder: no '/', no control or direction characters, no leading dot or dash, at most 200 bytes. The caller frees. */
char *file_safe_name(const char *name);

#endif
