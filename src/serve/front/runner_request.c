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
    a->line = (struct buf)BUF_INIT(0);
    autojson struct json *message = json_object_of(
        {"id", json_integer((int64_t)number)}, {"op", json_string(operation)},
        {"arguments", arguments ? json_copy(arguments) : json_object()},
        {"events", events ? json_boolean(true) : NULL});
    json_line(message, &a->line);
    return a;
}

void request_free(struct pending *a)
{
    buf_release(&a->line);
    fd_close(&a->fd);
    free(a);
}
