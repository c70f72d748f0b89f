/* highlight.h - which bytes of code are keywords, strings and comments. Good enough for colour, not a
 * parser.
 */
#ifndef MARKDOWN_HIGHLIGHT_H
#define MARKDOWN_HIGHLIGHT_H

#include <stddef.h>

struct language;

enum code_class { CODE_PLAIN, CODE_KEYWORD, CODE_STRING, CODE_COMMENT };

/* Code that comes line by line: the string that goes on from one to the next. */
struct highlight {
    const struct language *language; /* NULL: all is plain */
    char quote;                      /* of the string of three quotes that is open; 0: none */
};

/* The next line, or several. */
void highlight_line(struct highlight *h, const char *code, size_t len, unsigned char *out);

/* One class for each byte of code into out (len bytes). Safe for any bytes. language NULL: all is plain. */
void highlight(const struct language *language, const char *code, size_t len, unsigned char *out);

#endif
