/* mcp_tools.c - the tools: the operations of a sandbox (operations.json) under the names that models
 * know, each with an optional handle of a sandbox. */
#include <string.h>
#include <strings.h>

#include "base/argv.h"
#include "base/error.h"
#include "base/mem.h"
#include "mcp/mcp_private.h"

/* What a client may tell its user of a call: it only reads, it may destroy, it may be repeated. */
enum { READS = 1, DESTROYS = 2, REPEATS = 4 };

struct mcp_tool {
    const char *name, *operation;
    int hints;
    const char *extra; /* the argument for other languages, shown if the user named some; or NULL */
    const char *needs; /* one that is required here, because no file can be passed; or NULL */
    bool packages;     /* only where some are allowed, which the description names */
};

static const struct mcp_tool tools[] = {
    {"execute_python", "run_code", 0, .extra = "language"},
    {"execute_command", "execute_command", .hints = 0},
    {"put_file", "put_file", DESTROYS | REPEATS, .needs = "content"},
    {"get_file", "get_file", .hints = READS | REPEATS},
    {"list_files", "list_files", .hints = READS | REPEATS},
    {"reset_sandbox", "reset", .hints = DESTROYS | REPEATS},
    {"fork_sandbox", "fork", .hints = 0},
    {"add_packages", "add_packages", .hints = REPEATS, .packages = true},
};

static bool has_tool(const struct mcp *m, const struct mcp_tool *t)
{
    return !t->packages || (m->packages && m->packages->n);
}

static struct json *sandbox_schema(const struct mcp_request *q)
{
    const char *told =
        q->link->mcp->separate
            ? "The sandbox that an earlier result named, to go on with its variables and files. "
              "If omitted: that of your earlier calls if the server can recognise your client, else a "
              "new, empty one. \"new\": a separate one"
            : "The handle of a sandbox, from an earlier result. If omitted: the usual one; "
              "\"new\": a separate one";
    bool in_header = q->link->o.headers && q->revision->modern; /* so that a proxy sees it */

    return json_object_of({"type", json_string("string")}, {"description", json_string(told)},
                          {"x-mcp-header", in_header ? json_string("Sandbox") : NULL});
}

/* Did the user name it, as in "sh,js"? */
static bool mcp_language_named(const struct argv *names, const char *language)
{
    size_t n = strlen(language);

    for (size_t i = 0; names && i < names->n; i++)
        for (const char *p = names->v[i]; *p; p += strcspn(p, ",") + (strchr(p, ',') != NULL))
            if (strcspn(p, ",") == n && !strncasecmp(p, language, n))
                return true;
    return false;
}

/* The argument with those of its values that the user named, beside the usual one. NULL: there are none. */
static struct json *mcp_languages_shown(const struct argv *names, const struct json *argument)
{
    autojson struct json *values = json_array();
    unsigned named = 0;

    for (const struct json *v = json_first(json_get(argument, "enum")); v; v = json_next(v)) {
        bool wanted = mcp_language_named(names, json_str(v));

        named += wanted;
        if (wanted || json_same(v, json_get(argument, "default")))
            json_add(values, json_copy(v));
    }
    return named ? json_set_all(json_copy(argument), {"enum", steal(&values)}) : NULL;
}

static struct json *input_schema(const struct mcp_request *q, const struct mcp_tool *t,
                                 const struct operation *o)
{
    struct json *schema = json_copy(o->arguments), *properties = json_object(), *required = json_array();

    for (const struct json *p = json_first(json_get(schema, "properties")); p; p = json_next(p))
        json_set_all(properties, {json_key(p), t->extra && !strcmp(json_key(p), t->extra)
                                                   ? mcp_languages_shown(q->link->mcp->languages, p)
                                                   : json_copy(p)});
    json_set(properties, "sandbox", sandbox_schema(q));
    for (const struct json *r = json_first(json_get(schema, "required")); r; r = json_next(r))
        json_add(required, json_copy(r));
    if (t->needs)
        json_add(required, json_string(t->needs));
    return json_set_all(schema, {"properties", properties}, {"required", required});
}

