/* tool.h - a tool as it is described to a model, and the set of tools that one request offers. */
#ifndef CALLS_TOOL_H
#define CALLS_TOOL_H

#include <stddef.h>

struct llm_tool {     /* strings are borrowed */
    const char *name; /* [A-Za-z0-9_-]{1,64} */
    const char *description;
    const char *parameters; /* a JSON schema as text */
    /* The argument that holds code ("code"), or NULL. Bare code and single strings are taken for this
     * argument. */
    const char *code_key;
};

struct llm_toolset { /* borrowed */
    const struct llm_tool *v;
    size_t n;
};

#endif
