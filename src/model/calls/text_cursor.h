/* text_cursor.h - matches one form against text, byte by byte. Part of text_calls.c, which knows where a form
 * may begin and what to do with a match. */
#ifndef CALLS_TEXT_CURSOR_H
#define CALLS_TEXT_CURSOR_H

#include <stddef.h>

#include "calls/text_calls.h"

#define TEXT_EOF (-1)

enum text_fit { TEXT_DEAD, TEXT_ON, TEXT_DONE };

/* Takes b, the byte at k->at, for cursor i; TEXT_EOF comes after the last byte. A complete match is put into
 * k->best. Where a part may repeat, another cursor is appended. */
enum text_fit text_cursor_step(struct text_calls *k, size_t i, int b);
/* Adjusts c after the first by bytes of held were removed. */
void text_cursor_shift(struct text_cursor *c, size_t by);

/* text_say.c: the calls of a form that matched, added to out; and a part of what is held, which the caller
 * frees. */
void text_say(const struct text_calls *k, const struct text_cursor *c, struct calls *out);
char *text_slice(const struct text_calls *k, struct text_slice s);

#endif
