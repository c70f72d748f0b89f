/* runner_ask.h - the operation "ask" of a runner: a question to the model, whose code runs in the runner's
 * sandbox. The model and the agent are made with the first question, so a runner that is never asked one is
 * small.
 *
 * Its arguments: input, system, model, effort, files, stream; of a client that keeps the conversation also
 * turn (where it stands), history and earlier_files (chat_request.h); and what a program wants of the answer:
 * form (a schema), tools (its own), must_call, one_call, and results of the calls with which the last answer
 * ended. The result says these calls in the member calls.
 */
#ifndef CHILD_RUNNER_ASK_H
#define CHILD_RUNNER_ASK_H

#include "child/runner_child.h"

struct config;
struct asker;

/* session: the id of the runner's session; both are borrowed. */
struct asker *asker_new(struct config *c, const char *session);
void asker_free(struct asker *q); /* before the sandbox goes */

/* A struct runner_extra's function, with the struct asker as its context. A question that fails is a
 * result, with its status; an error is that no model can be asked: none is configured, or its key is
 * missing. */
runner_operation asker_run;

#endif
