/* chat_parameters.c - reads each parameter, or refuses it. A parameter that asks for something we do not
 * have is refused by its name. One that only tunes the sampling, or that is unknown, is not refused, since
 * clients send such by default, but the answer names it.
 */
#include "openai/chat_parameters.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "json/json.h"
#include "json/json_schema.h"
#include "openai/chat_item.h"
#include "openai/chat_request.h"
#include "openai/chat_tools.h"
#include "openai/shape.h"

int chat_refuse(struct chat_refusal *no, const char *code, const char *param, const char *why)
{
    snprintf(no->param, sizeof no->param, "%s", param);
    snprintf(no->message, sizeof no->message, "%s: %.300s", param, why);
    no->code = code;
    return -1;
}

/* Returns the member of that name; "a.b" is the member b of the object a. */
static const struct json *named_member(const struct json *o, const char *name)
{
    const char *dot = strchr(name, '.');
    autofree char *outer = dot ? xmemdup0(name, (size_t)(dot - name)) : NULL;

    return dot ? json_get(json_get(o, outer), dot + 1) : json_get(o, name);
}

/* ---- what is refused ---- */

static bool is_nothing(const struct json *v)
{
    return !json_truthy(v);
}

static bool is_one(const struct json *v)
{
    return json_int(v, 0) == 1;
}

static bool is_no_choice(const struct json *v)
{
    const char *word = json_str(v);

    return word && (!strcmp(word, "none") || !strcmp(word, "auto"));
}

static bool is_text_only(const struct json *v)
{
    return json_size(v) == 1 && !strcmp(json_text(json_first(v)), "text");
}

static bool is_object_value(const struct json *v)
{
    return json_type(v) == JSON_OBJECT;
}

static const char no_logprobs[] = "log probabilities are not available", is_no_object[] = "must be an object";
/* A member that is null counts as missing. */
static const struct {
    const char *name;
    int apis;
    bool (*harmless)(const struct json *v);
    const char *why;
} refused[] = {
    {"n", OPENAI_CHAT, is_one, "only one answer is given per request; send the request again for another"},
    {"functions", OPENAI_CHAT, is_nothing, chat_old_tools},
    {"function_call", OPENAI_CHAT, is_no_choice, chat_old_tools},
    {"stop", OPENAI_CHAT, is_nothing, "stop sequences are not supported"},
    {"logprobs", OPENAI_CHAT, is_nothing, no_logprobs},
    {"audio", OPENAI_CHAT, is_nothing, "audio is not supported"},
    {"modalities", OPENAI_CHAT, is_text_only, "only [\"text\"]"},
    {"web_search_options", OPENAI_CHAT, is_nothing, "there is no network"},
    {"top_logprobs", OPENAI_CHAT | OPENAI_RESPONSES, is_nothing, no_logprobs},
    {"text", OPENAI_RESPONSES, is_object_value, is_no_object},
    {"reasoning", OPENAI_RESPONSES, is_object_value, is_no_object},
    {"metadata", OPENAI_RESPONSES, is_object_value, is_no_object},
    {"background", OPENAI_RESPONSES, is_nothing, "not supported: the answer comes at once, or streamed"},
    {"conversation", OPENAI_RESPONSES, is_nothing,
     "conversations are not kept by name; send the messages, or previous_response_id"},
    {"prompt", OPENAI_RESPONSES, is_nothing, "prompts are not kept here; send the text"},
};

static int check_parameters(const struct openai_shape *shape, const struct json *body,
                            struct chat_refusal *no)
{
    for (size_t i = 0; i < countof(refused); i++) {
        const struct json *v = named_member(body, refused[i].name);

        if (refused[i].apis & (int)shape->api && json_type(v) != JSON_NULL && !refused[i].harmless(v))
            return chat_refuse(no, "unsupported_parameter", refused[i].name, refused[i].why);
    }
    return 0;
}

/* ---- what is ignored ---- */

#define IGNORED_MOST 20

static bool is_member(const char *name, const char *of)
{
    size_t n = strlen(of);

    return !strncmp(name, of, n) && (!name[n] || name[n] == '.');
}

/* Is that member read above or below, or one that says nothing about the answer? */
static bool is_of_use(const struct openai_shape *shape, const char *name)
{
    static const char *const both[] = {"model",
                                       "stream",
                                       "stream_options",
                                       "tools",
                                       "tool_choice",
                                       "parallel_tool_calls",
                                       "user",
                                       "safety_identifier",
                                       "prompt_cache_key",
                                       "prompt_cache_retention",
                                       "metadata",
                                       "store",
                                       "service_tier"},
                             *const responses[] = {"include", "previous_response_id"};
    const char *const own[] = {shape->messages, shape->effort, shape->form, shape->system};

    for (size_t i = 0; i < countof(both); i++)
        if (!strcmp(name, both[i]))
            return true;
    for (size_t i = 0; i < countof(responses) && shape->api == OPENAI_RESPONSES; i++)
        if (!strcmp(name, responses[i]))
            return true;
    for (size_t i = 0; i < countof(own); i++)
        if (own[i] && is_member(own[i], name))
            return true;
    for (size_t i = 0; i < countof(refused); i++)
        if (refused[i].apis & (int)shape->api && !strcmp(refused[i].name, name))
            return true;
    return false;
}

