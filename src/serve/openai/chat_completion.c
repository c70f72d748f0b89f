/* chat_completion.c - the shape of chat completions: a message in a choice, streamed as chunks. What the
 * model says before its code becomes a paragraph of the one message. What the code does is sent in chunks
 * without text.
 */
#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "json/json.h"
#include "openai/openai_reply.h"

static struct json *begun(const struct openai_reply *r, const char *object)
{
    return json_object_of({"id", json_string(r->id)}, {"object", json_string(object)},
                          {"created", json_integer(r->created)}, {"model", json_string(r->model)});
}

static struct json *choices(const char *key, struct json *value, const char *finish)
{
    return json_array_of(json_object_of({"index", json_integer(0)}, {key, value}, {"logprobs", json_null()},
                                        {"finish_reason", json_string(finish)}));
}

static struct json *chat_usage(const struct json *usage)
{
    return json_object_of(
        {"prompt_tokens", openai_tokens(usage, "input_tokens")},
        {"completion_tokens", openai_tokens(usage, "output_tokens")}, {"total_tokens", openai_total(usage)},
        {"prompt_tokens_details", json_object_of({"cached_tokens", openai_tokens(usage, "cached_tokens")})},
        {"completion_tokens_details",
         json_object_of({"reasoning_tokens", openai_tokens(usage, "reasoning_tokens")})});
}

/* streamed: each has its number, since it might come in pieces. NULL: there are none. */
static struct json *chat_calls(const struct openai_end *e, bool streamed)
{
    struct json *out = e->calls ? json_array() : NULL;
    int64_t n = 0;

    for (const struct json *c = json_first(e->calls); c; c = json_next(c), n++)
        json_add(out, json_object_of(
                          {"index", streamed ? json_integer(n) : NULL}, {"id", json_copy(json_get(c, "id"))},
                          {"type", json_string("function")},
                          {"function", json_object_of({"name", json_copy(json_get(c, "name"))},
                                                      {"arguments", json_copy(json_get(c, "arguments"))})}));
    return out;
}

static struct json *chat_whole(struct openai_reply *r, const struct openai_end *e)
{
    struct json *o = begun(r, "chat.completion");
    bool words = *e->answer || !e->calls;
    struct json *message = json_object_of({"role", json_string("assistant")},
                                          {"content", words ? json_string(e->answer) : json_null()},
                                          {"refusal", json_null()}, {"tool_calls", chat_calls(e, false)});

    json_set(o, "choices", choices("message", message, e->finish));
    json_set(o, "usage", chat_usage(e->usage));
    json_set(o, "sandpiper", json_copy(e->annotation));
    return o;
}

/* ---- chunks ---- */

static void chat_send(struct openai_reply *r, struct json *object)
{
    r->send(r->ctx, NULL, object);
    json_free(object);
}

/* Takes delta and annotation. Without an annotation it is NULL. */
static void send_chunk(struct openai_reply *r, struct json *delta, const char *finish,
                       struct json *annotation)
{
    struct json *o = begun(r, "chat.completion.chunk");

    json_set(o, "choices", choices("delta", delta, finish));
    if (r->with_usage)
        json_set(o, "usage", json_null());
    if (annotation)
        json_set(o, "sandpiper", annotation);
    chat_send(r, o);
}

static void chat_begin(struct openai_reply *r)
{
    send_chunk(r, json_object_of({"role", json_string("assistant")}, {"content", json_string("")}), NULL,
               NULL);
}

static void chat_piece(struct openai_reply *r, const char *text)
{
    buf_addstr(&r->text, text);
    send_chunk(r, json_object_of({"content", json_string(text)}), NULL, NULL);
}

static void chat_text(struct openai_reply *r, const char *words, bool apart)
{
    if (apart)
        chat_piece(r, "\n\n");
    chat_piece(r, words);
}

static void chat_event(struct openai_reply *r, const struct json *object)
{
    struct json *note = json_copy(object);

    json_set_str(note, "data", NULL); /* a figure has a link; this is for a line of text */
    send_chunk(r, json_object(), NULL, note);
}

static void chat_end(struct openai_reply *r, const struct openai_end *e)
{
    if (e->calls)
        send_chunk(r, json_object_of({"tool_calls", chat_calls(e, true)}), NULL, NULL);
    send_chunk(r, json_object(), e->finish, json_copy(e->annotation));
    if (!r->with_usage)
        return;
    struct json *o = begun(r, "chat.completion.chunk");
    json_set(o, "choices", json_array());
    json_set(o, "usage", chat_usage(e->usage));
    chat_send(r, o);
}

static void chat_failed(struct openai_reply *r, int status, const char *code, const char *detail)
{
    chat_send(r, openai_error(detail, openai_error_type(status), NULL, code));
}

const struct openai_shape openai_chat = {
    .api = OPENAI_CHAT,
    .messages = "messages",
    .effort = "reasoning_effort",
    .form = "response_format",
    .id = "chatcmpl-",
    .last = "data: [DONE]\n\n",
    .whole = chat_whole,
    .begin = chat_begin,
    .text = chat_text,
    .event = chat_event,
    .end = chat_end,
    .failed = chat_failed,
};
