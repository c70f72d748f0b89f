/* prompt_file.h - reads the definitions of agents and their texts. The compiled-in prompts/python.yaml comes
 * first, and the file of the same name in the configuration folder replaces single keys of it. Another
 * agent's file, prompts/NAME.yaml, replaces keys of that in the same way. prompts/pipelines.yaml says which
 * agents are asked one after another.
 */
#ifndef CONFIG_PROMPT_FILE_H
#define CONFIG_PROMPT_FILE_H

#include "conversation/prompts.h"

struct error;
struct ydoc;

#define AGENT_PYTHON "python" /* the one that is asked where no pipeline is named */

/* agent is the name of its file. p owns its strings: call prompts_release(), also after a failure. */
int prompts_load(struct prompts *p, const char *agent, struct error *err);

#define PIPELINE_MAX 8
struct pipeline {
    struct prompts v[PIPELINE_MAX]; /* in the order in which they are asked */
    size_t n;
};
/* name NULL: AGENT_PYTHON alone. Call pipeline_release(), also after a failure. */
int pipeline_load(struct pipeline *p, const char *name, struct error *err);
void pipeline_release(struct pipeline *p);
/* Call each with the packages that an agent of the pipeline wants, until one returns -1. */
int pipeline_packages(const char *name,
                      int (*each)(void *ctx, const char *agent, const char *with, struct error *err),
                      void *ctx, struct error *err);
/* Replace texts of p by those of one file. Only the first file names tools; a later one may describe them
 * anew. Frees root; NULL means that ydoc_parse() has failed and set err. */
int prompts_apply(struct prompts *p, struct ydoc *root, struct error *err);

#endif
