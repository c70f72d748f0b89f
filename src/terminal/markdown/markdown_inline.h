/* markdown_inline.h - the text within a block of Markdown, in two steps. inline_scan finds out whether a
 * piece of the text can be drawn already, and turns it into something that md4c reads as it was meant.
 * inline_draw has md4c parse that, and draws it. Private to markdown.
 */
#ifndef MARKDOWN_MARKDOWN_INLINE_H
#define MARKDOWN_MARKDOWN_INLINE_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct flow;
struct markdown_options;
struct refs;

#define INLINE_BREAK '\x02' /* stands in the text for a line break that is kept */

struct inline_open {
    /* Bytes since something was opened that later text may close, so that the text had better be held back.
     * 0: nothing is open, or it has been open for too long. */
    unsigned held;
    bool strong;    /* nothing but strong emphasis is open */
    char marks[32]; /* the marks that close the strong emphasis */
};

/* Would inline_scan look at this character? Text without any of them is plain. */
bool inline_special(char c);
/* Append to out what md4c is to parse. Returns what is open at the end of s, a piece that ends between words.
 * refs: the definitions of links; those that s uses are marked. */
struct inline_open inline_scan(const char *s, size_t len, struct refs *refs, struct buf *out);
/* Draw what inline_scan made, in addition to style. */
void inline_draw(struct flow *f, const struct markdown_options *o, unsigned style,
                 const struct buf *prepared);

#endif
