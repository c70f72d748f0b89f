/* prompt_file.h - an agent's definition and texts as they are read: prompts/python.yaml compiled in, the file
 * of the same name in the configuration folder over it, key by key. Another agent's file, prompts/NAME.yaml,
 * goes over that in the same way. prompts/pipelines.yaml says which agents are asked one after another.
 */
#ifndef CONFIG_PROMPT_FILE_H
#define CONFIG_PROMPT_FILE_H

#include "chat/prompts.h"

struct error;
struct ydoc;

#define AGENT_PYTHON "python" /* the one that is asked where no pipeline is named */

/* p owns its strings: prompts_release(), also after a failure. agent: the name of its file. */
int prompts_load(struct prompts *p, const char *agent, struct error *err);

#define PIPELINE_MAX 8
struct pipeline {
    struct prompts v[PIPELINE_MAX]; /* in the order in which they are asked */
    size_t n;
};
/* name NULL: the one agent. pipeline_release() also after a failure. */
int pipeline_load(struct pipeline *p, const char *name, struct error *err);
void pipeline_release(struct pipeline *p);
/* Put the texts of one file over those of p. Only the first file names tools; a later one may describe them
 * anew. root is freed; NULL: ydoc_parse has failed and set err. */
int prompts_apply(struct prompts *p, struct ydoc *root, struct error *err);

#endif
