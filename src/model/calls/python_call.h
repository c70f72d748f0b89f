/* python_call.h - reads calls written as Python: [tool(code="..."), ...], tool("..."), print(tool(...)). It
 * reads only literals, as Python reads them: strings of every kind but bytes and f-strings, numbers, True,
 * False, None. Nothing is evaluated.
 */
#ifndef CALLS_PYTHON_CALL_H
#define CALLS_PYTHON_CALL_H

#include <stdbool.h>
#include <stddef.h>

#include "calls/calls.h"

#define PYTHON_HEAD_MAX 160 /* bytes; a text that is still undecided beyond these is not a call */

/* Looks at the beginning of a text: 1 it calls a known tool, 0 it does not, -1 more is needed. list: the text
 * begins with a bracket. */
int python_call_head(const struct llm_toolset *tools, const char *s, size_t n, bool list);
/* Reads the whole text. Returns how many calls it added to c; 0: it is something else, and c is unchanged. */
int python_call_read(struct calls *c, const char *s, size_t n);

#endif
