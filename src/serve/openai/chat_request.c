/* chat_request.c - walks the entries of a request: instructions, what was said before, the question and its
 * files.
 */
#include "openai/chat_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "json/json.h"
#include "openai/chat_item.h"
#include "openai/chat_parameters.h"
#include "openai/chat_part.h"
#include "openai/shape.h"

#define INPUT_MAX ((size_t)1 << 20) /* as a question of the command line */

struct request_reading {
    const struct openai_shape *shape;
    struct chat_request *out;
    struct chat_refusal *no;
    size_t i; /* the index of the entry that is being read */
    struct buf system, input;
    struct buf said;    /* a turn of the assistant, to which the next entry may belong too */
    struct json *calls; /* of that turn, and of those the ones that have no result yet */
    struct json *open;
    size_t results; /* bytes of results */
    size_t files;   /* the number of files so far, of all entries */
};

static void reading_release(struct request_reading *r)
{
    buf_release(&r->system);
    buf_release(&r->input);
    buf_release(&r->said);
    json_free(r->calls);
    json_free(r->open);
}

/* Refuses the entry, or the part of it that what names (".content"). */
static int refuse_entry(const struct request_reading *r, const char *code, const char *what, const char *why)
{
    char where[80];

    if (json_type(r->out->list) == JSON_STRING)
        snprintf(where, sizeof where, "%s", r->shape->messages);
    else
        snprintf(where, sizeof where, "%s[%zu]%s", r->shape->messages, r->i, what);
    return chat_refuse(r->no, code, where, why);
}

/* files is NULL for a role that must not bring any. */
static int take_part(struct request_reading *r, const struct json *part, const char *what, struct buf *text,
                     struct json *files)
{
    const char *words = chat_part_text(part), *why = NULL;

    if (words) {
        chat_paragraph(text, words);
        return 0;
    }
    struct json *file = files ? chat_part_file(part, ++r->files, &why) : NULL;
    if (!file)
        return refuse_entry(r, "unsupported_content", what,
                            why ? why : "this kind of content is not supported here; text is");
    json_add(files, file);
    return 0;
}

static int read_content(struct request_reading *r, const struct json *item, struct buf *text,
                        struct json *files)
{
    const struct json *content = chat_content(item);
    char what[40];
    size_t k = 0;

    if (json_type(content) == JSON_STRING) {
        chat_paragraph(text, json_str(content));
        return 0;
    }
    if (json_type(content) == JSON_NULL && chat_role(item) == CHAT_ASSISTANT)
        return 0;
    if (json_type(content) != JSON_ARRAY)
        return refuse_entry(r, "invalid_type", ".content", "must be a string, or a list of parts");
    for (const struct json *part = json_first(content); part; part = json_next(part), k++) {
        snprintf(what, sizeof what, ".content[%zu]", k);
        if (take_part(r, part, what, text, files) < 0)
            return -1;
    }
    return 0;
}

/* Takes calls, which may be NULL. */
static void add_to_history(struct json *history, const char *role, struct buf *text, struct json *calls)
{
    if (text->len || calls)
        json_add(history,
                 json_object_of({"role", json_string(role)},
                                {"text", json_string_n(buf_str(text), text->len)}, {"calls", calls}));
    buf_clear(text);
}

/* ---- calls of the client's tools, and their results ---- */

static void note_calls(struct request_reading *r, const struct json *item)
{
    struct chat_call call;

    for (size_t i = 0; chat_call_at(item, i, &call); i++) {
        struct json *o = json_object_of({"id", json_string(call.id)}, {"name", json_string(call.name)},
                                        {"arguments", json_string(call.arguments)});

        r->calls = r->calls ? r->calls : json_array();
        r->open = r->open ? r->open : json_object();
        json_set(r->open, call.id, json_boolean(true));
        json_add(r->calls, o);
    }
}

/* Every call has its result before anything else is said. */
static int check_open(const struct request_reading *r)
{
    char why[200];

    if (!json_size(r->open))
        return 0;
    snprintf(why, sizeof why, "the call %.80s before it has no result", json_key(json_first(r->open)));
    return refuse_entry(r, "invalid_value", "", why);
}

static int read_result(struct request_reading *r, const struct json *item)
{
    const char *id = chat_result_id(item);
    struct buf text autorelease(buf_release) = BUF_INIT(0);
    bool earlier = r->i < r->out->prefix;

    if (!r->out->previous && !json_get(r->open, id))
        return refuse_entry(r, "invalid_value", "", "it is the result of no call of the message before");
    if (r->open)
        json_drop(r->open, id);
    if (json_type(chat_content(item)) != JSON_NULL && read_content(r, item, &text, NULL) < 0)
        return -1;
    if ((r->results += text.len) > INPUT_MAX)
        return refuse_entry(r, "context_length_exceeded", "", "results are longer than 1 MiB together");
    json_add(earlier ? r->out->history : r->out->results,
             json_object_of({"role", earlier ? json_string("result") : NULL}, {"id", json_string(id)},
                            {"text", json_string_n(buf_str(&text), text.len)}));
    return 0;
}

