/* openai_line.c - between our results and OpenAI's. */
#include "batch/openai_line.h"

#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/random.h"
#include "json/json.h"
#include "openai/chat_request.h"
#include "openai/openai_reply.h"

static struct json *line_body(const struct json *line, const char *finish, const char *random,
                              const struct openai_shape *shape)
{
    const struct chat_request nothing = {0};
    const struct openai_end end = {
        .answer = json_text(json_get(line, "answer")), .finish = finish, .usage = json_get(line, "usage")};
    struct openai_reply r autorelease(openai_reply_release);

    openai_reply_init(&r, shape, random, json_text(json_get(line, "model")), &nothing, NULL);
    r.created = time(NULL);
    struct json *body = shape->whole(&r, &end);
    json_drop(body, "sandpiper");
    return body;
}

/* What a reader of the line cannot take from the body. */
static struct json *own_members(const struct json *line)
{
    static const char *const in_body[] = {"id", "answer", "model"};
    struct json *own = json_copy(line);

    for (size_t i = 0; i < countof(in_body); i++)
        json_drop(own, in_body[i]);
    if (json_same(json_get(line, "final_answer"), json_get(line, "answer")))
        json_drop(own, "final_answer");
    return own;
}

struct json *openai_line(const struct json *line, const struct openai_shape *shape)
{
    const char *status = json_text(json_get(line, "status")),
               *finish = openai_finish(status, json_str(json_get(line, "answer")));
    char random[25];

    random_hex(random, sizeof random - 1);
    autofree char *id = xasprintf("batch_req_%s", random);
    struct json *out = json_object_of({"id", json_string(id)}, {"custom_id", json_copy(json_get(line, "id"))},
                                      {"response", json_null()}, {"error", json_null()},
                                      {"sandpiper", own_members(line)});
    if (finish)
        json_set(out, "response",
                 json_object_of({"status_code", json_integer(200)}, {"request_id", json_string(random)},
                                {"body", line_body(line, finish, random, shape)}));
    else
        json_set(
            out, "error",
            json_object_of({"code", json_string(status)}, {"message", json_copy(json_get(line, "error"))}));
    return out;
}

/* ---- reading ---- */

/* The text of chat completions, or of the messages of Responses. */
static struct json *body_answer(const struct json *body)
{
    struct buf text autorelease(buf_release) = BUF_INIT(0);

    buf_addstr(&text,
               json_text(json_get(json_get(json_at(json_get(body, "choices"), 0), "message"), "content")));
    for (const struct json *item = json_first(json_get(body, "output")); item; item = json_next(item))
        for (const struct json *part = json_first(json_get(item, "content")); part; part = json_next(part))
            if (json_is(part, "output_text"))
                buf_addstr(&text, json_text(json_get(part, "text")));
    return json_string_n(buf_str(&text), text.len);
}

static int64_t either_number(const struct json *usage, const char *one, const char *other)
{
    return json_int(json_get(usage, one), json_int(json_get(usage, other), 0));
}

static struct json *body_usage(const struct json *body)
{
    const struct json *usage = json_get(body, "usage");

    return json_object_of(
        {"input_tokens", json_integer(either_number(usage, "prompt_tokens", "input_tokens"))},
        {"output_tokens", json_integer(either_number(usage, "completion_tokens", "output_tokens"))});
}

static struct json *line_error(const struct json *line, const struct json *body)
{
    const struct json *error = json_get(line, "error"), *inner = json_get(body, "error");

    inner = json_truthy(inner) ? inner : error;
    const char *message = json_str(json_get(inner, "message"));
    return message ? json_string(message) : json_copy(inner);
}

struct json *openai_line_read(struct json *given)
{
    autojson struct json *line = given;
    const struct json *response = json_get(line, "response"), *body = json_get(response, "body"),
                      *own = json_get(line, "sandpiper");

    if (!json_str(json_get(line, "custom_id")) || (!response && !json_get(line, "error")))
        return steal(&line);
    struct json *out = json_type(own) == JSON_OBJECT ? json_copy(own) : json_object();
    bool answered = json_type(body) == JSON_OBJECT && !json_truthy(json_get(line, "error"))
                    && !json_truthy(json_get(body, "error"))
                    && json_int(json_get(response, "status_code"), 200) == 200;
    json_set(out, "id", json_copy(json_get(line, "custom_id")));
    json_set(out, "answer", answered ? body_answer(body) : json_null());
    if (!json_get(out, "usage"))
        json_set(out, "usage", body_usage(body));
    if (!json_get(out, "final_answer"))
        json_set(out, "final_answer", json_copy(json_get(out, "answer")));
    if (!json_get(out, "status"))
        json_set_str(out, "status", answered ? "answered" : "no_answer");
    if (!json_get(out, "error"))
        json_set(out, "error", line_error(line, body));
    return out;
}
