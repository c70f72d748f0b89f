/* markdown.h - draws an answer in Markdown for a terminal while it arrives.
 *
 * The output is append-only, with one exception: the unfinished last line is drawn again in its place
 * ("\r\033[K") when the next line makes it a heading or the head of a table. Paragraphs, headings and list
 * items are drawn word by word, and held back, never for long, while emphasis, a link, code or a formula is
 * open in them. A line of code is drawn when it is whole, and a table when its widths are known. The same
 * text gives the same screen however it is cut into pieces, and every piece costs the same.
 *
 * The structure of blocks is read here, since it must be known from the beginning of a line; md4c reads the
 * text within a block. Where models write loosely, this is more lenient than CommonMark: a list may be nested
 * by two blanks, short lines are not joined, code is not indented within lists, and "---" below a sentence is
 * a rule instead of making it a heading.
 */
#ifndef MARKDOWN_MARKDOWN_H
#define MARKDOWN_MARKDOWN_H

#include <stdbool.h>
#include <stddef.h>

#include "markdown/flow.h"

struct markdown;

struct markdown_options {
    struct flow_options flow;
    /* ![alt](src): draw it into out, as lines, from the beginning of one. False: alt and the name are
     * shown instead. May be NULL. */
    bool (*image)(void *ctx, const char *src, const char *alt, struct buf *out);
    void *image_ctx;
};

struct markdown *markdown_new(const struct markdown_options *o, struct buf *out);
void markdown_free(struct markdown *m);
void markdown_width(struct markdown *m, int width); /* the terminal was resized */
/* text is scrubbed (SCRUB_TERMINAL). Adds to out; no style is left in force. */
void markdown_feed(struct markdown *m, const char *text, size_t len);
/* The text is whole: draw what was held back. Ready for the next text. */
void markdown_end(struct markdown *m);
bool markdown_mid(const struct markdown *m);   /* the last line drawn is not ended */
int markdown_column(const struct markdown *m); /* where that line ends */
void markdown_line_lost(struct markdown *m);   /* something else has ended it */

#endif
