/* json_lines.h - writes events as JSON, one object per line. Private to src/pipe. */
#ifndef PIPE_JSON_LINES_H
#define PIPE_JSON_LINES_H

#include <stdbool.h>

#include "chat/event.h"

struct json_lines;
struct loop;

/* ascii: everything above U+007E is escaped (stdout is a terminal, and the text is not scrubbed). */
struct json_lines *json_lines_new(int fd, bool ascii, struct loop *loop);
void json_lines_free(struct json_lines *j);
/* -1 with errno when the write failed */
int json_lines_event(struct json_lines *j, const struct event *e);

#endif
