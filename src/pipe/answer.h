/* answer.h - where events go: the answer to stdout, all else to stderr; or everything as JSON to stdout.
 * Inside src/pipe. */
#ifndef PIPE_ANSWER_H
#define PIPE_ANSWER_H

#include <stdbool.h>

#include "chat/event.h"

struct answer;
struct loop;
struct show;

struct answer *answer_new(struct show *show, bool json, struct loop *loop);
void answer_free(struct answer *a);
void answer_event(struct answer *a, const struct event *e);

/* Exit code of a failed write on stdout: 141 when the reader went away, 1 otherwise, 0 while all is well. */
int answer_broken(const struct answer *a);
/* a part of it was not given: interrupted while the reader stalled */
bool answer_lost(const struct answer *a);
/* Notice a reader that goes away at once, not only at the next write. */
void answer_watch(struct answer *a);
void answer_unwatch(struct answer *a);

#endif
