/* links.h - replaces the paths of uploaded files by their URLs in text that streams. Text that may still
 * become a path is held back. A path that goes on behind the file's name is another file's. The result does
 * not depend on how the text was cut into pieces.
 */
#ifndef UPLOAD_LINKS_H
#define UPLOAD_LINKS_H

#include <stddef.h>

#include "base/buf.h"

#define LINKS_MAX 200 /* files. The paths of any further ones stay. */

struct links {
    struct {
        char *path, *url; /* path: /mnt/data/NAME */
    } v[LINKS_MAX];
    size_t n;
    struct buf held;
};

void links_release(struct links *l);
/* name is that in the sandbox. A name that is known already gets the new URL. */
void links_add(struct links *l, const char *name, const char *url);
void links_feed(struct links *l, const char *text, size_t len, struct buf *out);
void links_end(struct links *l, struct buf *out); /* no more text comes */

#endif
