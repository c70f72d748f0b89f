/* prompts.h - the agent's definition and texts: prompts/python.yaml compiled in, the file of the same name in
 * the configuration folder over it, key by key. main maps it to the agent's own struct.
 */
#ifndef CONFIG_PROMPTS_H
#define CONFIG_PROMPTS_H

#include <stddef.h>

struct error;
struct ydoc;

/* strings are owned; after prompts_load only model and reasoning_effort may be NULL */
struct prompt_texts {
    char *role;
    char *model; /* the model it asks for when nobody names one; "any" in the file is NULL here */
    char *reasoning_effort;
    char *tools; /* their names, separated by blanks */
    char *system_native, *system_blocks, *examples_table, *examples_json, *nudge;
    char *blocks_ok, *blocks_failed, *blocks_malformed, *blocks_interrupted, *blocks_no_more;
    char *tool_description, *tool_code;
    char *empty, *no_more_code, *same_code, *same_output;
};

int prompts_load(struct prompt_texts *p, struct error *err);
/* root is freed; NULL: ydoc_parse has failed and set err. */
int prompts_apply(struct prompt_texts *p, struct ydoc *root, struct error *err);
void prompts_release(struct prompt_texts *p);

#endif
