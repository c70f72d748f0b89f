/* mcp.c - takes a message: checks its form, finds its revision, compares the headers with it, and passes it
 * to the method that it names.
 *
 * RULE: An MCP client's bytes never crash us, over stdio or HTTP. Headers agree with the body, and a call
 *     ends with its client.
 */
#include "mcp/mcp.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/random.h"
#include "mcp/mcp_private.h"

#define META      "io.modelcontextprotocol/"
#define WHOLE_MAX 1e19 /* of an id that is a number */

struct mcp *mcp_new(const struct mcp_options *o)
{
    struct mcp *m = xcalloc(1, sizeof *m);

    m->host = *o->host;
    m->separate = o->separate;
    m->packages = o->packages;
    m->languages = o->languages;
    return m;
}

void mcp_free(struct mcp *m)
{
    if (!m)
        return;
    mcp_sessions_release(m);
    owned_release(&m->calls);
    free(m);
}

/* Our ids are 32 hex digits; anything else that a client sends cannot be one. */
static bool is_id(const char *text)
{
    return text && strlen(text) == MCP_ID && strspn(text, "0123456789abcdef") == MCP_ID;
}

static void open_post(struct mcp_link *l, const struct mcp_headers *h)
{
    l->session = h->session ? mcp_session_find(l->mcp, l->o.client, h->session) : NULL;
    l->brought = is_id(h->conversation);
    if (l->brought)
        memcpy(l->self, h->conversation, sizeof l->self);
    else
        random_hex(l->self, MCP_ID);
}

struct mcp_link *mcp_open(struct mcp *m, const struct mcp_link_options *o)
{
    struct mcp_link *l = xcalloc(1, sizeof *l);

    l->mcp = m;
    l->o = *o;
    if (o->headers) {
        open_post(l, o->headers);
    } else {
        l->own.conversation = xstrdup(o->conversation);
        l->own.level = MCP_SILENT;
        l->session = &l->own;
    }
    return l;
}

void mcp_close(struct mcp_link *l)
{
    if (!l)
        return;
    mcp_calls_drop(l);
    free(l->own.conversation);
    free(l);
}

/* Returns the revision of a request. What the request itself says takes precedence, then the header, then
 * what was agreed when the client began. NULL: it names a revision that we do not have. */
static const struct mcp_revision *revision_of(const struct mcp_link *l, const struct mcp_method *method,
                                              const struct json *said)
{
    const char *header = l->o.headers ? l->o.headers->version : NULL;
    const struct mcp_revision *r = header ? mcp_revision_find(header) : NULL;

    if (said)
        return mcp_revision_find(json_str(said));
    if ((r && r->modern) || (method && !method->handshake))
        return &mcp_revisions[0];
    if (header && !r)
        return NULL;
    if (l->session && l->session->revision)
        return l->session->revision;
    return r ? r : mcp_revision_handshake();
}

static void unsupported(const struct mcp_request *q, const char *asked)
{
    struct json *data = json_object_of({"supported", mcp_revision_names()},
                                       {"requested", json_string(asked)});

    mcp_fail(q, MCP_UNSUPPORTED_VERSION, data, "Unsupported protocol version");
}

/* Checks what a request of revision 2026-07-28 must carry. False: it was refused. */
static bool envelope(struct mcp_request *q, const char *method)
{
    const struct json *meta = json_get(q->params, "_meta"), *said = json_get(meta, META "protocolVersion");
    const char *level = json_str(json_get(meta, META "logLevel"));

    if (!json_str(said) || json_type(json_get(meta, META "clientCapabilities")) != JSON_OBJECT) {
        mcp_fail(q, MCP_INVALID_PARAMS, NULL,
                 "params._meta must have " META "protocolVersion (a string) and " META
                 "clientCapabilities (an object)");
        return false;
    }
    const char *header = mcp_header_wrong(q, method, json_str(said));
    if (header) {
        mcp_fail(q, MCP_HEADER_MISMATCH, NULL, "The header %s is missing or differs from the message",
                 header);
        return false;
    }
    q->level = level && mcp_level_of(level) >= 0 ? mcp_level_of(level) : MCP_SILENT;
    return true;
}

