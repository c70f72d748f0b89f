/* chat_completion.c - the shape of chat completions: a message in a choice, streamed as chunks. What the
 * model says beside its code stands in paragraphs of the one message, and what the code does is in chunks
 * without text.
 */
#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "json/json.h"
#include "openai/openai_reply.h"

static struct json *begun(const struct openai_reply *r, const char *object)
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

static struct json *usage_of(const struct json *usage)
{
    struct json *o = json_object();
    int64_t in = openai_tokens(usage, "input_tokens"), out = openai_tokens(usage, "output_tokens");

    json_set_int(o, "prompt_tokens", in);
    json_set_int(o, "completion_tokens", out);
    json_set_int(o, "total_tokens", in + out);
    json_set(o, "prompt_tokens_details",
             openai_detail("cached_tokens", openai_tokens(usage, "cached_tokens")));
    json_set(o, "completion_tokens_details",
             openai_detail("reasoning_tokens", openai_tokens(usage, "reasoning_tokens")));
    return o;
}

static struct json *whole(struct openai_reply *r, const struct openai_end *e)
{
    struct json *o = begun(r, "chat.completion"), *message = json_object();

    json_set_str(message, "role", "assistant");
    json_set_str(message, "content", e->answer);
    json_set(message, "refusal", json_null());
    set_choice(o, "message", message, e->finish);
    json_set(o, "usage", usage_of(e->usage));
    json_set(o, "sandpiper", json_copy(e->annotation));
    return o;
}

/* ---- chunks ---- */

static void send(struct openai_reply *r, struct json *object)
{
    r->send(r->ctx, NULL, object);
    json_free(object);
}

/* delta is given away. annotation NULL: none. */
static void send_chunk(struct openai_reply *r, struct json *delta, const char *finish,
                       struct json *annotation)
{
    struct json *o = begun(r, "chat.completion.chunk");

    set_choice(o, "delta", delta, finish);
    if (r->with_usage)
        json_set(o, "usage", json_null());
    if (annotation)
        json_set(o, "sandpiper", annotation);
    send(r, o);
}

static void begin(struct openai_reply *r)
{
    struct json *delta = json_object();

    json_set_str(delta, "role", "assistant");
    json_set_str(delta, "content", "");
    send_chunk(r, delta, NULL, NULL);
}

static void piece(struct openai_reply *r, const char *text)
{
    struct json *delta = json_object();

    buf_addstr(&r->text, text);
    json_set_str(delta, "content", text);
    send_chunk(r, delta, NULL, NULL);
}

static void text(struct openai_reply *r, const char *words, bool apart)
{
    if (apart)
        piece(r, "\n\n");
    piece(r, words);
}

static void event(struct openai_reply *r, const struct json *object)
{
    struct json *note = json_copy(object);

    json_set_str(note, "data", NULL); /* a figure has a link; this is for a line of text */
    send_chunk(r, json_object(), NULL, note);
}

static void end(struct openai_reply *r, const struct openai_end *e)
{
    send_chunk(r, json_object(), e->finish, json_copy(e->annotation));
    if (!r->with_usage)
        return;
    struct json *o = begun(r, "chat.completion.chunk");
    json_set(o, "choices", json_array());
    json_set(o, "usage", usage_of(e->usage));
    send(r, o);
}

static void failed(struct openai_reply *r, int status, const char *code, const char *detail)
{
    send(r, openai_error(detail, openai_error_type(status), NULL, code));
}

const struct openai_shape openai_chat = {
    .api = OPENAI_CHAT,
    .messages = "messages",
    .effort = "reasoning_effort",
    .id = "chatcmpl-",
    .last = "data: [DONE]\n\n",
    .whole = whole,
    .begin = begin,
    .text = text,
    .event = event,
    .end = end,
    .failed = failed,
};
