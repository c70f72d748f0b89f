/* pastes.h - long pastes. While a line is edited a short mark stands for each of them; the text replaces it
 * when the line is sent. A mark may come back into a later line, since the editor yanks what was deleted. */
#ifndef TERM_PASTES_H
#define TERM_PASTES_H

#include <stddef.h>

struct buf;

struct pastes {
    struct paste {
        char *mark, *text;
    } * v;
    size_t n, made; /* made: how many there ever were; they are numbered */
};

/* What to insert into the line for this paste: the text itself, or a mark if it is long. The caller frees. */
char *pastes_add(struct pastes *p, const char *text, size_t len);
/* The length of the mark that ends at line + at; 0: none does. Backspace takes it as one character, since the
 * rest of a mark would stand for nothing. */
size_t pastes_mark_before(const struct pastes *p, const char *line, size_t at);
void pastes_expand(const struct pastes *p, const char *line, struct buf *out);
/* The line is sent or gone: forget the oldest of many. */
void pastes_trim(struct pastes *p);
void pastes_release(struct pastes *p);

#endif
