/* chat_request.c - see chat_request.h. What is asked for and cannot be had is refused by name; what only
 * tunes the sampling, and what nobody has heard of, is passed over, as the servers do that clients know.
 */
#include "openai/chat_request.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "json/json.h"
#include "openai/chat_part.h"

#define INPUT_MAX ((size_t)1 << 20) /* as a question of the command line */

static int refuse(struct chat_refusal *no, const char *code, const char *param, const char *why)
{
    snprintf(no->param, sizeof no->param, "%s", param);
    snprintf(no->message, sizeof no->message, "%s: %s", param, why);
    no->code = code;
    return -1;
}

/* ---- parameters ---- */

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

    return word && (strcmp(word, "none") == 0 || strcmp(word, "auto") == 0);
}

static bool is_text_type(const struct json *v)
{
    return json_is(v, "text");
}

static bool is_text_only(const struct json *v)
{
    return json_size(v) == 1 && strcmp(json_text(json_first(v)), "text") == 0;
}

static const char own_tools[] = "tools of the client are not supported: the server runs Python itself";
/* null is always as if it were not there. */
static const struct {
    const char *name;
    bool (*harmless)(const struct json *v);
    const char *why;
} refused[] = {
    {"n", is_one, "only one answer a request is given; send the request again for another"},
    {"tools", is_nothing, own_tools},
    {"functions", is_nothing, own_tools},
    {"tool_choice", is_no_choice, own_tools},
    {"function_call", is_no_choice, own_tools},
    {"response_format", is_text_type,
     "only {\"type\": \"text\"}: describe the form that you want in the question"},
    {"stop", is_nothing, "stop sequences are not supported"},
    {"logprobs", is_nothing, "log probabilities are not available"},
    {"top_logprobs", is_nothing, "log probabilities are not available"},
    {"audio", is_nothing, "audio is not supported"},
    {"modalities", is_text_only, "only [\"text\"]"},
    {"web_search_options", is_nothing, "there is no network"},
};

static int check_parameters(const struct json *body, struct chat_refusal *no)
{
    for (size_t i = 0; i < countof(refused); i++) {
        const struct json *v = json_get(body, refused[i].name);

        if (json_type(v) != JSON_NULL && !refused[i].harmless(v))
            return refuse(no, "unsupported_parameter", refused[i].name, refused[i].why);
    }
    return 0;
}

static int read_word(const struct json *body, const char *name, const char **out, struct chat_refusal *no)
{
    const struct json *v = json_get(body, name);

    *out = json_str(v);
    if (*out && !**out)
        *out = NULL;
    return json_type(v) == JSON_NULL || json_type(v) == JSON_STRING
               ? 0
               : refuse(no, "invalid_type", name, "must be a string");
}

static int read_bool(const struct json *o, const char *key, const char *name, bool *out,
                     struct chat_refusal *no)
{
    const struct json *v = json_get(o, key);

    *out = json_bool(v, false);
    return json_type(v) == JSON_NULL || json_type(v) == JSON_BOOL
               ? 0
               : refuse(no, "invalid_type", name, "must be true or false");
}

/* ---- messages ---- */

enum role { ROLE_SYSTEM, ROLE_USER, ROLE_ASSISTANT, ROLE_OTHER };

static enum role role_of(const struct json *message)
{
    static const struct {
        const char *name;
        enum role role;
    } roles[] = {
        {"system", ROLE_SYSTEM},
        {"developer", ROLE_SYSTEM},
        {"user", ROLE_USER},
        {"assistant", ROLE_ASSISTANT},
    };
    const char *name = json_text(json_get(message, "role"));

    for (size_t i = 0; i < countof(roles); i++)
        if (strcmp(name, roles[i].name) == 0)
            return roles[i].role;
    return ROLE_OTHER;
}

static const char *trimmed(const char *s, size_t *len)
{
    while (*len && isspace((unsigned char)*s))
        s++, --*len;
    while (*len && isspace((unsigned char)s[*len - 1]))
        --*len;
    return s;
}

