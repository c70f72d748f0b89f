/* message.h - when Enter ends a message, and what was meant by it. Pure text. Blocks are set off by three
 * double quotes, with text on their lines or on lines of its own; the first may stand at the end of a line of
 * text.
 */
#ifndef TERM_MESSAGE_H
#define TERM_MESSAGE_H

#include <stdbool.h>

struct buf;

/* Is more to come after what was typed so far: does it end in a backslash, or in an open block? */
bool message_ends_in_backslash(const char *text);
bool message_is_open(const char *text);
/* Append the message without the quotes of a block. True: it was one, so it is a question, whatever its first
 * word is. */
bool message_take(const char *text, struct buf *out);

#endif
