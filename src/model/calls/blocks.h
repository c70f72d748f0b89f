/* blocks.h - finds the first fenced Python block in text that streams. Knows nothing of models or
 * calls.
 *
 * A fence is a line of at least three ` or ~ (after white space) with an optional tag. The tags python, py
 * and python3, in any case, make a block that runs; everything else is text. Only a line of the same
 * character, at least as long, closes it. Text passes at once, except for a line that may still become a
 * fence. The result does not depend on how the text was cut into pieces.
 */
#ifndef CALLS_BLOCKS_H
#define CALLS_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum blocks_state { BLOCKS_TEXT, BLOCKS_OTHER, BLOCKS_CODE, BLOCKS_CLOSED };

struct blocks {
    enum blocks_state state;
    struct buf line; /* the line so far: held back in CODE, and in TEXT while it may be a fence */
    bool mid_line;   /* TEXT: the rest of the line is plain text */
    char fence;
    size_t fence_len, indent;
    struct buf code;
    unsigned lines;   /* whole lines of it */
    struct buf after; /* what followed the closing fence */
};

void blocks_init(struct blocks *b);
void blocks_release(struct blocks *b);
/* Appends the text that is no part of the block to out. True once the block is closed; later text goes to
 * b->after. */
bool blocks_feed(struct blocks *b, const char *s, size_t n, struct buf *out);
/* Call this when no more text comes. whole: the reply ended by itself, so a last line without a newline may
 * close the fence. */
void blocks_end(struct blocks *b, bool whole, struct buf *out);

#endif
