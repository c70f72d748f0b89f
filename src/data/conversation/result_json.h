/* result_json.h - a question as one JSON object when it is closed: the answer, the files that were made, what
 * it cost. Collects events; writes nothing itself.
 */
#ifndef CHAT_RESULT_JSON_H
#define CHAT_RESULT_JSON_H

#include "conversation/event.h"

struct json;
struct result;

struct result *result_new(void);
void result_free(struct result *r);
/* The id of the task that is asked next, for its result; NULL: it has none. */
void result_task(struct result *r, const struct json *id);
/* The line, if e closes a question or says why none could be asked; else NULL. The caller frees it. */
struct json *result_event(struct result *r, const struct event *e);

#endif
