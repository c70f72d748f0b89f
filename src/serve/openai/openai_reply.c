/* openai_reply.c - what both shapes share: the beginning, the text as it comes, files and code, the end,
 * errors, the list of models.
 */
#include "openai/openai_reply.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "json/json.h"
#include "openai/chat_request.h"

static struct json *repeated(const struct json *body)
{
    static const char *const names[] = {"metadata", "previous_response_id", "reasoning", "store", "text",
                                        "tools"};
    struct json *out = json_object();

    for (size_t i = 0; i < countof(names); i++)
        if (json_type(json_get(body, names[i])) != JSON_NULL)
            json_set(out, names[i], json_copy(json_get(body, names[i])));
    return out;
}

void openai_reply_init(struct openai_reply *r, const struct openai_shape *shape, const char *random,
                       const char *model, const struct chat_request *request, const struct json *body)
{
    *r = (struct openai_reply){.shape = shape,
                               .model = xstrdup(model),
                               .with_usage = request->include_usage,
                               .code = request->code,
                               .logs = request->logs,
                               .repeated = repeated(body),
                               .output = json_array()};
    snprintf(r->id, sizeof r->id, "%s%s", shape->id, random);
    buf_init(&r->text, 0);
    buf_init(&r->words, 0);
}

void openai_reply_release(struct openai_reply *r)
{
    free(r->model);
    buf_release(&r->text);
    buf_release(&r->words);
    json_free(r->repeated);
    json_free(r->output);
    json_free(r->item);
}

void openai_reply_begin(struct openai_reply *r)
{
    if (!r->begun) {
        r->begun = true;
        r->shape->begin(r);
    }
}

static void send_text(struct openai_reply *r, const char *text, bool apart)
{
    openai_reply_begin(r);
    if (!*text)
        return;
    r->shape->text(r, text, apart && r->text.len);
}

void openai_reply_event(struct openai_reply *r, const struct json *object)
{
    static const char *const told[] = {"tool_call", "tool_output", "tool_result", "file", "notice"};

    if (json_is(object, "text")) {
        int64_t part = json_int(json_get(object, "reply"), 0);

        send_text(r, json_text(json_get(object, "text")), part != r->part);
        r->part = part;
        return;
    }
    for (size_t i = 0; i < countof(told); i++)
        if (json_is(object, told[i])) {
            if (strcmp(told[i], "notice") != 0)
                openai_reply_begin(r);
            if (r->begun)
                r->shape->event(r, object);
        }
}

void openai_reply_end(struct openai_reply *r, const struct openai_end *e)
{
    openai_reply_begin(r);
    if (!r->text.len)
        send_text(r, e->answer, false);
    r->shape->end(r, e);
}

struct json *openai_tokens(const struct json *usage, const char *key)
{
    return json_integer(json_int(json_get(usage, key), 0));
}

struct json *openai_total(const struct json *usage)
{
    return json_integer(json_int(json_get(usage, "input_tokens"), 0)
                        + json_int(json_get(usage, "output_tokens"), 0));
}

const char *openai_finish(const char *status, const char *answer)
{
    static const char *const whole[] = {"answered", "code_failed", "undelivered", "unverified"};

    for (size_t i = 0; i < countof(whole); i++)
        if (!strcmp(status, whole[i]))
            return "stop";
    if (!strcmp(status, "calls"))
        return "tool_calls";
    return !strcmp(status, "limit") && answer && *answer ? "length" : NULL;
}

struct json *openai_error(const char *message, const char *type, const char *param, const char *code)
{
    return json_object_of(
        {"error", json_object_of({"message", json_string(message)}, {"type", json_string(type)},
                                 {"param", json_string(param)}, {"code", json_string(code)})});
}

const char *openai_error_type(int status)
{
    return status == 401   ? "authentication_error"
           : status == 403 ? "permission_error"
           : status == 404 ? "not_found_error"
           : status == 429 ? "rate_limit_error"
           : status < 500  ? "invalid_request_error"
                           : "server_error";
}

struct json *openai_model(const char *name)
{
    return json_object_of({"id", json_string(name)}, {"object", json_string("model")},
                          {"created", json_integer(0)}, {"owned_by", json_string("sandpiper")});
}

struct json *openai_models(const char *const *names, size_t n)
{
    struct json *list = json_array();

    for (size_t i = 0; i < n; i++)
        json_add(list, openai_model(names[i]));
    return json_object_of({"object", json_string("list")}, {"data", list});
}
