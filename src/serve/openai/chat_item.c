/* chat_item.c - reads the role, the content and the type of one entry, and says which types are skipped or
 * refused.
 */
#include "openai/chat_item.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "json/json.h"

const char chat_own_tools[] = "tools of the client are not supported: the server runs Python itself";

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
        {"system", CHAT_SYSTEM},
        {"developer", CHAT_SYSTEM},
        {"user", CHAT_USER},
        {"assistant", CHAT_ASSISTANT},
    };
    const char *name = json_text(json_get(item, "role"));

    if (json_type(item) == JSON_STRING)
        return CHAT_USER;
    for (size_t i = 0; i < countof(roles); i++)
        if (!strcmp(name, roles[i].name))
            return roles[i].role;
    return CHAT_OTHER;
}

const struct json *chat_content(const struct json *item)
{
    return json_type(item) == JSON_STRING ? item : json_get(item, "content");
}

/* Items of Responses that are not messages. why NULL: the item is ignored. */
static const struct {
    const char *type, *why;
} others[] = {
    {"reasoning", NULL},
    {"code_interpreter_call", NULL},
    {"web_search_call", NULL},
    {"file_search_call", NULL},
    {"function_call", chat_own_tools},
    {"function_call_output", chat_own_tools},
    {"custom_tool_call", chat_own_tools},
    {"custom_tool_call_output", chat_own_tools},
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

static bool has_calls(const struct json *item)
{
    const char *role = json_text(json_get(item, "role"));

    return json_truthy(json_get(item, "tool_calls")) || json_truthy(json_get(item, "function_call"))
           || !strcmp(role, "tool") || !strcmp(role, "function");
}

const char *chat_refused(const struct json *item)
{
    if (has_calls(item))
        return chat_own_tools;
    if (chat_role(item) != CHAT_OTHER || *json_text(json_get(item, "role")))
        return NULL;
    for (size_t i = 0; i < countof(others); i++)
        if (others[i].why && !strcmp(type_of(item), others[i].type))
            return others[i].why;
    return *type_of(item) && strcmp(type_of(item), "message") != 0
               ? "items of this type are not supported; send messages"
               : NULL;
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
