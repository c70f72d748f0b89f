/* response.c - the shape of Responses: a list of items, streamed as events that say which item they belong
 * to. What the model says before its code is a message of its own (phase "commentary"), its answer the last
 * one. A message that is not the last ends with an empty line, so that the texts read well one behind the
 * other, as most clients show them.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "json/json.h"
#include "openai/openai_reply.h"

#define APART "\n\n"

static struct json *parsed(const char *text)
{
    return json_parse(text, strlen(text), 0, NULL, NULL);
}

static struct json *usage_of(const struct json *usage)
{
    struct json *o = json_object(), *in = json_object();
    int64_t n_in = openai_tokens(usage, "input_tokens"), n_out = openai_tokens(usage, "output_tokens");

    json_set_int(in, "cached_tokens", openai_tokens(usage, "cached_tokens"));
    json_set_int(in, "cache_write_tokens", 0);
    json_set_int(o, "input_tokens", n_in);
    json_set(o, "input_tokens_details", in);
    json_set_int(o, "output_tokens", n_out);
    json_set(o, "output_tokens_details",
             openai_detail("reasoning_tokens", openai_tokens(usage, "reasoning_tokens")));
    json_set_int(o, "total_tokens", n_in + n_out);
    return o;
}

/* The members that are not ours to fill stand there all the same: clients in strict languages want them. */
static struct json *response(const struct openai_reply *r, const char *status)
{
    struct json *o = parsed(
        "{\"id\": 0, \"object\": \"response\", \"created_at\": 0, \"status\": 0, \"background\": false, "
        "\"error\": null, \"incomplete_details\": null, \"instructions\": null, \"max_output_tokens\": null, "
        "\"metadata\": {}, \"model\": 0, \"output\": [], \"parallel_tool_calls\": false, "
        "\"previous_response_id\": null, \"reasoning\": {\"effort\": null, \"summary\": null}, \"store\": "
        "true, \"temperature\": null, \"text\": {\"format\": {\"type\": \"text\"}}, \"tool_choice\": "
        "\"auto\", \"tools\": [], \"top_p\": null, \"truncation\": \"disabled\", \"usage\": null, "
        "\"user\": null}");

    json_set_str(o, "id", r->id);
    json_set_int(o, "created_at", r->created);
    json_set_str(o, "status", status);
    json_set_str(o, "model", r->model);
    json_set(o, "output", json_copy(r->output));
    for (const struct json *m = json_first(r->repeated); m; m = json_next(m))
        json_set(o, json_key(m), json_copy(m));
    return o;
}

static struct json *ended(const struct openai_reply *r, const struct openai_end *e)
{
    bool whole = strcmp(e->finish, "stop") == 0;
    struct json *o = response(r, whole ? "completed" : "incomplete");

    if (!whole)
        json_set(o, "incomplete_details", parsed("{\"reason\": \"max_output_tokens\"}"));
    json_set(o, "usage", usage_of(e->usage));
    json_set(o, "sandpiper", json_copy(e->annotation));
    return o;
}

/* ---- items ---- */

static struct json *new_item(const struct openai_reply *r, const char *type, const char *prefix)
{
    struct json *o = json_object();
    autofree char *id = xasprintf("%s_%s_%zu", prefix, r->id + strlen(r->shape->id), json_size(r->output));

    json_set_str(o, "id", id);
    json_set_str(o, "type", type);
    json_set_str(o, "status", "in_progress");
    return o;
}

static struct json *new_message(const struct openai_reply *r)
{
    struct json *o = new_item(r, "message", "msg");

    json_set_str(o, "role", "assistant");
    json_set(o, "content", json_array());
    return o;
}

/* annotations NULL: none. */
static struct json *text_part(const char *text, const struct json *annotations)
{
    struct json *part = parsed("{\"type\": \"output_text\", \"text\": 0, \"annotations\": [], \"logprobs\": "
                               "[]}");

    json_set_str(part, "text", text);
    if (annotations)
        json_set(part, "annotations", json_copy(annotations));
    return part;
}

/* The files that the code made, for a client that knows of it: cited behind the text, under ids by which it
 * can have them (GET /v1/containers/ID/files/NAME/content). One in a folder has no such id. */
