/* mcp_reply.c - sends what goes back to a client: results, errors, notifications. */
#include <stdarg.h>
#include <string.h>

#include "base/mem.h"
#include "mcp/mcp_private.h"

/* Returns the HTTP status for an error. Revisions with initialize send errors with a 200, except for a
 * message that could not be read. */
static int status_of(const struct mcp_request *q, enum mcp_code code)
{
    if (code == MCP_PARSE_ERROR || code == MCP_INVALID_REQUEST)
        return 400;
    if (!q->revision || !q->revision->modern)
        return 200;
    return code == MCP_METHOD_NOT_FOUND ? 404 : code == MCP_INTERNAL ? 200 : 400;
}

/* Returns what the client is to send again, so that it comes back to its conversation; or NULL. */
static const char *new_conversation(const struct mcp_link *l)
{
    return l->session || l->brought ? NULL : l->self;
}

static void send_message(struct mcp_link *l, struct json *message, const struct mcp_delivery *delivery)
{
    autofree char *text = json_print(message);

    json_free(message);
    l->o.send(l->o.ctx, text, strlen(text), delivery);
}

static struct json *message_new(const struct json *id)
{
    return json_object_of({"jsonrpc", json_string("2.0")}, {"id", json_copy(id)});
}

struct json *mcp_server_info(void)
{
    return json_object_of({"name", json_string("sandpiper")}, {"version", json_string(VERSION)});
}

void mcp_result(const struct mcp_request *q, struct json *result)
{
    const struct mcp_delivery delivery = {.status = 200,
                                          .last = true,
                                          .session = q->session_begun,
                                          .conversation = new_conversation(q->link),
                                          .made = q->made};
    struct json *m = message_new(q->id);

    if (q->revision->modern) {
        json_set_str(result, "resultType", "complete");
        if (q->method->scope)
            json_set_all(result, {"ttlMs", json_integer(q->method->ttl_ms)},
                         {"cacheScope", json_string(q->method->scope)});
        json_set(result, "_meta", json_object_of({"io.modelcontextprotocol/serverInfo", mcp_server_info()}));
    }
    json_set(m, "result", result);
    send_message(q->link, m, &delivery);
}

void mcp_fail(const struct mcp_request *q, enum mcp_code code, struct json *data, const char *fmt, ...)
{
    const struct mcp_delivery delivery = {.status = status_of(q, code), .last = true};
    struct json *m = message_new(q->id);
    va_list ap;

    va_start(ap, fmt);
    autofree char *text = xvasprintf(fmt, ap);
    va_end(ap);
    json_set(m, "error",
             json_object_of({"code", json_integer(code)}, {"message", json_string(text)}, {"data", data}));
    send_message(q->link, m, &delivery);
}

void mcp_nothing(struct mcp_link *l, int status)
{
    const struct mcp_delivery delivery = {.status = status, .last = true};

    l->o.send(l->o.ctx, NULL, 0, &delivery);
}

void mcp_notify(struct mcp_link *l, const char *method, struct json *params)
{
    const struct mcp_delivery delivery = {.status = 200, .conversation = new_conversation(l)};

    send_message(
        l,
        json_object_of({"jsonrpc", json_string("2.0")}, {"method", json_string(method)}, {"params", params}),
        &delivery);
}
