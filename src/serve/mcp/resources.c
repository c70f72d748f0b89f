/* resources.c - shows the files of a sandbox as resources. */
#include <string.h>

#include "base/base64.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "mcp/mcp_private.h"

#define READ_MAX (12u << 20) /* bytes of the file in one message */

static void not_found(const struct mcp_request *q, const char *uri, const char *why)
{
    mcp_fail(q, q->revision->modern ? MCP_INVALID_PARAMS : MCP_NO_RESOURCE_OLD,
             json_object_of({"uri", json_string(uri)}), "Resource not found%s%s", why ? ": " : "",
             why ? why : "");
}

static void show_resources(const struct mcp_answer *a)
{
    if (a->err) {
        mcp_fail(a->request, MCP_INTERNAL, NULL, "%s", a->err->text);
        return;
    }
    struct json *list = json_array();
    for (const struct json *f = json_first(json_get(a->result, "files")); f; f = json_next(f)) {
        const char *name = json_text(json_get(f, "name"));
        autofree char *uri = mcp_uri(a->sandbox, name);

        json_add(list, json_object_of({"uri", json_string(uri)}, {"name", json_string(name)},
                                      {"size", json_integer(json_int(json_get(f, "size"), 0))}));
    }
    mcp_result(a->request, json_object_of({"resources", list}));
}

/* Lists the files of the sandbox that this client has without a handle. A sandbox is not started for it,
 * because a new one has no files. */
void mcp_resources_list(const struct mcp_request *q)
{
    const struct mcp_host *host = &q->link->mcp->host;
    bool named;
    autofree char *conversation = mcp_conversation_of(q, &named);

    if (named && host->has(host->ctx, q->link->o.client, conversation)) {
        mcp_ask(q, NULL, "list_files", NULL, "", show_resources);
    } else {
        const struct mcp_answer none = {.request = q};
        show_resources(&none);
    }
}

static struct json *contents(const struct mcp_answer *a, const struct buf *bytes)
{
    struct buf code autorelease(buf_release) = BUF_INIT(0);
    bool text = mcp_is_text(bytes);

    if (!text)
        base64_add(&code, (const unsigned char *)bytes->data, bytes->len);
    return json_object_of({"uri", json_string(a->about)}, {"mimeType", mcp_type(json_get(a->result, "type"))},
                          {text ? "text" : "blob",
                           text ? json_string_n(buf_str(bytes), bytes->len) : json_string(buf_str(&code))});
}

static void show_contents(const struct mcp_answer *a)
{
    struct buf bytes autorelease(buf_release) = BUF_INIT(READ_MAX);

    if (!a->result) {
        not_found(a->request, a->about, a->err->text);
        return;
    }
    if (file_read(json_text(json_get(a->result, "path")), READ_MAX, &bytes, NULL) < 0) {
        mcp_fail(a->request, MCP_INVALID_PARAMS, NULL, "The file is larger than %u MiB", READ_MAX >> 20);
        return;
    }
    mcp_result(a->request, json_object_of({"contents", json_array_of(contents(a, &bytes))}));
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
        autojson struct json *arguments = json_object_of({"name", json_string(name)});

        mcp_ask(q, sandbox, "get_file", arguments, uri, show_contents);
    }
}

void mcp_templates_list(const struct mcp_request *q)
{
    struct json *t = json_object_of(
        {"uriTemplate", json_string("sandpiper://{sandbox}/{+name}")}, {"name", json_string("file")},
        {"title", json_string("A file of a sandbox")},
        {"description", json_string("A file below /mnt/data, by the handle of its sandbox and its name")});

    mcp_result(q, json_object_of({"resourceTemplates", json_array_of(t)}));
}
