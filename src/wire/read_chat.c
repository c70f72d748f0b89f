/* read_chat.c - see read_chat.h. Wrong types read as absent; nothing here trusts that a field is what it
 * should be.
 */
#include "wire/read_chat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "wire/reader.h"
#include "wire/read_responses.h"

#define SLICE \
    (256u << 10) /* what follows copies it a few times: a whole answer in one string may have 64 MiB */

static void in_slices(struct reader *r, void (*sink)(void *, const char *, size_t), const char *s)
{
    for (size_t n = strlen(s), k; n; s += k, n -= k) {
        k = n > SLICE ? utf8_cut(s, n, SLICE) : n;
        sink(r->sink.ctx, s, k);
    }
}

void choice_text(struct reader *r, const char *s)
{
    if (!s || !*s)
        return;
    r->content++;
    in_slices(r, r->sink.text, s);
}

void choice_reasoning(struct reader *r, const char *s, const char *field)
{
    if (!s || !*s)
        return;
    r->content++;
    if (field && !r->reasoning_field)
        r->reasoning_field = field;
    in_slices(r, r->sink.reasoning, s);
}

static bool is_type(const struct json *part, const char *type)
{
    const char *t = json_str(json_get(part, "type"));
    return t && !strcmp(t, type);
}

static void thinking_part(struct reader *r, const struct json *part)
{
    const struct json *th = json_get(part, "thinking");
    choice_reasoning(r, json_str(th), NULL);
    for (const struct json *e = json_type(th) == JSON_ARRAY ? json_first(th) : NULL; e; e = json_next(e))
        choice_reasoning(r, json_str(json_get(e, "text")), NULL);
}

static void content(struct reader *r, const struct json *c)
{
    switch (json_type(c)) {
    case JSON_NULL:
        return;
    case JSON_STRING:
        choice_text(r, json_str(c));
        return;
    case JSON_ARRAY:
        for (const struct json *e = json_first(c); e; e = json_next(e)) {
            if (json_type(e) == JSON_STRING)
                choice_text(r, json_str(e));
            else if (is_type(e, "thinking") || is_type(e, "reasoning"))
                thinking_part(r, e);
            else if (is_type(e, "refusal"))
                buf_addstr(&r->refusal,
                           json_str(json_get(e, "refusal")) ? json_str(json_get(e, "refusal")) : "");
            else if (is_type(e, "text") || is_type(e, "output_text") || !json_get(e, "type"))
                choice_text(r, json_str(json_get(e, "text")));
        }
        return;
    default: {
        /* Workers AI gives an object when a schema was asked for, or a bare number */
        char *s = json_print(c);
        choice_text(r, s);
        free(s);
    }
    }
}

/* Several names for one thing may come together: one is shown. */
static void all_reasoning(struct reader *r, const struct json *d)
{
    static const char *const fields[] = {"reasoning_content", "reasoning"};
    const struct json *details = json_get(d, "reasoning_details"),
                      *first = json_type(details) == JSON_ARRAY ? json_first(details) : NULL;
    for (const struct json *e = first; e; e = json_next(e))
        reasoning_items_add_detail(&r->reasoning_items, e);
    for (size_t i = 0; i < countof(fields); i++) {
        const char *s = json_str(json_get(d, fields[i]));
        if (s && *s) {
            choice_reasoning(r, s, fields[i]);
            return;
        }
    }
    for (const struct json *e = first; e; e = json_next(e)) {
        const char *s = json_str(json_get(e, "text"));
        choice_reasoning(r, s ? s : json_str(json_get(e, "summary")), NULL);
    }
}

static void tool_calls(struct reader *r, const struct json *calls)
{
    if (json_type(calls) == JSON_OBJECT) {
        r->content += call_deltas_add(&r->calls, calls);
        return;
    }
    for (const struct json *e = json_type(calls) == JSON_ARRAY ? json_first(calls) : NULL; e;
         e = json_next(e))
        r->content += call_deltas_add(&r->calls, e);
}

static void finish(struct reader *r, const struct json *reason)
{
    const char *s = json_str(reason);
    if (!s)
        return;
    r->content++;
    r->finished = true;
    if (*s || !*r->finish)
        snprintf(r->finish, sizeof r->finish, "%s", s);
}

