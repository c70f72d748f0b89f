/* lines.h - prints untrusted text as lines with a gutter in front. Private to show.
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

#include "base/overwrite.h"
#include "base/scrub.h"

struct buf;

#define OUTPUT_GUTTER "| " /* before what code has printed */

struct lines_cut { /* how much output may be shown; several streams can share one */
    size_t max_lines, max_bytes;
    /* shown so far; bytes are counted before scrubbing, so that a flood of escape sequences is cut too */
    size_t lines, bytes;
    uint64_t all_lines, all_bytes;
    bool over, by_lines; /* the limit was reached; it was max_lines, not max_bytes */
};

struct lines_style {
    const char *gutter; /* ASCII */
    const char *again;  /* gutter of a continuation line, not shorter; NULL: the same */
    const char *sgr;    /* colour of the text, or "" */
    bool words;         /* wrap between words where there are such: for text that comes in one piece */
    bool terminal;
    int width; /* of the terminal, gutter and all; 0: never wrap */
};

struct lines {
    struct lines_style style;
    struct buf *out;       /* where they go; NULL: not in use */
    struct lines_cut *cut; /* or NULL: all is shown */
    int width;             /* wrap the text here; 0: never */
    struct scrub scrub;
    bool mid;        /* the current line is not ended yet */
    int column;      /* current column of the text, not counting the gutter */
    uint32_t before; /* the last character */
    int wraps;       /* how often the current line was wrapped */

    /* lines_feed_moving */
    struct overwrite moving;
    int drawn; /* how many lines of the terminal show its rows; the cursor is at the end of the last one */
};

void lines_init(struct lines *l, struct buf *out, const struct lines_style *style);
void lines_resize(struct lines *l, int width);
void lines_feed(struct lines *l, const char *text, size_t len);
void lines_break(struct lines *l);       /* end the line that is begun; the text may go on in a new one */
void lines_lost(struct lines *l);        /* something else has ended it */
int lines_column(const struct lines *l); /* of the terminal, where the line that is begun ends; -1: none is */
void lines_end(struct lines *l);         /* the text is whole */
/* The same for a program's live output. Lines that it writes several times (base/overwrite.h) are drawn again
 * in their place, each cut to the width; where that is no terminal, only their last state is written. */
void lines_feed_moving(struct lines *l, const char *text, size_t len);
/* Other output comes now: finished lines stay, and lines that may still change move below it. */
void lines_settle_moving(struct lines *l);
void lines_end_moving(struct lines *l);

/* The terminal was resized, and what is unfinished may take other rows than before. */
void lines_reflowed(struct lines *l, int width);

/* Text that is already scrubbed. */
void lines_add(struct lines *l, const char *text, size_t len);

#endif
