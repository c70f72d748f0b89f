/* python_call.h - calls written as Python: [tool(code="..."), ...], tool("..."), print(tool(...)). Only
 * literals are read, as Python reads them: strings of every kind but bytes and f-strings, numbers, True,
 * False, None. Nothing is evaluated.
 */
#ifndef CALLS_PYTHON_CALL_H
#define CALLS_PYTHON_CALL_H

#include <stdbool.h>
#include <stddef.h>

#include "calls/calls.h"

#define PYTHON_HEAD_MAX 160 /* undecided beyond that, it is none */

/* The beginning of such a text: 1 it calls a known tool, 0 it does not, -1 more is needed. list: it begins
 * with a bracket. */
int python_call_head(const struct llm_toolset *tools, const char *s, size_t n, bool list);
/* The whole of it. The number of calls added to c; 0: it is something else, c is untouched. */
int python_call_read(struct calls *c, const char *s, size_t n);

#endif
