/* response.c - the shape of Responses: a list of items, streamed as events that name the item they belong to.
 * What the model says before its code is a message of its own (phase "commentary"); the last message is the
 * answer. Every other message ends with an empty line, because most clients show the texts one after another.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "json/json.h"
#include "openai/openai_reply.h"

#define APART "\n\n"

static struct json *response_usage(const struct json *usage)
{
    return json_object_of(
        {"input_tokens", openai_tokens(usage, "input_tokens")},
        {"input_tokens_details", json_object_of({"cached_tokens", openai_tokens(usage, "cached_tokens")},
                                                {"cache_write_tokens", json_integer(0)})},
        {"output_tokens", openai_tokens(usage, "output_tokens")},
        {"output_tokens_details",
         json_object_of({"reasoning_tokens", openai_tokens(usage, "reasoning_tokens")})},
        {"total_tokens", openai_total(usage)});
}

/* Members for which we have no value are there all the same, because clients in strict languages want them.
 */
static struct json *response(const struct openai_reply *r, const char *status)
{
    static const char skeleton[] =
        "{\"id\": 0, \"object\": \"response\", \"created_at\": 0, \"status\": 0, \"background\": false, "
        "\"error\": null, \"incomplete_details\": null, \"instructions\": null, \"max_output_tokens\": null, "
        "\"metadata\": {}, \"model\": 0, \"output\": [], \"parallel_tool_calls\": false, "
        "\"previous_response_id\": null, \"reasoning\": {\"effort\": null, \"summary\": null}, \"store\": "
        "true, \"temperature\": null, \"text\": {\"format\": {\"type\": \"text\"}}, \"tool_choice\": "
        "\"auto\", \"tools\": [], \"top_p\": null, \"truncation\": \"disabled\", \"usage\": null, "
        "\"user\": null}";
    struct json *o = json_parse(skeleton, sizeof skeleton - 1, 0, NULL, NULL);

    json_set_str(o, "id", r->id);
    json_set_int(o, "created_at", r->created);
    json_set_str(o, "status", status);
    json_set_str(o, "model", r->model);
    json_set(o, "output", json_copy(r->output));
    json_copy_all(o, r->repeated);
    return o;
}

static struct json *ended(const struct openai_reply *r, const struct openai_end *e)
{
    bool whole = strcmp(e->finish, "length") != 0;
    struct json *o = response(r, whole ? "completed" : "incomplete");

    if (!whole)
        json_set(o, "incomplete_details", json_object_of({"reason", json_string("max_output_tokens")}));
    json_set(o, "usage", response_usage(e->usage));
    json_set(o, "sandpiper", json_copy(e->annotation));
    return o;
}

/* ---- items ---- */

static struct json *new_item(const struct openai_reply *r, const char *type, const char *prefix)
{
    autofree char *id = xasprintf("%s_%s_%zu", prefix, r->id + strlen(r->shape->id), json_size(r->output));

    return json_object_of({"id", json_string(id)}, {"type", json_string(type)},
                          {"status", json_string("in_progress")});
}

static struct json *new_message(const struct openai_reply *r)
{
    struct json *o = new_item(r, "message", "msg");

    json_set_str(o, "role", "assistant");
    json_set(o, "content", json_array());
    return o;
}

/* annotations may be NULL. */
static struct json *text_part(const char *text, const struct json *annotations)
{
    return json_object_of({"type", json_string("output_text")}, {"text", json_string(text)},
                          {"annotations", annotations ? json_copy(annotations) : json_array()},
                          {"logprobs", json_array()});
}

/* Cites the files that the code made, after the text, for a client that asked for code_interpreter. Their ids
 * are for GET /v1/containers/ID/files/NAME/content, so a file in a folder has none. */
static struct json *citations(const struct openai_reply *r, const char *text, const struct openai_end *e)
{
    struct json *out = json_array();
    int64_t end = 0;

    for (const char *c = text; *c; c++)
        end += (*c & 0xc0) != 0x80;
    for (const struct json *f = json_first(json_get(e->annotation, "files")); r->code && f;
         f = json_next(f)) {
        const char *name = json_text(json_get(f, "name"));

        if (!strchr(name, '/'))
            json_add(out,
                     json_object_of({"type", json_string("container_file_citation")},
                                    {"container_id", json_string(r->container)},
                                    {"file_id", json_string(name)}, {"filename", json_string(name)},
                                    {"start_index", json_integer(end)}, {"end_index", json_integer(end)}));
    }
    return out;
}

/* Takes ownership of part. */
static void fill_message(struct json *message, struct json *part, const char *phase, const char *status)
{
    json_set(message, "content", json_array_of(part));
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
    if (r->logs)
        json_set(
            call, "outputs",
            json_array_of(json_object_of({"type", json_string("logs")}, {"logs", json_string(printed)})));
}

/* arguments "": they are still to come. */
static struct json *new_function_call(const struct openai_reply *r, const struct json *call,
                                      const char *arguments)
{
    struct json *o = new_item(r, "function_call", "fc");

    json_set(o, "call_id", json_copy(json_get(call, "id")));
    json_set(o, "name", json_copy(json_get(call, "name")));
    json_set_str(o, "arguments", arguments);
    return o;
}

static void add_function_calls(struct openai_reply *r, const struct openai_end *e)
{
    for (const struct json *c = json_first(e->calls); c; c = json_next(c)) {
        struct json *o = new_function_call(r, c, json_text(json_get(c, "arguments")));

        json_set_str(o, "status", "completed");
        json_add(r->output, o);
    }
}

