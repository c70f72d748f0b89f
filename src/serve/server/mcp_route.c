/* mcp_route.c - POST /mcp: the Model Context Protocol over HTTP. A message is answered with JSON, or, where
 * there is something to tell on the way, with a stream of events that ends with the answer.
 */
#include <string.h>

#include "base/mem.h"
#include "mcp/mcp.h"
#include "mcp/mcp_runners.h"
#include "server/private.h"

#define COOKIE "sandpiper-conversation"

struct mcp_post { /* one POST */
    struct http_request *q;
    struct mcp_headers headers; /* of the request */
    struct mcp_link *link;
    bool takes_events, streams;
};

static void post_end(struct mcp_post *x)
{
    mcp_close(x->link);
    free(x);
}

/* The client has left, so what runs for it is interrupted. */
static void on_post_gone(void *ctx)
{
    post_end(ctx);
}

static void send_post_event(struct mcp_post *x, const char *text, size_t len)
{
    if (!x->streams)
        stream_begin(x->q, 200, "text/event-stream");
    x->streams = true;
    stream_send(x->q, "data: ", 6);
    stream_send(x->q, text, len);
    stream_send(x->q, "\n\n", 2);
}

/* Most HTTP clients keep cookies by themselves, so a client that never heard of handles comes back to its
 * variables. The cookie alone opens nothing: the token does. */
static void hand_out(struct http_request *q, const struct mcp_delivery *delivery)
{
    if (delivery->session)
        answer_header(q, "Mcp-Session-Id", delivery->session);
    if (delivery->conversation) {
        autofree char *cookie = xasprintf(COOKIE "=%s; HttpOnly; SameSite=Strict", delivery->conversation);
        answer_header(q, "Set-Cookie", cookie);
    }
}

static void on_send(void *ctx, const char *text, size_t len, const struct mcp_delivery *delivery)
{
    struct mcp_post *x = ctx;
    struct http_request *q = x->q;

    if (!delivery->last && !x->takes_events)
        return;
    if (!x->streams)
        hand_out(q, delivery);
    struct lease *made = delivery->made ? runners_find(http_request_runners(q), http_request_client(q),
                                                       delivery->made, NULL)
                                        : NULL;
    if (made)
        http_request_made(q, made);
    if (text && (x->streams || !delivery->last))
        send_post_event(x, text, len);
    if (!delivery->last)
        return;
    if (x->streams)
        stream_end(q);
    else if (text)
        answer_text(q, delivery->status, "application/json", text, len);
    else
        answer_json(q, delivery->status, NULL);
    post_end(x);
}

static void post(struct http_request *q)
{
    const char *accept = http_request_header(q, "Accept");
    struct mcp_post *x = xcalloc(1, sizeof *x);
    size_t len;
    const char *text = http_request_text(q, &len);

    x->q = q;
    x->takes_events = accept && strstr(accept, "text/event-stream");
    x->headers = (struct mcp_headers){
        .version = http_request_header(q, "MCP-Protocol-Version"),
        .method = http_request_header(q, "Mcp-Method"),
        .name = http_request_header(q, "Mcp-Name"),
        .sandbox = http_request_header(q, "Mcp-Param-Sandbox"),
        .session = http_request_header(q, "Mcp-Session-Id"),
        .conversation = http_request_cookie(q, COOKIE),
        .named = http_request_header(q, "Sandpiper-Conversation"),
    };
    const struct mcp_link_options o = {
        .client = http_request_client(q), .headers = &x->headers, .send = on_send, .ctx = x};
    x->link = mcp_open(http_request_server(q)->mcp, &o);
    http_request_later(q, on_post_gone, x);
    mcp_receive(x->link, text, len);
}

/* A client of a revision with initialize has ended its session, and so its sandbox. */
static void end_session(struct http_request *q)
{
    const char *session = http_request_header(q, "Mcp-Session-Id");

    if (session && mcp_end_session(http_request_server(q)->mcp, http_request_client(q), session))
        answer_json(q, 204, NULL);
    else
        answer_error(q, 404, NULL, "there is no such session");
}

static const struct route rows[] = {
    {"POST", "/mcp", "mcp", "A message of the Model Context Protocol", .handle = post,
     .flags = ROUTE_RAW | ROUTE_HIDDEN, .body_max = MCP_MESSAGE_MAX},
    {"DELETE", "/mcp", "mcp_end", "End a session of the Model Context Protocol", .handle = end_session,
     .flags = ROUTE_HIDDEN},
};

void mcp_routes(struct server *s)
{
    const struct mcp_host host = mcp_runners_host(s->o.runners);
    const struct mcp_options o = {
        .host = &host, .separate = true, .packages = s->o.packages, .languages = s->o.languages};

    s->mcp = mcp_new(&o);
    server_routes(s, rows, countof(rows));
}
