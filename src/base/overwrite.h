/* overwrite.h - what is left of lines that a program writes again: a progress bar goes back to the beginning
 * of its line with \r, several of them go up with ESC [A. A bounded model of the last lines of a terminal:
 * \r, \n, and the sequences that move the cursor between lines or erase; others are text. Text at the
 * beginning of a line replaces all of it. Only the last state passes: lines are held from the first one that
 * was written again until ordinary text follows them, or, once the cursor has gone up, until there are too
 * many. The line that is not ended yet is held back, so the result does not depend on how the text was cut.
 *
 * live, for a terminal: ordinary text passes at once. Where the present line turns out to be written again,
 * "\r\r" passes: it is to be removed. A line that was written again passes as "\r...\n".
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
/* Something else is written now: the lines that are held pass if the program has ended the last of them. */
void overwrite_settle(struct overwrite *o, struct buf *out);
void overwrite_end(struct overwrite *o, struct buf *out); /* the rest; ready for the next text */
size_t overwrite_rows(const struct overwrite *o);         /* that are held, without empty ones at the end */

#endif
