/* highlight.h - which bytes of code are keywords, strings and comments. Good enough for colour, not a
 * parser.
 */
#ifndef SHOW_HIGHLIGHT_H
#define SHOW_HIGHLIGHT_H

#include <stddef.h>

struct language;

enum code_class { CODE_PLAIN, CODE_KEYWORD, CODE_STRING, CODE_COMMENT };

/* One class for each byte of code into out (len bytes). Safe for any bytes. language NULL: all is plain. */
void highlight(const struct language *language, const char *code, size_t len, unsigned char *out);

#endif
