/* lines.h - prints untrusted text as lines with a gutter in front. Private to src/show.
 *
 * Every line starts with the gutter, including the wrapped part of a line that is wider than the terminal:
 * the output of a program can never pass for a prompt or for a message of ours. Text may arrive in pieces,
 * cut anywhere, even inside a character.
 */
#ifndef SHOW_LINES_H
#define SHOW_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/scrub.h"

struct buf;

struct lines_cut { /* how much output may be shown; several streams can share one */
    size_t max_lines, max_bytes;
    /* shown so far; bytes are counted before scrubbing, so that a flood of escape sequences is cut too */
    size_t lines, bytes;
    uint64_t all_lines, all_bytes;
    bool over, by_lines; /* the limit was reached; it was max_lines, not max_bytes */
};

struct lines {
    const char *gutter; /* ASCII */
    const char *again;  /* gutter of a continuation line; NULL: the same */
    const char *sgr;    /* colour of the text, or "" */
    int width;          /* columns to wrap at; 0: never wrap */
    bool words;         /* wrap between words; only for text that comes in one piece */
    bool terminal;
    struct scrub scrub;
    bool mid;   /* the current line is not ended yet */
    int column; /* current column of the text, not counting the gutter */
};

void lines_init(struct lines *l, const char *gutter, const char *sgr, bool terminal, int width);
void lines_resize(struct lines *l, int width);
/* cut may be NULL */
void lines_feed(struct lines *l, struct lines_cut *cut, const char *text, size_t len, struct buf *out);
/* End the current line; the text may continue on a new one. */
void lines_break(struct lines *l, struct buf *out);
void lines_end(struct lines *l, struct lines_cut *cut, struct buf *out); /* end of the text */

/* Text that is already scrubbed. */
void lines_add(struct lines *l, struct lines_cut *cut, const char *text, size_t len, struct buf *out);

#endif
