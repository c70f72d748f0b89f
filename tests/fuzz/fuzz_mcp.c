/* fuzz_mcp.c - what a client of MCP sends, in pieces: every message that goes back is one line of JSON-RPC, a
 * request gets one answer at most, and nothing is left when the client has gone. The first byte is the
 * transport: stdio, or a POST with headers. The host answers a call at once, later, or never.
 */
#include "tests/fuzz/fuzz.h"

#include "base/buf.h"
#include "base/error.h"
#include "json/json.h"
#include "front/lease_call.h"
#include "mcp/mcp.h"
#include "mcp/mcp_lines.h"
#include "front/runner.h"

#define CALLS 8

struct fuzz {
    struct runner_listener calls[CALLS];
    size_t n;
    bool open[CALLS];
    struct mcp_link *link;
    size_t messages, answers;
};

static int on_ask(void *ctx, const struct mcp_invocation *q, struct lease_call *c, struct error *err)
{
    struct fuzz *f = ctx;

    check(q->operation != NULL && q->listener->done != NULL);
    if (f->n == CALLS)
        return error_set(err, ERROR_BUSY, 0, "enough");
    memcpy(c->sandbox, "0123456789abcdef0123456789abcdef", MCP_ID + 1);
    f->open[f->n] = true;
    f->calls[f->n++] = *q->listener;
    c->number = f->n;
    return 0;
}

static void on_leave(void *ctx, struct lease_call *c)
{
    struct fuzz *f = ctx;

    check(strlen(c->sandbox) == MCP_ID && c->number >= 1 && c->number <= f->n && f->open[c->number - 1]);
    f->open[c->number - 1] = false;
}

static bool on_has(void *ctx, const char *client, const char *conversation)
{
    (void)ctx;
    return client[0] != 0 && conversation[0] != 0;
}

static void on_end(void *ctx, const char *client, const char *conversation)
{
    (void)ctx;
    check(client[0] != 0 && conversation[0] != 0);
}

static void on_send(void *ctx, const char *text, size_t len, const struct mcp_delivery *delivery)
{
    struct fuzz *f = ctx;
    struct json *m;

    check(delivery->status >= 200 && delivery->status < 500);
    if (text == NULL) {
        check(delivery->last);
        return;
    }
    check(strlen(text) == len && memchr(text, '\n', len) == NULL);
    m = json_parse(text, len, JSON_LONG, NULL, NULL);
    check(m != NULL && strcmp(json_text(json_get(m, "jsonrpc")), "2.0") == 0);
    if (delivery->last) {
        check((json_get(m, "result") != NULL) != (json_get(m, "error") != NULL));
        check(json_get(m, "id") != NULL);
        f->answers++;
    } else {
        check(json_get(m, "id") == NULL && json_str(json_get(m, "method")) != NULL);
    }
    json_free(m);
}

static void on_line(void *ctx, const char *text, size_t len)
{
    struct fuzz *f = ctx;

    f->messages++;
    if (text != NULL)
        mcp_receive(f->link, text, len);
    else
        mcp_receive_too_long(f->link);
    check(f->answers <= f->messages);
}

/* What the sandbox says: something on the way, and for every other call its end. */
static void answer(struct fuzz *f)
{
    static const char result[] = "{\"status\":\"ok\",\"output\":\"1\\n\",\"stdout\":\"1\\n\",\"stderr\":\"\","
                                 "\"value\":null,\"error\":null,\"exit_code\":0,"
                                 "\"files\":[{\"name\":\"a\",\"size\":1,\"type\":\"text/"
                                 "plain\",\"kind\":\"file\",\"path\":\"/none\"}],\"data\":null}";
    struct json *r = json_parse(result, sizeof result - 1, 0, NULL, NULL), *event = json_object();
    const struct error err = {.kind = ERROR_SANDBOX, .text = "no sandbox"};

    json_set_str(event, "event", "output");
    json_set_str(event, "text", "tick");
    for (size_t i = 0; i < f->n; i++) {
        if (f->open[i] && f->calls[i].event != NULL)
            f->calls[i].event(f->calls[i].ctx, event);
        if (f->open[i] && i % 3 != 2) {
            f->open[i] = false;
            f->calls[i].done(f->calls[i].ctx, i % 3 ? r : NULL, i % 3 ? NULL : &err);
        }
    }
    json_free(r);
    json_free(event);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct mcp_headers posts[] = {
        {.version = "2026-07-28", .method = "tools/call", .name = "execute_python"},
        {.version = "2026-07-28", .method = "tools/list"},
        {.version = "2025-11-25"},
        {.session = "x", .conversation = "0123456789abcdef0123456789abcdef"},
    };
    struct fuzz f = {.n = 0};
    const struct mcp_host host = {&f, on_ask, on_leave, on_has, on_end};
    const struct mcp_options o = {.host = &host, .separate = size > 0 && (data[0] & 8)};
    const struct mcp_link_options l = {.client = "a",
                                       .headers = size > 0 && (data[0] & 4) ? &posts[data[0] & 3] : NULL,
                                       .conversation = "mcp",
                                       .send = on_send,
                                       .ctx = &f};
    uint32_t seed = (uint32_t)size;
    struct mcp_lines lines;
    struct mcp *m;

    if (size == 0)
        return 0;
    m = mcp_new(&o);
    f.link = mcp_open(m, &l);
    mcp_lines_init(&lines, on_line, &f);
    for (size_t at = 1; at < size;) {
        size_t n = fuzz_piece(&seed, size - at);
        char *piece = fuzz_exact(data + at, n);

        mcp_lines_feed(&lines, piece, n);
        if (seed & 64)
            answer(&f);
        free(piece);
        at += n;
    }
    mcp_lines_end(&lines);
    answer(&f);
    check(f.answers <= f.messages);
    mcp_close(f.link);
    for (size_t i = 0; i < f.n; i++)
        check(!f.open[i]);
    mcp_free(m);
    mcp_lines_release(&lines);
    return 0;
}