static int check_item(const struct request_reading *r, const struct json *item)
{
    const char *why = chat_refused(item);

    if (json_type(item) != JSON_OBJECT && item != r->out->list)
        return refuse_entry(r, "invalid_type", "", "must be an object with role and content");
    if (why)
        return refuse_entry(r, "unsupported_parameter", "", why);
    return chat_role(item) == CHAT_OTHER ? refuse_entry(r, "invalid_value", ".role",
                                                        "must be system, developer, user, assistant or tool")
                                         : 0;
}

static int read_said(struct request_reading *r, const struct json *item)
{
    if (!r->calls && check_open(r) < 0) /* results were begun */
        return -1;
    note_calls(r, item);
    return read_content(r, item, &r->said, NULL);
}

static int read_item(struct request_reading *r, const struct json *item)
{
    struct chat_request *out = r->out;
    struct buf said autorelease(buf_release) = BUF_INIT(0);

    if (chat_skipped(item))
        return 0;
    if (check_item(r, item) < 0)
        return -1;
    if (chat_role(item) == CHAT_ASSISTANT)
        return read_said(r, item);
    add_to_history(out->history, "assistant", &r->said, steal(&r->calls));
    if (chat_role(item) == CHAT_RESULT)
        return read_result(r, item);
    if (check_open(r) < 0)
        return -1;
    if (chat_role(item) == CHAT_SYSTEM)
        return read_content(r, item, &r->system, NULL);
    if (r->i >= out->prefix)
        return read_content(r, item, &r->input, out->files);
    if (read_content(r, item, &said, out->earlier_files) < 0)
        return -1;
    add_to_history(out->history, "user", &said, NULL);
    return 0;
}

/* Counts the entries, and those up to the last answer. */
static int measure(const struct request_reading *r)
{
    const struct json *list = r->out->list;

    for (const struct json *item = chat_first(list); item; item = chat_next(list, item)) {
        r->out->size++;
        if (chat_role(item) == CHAT_ASSISTANT)
            r->out->prefix = r->out->size;
    }
    if (!r->out->size)
        return chat_refuse(r->no, "missing_required_parameter", r->shape->messages,
                           r->shape->api == OPENAI_RESPONSES
                               ? "must be a string, or a list with at least one message"
                               : "must be a list with at least one message");
    if (json_type(list) == JSON_STRING && r->shape->api != OPENAI_RESPONSES)
        return chat_refuse(r->no, "invalid_type", r->shape->messages, "must be a list of messages");
    if (r->out->previous && r->out->prefix)
        return chat_refuse(r->no, "invalid_value", r->shape->messages,
                           "with previous_response_id, only what the user says now");
    return 0;
}

static int read_instructions(struct request_reading *r, const struct json *body)
{
    const struct json *text = r->shape->system ? json_get(body, r->shape->system) : NULL;

    if (json_type(text) != JSON_NULL && json_type(text) != JSON_STRING)
        return chat_refuse(r->no, "invalid_type", r->shape->system, "must be a string");
    chat_paragraph(&r->system, json_text(text));
    return 0;
}

static int read_conversation(struct request_reading *r)
{
    struct chat_request *out = r->out;
    const char *name = r->shape->messages;

    if (measure(r) < 0)
        return -1;
    for (const struct json *m = chat_first(out->list); m; m = chat_next(out->list, m), r->i++)
        if (read_item(r, m) < 0)
            return -1;
    if (!r->input.len && json_size(out->files))
        buf_addstr(&r->input, "What is in this file?");
    r->i = out->size - 1;
    if (check_open(r) < 0)
        return -1;
    if (!r->input.len && !json_size(out->results))
        return chat_refuse(r->no, "invalid_value", name,
                           "the last message must be the user's, with text in it");
    if (r->input.len > INPUT_MAX)
        return chat_refuse(r->no, "context_length_exceeded", name,
                           "the question is longer than 1 MiB; send long text as a file");
    out->system = r->system.len ? buf_steal(&r->system, NULL) : NULL;
    out->input = xstrdup(buf_str(&r->input));
    return 0;
}

int chat_request_read(const struct openai_shape *shape, const struct json *body, struct chat_request *out,
                      struct chat_refusal *no)
{
    struct request_reading r autorelease(reading_release) = {
        .shape = shape,
        .out = out,
        .no = no,
        .system = BUF_INIT(0),
        .input = BUF_INIT(0),
        .said = BUF_INIT(0),
    };

    *no = (struct chat_refusal){0};
    *out = (struct chat_request){.history = json_array(),
                                 .earlier_files = json_array(),
                                 .files = json_array(),
                                 .results = json_array(),
                                 .list = json_get(body, shape->messages)};
    if (json_type(body) != JSON_OBJECT)
        return chat_refuse(no, "invalid_type", "body", "must be a JSON object");
    if (chat_parameters_read(shape, body, out, no) < 0 || read_instructions(&r, body) < 0)
        return -1;
    return read_conversation(&r);
}

void chat_request_release(struct chat_request *r)
{
    free(r->system);
    free(r->input);
    json_free(r->history);
    json_free(r->earlier_files);
    json_free(r->files);
    json_free(r->results);
    json_free(r->tools);
    json_free(r->own_form);
    json_free(r->unchecked);
    json_free(r->ignored);
    *r = (struct chat_request){0};
}