static void add_paragraph(struct buf *out, const char *text, size_t len)
{
    text = trimmed(text, &len);
    if (len && out->len)
        buf_addstr(out, "\n\n");
    buf_add(out, text, len);
}

struct content {
    struct buf *text;
    struct json *files; /* NULL: this role brings none */
    size_t number;      /* of the first of them in the conversation */
};

static int take_part(const struct json *part, const char *where, struct content *out, struct chat_refusal *no)
{
    const char *words = chat_part_text(part), *why = NULL;

    if (words) {
        add_paragraph(out->text, words, strlen(words));
        return 0;
    }
    struct json *file = out->files ? chat_part_file(part, out->number + json_size(out->files), &why) : NULL;
    if (!file)
        return refuse(no, "unsupported_content", where,
                      why ? why : "this kind of content is not supported here; text is");
    json_add(out->files, file);
    return 0;
}

static int read_content(const struct json *message, size_t i, struct content *out, struct chat_refusal *no)
{
    const struct json *content = json_get(message, "content");
    char where[80];
    size_t k = 0;

    snprintf(where, sizeof where, "messages[%zu].content", i);
    if (json_type(content) == JSON_STRING) {
        const char *words = json_str(content);

        add_paragraph(out->text, words, strlen(words));
        return 0;
    }
    if (json_type(content) == JSON_NULL && role_of(message) == ROLE_ASSISTANT)
        return 0;
    if (json_type(content) != JSON_ARRAY)
        return refuse(no, "invalid_type", where, "must be a string, or a list of parts");
    for (const struct json *part = json_first(content); part; part = json_next(part), k++) {
        snprintf(where, sizeof where, "messages[%zu].content[%zu]", i, k);
        if (take_part(part, where, out, no) < 0)
            return -1;
    }
    return 0;
}

static void add_said(struct json *history, const char *role, const struct buf *text)
{
    struct json *said = json_object();

    json_set_str(said, "role", role);
    json_set(said, "text", json_string_n(buf_str(text), text->len));
    if (text->len)
        json_add(history, said);
    else
        json_free(said);
}

static int check_message(const struct json *m, size_t i, struct chat_refusal *no)
{
    char where[80];

    snprintf(where, sizeof where, "messages[%zu]", i);
    if (json_type(m) != JSON_OBJECT)
        return refuse(no, "invalid_type", where, "must be an object with role and content");
    if (json_truthy(json_get(m, "tool_calls")) || json_truthy(json_get(m, "function_call"))
        || strcmp(json_text(json_get(m, "role")), "tool") == 0
        || strcmp(json_text(json_get(m, "role")), "function") == 0)
        return refuse(no, "unsupported_parameter", where, own_tools);
    snprintf(where, sizeof where, "messages[%zu].role", i);
    return role_of(m) == ROLE_OTHER
               ? refuse(no, "invalid_value", where, "must be system, developer, user or assistant")
               : 0;
}

static int read_message(const struct json *m, size_t i, struct chat_request *out, struct buf *system,
                        struct buf *input, struct chat_refusal *no)
{
    bool before = i < out->prefix;
    struct buf said autorelease(buf_release) = BUF_INIT(0);

    if (check_message(m, i, no) < 0)
        return -1;
    switch (role_of(m)) {
    case ROLE_SYSTEM:
        return read_content(m, i, &(struct content){system, NULL, 0}, no);
    case ROLE_USER:
        if (!before)
            return read_content(m, i, &(struct content){input, out->files, json_size(out->earlier_files) + 1},
                                no);
        if (read_content(m, i, &(struct content){&said, out->earlier_files, 1}, no) < 0)
            return -1;
        add_said(out->history, "user", &said);
        return 0;
    default:
        if (read_content(m, i, &(struct content){&said, NULL, 0}, no) < 0)
            return -1;
        add_said(out->history, "assistant", &said);
        return 0;
    }
}