static struct json *response_whole(struct openai_reply *r, const struct openai_end *e)
{
    const struct json *steps = json_get(e->annotation, "steps");

    for (const struct json *step = json_first(steps); r->code && step; step = json_next(step)) {
        struct json *call = new_call(r, json_str(json_get(step, "code")));

        fill_call(r, call, json_text(json_get(step, "output")));
        json_add(r->output, call);
    }
    autojson struct json *files = citations(r, e->answer, e);
    if (*e->answer || !e->calls) {
        struct json *message = new_message(r);
        fill_message(message, text_part(e->answer, files), e->calls ? "commentary" : "final_answer",
                     strcmp(e->finish, "length") != 0 ? "completed" : "incomplete");
        json_add(r->output, message);
    }
    add_function_calls(r, e);
    return ended(r, e);
}

/* ---- events ---- */

/* Takes object. */
static void response_send(struct openai_reply *r, const char *type, struct json *object)
{
    json_set_str(object, "type", type);
    json_set_int(object, "sequence_number", r->sequence++);
    r->send(r->ctx, type, object);
    json_free(object);
}

static void send_response(struct openai_reply *r, const char *type, struct json *whole_response)
{
    response_send(r, type, json_object_of({"response", whole_response}));
}

/* Begins an event of the item that is under way. */
static struct json *of_item(const struct openai_reply *r)
{
    return json_object_of({"item_id", json_copy(json_get(r->item, "id"))},
                          {"output_index", json_integer((int64_t)json_size(r->output))},
                          {"content_index", json_is(r->item, "message") ? json_integer(0) : NULL});
}

/* Sends an event of that item with one more member. Takes value, which is NULL for none. */
static void send_part(struct openai_reply *r, const char *type, const char *key, struct json *value)
{
    struct json *o = of_item(r);

    if (!strncmp(type, "response.output_text.", 21))
        json_set(o, "logprobs", json_array());
    if (value)
        json_set(o, key, value);
    response_send(r, type, o);
}

static void send_item(struct openai_reply *r, const char *type)
{
    response_send(r, type,
                  json_object_of({"output_index", json_integer((int64_t)json_size(r->output))},
                                 {"item", json_copy(r->item)}));
}

static void response_begin(struct openai_reply *r)
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

static void response_piece(struct openai_reply *r, const char *words)
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
        response_piece(r, APART);
    message_done(r, NULL, "commentary", "completed");
}

static void annotate(struct openai_reply *r, const struct json *annotations)
{
    int64_t n = 0;

    for (const struct json *a = json_first(annotations); a && json_is(r->item, "message"); a = json_next(a)) {
        struct json *o = of_item(r);

        json_set_int(o, "annotation_index", n++);
        json_set(o, "annotation", json_copy(a));
        response_send(r, "response.output_text.annotation.added", o);
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

static void response_text(struct openai_reply *r, const char *words, bool apart)
{
    call_done(r, "");
    if (apart)
        comment_done(r);
    if (!r->item) {
        open_item(r, new_message(r));
        send_part(r, "response.content_part.added", "part", text_part("", NULL));
    }
    response_piece(r, words);
}

static void response_event(struct openai_reply *r, const struct json *object)
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

static void send_function_calls(struct openai_reply *r, const struct openai_end *e)
{
    for (const struct json *c = json_first(e->calls); c; c = json_next(c)) {
        const char *arguments = json_text(json_get(c, "arguments"));

        open_item(r, new_function_call(r, c, ""));
        send_part(r, "response.function_call_arguments.delta", "delta", json_string(arguments));
        send_part(r, "response.function_call_arguments.done", "arguments", json_string(arguments));
        json_set_str(r->item, "arguments", arguments);
        json_set_str(r->item, "status", "completed");
        item_done(r);
    }
}

static void response_end(struct openai_reply *r, const struct openai_end *e)
{
    bool stop = strcmp(e->finish, "length") != 0;
    autojson struct json *files = citations(r, buf_str(&r->words), e);

    call_done(r, "");
    annotate(r, files);
    message_done(r, files, e->calls ? "commentary" : "final_answer", stop ? "completed" : "incomplete");
    send_function_calls(r, e);
    send_response(r, stop ? "response.completed" : "response.incomplete", ended(r, e));
}

/* Reports the failure twice: OpenAI's own client ignores response.failed and raises only on an event with
 * "error"; other clients look at the response. */
static void response_failed(struct openai_reply *r, int status, const char *code, const char *detail)
{
    struct json *o = response(r, "failed");

    json_set(o, "error",
             json_object_of({"code", json_string(status == 429 ? "rate_limit_exceeded" : "server_error")},
                            {"message", json_string(detail)}));
    send_response(r, "response.failed", o);
    o = openai_error(detail, openai_error_type(status), NULL, code);
    json_set_str(o, "code", code);
    json_set_str(o, "message", detail);
    json_set_str(o, "param", NULL);
    response_send(r, "error", o);
}

const struct openai_shape openai_responses = {
    .api = OPENAI_RESPONSES,
    .messages = "input",
    .effort = "reasoning.effort",
    .form = "text.format",
    .system = "instructions",
    .id = "resp_",
    .whole = response_whole,
    .begin = response_begin,
    .text = response_text,
    .event = response_event,
    .end = response_end,
    .failed = response_failed,
};
