/* python.h - which bytes of Python code are keywords, strings and comments. Good enough for colour, not a
 * parser. */
#ifndef SHOW_PYTHON_H
#define SHOW_PYTHON_H

#include <stddef.h>

enum python_class { PYTHON_PLAIN, PYTHON_KEYWORD, PYTHON_STRING, PYTHON_COMMENT };

/* One class for each byte of code into out (len bytes). Safe for any bytes. */
void python_classify(const char *code, size_t len, unsigned char *out);

#endif
