/* spill.h - bytes of others that wait: what clients send, until all of it is there, and what they have not
 * read yet. The first SPILL_MEMORY bytes are kept in memory; of more, all are in a file without a name, below
 * $XDG_STATE_HOME/sandpiper or, if that cannot be, in /var/tmp. So a hundred long requests take disk instead
 * of memory, and nothing is left of them however the program ends.
 */
#ifndef BASE_SPILL_H
#define BASE_SPILL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"

struct error;

#define SPILL_MEMORY (64u << 10)

struct spill {
    struct buf memory; /* all bytes, while there is no file */
    int fd;            /* the file, which has all of them; -1: none */
    size_t len, max;   /* max: the most bytes; 0: any number */
};

#define SPILL_INIT(most)         \
    {                            \
        .fd = -1, .max = (most), \
    }

/* Appends. -1 with ERROR_LIMIT (more than max) or ERROR_SYSTEM (the disk does not take it). */
int spill_add(struct spill *s, const void *data, size_t len, struct error *err);
/* The same for what must not be lost: if the disk does not take it, it stays in memory. */
void spill_keep(struct spill *s, const void *data, size_t len);
/* Brings all of it into memory. -1 with ERROR_SYSTEM. */
int spill_load(struct spill *s, struct error *err);
/* The same bytes once more; a file is shared. The caller releases both. */
struct spill spill_copy(const struct spill *s);
/* Copies at most max bytes from offset at. Returns how many; 0: there are none, or the disk has failed. */
size_t spill_read(const struct spill *s, size_t at, char *out, size_t max);
void spill_drop(struct spill *s, size_t n); /* forgets the first n bytes */
/* Hands over the file; -1: all is in memory. */
int spill_take_fd(struct spill *s);
void spill_release(struct spill *s); /* is empty afterwards, and keeps max */

#endif