static int read_messages(const struct json *messages, struct chat_request *out, struct chat_refusal *no)
{
    struct buf system autorelease(buf_release) = BUF_INIT(0), input autorelease(buf_release) = BUF_INIT(0);
    size_t i = 0;

    if (json_type(messages) != JSON_ARRAY || !json_size(messages))
        return refuse(no, "missing_required_parameter", "messages",
                      "must be a list with at least one message");
    for (const struct json *m = json_first(messages); m; m = json_next(m), i++)
        if (role_of(m) == ROLE_ASSISTANT)
            out->prefix = i + 1;
    i = 0;
    for (const struct json *m = json_first(messages); m; m = json_next(m), i++)
        if (read_message(m, i, out, &system, &input, no) < 0)
            return -1;
    if (!input.len && json_size(out->files))
        buf_addstr(&input, "What is in this file?");
    if (!input.len)
        return refuse(no, "invalid_value", "messages",
                      "the last message must be the user's, with text in it");
    if (input.len > INPUT_MAX)
        return refuse(no, "context_length_exceeded", "messages",
                      "the question is longer than 1 MiB; send long text as a file");
    out->system = system.len ? buf_steal(&system, NULL) : NULL;
    out->input = buf_steal(&input, NULL);
    return 0;
}

int chat_request_read(const struct json *body, struct chat_request *out, struct chat_refusal *no)
{
    const struct json *options = json_get(body, "stream_options");

    *no = (struct chat_refusal){0};
    *out = (struct chat_request){
        .history = json_array(), .earlier_files = json_array(), .files = json_array()};
    if (json_type(body) != JSON_OBJECT)
        return refuse(no, "invalid_type", "body", "must be a JSON object");
    if (read_word(body, "model", &out->model, no) < 0
        || read_word(body, "reasoning_effort", &out->effort, no) < 0
        || read_bool(body, "stream", "stream", &out->stream, no) < 0
        || read_bool(options, "include_usage", "stream_options.include_usage", &out->include_usage, no) < 0)
        return -1;
    return check_parameters(body, no) < 0 ? -1 : read_messages(json_get(body, "messages"), out, no);
}

void chat_request_release(struct chat_request *r)
{
    free(r->system);
    free(r->input);
    json_free(r->history);
    json_free(r->earlier_files);
    json_free(r->files);
    *r = (struct chat_request){0};
}

/* ---- the name of what was said ---- */

static void add_named(struct buf *out, char kind, const char *text, size_t len)
{
    buf_addf(out, "%c%zu:", kind, len);
    buf_add(out, text, len);
}

/* Each message is named together with the name of all before it. */
static void add_message(char key[SHA256_HEX], enum role role, const struct buf *words,
                        const struct buf *files)
{
    struct buf all autorelease(buf_release) = BUF_INIT(0);

    buf_addstr(&all, key);
    add_named(&all, (char)('0' + role), buf_str(words), words->len);
    buf_add(&all, buf_str(files), files->len);
    sha256_hex(all.data, all.len, key);
}

void chat_request_key(const struct json *body, size_t n, const char *owner, char out[SHA256_HEX])
{
    const struct json *m = json_first(json_get(body, "messages"));

    sha256_hex(owner, strlen(owner), out);
    for (; m && n--; m = json_next(m)) {
        struct buf words autorelease(buf_release) = BUF_INIT(0), files autorelease(buf_release) = BUF_INIT(0);
        const struct json *content = json_get(m, "content");
        const char *text = json_text(content);

        add_paragraph(&words, text, strlen(text));
        for (const struct json *part = json_first(content); part; part = json_next(part)) {
            if ((text = chat_part_text(part)))
                add_paragraph(&words, text, strlen(text));
            else if ((text = chat_part_data(part)))
                add_named(&files, 'f', text, strlen(text));
        }
        add_message(out, role_of(m), &words, &files);
    }
}

void chat_key_after(const char key[SHA256_HEX], const char *answer, char out[SHA256_HEX])
{
    struct buf words autorelease(buf_release) = BUF_INIT(0), none = BUF_INIT(0);

    add_paragraph(&words, answer, strlen(answer));
    memmove(out, key, SHA256_HEX);
    add_message(out, ROLE_ASSISTANT, &words, &none);
}
