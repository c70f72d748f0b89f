/* text_cursor.h - fit one form to text, byte by byte. Part of text_calls.c, which knows where a form may
 * begin and what comes of it. */
#ifndef CALLS_TEXT_CURSOR_H
#define CALLS_TEXT_CURSOR_H

#include <stddef.h>

#include "calls/text_calls.h"

#define TEXT_EOF (-1)

enum text_fit { TEXT_DEAD, TEXT_ON, TEXT_DONE };

/* The byte at k->at for cursor i, or TEXT_EOF behind the last. What fits as a whole is put into k->best;
 * where a part may repeat, another cursor is added behind the last. */
enum text_fit text_cursor_step(struct text_calls *k, size_t i, int b);
/* so many bytes at the front of held are gone */
void text_cursor_shift(struct text_cursor *c, size_t by);

#endif