/* The members of an object of the body, or of the body itself, that change nothing. */
static void list_ignored(const struct openai_shape *shape, const struct json *o, const char *outer,
                         struct json *list)
{
    for (const struct json *v = json_first(o); v && json_size(list) < IGNORED_MOST; v = json_next(v)) {
        autofree char *name = xasprintf("%s%s%.60s", outer, *outer ? "." : "", json_key(v));
        bool read = *outer ? !strcmp(name, shape->effort) || !strcmp(name, shape->form)
                           : is_of_use(shape, name);

        if (!read && json_type(v) != JSON_NULL)
            json_add(list, json_string(name));
    }
}

static struct json *ignored_of(const struct openai_shape *shape, const struct json *body)
{
    struct json *list = json_array();

    list_ignored(shape, body, "", list);
    if (shape->api == OPENAI_RESPONSES) {
        list_ignored(shape, json_get(body, "text"), "text", list);
        list_ignored(shape, json_get(body, "reasoning"), "reasoning", list);
    }
    return list;
}

/* ---- what is read ---- */

static int read_word(const struct json *body, const char *name, const char **out, struct chat_refusal *no)
{
    const struct json *v = named_member(body, name);

    *out = json_str(v);
    if (*out && !**out)
        *out = NULL;
    return json_type(v) == JSON_NULL || json_type(v) == JSON_STRING
               ? 0
               : chat_refuse(no, "invalid_type", name, "must be a string");
}

/* An unknown effort would be refused by the model's service, or passed over without a word. */
static int read_effort(const struct json *body, const char *name, const char **out, struct chat_refusal *no)
{
    static const char *const known[] = {"none", "minimal", "low", "medium", "high", "xhigh", "max"};

    if (read_word(body, name, out, no) < 0)
        return -1;
    for (size_t i = 0; *out && i < countof(known); i++)
        if (!strcmp(*out, known[i]))
            return 0;
    return *out ? chat_refuse(no, "unsupported_value", name,
                              "must be none, minimal, low, medium, high, xhigh or max")
                : 0;
}

static int read_bool(const struct json *body, const char *name, bool *out, struct chat_refusal *no)
{
    const struct json *v = named_member(body, name);

    *out = json_bool(v, false);
    return json_type(v) == JSON_NULL || json_type(v) == JSON_BOOL
               ? 0
               : chat_refuse(no, "invalid_type", name, "must be true or false");
}

/* Only that the answer is JSON is wanted: OpenAI promises an object. */
static const struct json *any_object(struct chat_request *out)
{
    out->own_form = json_object_of({"type", json_string("object")});
    return out->own_form;
}

static int read_schema(const struct json *schema, const char *name, struct chat_request *out,
                       struct chat_refusal *no)
{
    struct error err = {0};

    out->unchecked = schema_survey(schema, &err);
    if (!out->unchecked)
        return chat_refuse(no, "invalid_value", name, err.text);
    out->form = schema;
    return 0;
}

/* response_format, or text.format, which has the schema in itself. */
static int read_answer_form(const struct openai_shape *shape, const struct json *body,
                            struct chat_request *out, struct chat_refusal *no)
{
    const struct json *v = named_member(body, shape->form),
                      *in = shape->api == OPENAI_CHAT ? json_get(v, "json_schema") : v;

    if (json_type(v) == JSON_NULL || json_is(v, "text"))
        return 0;
    if (json_is(v, "json_schema") && json_type(in) == JSON_OBJECT && json_get(in, "schema"))
        return read_schema(json_get(in, "schema"), shape->form, out, no);
    if (!json_is(v, "json_object") && (!json_is(v, "json_schema") || json_type(in) != JSON_OBJECT))
        return chat_refuse(no, "invalid_value", shape->form,
                           "its type must be text, json_object or json_schema, the last with the schema");
    out->form = any_object(out);
    return 0;
}

/* In a request that is not streamed they mean nothing, and OpenAI refuses them too. */
static int read_stream_options(const struct json *body, struct chat_request *out, struct chat_refusal *no)
{
    const struct json *options = json_get(body, "stream_options");

    if (json_type(options) == JSON_NULL)
        return 0;
    if (!out->stream)
        return chat_refuse(no, NULL, "stream_options", "is only allowed when stream is true");
    if (json_type(options) != JSON_OBJECT)
        return chat_refuse(no, "invalid_type", "stream_options", is_no_object);
    return read_bool(body, "stream_options.include_usage", &out->include_usage, no);
}

int chat_parameters_read(const struct openai_shape *shape, const struct json *body, struct chat_request *out,
                         struct chat_refusal *no)
{
    const struct json *include = json_get(body, "include");
    bool responses = shape->api == OPENAI_RESPONSES;

    if (read_word(body, "model", &out->model, no) < 0
        || read_effort(body, shape->effort, &out->effort, no) < 0
        || read_bool(body, "stream", &out->stream, no) < 0 || read_stream_options(body, out, no) < 0
        || read_answer_form(shape, body, out, no) < 0 || chat_tools_read(shape, body, out, no) < 0
        || (responses && read_word(body, "previous_response_id", &out->previous, no) < 0))
        return -1;
    for (const struct json *v = json_first(include); responses && v; v = json_next(v))
        out->logs |= !strcmp(json_text(v), "code_interpreter_call.outputs");
    out->ignored = ignored_of(shape, body);
    return check_parameters(shape, body, no);
}
