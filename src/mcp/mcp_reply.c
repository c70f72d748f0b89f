/* mcp_reply.c - what goes back: results, errors, notifications. */
#include <stdarg.h>
#include <string.h>

#include "base/mem.h"
#include "mcp/mcp_private.h"

/* What an error is in HTTP, for a client that began without initialize. Those before had their errors in a
 * 200, but for messages that could not be read. */
static int status_of(const struct mcp_request *q, enum mcp_code code)
{
    if (code == MCP_PARSE_ERROR || code == MCP_INVALID_REQUEST)
        return 400;
    if (!q->revision || !q->revision->modern)
        return 200;
    return code == MCP_METHOD_NOT_FOUND ? 404 : code == MCP_INTERNAL ? 200 : 400;
}

/* What is to be handed out with what is sent: mcp_fate.conversation. */
static const char *hand_out(const struct mcp_link *l)
{
    return l->session || l->brought ? NULL : l->self;
}

static void send_message(struct mcp_link *l, struct json *message, const struct mcp_fate *fate)
{
    autofree char *text = json_print(message);

    json_free(message);
    l->o.send(l->o.ctx, text, strlen(text), fate);
}

static struct json *message_new(const struct json *id)
{
    struct json *m = json_object();

    json_set_str(m, "jsonrpc", "2.0");
    json_set(m, "id", id ? json_copy(id) : json_null());
    return m;
}

static void set_server(struct json *result)
{
    struct json *meta = json_object(), *server = json_object();

    json_set_str(server, "name", "sandpiper");
    json_set_str(server, "version", VERSION);
    json_set(meta, "io.modelcontextprotocol/serverInfo", server);
    json_set(result, "_meta", meta);
}

void mcp_result(const struct mcp_request *q, struct json *result)
{
    const struct mcp_fate fate = {
        .status = 200, .last = true, .session = q->handed_out, .conversation = hand_out(q->link)};
    struct json *m = message_new(q->id);

    if (q->revision->modern) {
        json_set_str(result, "resultType", "complete");
        if (q->method->scope) {
            json_set_int(result, "ttlMs", q->method->ttl_ms);
            json_set_str(result, "cacheScope", q->method->scope);
        }
        set_server(result);
    }
    json_set(m, "result", result);
    send_message(q->link, m, &fate);
}

void mcp_fail(const struct mcp_request *q, enum mcp_code code, struct json *data, const char *fmt, ...)
{
    const struct mcp_fate fate = {.status = status_of(q, code), .last = true};
    struct json *m = message_new(q->id), *error = json_object();
    va_list ap;

    va_start(ap, fmt);
    autofree char *text = xvasprintf(fmt, ap);
    va_end(ap);
    json_set_int(error, "code", code);
    json_set_str(error, "message", text);
    if (data)
        json_set(error, "data", data);
    json_set(m, "error", error);
    send_message(q->link, m, &fate);
}

void mcp_nothing(struct mcp_link *l, int status)
{
    const struct mcp_fate fate = {.status = status, .last = true};

    l->o.send(l->o.ctx, NULL, 0, &fate);
}

void mcp_notify(struct mcp_link *l, const char *method, struct json *params)
{
    const struct mcp_fate fate = {.status = 200, .conversation = hand_out(l)};
    struct json *m = json_object();

    json_set_str(m, "jsonrpc", "2.0");
    json_set_str(m, "method", method);
    json_set(m, "params", params);
    send_message(l, m, &fate);
}
