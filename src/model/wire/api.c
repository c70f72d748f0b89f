/* api.c - see api.h. */
#include "wire/api.h"

#include "json/json.h"
#include "base/url.h"
#include "wire/request_parts.h"

static const struct api apis[] = {
    [LLM_CHAT_COMPLETIONS] = {"chat_completions", "/chat/completions", NULL, false, false, request_chat},
    [LLM_RESPONSES] = {"responses", "/responses", NULL, false, false, request_responses},
    [LLM_WORKERS_AI] = {"workers_ai", NULL, workers_ai_url, true, true, request_workers_ai},
};

const struct api *api_of(enum llm_api a)
{
    return &apis[a];
}

char *api_url(enum llm_api a, const char *base, const char *model, struct error *err)
{
    return apis[a].url ? apis[a].url(base, model, err) : url_endpoint(base, apis[a].path, err);
}

enum llm_api api_of_body(const struct json *body)
{
    return json_get(body, "input")   ? LLM_RESPONSES
           : json_get(body, "model") ? LLM_CHAT_COMPLETIONS
                                     : LLM_WORKERS_AI;
}
