/* read_chat.c - reads chat completions: choices with a delta or a message. */
#include "wire/read_parts.h"

#include "json/json.h"
#include "base/mem.h"
#include "wire/reader.h"

/* The same reasoning may come under several names at once; only one is shown. */
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
            read_reasoning(r, s, fields[i]);
            return;
        }
    }
    for (const struct json *e = first; e; e = json_next(e)) {
        const char *s = json_str(json_get(e, "text"));
        read_reasoning(r, s ? s : json_str(json_get(e, "summary")), NULL);
    }
}

void read_chat_message(struct reader *r, const struct json *m)
{
    if (json_type(m) != JSON_OBJECT)
        return;
    all_reasoning(r, m);
    read_content(r, json_get(m, "content"));
    const char *refusal = json_str(json_get(m, "refusal"));
    if (refusal && *refusal) {
        r->content++;
        buf_addstr(&r->refusal, refusal);
    }
    const struct json *calls = json_get(m, "tool_calls");
    read_tool_calls(r, calls);
    if (!json_size(calls) && json_type(json_get(m, "function_call")) == JSON_OBJECT)
        r->content += call_deltas_add_function_call(&r->calls, json_get(m, "function_call"));
}

static void choice(struct reader *r, const struct json *c)
{
    const struct json *delta = json_get(c, "delta"), *whole = json_get(c, "message");
    bool stream = r->mode == READ_SSE;
    if (json_type(delta) == JSON_OBJECT && json_size(delta) && (stream || json_type(whole) != JSON_OBJECT)) {
        r->delta_seen = true;
        read_chat_message(r, delta);
    } else if (!r->delta_seen) { /* a message after deltas repeats them */
        read_chat_message(r, whole);
    }
    if (!delta && !whole)
        read_content(r, json_get(c, "text"));
    read_finish(r, json_get(c, "finish_reason"));
    read_usage(r, json_get(c, "usage"));
    /* OpenRouter reports that its provider broke off */
    if (json_truthy(json_get(c, "error")) && !r->failed) {
        r->failed = true;
        failure_from_json(&r->failure, 200, c);
    }
}

bool read_chat(struct reader *r, const struct json *o)
{
    const struct json *list = json_get(o, "choices");
    if (json_type(list) != JSON_ARRAY)
        return false;
    for (const struct json *c = json_first(list); c; c = json_next(c))
        if (json_int(json_get(c, "index"), 0) == 0) {
            choice(r, c);
            break; /* one choice per chunk; we did not ask for others */
        }
    return true;
}
