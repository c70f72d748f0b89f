/* pieces.h - cuts a long answer into messages of a chat service. Pure. A piece ends at a paragraph, a line or
 * a blank where it can. A fence that is open at its end is closed there, and opened again in the next piece.
 */
#ifndef BOT_PIECES_H
#define BOT_PIECES_H

#include <stddef.h>

struct argv;

/* max: characters of a piece as UTF-16 counts them, at least 64. Appends to out; nothing of a blank text. */
void pieces_cut(const char *text, size_t max, struct argv *out);
/* The length in bytes of the longest beginning of at most max such characters, whole characters only. */
size_t pieces_fit(const char *text, size_t max);

#endif
