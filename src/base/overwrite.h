/* overwrite.h - what is left of lines that a program overwrites: a progress bar goes back to the beginning of
 * its line with \r and writes it again. Only the last state passes. The line that is not ended yet is held
 * back, so the result does not depend on how the text was cut.
 */
#ifndef BASE_OVERWRITE_H
#define BASE_OVERWRITE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define OVERWRITE_MAX 8192 /* bytes of a line that are held back; a longer one can no longer be replaced */

struct overwrite { /* a zeroed one is ready */
    struct buf line;
    bool cr;       /* \r came: the next text replaces the line, unless it is \n */
    bool too_long; /* the beginning of the line has passed already */
};

void overwrite_release(struct overwrite *o);
void overwrite_feed(struct overwrite *o, const char *text, size_t len, struct buf *out); /* appends to out */
void overwrite_end(struct overwrite *o, struct buf *out); /* the rest; ready for the next text */

#endif
