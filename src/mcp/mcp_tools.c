/* mcp_tools.c - the tools: the operations of a sandbox (runner/operations.json) under the names that models
 * know, each with an optional handle of a sandbox. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "mcp/mcp_private.h"

enum { READS = 1, DESTROYS = 2, REPEATS = 4 }; /* what a client may tell its user of a call */

struct mcp_tool {
    const char *name, *operation;
    int hints;
    const char *hidden; /* an argument that a model has no use for */
    const char *needs;  /* one that is required here, where no file can be handed over */
};

static const struct mcp_tool tools[] = {
    {"execute_python", "run_code", 0, .hidden = "language"},
    {"execute_command", "execute_command", .hints = 0},
    {"put_file", "put_file", DESTROYS | REPEATS, .needs = "content"},
    {"get_file", "get_file", .hints = READS | REPEATS},
    {"list_files", "list_files", .hints = READS | REPEATS},
    {"reset_sandbox", "reset", .hints = DESTROYS | REPEATS},
};

static struct json *sandbox_schema(const struct mcp_request *q)
{
    struct json *s = json_object();

    json_set_str(s, "type", "string");
    json_set_str(s, "description",
                 q->link->mcp->separate
                     ? "The sandbox that an earlier result named, to go on with its variables and files. "
                       "Left out: that of your earlier calls if the server can recognise your client, else a "
                       "new, empty one. \"new\": a separate one"
                     : "The handle of a sandbox, from an earlier result. Left out: the usual one; "
                       "\"new\": a separate one");
    if (q->link->o.headers && q->revision->modern)
        json_set_str(s, "x-mcp-header", "Sandbox"); /* so that a proxy can tell them apart */
    return s;
}

static struct json *input_schema(const struct mcp_request *q, const struct mcp_tool *t,
                                 const struct operation *o)
{
    struct json *schema = json_copy(o->arguments), *properties = json_object(), *required = json_array();

    for (const struct json *p = json_first(json_get(schema, "properties")); p; p = json_next(p))
        if (!t->hidden || strcmp(json_key(p), t->hidden) != 0)
            json_set(properties, json_key(p), json_copy(p));
    json_set(properties, "sandbox", sandbox_schema(q));
    for (const struct json *r = json_first(json_get(schema, "required")); r; r = json_next(r))
        json_add(required, json_copy(r));
    if (t->needs)
        json_add(required, json_string(t->needs));
    json_set(schema, "properties", properties);
    json_set(schema, "required", required);
    return schema;
}

/* Over HTTP the model has to send the handle, so the description of every tool says so. */
static char *description(const struct mcp *m, const struct operation *o)
{
    return xasprintf("%s%s", o->description,
                     m->separate ? " To keep variables and files, pass the \"sandbox\" of an earlier result."
                                 : "");
}

static struct json *annotations(const struct mcp_tool *t, const struct operation *o)
{
    struct json *a = json_object();

    json_set_str(a, "title", o->title);
    json_set_bool(a, "readOnlyHint", t->hints & READS);
    json_set_bool(a, "destructiveHint", t->hints & DESTROYS);
    json_set_bool(a, "idempotentHint", t->hints & REPEATS);
    json_set_bool(a, "openWorldHint", false); /* there is no network inside */
    return a;
}

void mcp_tools_list(const struct mcp_request *q)
{
    struct json *result = json_object(), *list = json_array();

    for (size_t i = 0; i < countof(tools); i++) {
        const struct operation *o = operation_find(tools[i].operation);
        autofree char *told = description(q->link->mcp, o);
        struct json *t = json_object();

        json_set_str(t, "name", tools[i].name);
        json_set_str(t, "title", o->title);
        json_set_str(t, "description", told);
        json_set(t, "inputSchema", input_schema(q, &tools[i], o));
        json_set(t, "outputSchema", mcp_result_schema(o));
        json_set(t, "annotations", annotations(&tools[i], o));
        json_add(list, t);
    }
    json_set(result, "tools", list);
    mcp_result(q, result);
}

static const struct mcp_tool *tool_find(const char *name)
{
    for (size_t i = 0; name && i < countof(tools); i++)
        if (strcmp(tools[i].name, name) == 0)
            return &tools[i];
    return NULL;
}

/* The arguments without the handle, which is checked here. NULL with err. */
static struct json *arguments_of(const struct mcp_tool *t, const struct json *given, const char **sandbox,
                                 struct error *err)
{
    const struct json *handle = json_get(given, "sandbox");
    struct json *a = json_object();

    *sandbox = json_str(handle);
    for (const struct json *p = json_first(given); p; p = json_next(p))
        if (p != handle)
            json_set(a, json_key(p), json_copy(p));
    if (handle && !*sandbox && json_type(handle) != JSON_NULL)
        error_set(err, ERROR_USAGE, 0, "sandbox: must be a string");
    else if (t->needs && !json_get(given, t->needs))
        error_set(err, ERROR_USAGE, 0, "%s: is missing", t->needs);
    else if (operation_check(operation_find(t->operation), a, err) == 0)
        return a;
    json_free(a);
    return NULL;
}

/* A mistake in the arguments is told to the model, which can mend it; a tool that there is not is the
 * client's mistake. */
void mcp_tools_call(const struct mcp_request *q)
{
    const char *name = json_str(json_get(q->params, "name")), *sandbox;
    const struct json *given = json_get(q->params, "arguments");
    const struct mcp_tool *t = tool_find(name);
    struct error err = {0};

    if (!t || (given && json_type(given) != JSON_OBJECT && json_type(given) != JSON_NULL)) {
        if (t)
            mcp_fail(q, MCP_INVALID_PARAMS, NULL, "arguments must be an object");
        else if (name)
            mcp_fail(q, MCP_INVALID_PARAMS, NULL, "Unknown tool: %.100s", name);
        else
            mcp_fail(q, MCP_INVALID_PARAMS, NULL, "name must be a string");
        return;
    }
    struct json *arguments autojson = arguments_of(t, given, &sandbox, &err);
    if (arguments)
        mcp_ask(q, sandbox, t->operation, arguments, t->operation, mcp_show_result);
    else
        mcp_tool_error(q, err.text);
}