static struct json *citations(const struct openai_reply *r, const char *text, const struct openai_end *e)
{
    struct json *out = json_array();
    int64_t end = 0;

    for (const char *c = text; *c; c++)
        end += (*c & 0xc0) != 0x80;
    for (const struct json *f = json_first(json_get(e->annotation, "files")); r->code && f;
         f = json_next(f)) {
        const char *name = json_text(json_get(f, "name"));
        struct json *one = strchr(name, '/') ? NULL : parsed("{\"type\": \"container_file_citation\"}");

        if (!one)
            continue;
        json_set_str(one, "container_id", r->container);
        json_set_str(one, "file_id", name);
        json_set_str(one, "filename", name);
        json_set_int(one, "start_index", end);
        json_set_int(one, "end_index", end);
        json_add(out, one);
    }
    return out;
}

/* Takes ownership of part. */
static void fill_message(struct json *message, struct json *part, const char *phase, const char *status)
{
    struct json *content = json_array();

    json_add(content, part);
    json_set(message, "content", content);
    json_set_str(message, "phase", phase);
    json_set_str(message, "status", status);
}

static struct json *new_call(const struct openai_reply *r, const char *code)
{
    struct json *o = new_item(r, "code_interpreter_call", "ci");

    json_set_str(o, "code", code);
    json_set_str(o, "container_id", r->container);
    json_set(o, "outputs", json_null());
    return o;
}

static void fill_call(const struct openai_reply *r, struct json *call, const char *printed)
{
    json_set_str(call, "status", "completed");
    if (!r->logs)
        return;
    struct json *list = json_array(), *one = json_object();
    json_set_str(one, "type", "logs");
    json_set_str(one, "logs", printed);
    json_add(list, one);
    json_set(call, "outputs", list);
}

static struct json *whole(struct openai_reply *r, const struct openai_end *e)
{
    const struct json *steps = json_get(e->annotation, "steps");

    for (const struct json *step = json_first(steps); r->code && step; step = json_next(step)) {
        struct json *call = new_call(r, json_str(json_get(step, "code")));

        fill_call(r, call, json_text(json_get(step, "output")));
        json_add(r->output, call);
    }
    struct json *message = new_message(r);
    autojson struct json *files = citations(r, e->answer, e);
    fill_message(message, text_part(e->answer, files), "final_answer",
                 strcmp(e->finish, "stop") == 0 ? "completed" : "incomplete");
    json_add(r->output, message);
    return ended(r, e);
}

/* ---- events ---- */

/* object is given away. */
static void send(struct openai_reply *r, const char *type, struct json *object)
{
    json_set_str(object, "type", type);
    json_set_int(object, "sequence_number", r->sequence++);
    r->send(r->ctx, type, object);
    json_free(object);
}

static void send_response(struct openai_reply *r, const char *type, struct json *whole_response)
{
    struct json *o = json_object();

    json_set(o, "response", whole_response);
    send(r, type, o);
}

/* For an event of the item that is not done. */
static struct json *of_item(const struct openai_reply *r)
{
    struct json *o = json_object();

    json_set_str(o, "item_id", json_text(json_get(r->item, "id")));
    json_set_int(o, "output_index", (int64_t)json_size(r->output));
    if (json_is(r->item, "message"))
        json_set_int(o, "content_index", 0);
    return o;
}

/* Such an event with one member: value, given away; NULL: none. */
static void send_part(struct openai_reply *r, const char *type, const char *key, struct json *value)
{
    struct json *o = of_item(r);

    if (strncmp(type, "response.output_text.", 21) == 0)
        json_set(o, "logprobs", json_array());
    if (value)
        json_set(o, key, value);
    send(r, type, o);
}

static void send_item(struct openai_reply *r, const char *type)
{
    struct json *o = json_object();

    json_set_int(o, "output_index", (int64_t)json_size(r->output));
    json_set(o, "item", json_copy(r->item));
    send(r, type, o);
}

static void begin(struct openai_reply *r)
{
    send_response(r, "response.created", response(r, "in_progress"));
    send_response(r, "response.in_progress", response(r, "in_progress"));
}

static void open_item(struct openai_reply *r, struct json *item)
{
    r->item = item;
    send_item(r, "response.output_item.added");
}

