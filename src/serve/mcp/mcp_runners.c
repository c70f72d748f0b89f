/* mcp_runners.c - the callbacks of struct mcp_host, on the sandboxes of front/runners.h. */
#include "mcp/mcp_runners.h"

#include <string.h>

#include "base/error.h"
#include "front/lease_call.h"

_Static_assert(MCP_ID == RUNNERS_ID, "a handle is the id of a sandbox");

/* The call gets its sandbox, which may be a new one that it has to wait for. -1 with err. */
static int call_sandbox(struct runners *rs, const struct mcp_invocation *q, struct lease_call *c,
                        struct error *err)
{
    const struct queue_want w = {.client = q->client, .conversation = q->sandbox ? NULL : q->conversation};
    enum runners_absent why;

    if (!q->sandbox || c->made)
        return lease_call_make(c, rs, &w, err);
    struct lease *h = runners_find(rs, q->client, q->sandbox, &why);
    if (!h)
        return error_set(err, ERROR_USAGE, 0, "%s\nLeave \"sandbox\" out, or pass \"new\" for a new one.",
                         why == RUNNERS_UNKNOWN ? "There is no sandbox with that handle."
                         : why == RUNNERS_GAVE_WAY
                             ? "That sandbox gave way to another one, for all were in use; its "
                               "variables and files are gone."
                             : "That sandbox has ended; its variables and files are gone.");
    lease_call_begin(c, rs, q->client, h);
    return 0;
}

static int runners_ask(void *ctx, const struct mcp_invocation *q, struct lease_call *c, struct error *err)
{
    c->made = q->sandbox && !strcmp(q->sandbox, "new");
    c->spare = !q->sandbox && !q->named;
    return call_sandbox(ctx, q, c, err) < 0 ? -1
                                            : lease_call_ask(c, q->operation, q->arguments, q->listener, err);
}

static void leave(void *ctx, struct lease_call *c)
{
    (void)ctx;
    lease_call_leave(c);
}

static bool has(void *ctx, const char *client, const char *conversation)
{
    return runners_find_conversation(ctx, client, conversation) != NULL;
}

static void runners_end_conversation(void *ctx, const char *client, const char *conversation)
{
    struct lease *h = runners_find_conversation(ctx, client, conversation);

    if (h)
        runners_stop(ctx, h);
}

struct mcp_host mcp_runners_host(struct runners *runners)
{
    return (struct mcp_host){
        .ctx = runners, .ask = runners_ask, .leave = leave, .has = has, .end = runners_end_conversation};
}
