/* prompt_file.h - the agent's definition and texts as they are read: prompts/python.yaml compiled in, the
 * file of the same name in the configuration folder over it, key by key.
 */
#ifndef CONFIG_PROMPT_FILE_H
#define CONFIG_PROMPT_FILE_H

#include "chat/prompts.h"

struct error;
struct ydoc;

/* p owns its strings: prompts_release(). */
int prompts_load(struct prompts *p, struct error *err);
/* Put the texts of one file over those of p. Only the first file names tools; a later one may describe them
 * anew. root is freed; NULL: ydoc_parse has failed and set err. */
int prompts_apply(struct prompts *p, struct ydoc *root, struct error *err);

#endif
