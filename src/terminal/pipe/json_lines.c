/* json_lines.c - writes one line for each event, and flushes it. */
#include "pipe/json_lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "conversation/event_json.h"
#include "conversation/result_json.h"
#include "json/json.h"
#include "process/out.h"

struct json_lines {
    int fd;
    bool ascii;
    struct event_json *events;
    struct result *result; /* one line a question instead of its events; or NULL */
    struct loop *loop;
};

static int line_write(void *ctx, struct json *o)
{
    struct json_lines *j = ctx;
    autofree char *text = json_print(o);
    struct buf out autorelease(buf_release) = BUF_INIT(0);

    json_free(o);
    if (j->ascii)
        json_ascii(text, strlen(text), &out);
    else
        buf_addstr(&out, text);
    buf_addch(&out, '\n');
    return out_write(j->fd, out.data, out.len, j->loop);
}

struct json_lines *json_lines_new(int fd, bool ascii, bool results, struct loop *loop)
{
    struct json_lines *j = xmalloc(sizeof *j);

    *j = (struct json_lines){.fd = fd,
                             .ascii = ascii,
                             .events = event_json_new(line_write, j),
                             .result = results ? result_new() : NULL,
                             .loop = loop};
    return j;
}

void json_lines_free(struct json_lines *j)
{
    if (!j)
        return;
    event_json_free(j->events);
    result_free(j->result);
    free(j);
}

void json_lines_task(struct json_lines *j, const struct json *id)
{
    if (j->result)
        result_task(j->result, id);
}

int json_lines_event(struct json_lines *j, const struct event *e)
{
    if (!j->result)
        return event_json(j->events, e);
    struct json *line = result_event(j->result, e);
    return line ? line_write(j, line) : 0;
}
