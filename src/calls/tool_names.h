/* tool_names.h - the names that models give to a tool, and which tool they mean (WIRE 5.8). */
#ifndef CALLS_TOOL_NAMES_H
#define CALLS_TOOL_NAMES_H

#include "calls/tool.h"

/* The tool that a written name means, or NULL. */
const struct llm_tool *tool_names_find(const struct llm_toolset *tools, const char *name);
/* A name that services accept back in the history: letters, digits, _ and -, at most 64. The caller frees. */
char *tool_names_for_history(const char *name);

#endif
