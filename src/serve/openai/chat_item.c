/* chat_item.c - reads the role, the content and the type of one entry, and says which types are skipped or
 * refused.
 */
#include "openai/chat_item.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "json/json.h"

const char chat_old_tools[] = "give functions as tools, and their results as messages of the role tool";

const struct json *chat_first(const struct json *list)
{
    return json_type(list) == JSON_STRING ? list : json_type(list) == JSON_ARRAY ? json_first(list) : NULL;
}

const struct json *chat_next(const struct json *list, const struct json *item)
{
    return json_type(list) == JSON_ARRAY ? json_next(item) : NULL;
}

enum chat_role chat_role(const struct json *item)
{
    static const struct {
        const char *name;
        enum chat_role role;
    } roles[] = {
        {"system", CHAT_SYSTEM},       {"developer", CHAT_SYSTEM}, {"user", CHAT_USER},
        {"assistant", CHAT_ASSISTANT}, {"tool", CHAT_RESULT},
    };
    const char *name = json_text(json_get(item, "role"));

    if (json_type(item) == JSON_STRING)
        return CHAT_USER;
    if (!*name && json_is(item, "function_call"))
        return CHAT_ASSISTANT;
    if (!*name && json_is(item, "function_call_output"))
        return CHAT_RESULT;
    for (size_t i = 0; i < countof(roles); i++)
        if (!strcmp(name, roles[i].name))
            return roles[i].role;
    return CHAT_OTHER;
}

const struct json *chat_content(const struct json *item)
{
    return json_type(item) == JSON_STRING
               ? item
               : json_get(item, json_is(item, "function_call_output") ? "output" : "content");
}

static const char chat_no_custom[] = "custom tools are not supported; give functions";

/* Items of Responses that are not messages. why NULL: the item is ignored. */
static const struct {
    const char *type, *why;
} others[] = {
    {"reasoning", NULL},
    {"code_interpreter_call", NULL},
    {"web_search_call", NULL},
    {"file_search_call", NULL},
    {"custom_tool_call", chat_no_custom},
    {"custom_tool_call_output", chat_no_custom},
    {"item_reference", "items are not kept here; send the item itself"},
};

static const char *type_of(const struct json *item)
{
    return json_text(json_get(item, "type"));
}

bool chat_skipped(const struct json *item)
{
    for (size_t i = 0; i < countof(others) && chat_role(item) == CHAT_OTHER; i++)
        if (!others[i].why && !strcmp(type_of(item), others[i].type))
            return true;
    return false;
}

static bool has_old_call(const struct json *item)
{
    return json_truthy(json_get(item, "function_call"))
           || !strcmp(json_text(json_get(item, "role")), "function");
}

/* A call without an id or a name, or with arguments that are no object, could not be sent to any service. */
static const char *call_refused(const struct json *item)
{
    struct chat_call call;

    for (size_t i = 0; chat_call_at(item, i, &call); i++) {
        autojson struct json *arguments = json_parse(call.arguments, strlen(call.arguments), JSON_DUPLICATES,
                                                     NULL, NULL);

        if (!*call.id || !*call.name)
            return "a call needs an id and the name of its function";
        if (json_type(arguments) != JSON_OBJECT)
            return "the arguments of a call must be the text of a JSON object";
    }
    return NULL;
}

const char *chat_refused(const struct json *item)
{
    if (has_old_call(item))
        return chat_old_tools;
    if (chat_role(item) == CHAT_ASSISTANT)
        return call_refused(item);
    if (chat_role(item) != CHAT_OTHER || *json_text(json_get(item, "role")))
        return NULL;
    for (size_t i = 0; i < countof(others); i++)
        if (others[i].why && !strcmp(type_of(item), others[i].type))
            return others[i].why;
    return *type_of(item) && strcmp(type_of(item), "message") != 0
               ? "items of this type are not supported; send messages"
               : NULL;
}

bool chat_call_at(const struct json *item, size_t i, struct chat_call *out)
{
    bool single = json_is(item, "function_call"); /* of Responses: an item of its own */
    const struct json *call = single ? item : json_at(json_get(item, "tool_calls"), i),
                      *function = single ? item : json_get(call, "function");

    if (!call || (single && i))
        return false;
    *out = (struct chat_call){json_text(json_get(call, single ? "call_id" : "id")),
                              json_text(json_get(function, "name")),
                              json_text(json_get(function, "arguments"))};
    return true;
}

const char *chat_result_id(const struct json *item)
{
    return json_text(json_get(item, json_is(item, "function_call_output") ? "call_id" : "tool_call_id"));
}

void chat_paragraph(struct buf *out, const char *text)
{
    size_t len = strlen(text);

    while (len && isspace((unsigned char)*text))
        text++, len--;
    while (len && isspace((unsigned char)text[len - 1]))
        len--;
    if (len && out->len)
        buf_addstr(out, "\n\n");
    buf_add(out, text, len);
}
