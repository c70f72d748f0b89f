/* tool_names.h - finds out which tool is meant by a name that a model wrote. */
#ifndef CALLS_TOOL_NAMES_H
#define CALLS_TOOL_NAMES_H

#include "calls/tool.h"

/* Returns the tool that a written name means, or NULL. */
const struct llm_tool *tool_names_find(const struct llm_toolset *tools, const char *name);
/* Makes a name that services accept in the history: letters, digits, _ and -, at most 64. The caller frees
 * it. */
char *tool_names_for_history(const char *name);

#endif
