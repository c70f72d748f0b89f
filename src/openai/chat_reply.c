/* chat_reply.c - see chat_reply.h. */
#include "openai/chat_reply.h"

#include <string.h>

#include "base/mem.h"
#include "json/json.h"

static struct json *begun(const struct chat_reply *r, const char *object)
{
    struct json *o = json_object();

    json_set_str(o, "id", r->id);
    json_set_str(o, "object", object);
    json_set_int(o, "created", r->created);
    json_set_str(o, "model", r->model);
    return o;
}

static void set_choice(struct json *o, const char *key, struct json *value, const char *finish)
{
    struct json *choice = json_object(), *choices = json_array();

    json_set_int(choice, "index", 0);
    json_set(choice, key, value);
    json_set(choice, "logprobs", json_null());
    json_set_str(choice, "finish_reason", finish);
    json_add(choices, choice);
    json_set(o, "choices", choices);
}

static struct json *ended(struct json *o, struct json *annotation)
{
    if (annotation)
        json_set(o, "sandpiper", annotation);
    return o;
}

struct json *chat_completion(const struct chat_reply *r, const char *text, const char *finish,
                             struct json *usage, struct json *annotation)
{
    struct json *o = begun(r, "chat.completion"), *message = json_object();

    json_set_str(message, "role", "assistant");
    json_set_str(message, "content", text);
    json_set(message, "refusal", json_null());
    set_choice(o, "message", message, finish);
    json_set(o, "usage", usage ? usage : json_null());
    return ended(o, annotation);
}

static struct json *chunk(const struct chat_reply *r, struct json *delta, const char *finish,
                          struct json *annotation)
{
    struct json *o = begun(r, "chat.completion.chunk");

    set_choice(o, "delta", delta, finish);
    if (r->with_usage)
        json_set(o, "usage", json_null());
    return ended(o, annotation);
}

struct json *chat_chunk(const struct chat_reply *r, const char *text, size_t len, const char *finish,
                        struct json *annotation)
{
    struct json *delta = json_object();

    if (text)
        json_set(delta, "content", json_string_n(text, len));
    return chunk(r, delta, finish, annotation);
}

struct json *chat_first_chunk(const struct chat_reply *r, struct json *annotation)
{
    struct json *delta = json_object();

    json_set_str(delta, "role", "assistant");
    json_set_str(delta, "content", "");
    return chunk(r, delta, NULL, annotation);
}

struct json *chat_usage_chunk(const struct chat_reply *r, struct json *usage)
{
    struct json *o = begun(r, "chat.completion.chunk");

    json_set(o, "choices", json_array());
    json_set(o, "usage", usage);
    return o;
}

static int64_t tokens(const struct json *usage, const char *key)
{
    return json_int(json_get(usage, key), 0);
}

static struct json *detail(const char *key, int64_t n)
{
    struct json *o = json_object();

    json_set_int(o, key, n);
    return o;
}

struct json *chat_usage(const struct json *usage)
{
    struct json *o = json_object();
    int64_t in = tokens(usage, "input_tokens"), out = tokens(usage, "output_tokens");

    json_set_int(o, "prompt_tokens", in);
    json_set_int(o, "completion_tokens", out);
    json_set_int(o, "total_tokens", in + out);
    json_set(o, "prompt_tokens_details", detail("cached_tokens", tokens(usage, "cached_tokens")));
    json_set(o, "completion_tokens_details", detail("reasoning_tokens", tokens(usage, "reasoning_tokens")));
    return o;
}

const char *chat_finish(const char *status, const char *answer)
{
    static const char *const whole[] = {"answered", "code_failed", "undelivered", "unverified"};

    for (size_t i = 0; i < countof(whole); i++)
        if (strcmp(status, whole[i]) == 0)
            return "stop";
    return strcmp(status, "limit") == 0 && answer && *answer ? "length" : NULL;
}

struct json *chat_error(const char *message, const char *type, const char *param, const char *code)
{
    struct json *o = json_object(), *error = json_object();

    json_set_str(error, "message", message);
    json_set_str(error, "type", type);
    json_set_str(error, "param", param);
    json_set_str(error, "code", code);
    json_set(o, "error", error);
    return o;
}

const char *chat_error_type(int status)
{
    return status == 401   ? "authentication_error"
           : status == 403 ? "permission_error"
           : status == 404 ? "not_found_error"
           : status == 429 ? "rate_limit_error"
           : status < 500  ? "invalid_request_error"
                           : "server_error";
}

struct json *chat_models(const char *const *names, size_t n, int64_t created)
{
    struct json *o = json_object(), *list = json_array();

    for (size_t i = 0; i < n; i++) {
        struct json *model = json_object();

        json_set_str(model, "id", names[i]);
        json_set_str(model, "object", "model");
        json_set_int(model, "created", created);
        json_set_str(model, "owned_by", "sandpiper");
        json_add(list, model);
    }
    json_set_str(o, "object", "list");
    json_set(o, "data", list);
    return o;
}
