/* answer.h - writes events: the answer to stdout and everything else to stderr, or everything as JSON lines
 * to stdout. Private to pipe. */
#ifndef PIPE_ANSWER_H
#define PIPE_ANSWER_H

#include <stdbool.h>

#include "conversation/event.h"

struct answer;
struct json;
struct loop;
struct pipe_options;
struct show;

struct answer *answer_new(struct show *show, const struct pipe_options *o, struct loop *loop);
void answer_free(struct answer *a);
/* The id of the task that is asked next, or NULL. */
void answer_task(struct answer *a, const struct json *id);
void answer_event(struct answer *a, const struct event *e);

/* Exit code of a failed write on stdout: 141 when the reader went away, 1 otherwise, 0 while all is well. */
int answer_broken(const struct answer *a);
/* Part of the answer was not written: interrupted while the reader did not read. */
bool answer_lost(const struct answer *a);
/* Watch stdout, so that a reader that goes away is noticed at once, not only at the next write. */
void answer_watch(struct answer *a);
void answer_unwatch(struct answer *a);

#endif
