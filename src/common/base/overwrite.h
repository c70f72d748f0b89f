/* overwrite.h - reduces lines that a program writes several times to their last state. A progress bar goes
 * back to the beginning of its line with \r, and several bars go up with ESC [A. This is a bounded model of
 * the last lines of a terminal: it knows \r, \n, and the sequences that erase or move the cursor between
 * lines, and takes all others for text. Text at the beginning of a line replaces the whole line.
 *
 * Lines are held from the first one that is written a second time until ordinary text follows them or, once
 * the cursor has gone up, until there are too many. The unfinished line is held too, so the result does not
 * depend on how the text was cut.
 *
 * With live, for a terminal, ordinary text passes at once. When the unfinished line, which has passed
 * already, is written again, "\r\r" in the output asks the caller to remove it from the screen. The last
 * state of a line that was written several times passes as "\r...\n".
 */
#ifndef BASE_OVERWRITE_H
#define BASE_OVERWRITE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define OVERWRITE_MAX  8192 /* bytes of a line that are held back; a longer one can no longer be replaced */
#define OVERWRITE_ROWS 24   /* lines that can be held; one further up is never written again */

struct overwrite { /* a zeroed one is ready */
    bool live;
    struct buf row[OVERWRITE_ROWS];
    bool again[OVERWRITE_ROWS]; /* it was written again */
    size_t last, at;            /* rows are row[0] to row[last]; the cursor is in row[at] */
    bool moving;                /* the rows are held; otherwise row[0] is the present line */
    bool up;                    /* the cursor has gone up among them */
    bool home, cr;              /* the cursor is at the beginning of the row; by \r */
    bool passed;                /* the beginning of the line has passed already */
    char escape[16];            /* a sequence that is not whole */
    size_t n_escape;
};

void overwrite_release(struct overwrite *o);
void overwrite_feed(struct overwrite *o, const char *text, size_t len, struct buf *out); /* appends to out */
/* Something else is written now: if the program has ended the last of the lines that are held, they pass. */
void overwrite_settle(struct overwrite *o, struct buf *out);
void overwrite_end(struct overwrite *o, struct buf *out); /* the rest; ready for the next text */
size_t overwrite_rows(const struct overwrite *o);         /* that are held, without empty ones at the end */

#endif
