/* markdown.h - an answer in Markdown, drawn for a terminal while it comes. Append-only: what was drawn is
 * never taken back, but for the unfinished last line, which is drawn again in its place when the next line
 * makes it a heading or the head of a table (out then has "\r\033[K"). A paragraph, a heading or a list item
 * is drawn word by word, held back only while emphasis, a link, code or a formula is open in it, and never
 * for long; a line of code when it is whole; a table when its widths are known. The same text gives the same
 * screen however it is cut into pieces, and a piece costs the same wherever it comes.
 *
 * The structure of blocks is read here, since it must be known from the beginning of a line; md4c reads
 * what is within a block. More lenient than CommonMark where models write loosely: a list nested by two
 * blanks, short lines that are not joined, no code by indentation within lists, "---" below a sentence is a
 * rule and no heading.
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
void markdown_end(
    struct markdown *m); /* the text is whole; what was held back is drawn. Ready for the next text. */
bool markdown_mid(const struct markdown *m);   /* the last line drawn is not ended */
int markdown_column(const struct markdown *m); /* where that line ends */
void markdown_line_lost(struct markdown *m);   /* something else has ended it */

#endif
