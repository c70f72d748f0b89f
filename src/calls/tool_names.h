/* tool_names.h - the names that models give to a tool, and which tool they mean (WIRE 5.8). */
#ifndef CALLS_TOOL_NAMES_H
#define CALLS_TOOL_NAMES_H

/* A name that services accept back in the history: letters, digits, _ and -, at most 64. The caller frees. */
char *name_for_history(const char *name);

#endif
