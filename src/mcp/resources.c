/* resources.c - the files of a sandbox as resources. */
#include <string.h>

#include "base/base64.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "mcp/mcp_private.h"

#define READ_MAX (12u << 20) /* bytes of a file in a message */

static void not_found(const struct mcp_request *q, const char *uri, const char *why)
{
    struct json *data = json_object();

    json_set_str(data, "uri", uri);
    mcp_fail(q, q->revision->modern ? MCP_INVALID_PARAMS : MCP_NO_RESOURCE_OLD, data,
             "Resource not found%s%s", why ? ": " : "", why ? why : "");
}

static void show_list(const struct mcp_answer *a)
{
    struct json *r, *list;

    if (a->err) {
        mcp_fail(a->request, MCP_INTERNAL, NULL, "%s", a->err->text);
        return;
    }
    r = json_object();
    list = json_array();
    for (const struct json *f = json_first(json_get(a->result, "files")); f; f = json_next(f)) {
        const char *name = json_text(json_get(f, "name"));
        autofree char *uri = mcp_uri(a->sandbox, name);
        struct json *one = json_object();

        json_set_str(one, "uri", uri);
        json_set_str(one, "name", name);
        json_set_int(one, "size", json_int(json_get(f, "size"), 0));
        json_add(list, one);
    }
    json_set(r, "resources", list);
    mcp_result(a->request, r);
}

/* Of the sandbox that this client has without a handle. One that was never asked anything has no files worth
 * starting it for. */
void mcp_resources_list(const struct mcp_request *q)
{
    const struct mcp_host *host = &q->link->mcp->host;
    const char *conversation = q->link->session ? q->link->session->conversation : NULL;

    if (conversation && host->has(host->ctx, conversation)) {
        mcp_ask(q, NULL, "list_files", NULL, "", show_list);
    } else {
        const struct mcp_answer none = {.request = q};
        show_list(&none);
    }
}

static struct json *contents(const struct mcp_answer *a, const struct buf *bytes)
{
    struct json *c = json_object();
    bool text = utf8_valid(buf_str(bytes), bytes->len) && !memchr(buf_str(bytes), 0, bytes->len);

    json_set_str(c, "uri", a->about);
    mcp_set_type(c, json_get(a->result, "type"));
    if (text) {
        json_set(c, "text", json_string_n(buf_str(bytes), bytes->len));
    } else {
        struct buf code autorelease(buf_release) = BUF_INIT(0);

        base64_add(&code, (const unsigned char *)bytes->data, bytes->len);
        json_set_str(c, "blob", buf_str(&code));
    }
    return c;
}

static void show_contents(const struct mcp_answer *a)
{
    struct buf bytes autorelease(buf_release) = BUF_INIT(READ_MAX);
    struct json *r, *list;

    if (!a->result) {
        not_found(a->request, a->about, a->err->text);
        return;
    }
    if (file_read(json_text(json_get(a->result, "path")), READ_MAX, &bytes, NULL) < 0) {
        mcp_fail(a->request, MCP_INVALID_PARAMS, NULL, "The file is longer than %u MiB", READ_MAX >> 20);
        return;
    }
    r = json_object();
    list = json_array();
    json_add(list, contents(a, &bytes));
    json_set(r, "contents", list);
    mcp_result(a->request, r);
}

void mcp_resources_read(const struct mcp_request *q)
{
    const char *uri = json_str(json_get(q->params, "uri"));
    char sandbox[MCP_ID + 1];
    autofree char *name = NULL;

    if (!uri) {
        mcp_fail(q, MCP_INVALID_PARAMS, NULL, "uri must be a string");
    } else if (!mcp_uri_parse(uri, sandbox, &name)) {
        not_found(q, uri, NULL);
    } else {
        struct json *arguments autojson = json_object();

        json_set_str(arguments, "name", name);
        mcp_ask(q, sandbox, "get_file", arguments, uri, show_contents);
    }
}

void mcp_templates_list(const struct mcp_request *q)
{
    struct json *r = json_object(), *list = json_array(), *t = json_object();

    json_set_str(t, "uriTemplate", "sandpiper://{sandbox}/{+name}");
    json_set_str(t, "name", "file");
    json_set_str(t, "title", "A file of a sandbox");
    json_set_str(t, "description", "A file below /mnt/data, by the handle of its sandbox and its name");
    json_add(list, t);
    json_set(r, "resourceTemplates", list);
    mcp_result(q, r);
}