static int64_t tokens(const struct json *u, const char *a, const char *b)
{
    int64_t v = json_int(json_get(u, a), -1);
    return v >= 0 ? v : json_int(json_get(u, b), -1);
}

void choice_usage(struct reader *r, const struct json *u)
{
    if (json_type(u) != JSON_OBJECT)
        return;
    struct reader_usage got = {tokens(u, "prompt_tokens", "input_tokens"),
                               tokens(u, "completion_tokens", "output_tokens"), -1};
    const struct json *details = json_get(u, "completion_tokens_details");
    got.reasoning = json_int(
        json_get(details ? details : json_get(u, "output_tokens_details"), "reasoning_tokens"), -1);
    if (got.input > 0 || got.output > 0) /* a late one of zeros does not count */
        r->usage = got;
}

static void message(struct reader *r, const struct json *m)
{
    if (json_type(m) != JSON_OBJECT)
        return;
    all_reasoning(r, m);
    content(r, json_get(m, "content"));
    const char *refusal = json_str(json_get(m, "refusal"));
    if (refusal && *refusal) {
        r->content++;
        buf_addstr(&r->refusal, refusal);
    }
    const struct json *calls = json_get(m, "tool_calls");
    tool_calls(r, calls);
    if (!json_size(calls) && json_type(json_get(m, "function_call")) == JSON_OBJECT)
        r->content += call_deltas_add_function_call(&r->calls, json_get(m, "function_call"));
}

static void choice(struct reader *r, const struct json *c)
{
    const struct json *delta = json_get(c, "delta"), *whole = json_get(c, "message");
    bool stream = r->mode == READ_SSE;
    if (json_type(delta) == JSON_OBJECT && json_size(delta) && (stream || json_type(whole) != JSON_OBJECT)) {
        r->delta_seen = true;
        message(r, delta);
    } else if (!r->delta_seen) { /* a message behind deltas repeats them */
        message(r, whole);
    }
    if (!delta && !whole)
        content(r, json_get(c, "text"));
    finish(r, json_get(c, "finish_reason"));
    choice_usage(r, json_get(c, "usage"));
    if (json_truthy(json_get(c, "error")) && !r->failed) { /* OpenRouter: its provider broke off */
        r->failed = true;
        failure_from_json(&r->failure, 200, c);
    }
}

/* True when there was a list of choices, even an empty one. */
static bool choices(struct reader *r, const struct json *o)
{
    const struct json *list = json_get(o, "choices");
    if (json_type(list) != JSON_ARRAY)
        return false;
    for (const struct json *c = json_first(list); c; c = json_next(c))
        if (json_int(json_get(c, "index"), 0) == 0) {
            choice(r, c);
            break; /* one choice a chunk; others were not asked for */
        }
    return true;
}

/* Workers AI's own shape: response and tool_calls at the top. */
static void native(struct reader *r, const struct json *o)
{
    content(r, json_get(o, "response"));
    tool_calls(r, json_get(o, "tool_calls"));
    finish(r, json_get(o, "finish_reason"));
}

void choice_read(struct reader *r, const struct json *o)
{
    if (responses_is_event(o)) {
        responses_event(r, o);
        return;
    }
    choice_usage(r, json_get(o, "usage"));
    if (choices(r, o))
        return;
    if (json_get(o, "response") || json_get(o, "tool_calls") || json_get(o, "finish_reason"))
        native(r, o);
}

void choice_read_document(struct reader *r, const struct json *o)
{
    const struct json *result = json_get(o, "result");
    choice_usage(r, json_get(o, "usage"));
    if (!json_get(o, "choices") && json_type(result) == JSON_OBJECT) {
        choice_usage(r, json_get(result, "usage"));
        o = result;
        if (!json_size(result)) {
            r->failed = true;
            failure_set(&r->failure, FAILURE_EMPTY_RESULT, "an empty result");
            return;
        }
    } else if (json_str(result)) {
        choice_text(r, json_str(result));
        return;
    }
    if (choices(r, o))
        return;
    if (json_type(json_get(o, "output")) == JSON_ARRAY)
        responses_document(r, o);
    else if (json_get(o, "response") || json_get(o, "tool_calls"))
        native(r, o);
    else if (json_get(o, "message"))
        message(r, json_get(o, "message")); /* Ollama's own API */
    else {
        r->failed = true;
        failure_set(&r->failure, FAILURE_NOT_API, "JSON without an answer in it");
    }
}
