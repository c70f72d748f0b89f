/* runner_request.c - makes and frees one request to a runner. */
#include "front/runner_request.h"

#include <stdlib.h>

#include "base/file.h"
#include "base/mem.h"
#include "json/json.h"

struct pending *request_new(uint64_t number, const char *operation, const struct json *arguments, bool events)
{
    struct pending *a = xcalloc(1, sizeof *a);

    a->number = number;
    a->fd = -1;
    a->line = (struct spill)SPILL_INIT(0);
    autojson struct json *message = json_object_of(
        {"id", json_integer((int64_t)number)}, {"op", json_string(operation)},
        {"arguments", json_borrowed(arguments)}, {"events", events ? json_boolean(true) : NULL});
    struct buf text autorelease(buf_release) = BUF_INIT(0);
    json_line(message, &text);
    spill_keep(&a->line, buf_str(&text), text.len);
    return a;
}

void request_free(struct pending *a)
{
    spill_release(&a->line);
    fd_close(&a->fd);
    free(a);
}
