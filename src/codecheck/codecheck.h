/* codecheck.h - what shows that the Python code of a small model is most likely wrong, without running it.
 * Pure; code is untrusted, and need not be Python.
 */
#ifndef CODECHECK_CODECHECK_H
#define CODECHECK_CODECHECK_H

#include <stddef.h>

#include "base/buf.h"

/* How many numbers of the question its code makes no use of; they are named in out. */
size_t numbers_left_out(const char *question, const char *code, struct buf *out);
/* The first line with a condition such as "a or b and c", as "(a or b) and c", which the caller frees; NULL:
 * there is none. */
char *line_with_brackets(const char *code);

#endif
