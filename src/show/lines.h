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

struct lines {
    const char *gutter; /* ASCII */
    const char *again;  /* the gutter of a line that was wrapped; NULL: the same */
    const char *sgr;    /* colour of the text, or "" */
    int width;          /* wrap here; 0: never */
    bool words;         /* between words where there are such: for text that comes in one piece */
    bool terminal;
    struct scrub scrub;
    bool mid;   /* a line is begun and not ended */
    int column; /* of the text, gutter not counted */
};

void lines_init(struct lines *l, const char *gutter, const char *sgr, bool terminal, int width);
void lines_resize(struct lines *l, int width);
/* cut may be NULL */
void lines_feed(struct lines *l, struct lines_cut *cut, const char *text, size_t len, struct buf *out);
/* end the line that is begun; the text may go on in a new one */
void lines_break(struct lines *l, struct buf *out);
void lines_end(struct lines *l, struct lines_cut *cut, struct buf *out); /* the text is whole */

/* Text that is already scrubbed. */
void lines_add(struct lines *l, struct lines_cut *cut, const char *text, size_t len, struct buf *out);

#endif
