/* small_model.h - how a model is treated whose output is its answer (output_answers in models.yaml), as that
 * of the embedded one is: a small model that writes right code and then puts the result wrongly into words.
 * No other file of the agent asks which kind of model it has; for any other model these do nothing, or say
 * so. Private to agent.
 */
#ifndef AGENT_SMALL_MODEL_H
#define AGENT_SMALL_MODEL_H

#include <stdbool.h>

struct agent;
struct llm_reply;
struct prompts;
struct question;

/* Puts its system prompt in the place of that for blocks. */
void small_model_texts(const struct agent *a, struct prompts *t);
/* The examples that it is shown before it writes code about data; NULL: none. */
const char *small_model_examples(const struct agent *a, const struct prompts *t);
/* Is it told that the lines that read an attached file have run? They then do, in front of its code
 * (facts.c). Other models must see that these lines are theirs to write. */
bool small_model_reads_files(const struct agent *a);
/* What computes its answers again, in the words of the command line or of the chat; NULL: it is none. */
const char *small_model_again(const struct agent *a);
/* Is it asked for no summary of old turns, unless the user wants one? */
bool small_model_keeps_turns(const struct agent *a);
/* Code that prints nothing and ends by giving a name a value: with that name after it, so that the value is
 * its output. Any other code as it is. The caller frees. */
char *small_model_code(const struct agent *a, const char *code);
/* What to say of output that cannot be an answer, since nothing was found; NULL: nothing. */
const char *small_model_objection(const struct agent *a, const char *output);
/* What the only code of this round printed, if it can stand as the answer: it is one short line and there is
 * nothing else to report. A table, a whole object, a new file or a lost variable is left to the model to
 * describe. NULL: it cannot. The caller frees. */
char *small_model_answer(const struct agent *a, const struct question *qn, const struct llm_reply *r);

#endif