static void item_done(struct openai_reply *r)
{
    send_item(r, "response.output_item.done");
    json_add(r->output, steal(&r->item));
}

static void piece(struct openai_reply *r, const char *words)
{
    buf_addstr(&r->text, words);
    buf_addstr(&r->words, words);
    send_part(r, "response.output_text.delta", "delta", json_string(words));
}

static void message_done(struct openai_reply *r, const struct json *annotations, const char *phase,
                         const char *status)
{
    const char *text = buf_str(&r->words);

    if (!json_is(r->item, "message"))
        return;
    send_part(r, "response.output_text.done", "text", json_string(text));
    send_part(r, "response.content_part.done", "part", text_part(text, annotations));
    fill_message(r->item, text_part(text, annotations), phase, status);
    buf_clear(&r->words);
    item_done(r);
}

static void comment_done(struct openai_reply *r)
{
    if (json_is(r->item, "message"))
        piece(r, APART);
    message_done(r, NULL, "commentary", "completed");
}

static void annotate(struct openai_reply *r, const struct json *annotations)
{
    int64_t n = 0;

    for (const struct json *a = json_first(annotations); a && json_is(r->item, "message"); a = json_next(a)) {
        struct json *o = of_item(r);

        json_set_int(o, "annotation_index", n++);
        json_set(o, "annotation", json_copy(a));
        send(r, "response.output_text.annotation.added", o);
    }
}

static void call_done(struct openai_reply *r, const char *printed)
{
    if (!json_is(r->item, "code_interpreter_call"))
        return;
    send_part(r, "response.code_interpreter_call.completed", NULL, NULL);
    fill_call(r, r->item, printed);
    item_done(r);
}

static void text(struct openai_reply *r, const char *words, bool apart)
{
    call_done(r, "");
    if (apart)
        comment_done(r);
    if (!r->item) {
        open_item(r, new_message(r));
        send_part(r, "response.content_part.added", "part", text_part("", NULL));
    }
    piece(r, words);
}

static void event(struct openai_reply *r, const struct json *object)
{
    const char *code = json_str(json_get(object, "code"));

    if (json_is(object, "tool_result"))
        call_done(r, json_text(json_get(object, "model_text")));
    if (!json_is(object, "tool_call"))
        return;
    comment_done(r);
    call_done(r, "");
    if (!r->code || !code)
        return;
    open_item(r, new_call(r, ""));
    send_part(r, "response.code_interpreter_call.in_progress", NULL, NULL);
    send_part(r, "response.code_interpreter_call_code.delta", "delta", json_string(code));
    send_part(r, "response.code_interpreter_call_code.done", "code", json_string(code));
    send_part(r, "response.code_interpreter_call.interpreting", NULL, NULL);
    json_set_str(r->item, "code", code);
}

static void end(struct openai_reply *r, const struct openai_end *e)
{
    bool stop = strcmp(e->finish, "stop") == 0;
    autojson struct json *files = citations(r, buf_str(&r->words), e);

    call_done(r, "");
    annotate(r, files);
    message_done(r, files, "final_answer", stop ? "completed" : "incomplete");
    send_response(r, stop ? "response.completed" : "response.incomplete", ended(r, e));
}

/* The response is told to have failed, for those who look at it; and an event with "error" is what makes
 * OpenAI's own client raise, which passes over the other. */
static void failed(struct openai_reply *r, int status, const char *code, const char *detail)
{
    struct json *o = response(r, "failed"), *why = json_object();

    json_set_str(why, "code", status == 429 ? "rate_limit_exceeded" : "server_error");
    json_set_str(why, "message", detail);
    json_set(o, "error", why);
    send_response(r, "response.failed", o);
    o = openai_error(detail, openai_error_type(status), NULL, code);
    json_set_str(o, "code", code);
    json_set_str(o, "message", detail);
    json_set_str(o, "param", NULL);
    send(r, "error", o);
}

const struct openai_shape openai_responses = {
    .api = OPENAI_RESPONSES,
    .messages = "input",
    .effort = "reasoning.effort",
    .system = "instructions",
    .id = "resp_",
    .whole = whole,
    .begin = begin,
    .text = text,
    .event = event,
    .end = end,
    .failed = failed,
};
