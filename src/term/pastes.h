/* pastes.h - long pastes of one line: a short mark stands for each while the line is edited, and the text
 * comes back when it is sent. */
#ifndef TERM_PASTES_H
#define TERM_PASTES_H

#include <stddef.h>

struct buf;

struct pastes {
    struct paste {
        char *mark, *text;
    } * v;
    size_t n;
};

/* What to put into the line for this paste: itself, or a mark when it is long. The caller frees. */
char *pastes_add(struct pastes *p, const char *text, size_t len);
void pastes_expand(const struct pastes *p, const char *line, struct buf *out);
void pastes_release(struct pastes *p);

#endif
