/* chat_tools.c - tools and tool_choice. In Responses a tool has its members beside its type, and the server's
 * own code_interpreter may be named; in chat completions they are in the member "function".
 */
#include "openai/chat_tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "json/json.h"
#include "openai/chat_parameters.h"
#include "openai/chat_request.h"
#include "openai/shape.h"

#define TOOLS_MAX       128
#define TOOLS_BYTES     (256 << 10) /* of all their schemas and descriptions */
#define NAME_MAX_LENGTH 64

struct tools_reading {
    const struct openai_shape *shape;
    struct chat_request *out;
    struct chat_refusal *no;
    size_t i, bytes;
};

static int refuse_tool(const struct tools_reading *r, const char *why)
{
    char where[40];

    snprintf(where, sizeof where, "tools[%zu]", r->i);
    return chat_refuse(r->no, "invalid_value", where, why);
}

static const struct json *function_of(const struct tools_reading *r, const struct json *o)
{
    return r->shape->api == OPENAI_CHAT ? json_get(o, "function") : o;
}

static bool is_function_name(const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");

    return n && n <= NAME_MAX_LENGTH && !name[n];
}

static const struct json *named_tool(const struct json *tools, const char *name)
{
    for (const struct json *t = json_first(tools); t; t = json_next(t))
        if (!strcmp(json_text(json_get(t, "name")), name))
            return t;
    return NULL;
}

static int add_function(struct tools_reading *r, const struct json *f)
{
    const char *name = json_text(json_get(f, "name"));
    const struct json *parameters = json_get(f, "parameters");
    bool none = json_type(parameters) == JSON_NULL;

    if (!is_function_name(name))
        return refuse_tool(r, "its name must be of 1 to 64 letters, digits, _ and -");
    if (named_tool(r->out->tools, name))
        return refuse_tool(r, "another one has this name");
    if (!none && json_type(parameters) != JSON_OBJECT)
        return refuse_tool(r, "its parameters must be a JSON schema, an object");
    struct json *o = json_object_of({"name", json_string(name)},
                                    {"description", json_string(json_text(json_get(f, "description")))},
                                    {"parameters", none ? json_object() : json_copy(parameters)},
                                    {"strict", json_boolean(json_bool(json_get(f, "strict"), false))});
    if (none)
        json_set(o, "parameters",
                 json_object_of({"type", json_string("object")}, {"properties", json_object()}));
    r->out->tools = r->out->tools ? r->out->tools : json_array();
    json_add(r->out->tools, o);
    autofree char *text = json_print(o);
    r->bytes += strlen(text);
    return r->bytes > TOOLS_BYTES ? refuse_tool(r, "the tools are longer than 256 KiB together") : 0;
}

static bool is_interpreter(const struct json *tool)
{
    const struct json *container = json_get(tool, "container");

    return json_is(tool, "code_interpreter") && !json_truthy(json_get(container, "file_ids"))
           && (json_type(container) == JSON_NULL || json_is(container, "auto"));
}

static int read_tool(struct tools_reading *r, const struct json *tool)
{
    bool responses = r->shape->api == OPENAI_RESPONSES;

    if (r->i >= TOOLS_MAX)
        return refuse_tool(r, "there are more than 128");
    if (json_is(tool, "function"))
        return add_function(r, function_of(r, tool));
    if (!responses || !is_interpreter(tool))
        return refuse_tool(r, responses
                                  ? "only functions, and code_interpreter with the container {\"type\": "
                                    "\"auto\"}: the server runs Python itself"
                                  : "only functions: the server runs Python itself");
    r->out->code = true;
    return 0;
}

static int bad_choice(const struct tools_reading *r, const char *why)
{
    return chat_refuse(r->no, "invalid_value", "tool_choice", why);
}

/* The one function that must be called; the others are not offered. */
static int choose_function(struct tools_reading *r, const struct json *choice)
{
    const struct json *tool = named_tool(r->out->tools, json_text(json_get(function_of(r, choice), "name")));

    if (!tool)
        return bad_choice(r, "there is no such function among the tools");
    struct json *only = json_array_of(json_copy(tool));
    json_free(r->out->tools);
    r->out->tools = only;
    r->out->must_call = true;
    return 0;
}

static int read_tool_choice(struct tools_reading *r, const struct json *choice)
{
    const char *word = json_str(choice);

    if (json_type(choice) == JSON_NULL || (word && !strcmp(word, "auto")))
        return 0;
    if (word && !strcmp(word, "none")) {
        json_free(r->out->tools);
        r->out->tools = NULL;
        return 0;
    }
    if (word && !strcmp(word, "required")) {
        r->out->must_call = true;
        return r->out->tools ? 0 : bad_choice(r, "required, but there are no functions among the tools");
    }
    if (json_is(choice, "function"))
        return choose_function(r, choice);
    return bad_choice(r,
                      "must be none, auto, required, or {\"type\": \"function\", ...} with one of the tools");
}

int chat_tools_read(const struct openai_shape *shape, const struct json *body, struct chat_request *out,
                    struct chat_refusal *no)
{
    struct tools_reading r = {.shape = shape, .out = out, .no = no};
    const struct json *tools = json_get(body, "tools");

    if (json_type(tools) != JSON_NULL && json_type(tools) != JSON_ARRAY)
        return chat_refuse(no, "invalid_type", "tools", "must be a list");
    for (const struct json *t = json_first(tools); t; t = json_next(t), r.i++)
        if (read_tool(&r, t) < 0)
            return -1;
    out->one_call = !json_bool(json_get(body, "parallel_tool_calls"), true);
    return read_tool_choice(&r, json_get(body, "tool_choice"));
}
