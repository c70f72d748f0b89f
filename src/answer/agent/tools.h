/* tools.h - what a tool is. Each tool is a row of the table in tools.c: its name, the schema of its arguments
 * and the function that runs it. The list "tools" in prompts/python.yaml says which of them the model is
 * offered and describes each. The loop knows none of them.
 */
#ifndef AGENT_TOOLS_H
#define AGENT_TOOLS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "agent/images.h"
#include "conversation/conversation.h"

struct agent;
struct error;
struct json;
struct language;
struct prompts;

/* One call while it is carried out. */
struct tool_use {
    const struct call *call;
    size_t index;        /* of the call in its reply, from 0 */
    const char *problem; /* what the reader found wrong with the call, or NULL */
    const struct tool *tool;
    const struct json *args; /* an object */
    /* what the model is told, also for failures */
    enum result_kind kind;
    struct buf text;
    const char *shown;        /* what the user sees of a failure in place of text; NULL: text */
    struct image_list images; /* that a model that sees is shown with it */
};

struct tool {
    const char *name;       /* [A-Za-z0-9_-]{1,64} */
    const char *parameters; /* JSON schema of the arguments, as text */
    const char *code_key;   /* the argument that holds code, and its language; or NULL */
    const struct language *language;
    const char *shown_key; /* where there is no code: the argument that the user sees; NULL: all of them */
    bool host;             /* it looks at this machine: never beside a tool that takes code */
    bool installs;         /* offered only where packages can be had */
    /* 0: kind and text are filled in. -1: the question cannot go on (no sandbox, or interrupted before it
     * ran). Code sends its events as it runs, by cell_run(); those of all other tools are tool_call()'s. */
    int (*run)(struct agent *a, struct tool_use *use, struct error *err);
};

extern const struct tool agent_tools[];
extern const size_t agent_n_tools;

/* Can an agent have the tools that its definition names? -1: ERROR_USAGE. */
int tools_check(const struct prompts *p, struct error *err);

#endif
