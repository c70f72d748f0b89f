/* read_workers_ai.c - reads the answers of Cloudflare's own API: text and calls are at the top level, and a
 * whole answer has an envelope around them.
 */
#include "wire/read_parts.h"

#include "json/json.h"
#include "wire/reader.h"

bool read_workers_ai(struct reader *r, const struct json *o)
{
    const struct json *response = json_get(o, "response"), *calls = json_get(o, "tool_calls");
    read_content(r, response);
    read_tool_calls(r, calls);
    read_finish(r, json_get(o, "finish_reason"));
    return response || calls;
}

const struct json *read_workers_ai_result(struct reader *r, const struct json *o)
{
    const struct json *result = json_get(o, "result");
    if (json_str(result)) {
        read_text(r, json_str(result));
        return NULL;
    }
    if (json_get(o, "choices") || json_type(result) != JSON_OBJECT)
        return o;
    read_usage(r, json_get(result, "usage"));
    if (json_size(result))
        return result;
    r->failed = true;
    failure_set(&r->failure, FAILURE_EMPTY_RESULT, "an empty result");
    return NULL;
}
