/* rounds.h - ask the model, run its code, append, ask again, until there is an answer or a reason why not. */
#ifndef AGENT_ROUNDS_H
#define AGENT_ROUNDS_H

#include "chat/event.h"

struct agent;
struct error;
struct question;

/* The question's user turn is the last of the conversation. q->answer is set when there is one. err is filled
 * for every status but ANSWERED (for CODE_FAILED it tells what failed). The conversation may end in open
 * calls or results. */
enum question_status loop_run(struct agent *a, struct question *q, struct error *err);

#endif
