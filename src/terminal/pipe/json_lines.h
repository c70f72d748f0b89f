/* json_lines.h - writes events as JSON, one object per line. Private to pipe. */
#ifndef PIPE_JSON_LINES_H
#define PIPE_JSON_LINES_H

#include <stdbool.h>

#include "conversation/event.h"

struct json;
struct json_lines;
struct loop;

/* ascii: everything above U+007E is escaped (stdout is a terminal, and the text is not scrubbed).
 * results: one line for each question, when it is closed (result_json.h), instead of its events. */
struct json_lines *json_lines_new(int fd, bool ascii, bool results, struct loop *loop);
void json_lines_free(struct json_lines *j);
/* The id of the task that is asked next; only for results. */
void json_lines_task(struct json_lines *j, const struct json *id);
/* -1 with errno when the write failed */
int json_lines_event(struct json_lines *j, const struct event *e);

#endif
