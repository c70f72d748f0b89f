/* read_parts.c - what the readers of all APIs share. A value of a wrong type counts as absent; nothing here
 * trusts a field to be what it should be.
 */
#include "wire/read_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "wire/reader.h"

/* bytes; later stages copy each slice a few times, and a whole answer in one string may have 64 MiB */
#define SLICE (256u << 10)

static void in_slices(struct reader *r, void (*sink)(void *, const char *, size_t), struct json_joint *joint,
                      const char *piece)
{
    struct buf whole autorelease(buf_release) = BUF_INIT(0);

    json_join(joint, piece, strlen(piece), &whole);
    const char *s = buf_str(&whole);
    for (size_t n = whole.len, k; n; s += k, n -= k) {
        k = n > SLICE ? utf8_cut(s, n, SLICE) : n;
        sink(r->sink.ctx, s, k);
    }
}

void read_text(struct reader *r, const char *s)
{
    if (!s || !*s)
        return;
    r->content++;
    in_slices(r, r->sink.text, &r->text_joint, s);
}

void read_reasoning(struct reader *r, const char *s, const char *field)
{
    if (!s || !*s)
        return;
    r->content++;
    if (field && !r->reasoning_field)
        r->reasoning_field = field;
    in_slices(r, r->sink.reasoning, &r->thought_joint, s);
}

static void thinking_part(struct reader *r, const struct json *part)
{
    const struct json *th = json_get(part, "thinking");
    read_reasoning(r, json_str(th), NULL);
    for (const struct json *e = json_type(th) == JSON_ARRAY ? json_first(th) : NULL; e; e = json_next(e))
        read_reasoning(r, json_str(json_get(e, "text")), NULL);
}

void read_content(struct reader *r, const struct json *c)
{
    switch (json_type(c)) {
    case JSON_NULL:
        return;
    case JSON_STRING:
        read_text(r, json_str(c));
        return;
    case JSON_ARRAY:
        for (const struct json *e = json_first(c); e; e = json_next(e)) {
            if (json_type(e) == JSON_STRING)
                read_text(r, json_str(e));
            else if (json_is(e, "thinking") || json_is(e, "reasoning"))
                thinking_part(r, e);
            else if (json_is(e, "refusal"))
                buf_addstr(&r->refusal, json_text(json_get(e, "refusal")));
            else if (json_is(e, "text") || json_is(e, "output_text") || !json_get(e, "type"))
                read_text(r, json_str(json_get(e, "text")));
        }
        return;
    default: {
        /* Workers AI gives an object when a schema was asked for, or a bare number. */
        autofree char *s = json_print(c);
        read_text(r, s);
    }
    }
}

void read_tool_calls(struct reader *r, const struct json *calls)
{
    if (json_type(calls) == JSON_OBJECT) {
        r->content += call_deltas_add(&r->calls, calls);
        return;
    }
    for (const struct json *e = json_type(calls) == JSON_ARRAY ? json_first(calls) : NULL; e;
         e = json_next(e))
        r->content += call_deltas_add(&r->calls, e);
}

void read_finish(struct reader *r, const struct json *reason)
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

void read_usage(struct reader *r, const struct json *u)
{
    if (json_type(u) != JSON_OBJECT)
        return;
    struct llm_usage got = {.input = tokens(u, "prompt_tokens", "input_tokens"),
                            .output = tokens(u, "completion_tokens", "output_tokens")};
    const struct json *details = json_get(u, "completion_tokens_details");
    got.reasoning = json_int(
        json_get(details ? details : json_get(u, "output_tokens_details"), "reasoning_tokens"), -1);
    details = json_get(u, "prompt_tokens_details");
    got.cached = json_int(json_get(details ? details : json_get(u, "input_tokens_details"), "cached_tokens"),
                          -1);
    if (got.cached < 0) /* DeepSeek */
        got.cached = json_int(json_get(u, "prompt_cache_hit_tokens"), -1);
    if (got.input > 0 || got.output > 0) /* a later usage of zeros does not count */
        r->usage = got;
}
