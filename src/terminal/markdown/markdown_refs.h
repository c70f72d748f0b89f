/* markdown_refs.h - the definitions of links, "[1]: https://example.org", wherever they stand in the text. A
 * definition that precedes the use of its label makes that use a link, and is not shown itself. A definition
 * that follows the use is shown as it was typed; one whose label is never used is shown at the end. Private
 * to markdown.
 *
 * Holds up to REFS_MAX labels; further ones are text. A zeroed struct is ready.
 */
#ifndef MARKDOWN_MARKDOWN_REFS_H
#define MARKDOWN_MARKDOWN_REFS_H

#include <stdbool.h>
#include <stddef.h>

enum { REFS_MAX = 256, REF_LABEL_MAX = 100, REF_URL_MAX = 2000 };

struct ref {
    char *label;
    char *url, *line; /* its definition; NULL: none so far */
    bool used;
};

struct refs {
    struct ref *v;
    size_t n;
};

void refs_release(struct refs *r); /* ready again */

enum ref_kind { REF_NONE, REF_HIDDEN, REF_SHOWN };
/* Is this whole line a definition, and is it to be shown? */
enum ref_kind refs_define(struct refs *r, const char *line, size_t len);
/* The address of a label that is used now; NULL: none so far. Valid until the next call. */
const char *refs_use(struct refs *r, const char *label, size_t len);

#endif
