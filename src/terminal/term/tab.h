/* tab.h - what Tab completes on the line that is edited: words with what they are about, and names of files,
 * in which blanks and quotes are escaped (base/quoting.h).
 */
#ifndef TERM_TAB_H
#define TERM_TAB_H

#include <stdbool.h>
#include <stddef.h>

/* What may stand at one place of a line. */
struct candidates {
    /* ends with NULL; valid until the next call; or NULL. A tab in a word ends it: what follows is what it is
     * about, one scrubbed line, shown where there are several */
    const char *const *words;
    bool files; /* or the names of files here */
};

/* Set readline up for it. start: offset in line of the word that is completed, behind the quote that it
 * begins with, if any. */
void tab_setup(struct candidates (*fn)(void *ctx, const char *line, size_t start), void *ctx);

#endif