/* An id is a string or a whole number that no call under way has. */
static bool good_id(struct mcp_request *q, const struct json *id)
{
    double number = json_double(id, 0.5);
    bool whole = json_type(id) == JSON_NUMBER && fabs(number) < WHOLE_MAX && number == floor(number);

    q->id = whole || json_type(id) == JSON_STRING ? id : NULL;
    if (q->id && !mcp_in_use(q->link, id))
        return true;
    mcp_fail(q, MCP_INVALID_REQUEST, NULL,
             q->id ? "A request with this id is still in progress" : "id must be a string or a whole number");
    return false;
}

static void serve_method(struct mcp_request *q, const char *method)
{
    const struct json *said = json_get(json_get(q->params, "_meta"), META "protocolVersion");
    const struct mcp_headers *h = q->link->o.headers;

    q->method = mcp_method_find(method);
    q->revision = revision_of(q->link, q->method, said);
    if (!q->revision || q->revision->modern) {
        const struct mcp_revision *known = q->revision;

        q->revision = &mcp_revisions[0]; /* errors have the form of the newest revision */
        if ((said || known) && !envelope(q, method))
            return;
        if (!known) {
            unsupported(q, said ? json_text(said) : h->version);
            return;
        }
    } else if (h && h->session && !q->link->session) {
        mcp_nothing(q->link, 404); /* the client begins again with initialize */
        return;
    }
    if (!q->method || !(q->revision->modern ? q->method->modern : q->method->handshake))
        mcp_fail(q, MCP_METHOD_NOT_FOUND, NULL, "Method not found: %.100s", method);
    else
        q->method->serve(q);
}

static void take_notification(struct mcp_link *l, const char *method, const struct json *params)
{
    if (!strcmp(method, "notifications/cancelled"))
        mcp_cancel(l, json_get(params, "requestId"));
    mcp_nothing(l, 202);
}

static void take_message(struct mcp_link *l, const struct json *message)
{
    struct mcp_request q = {.link = l, .level = MCP_SILENT};
    const struct json *id = json_get(message, "id"), *params = json_get(message, "params");
    const char *method = json_str(json_get(message, "method")),
               *version = json_str(json_get(message, "jsonrpc"));

    if (json_type(message) == JSON_ARRAY)
        mcp_fail(&q, MCP_INVALID_REQUEST, NULL, "Batches are not supported: send one message at a time");
    else if (json_type(message) != JSON_OBJECT || !version || strcmp(version, "2.0") != 0)
        mcp_fail(&q, MCP_INVALID_REQUEST, NULL, "Not a JSON-RPC 2.0 message");
    else if (!method && !json_get(message, "method")
             && (json_get(message, "result") || json_get(message, "error")))
        mcp_nothing(l, 202); /* an answer, though we ask nothing */
    else if (!method)
        mcp_fail(&q, MCP_INVALID_REQUEST, NULL, "method must be a string");
    else if (params && json_type(params) != JSON_OBJECT)
        mcp_fail(&q, MCP_INVALID_REQUEST, NULL, "params must be an object");
    else if (!id)
        take_notification(l, method, params);
    else if (good_id(&q, id)) {
        q.params = params;
        serve_method(&q, method);
    }
}

void mcp_receive(struct mcp_link *l, const char *text, size_t len)
{
    struct mcp_request q = {.link = l};
    struct error err = {0};

    if (len > MCP_MESSAGE_MAX) {
        mcp_receive_too_long(l);
        return;
    }
    autojson struct json *message = json_parse(text, len, JSON_FEW, NULL, &err);
    if (message)
        take_message(l, message);
    else
        mcp_fail(&q, err.kind == ERROR_LIMIT ? MCP_INVALID_REQUEST : MCP_PARSE_ERROR, NULL, "%s", err.text);
}

void mcp_receive_too_long(struct mcp_link *l)
{
    const struct mcp_request q = {.link = l};

    mcp_fail(&q, MCP_INVALID_REQUEST, NULL, "The message is longer than %u MiB", MCP_MESSAGE_MAX >> 20);
}
