/* event_json.h - events as JSON objects, as docs/events.schema.json has them: what --json prints a line of,
 * and what a server streams. Writes nothing itself; not every event has an object.
 */
#ifndef CHAT_EVENT_JSON_H
#define CHAT_EVENT_JSON_H

#include "conversation/event.h"

struct event_json; /* keeps the unfinished characters of a cell's output, and how much there was of it */
struct json;

/* Takes the object over. Anything but 0 is handed back by event_json(). */
typedef int event_json_fn(void *ctx, struct json *object);

struct event_json *event_json_new(event_json_fn *fn, void *ctx);
void event_json_free(struct event_json *j);
int event_json(struct event_json *j, const struct event *e);

/* Parts of "done" that others have too. The caller frees the objects. */
const char *event_json_status(enum question_status s);
struct json *event_json_usage(const struct event *done);
struct json *event_json_computed(const struct computation *c);

#endif
