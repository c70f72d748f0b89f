/* mask.h - takes secrets out of what a server answers: each place where the value stands, as it is or as
 * JSON, URLs and base64 write it (there also behind something else), becomes as many asterisks. Pure. A
 * server that writes it in another way (in reverse, say) is not stopped by this.
 */
#ifndef PROXY_MASK_H
#define PROXY_MASK_H

#include <stddef.h>

#include "base/buf.h"

#define MASK_FORMS 6

struct mask {
    char *forms[MASK_FORMS];
    size_t n, longest;
    struct buf held; /* what may be the beginning of a secret */
};

void mask_init(struct mask *m, const char *value);
void mask_release(struct mask *m);
/* In place, of a text that is whole. */
void mask_text(const struct mask *m, char *text, size_t len);
/* A piece of a longer text; out gets what can be told so far. */
void mask_feed(struct mask *m, const char *piece, size_t len, struct buf *out);
void mask_end(struct mask *m, struct buf *out); /* what was held back */

#endif
