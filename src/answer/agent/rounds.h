/* rounds.h - ask the model, run its code, append the result, ask again, until there is an answer or a reason
 * why there is none. */
#ifndef AGENT_ROUNDS_H
#define AGENT_ROUNDS_H

#include "conversation/event.h"

struct agent;
struct error;
struct question;

/* The status that an error ends the question with; err is made clearer. */
int question_failed(const struct agent *a, struct error *err);
/* The question's user turn must be the last of the conversation. Sets q->answer when there is one. err is set
 * for every status but ANSWERED (for CODE_FAILED it says what failed). The conversation may end in open calls
 * or results. */
enum question_status rounds_run(struct agent *a, struct question *q, struct error *err);

#endif
