/* markdown_inline.h - the text within a block of Markdown. Two steps: inline_scan looks whether a piece of
 * the text can be drawn already, and makes of it what md4c reads as meant; inline_draw has md4c parse
 * that, and draws it. Private to src/markdown.
 */
#ifndef MARKDOWN_MARKDOWN_INLINE_H
#define MARKDOWN_MARKDOWN_INLINE_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct flow;
struct markdown_options;
struct refs;

#define INLINE_BREAK '\x02' /* in the text: a line break that is kept */

struct inline_open {
    /* More text could change what is there, so it may be held back; bytes since what is open began. 0: all
     * is settled, or was open for too long. */
    unsigned held;
    bool strong;    /* nothing but strong emphasis is open */
    char marks[32]; /* would close the strong emphasis */
};

/* Are there characters in s that inline_scan would look at? Otherwise it is plain text. */
bool inline_special(char c);
/* What md4c is to parse, appended to out. Returns what is open at the end of s, a piece that ends between
 * words. refs: the labels of links, which are used now. */
struct inline_open inline_scan(const char *s, size_t len, struct refs *refs, struct buf *out);
/* Draw what inline_scan made, in addition to style. */
void inline_draw(struct flow *f, const struct markdown_options *o, unsigned style,
                 const struct buf *prepared);

#endif
