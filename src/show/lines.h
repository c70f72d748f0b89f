/* lines.h - untrusted text as lines behind a gutter. Inside src/show.
 *
 * Every line begins with the gutter, also one that was wrapped because the terminal would have wrapped it: so
 * what a program prints can never stand where the prompt or a line of ours stands. Text comes in pieces cut
 * anywhere.
 */
#ifndef SHOW_LINES_H
#define SHOW_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/scrub.h"

struct buf;

struct lines_cut { /* how much may be shown; one for several streams */
    size_t max_lines, max_bytes;
    /* shown so far; bytes as they came, before scrubbing, so that a flood of escapes ends too */
    size_t lines, bytes;
    uint64_t all_lines, all_bytes;
    bool over, by_lines; /* cut, and by which of the two */
};

struct lines_style {
    const char *gutter; /* ASCII */
    const char *again;  /* the gutter of a line that was wrapped; NULL: the same */
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
    bool mid;   /* a line is begun and not ended */
    int column; /* of the text, gutter not counted */
};

void lines_init(struct lines *l, struct buf *out, const struct lines_style *style);
void lines_resize(struct lines *l, int width);
void lines_feed(struct lines *l, const char *text, size_t len);
void lines_break(struct lines *l); /* end the line that is begun; the text may go on in a new one */
void lines_end(struct lines *l);   /* the text is whole */

/* Text that is already scrubbed. */
void lines_add(struct lines *l, const char *text, size_t len);

#endif
