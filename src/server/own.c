/* own.c - what the server says of itself: health, figures, documents. */
#include "json/json.h"
#include "base/mem.h"
#include "server/private.h"

static void health(struct visit *q)
{
    struct json *out = json_object();

    json_set_str(out, "status", q->s->draining ? "draining" : "ok");
    json_set_str(out, "name", "sandpiper");
    json_set_str(out, "version", VERSION);
    answer_json(q, 200, out);
}

static const struct route rows[] = {
    {"GET", "/", "health", "Is the server up?", .handle = health, .flags = ROUTE_PUBLIC},
};

void own_routes(struct server *s)
{
    server_routes(s, rows, countof(rows));
}