/* Over HTTP the model has to send the handle, so the description of every tool says so. */
static char *description(const struct mcp *m, const struct mcp_tool *t, const struct operation *o)
{
    struct buf names autorelease(buf_release) = BUF_INIT(4096);

    for (size_t i = 0; t->packages && i < m->packages->n; i++)
        buf_addf(&names, "%s%s", i ? ", " : " They are: ", m->packages->v[i]);
    return xasprintf("%s%s%s", o->description, buf_str(&names),
                     m->separate ? " To keep variables and files, pass the \"sandbox\" of an earlier result."
                                 : "");
}

static struct json *annotations(const struct mcp_tool *t, const struct operation *o)
{
    return json_object_of({"title", json_string(o->title)}, {"readOnlyHint", json_boolean(t->hints & READS)},
                          {"destructiveHint", json_boolean(t->hints & DESTROYS)},
                          {"idempotentHint", json_boolean(t->hints & REPEATS)},
                          {"openWorldHint", json_boolean(false)} /* there is no network inside */);
}

void mcp_tools_list(const struct mcp_request *q)
{
    struct json *list = json_array();

    for (size_t i = 0; i < countof(tools); i++) {
        const struct operation *o = operation_find(tools[i].operation);
        if (!has_tool(q->link->mcp, &tools[i]))
            continue;
        autofree char *told = description(q->link->mcp, &tools[i], o);

        json_add(list, json_object_of({"name", json_string(tools[i].name)}, {"title", json_string(o->title)},
                                      {"description", json_string(told)},
                                      {"inputSchema", input_schema(q, &tools[i], o)},
                                      {"outputSchema", mcp_result_schema(o)},
                                      {"annotations", annotations(&tools[i], o)}));
    }
    mcp_result(q, json_object_of({"tools", list}));
}

static const struct mcp_tool *tool_find(const struct mcp *m, const char *name)
{
    for (size_t i = 0; name && i < countof(tools); i++)
        if (!strcmp(tools[i].name, name) && has_tool(m, &tools[i]))
            return &tools[i];
    return NULL;
}

/* Returns the arguments without the handle, which is checked here and put into *sandbox. NULL with err. */
static struct json *arguments_without_handle(const struct mcp_tool *t, const struct json *given,
                                             const char **sandbox, struct error *err)
{
    const struct json *handle = json_get(given, "sandbox");
    autojson struct json *a = json_type(given) == JSON_OBJECT ? json_copy(given) : json_object();

    *sandbox = json_str(handle);
    json_drop(a, "sandbox");
    if (handle && !*sandbox && json_type(handle) != JSON_NULL)
        error_set(err, ERROR_USAGE, 0, "sandbox: must be a string");
    else if (t->needs && !json_get(given, t->needs))
        error_set(err, ERROR_USAGE, 0, "%s: is missing", t->needs);
    else if (operation_check(operation_find(t->operation), a, err) == 0)
        return steal(&a);
    return NULL;
}

/* A mistake in the arguments is told to the model, which can mend it. An unknown tool is the client's
 * mistake.
 */
void mcp_tools_call(const struct mcp_request *q)
{
    const char *name = json_str(json_get(q->params, "name")), *sandbox;
    const struct json *given = json_get(q->params, "arguments");
    const struct mcp_tool *t = tool_find(q->link->mcp, name);
    struct error err = {0};

    bool good = json_type(given) == JSON_OBJECT || json_type(given) == JSON_NULL;

    autojson struct json *arguments = t && good ? arguments_without_handle(t, given, &sandbox, &err) : NULL;
    if (!name)
        mcp_fail(q, MCP_INVALID_PARAMS, NULL, "name must be a string");
    else if (!t)
        mcp_fail(q, MCP_INVALID_PARAMS, NULL, "Unknown tool: %.100s", name);
    else if (!good)
        mcp_fail(q, MCP_INVALID_PARAMS, NULL, "arguments must be an object");
    else if (arguments)
        mcp_ask(q, sandbox, t->operation, arguments, t->operation, mcp_show_result);
    else
        mcp_tool_error(q, err.text);
}
