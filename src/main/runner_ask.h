/* runner_ask.h - the operation "ask" of a runner: a question to the model, whose code runs in the runner's
 * sandbox. The model and the agent are made with the first question, so a runner that is never asked one is
 * small..
 */
#ifndef MAIN_RUNNER_ASK_H
#define MAIN_RUNNER_ASK_H

#include "runner/runner_child.h"

struct config;
struct runner_ask;

/* session: the id of the runner's session; both are borrowed. */
struct runner_ask *runner_ask_new(struct config *c, const char *session);
void runner_ask_free(struct runner_ask *q); /* before the sandbox goes */

/* A struct runner_extra's function, with the struct runner_ask as its context. A question that fails is a
 * result, with its status; an error is that no model can be asked: none is configured, or its key is
 * missing. */
runner_operation runner_ask;

#endif
