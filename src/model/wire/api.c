/* api.c - the table: a row for each API, with the end of its URL and the function that writes its body. */
#include "wire/api.h"

#include "json/json.h"
#include "base/url.h"
#include "wire/request_parts.h"

static const struct api apis[] = {
    [API_CHAT_COMPLETIONS] = {"/chat/completions", NULL, false, false, request_chat},
    [API_RESPONSES] = {"/responses", NULL, false, false, request_responses},
    [API_WORKERS_AI] = {NULL, workers_ai_url, true, true, request_workers_ai},
};

const struct api *api_of(enum model_api a)
{
    return &apis[a];
}

char *api_url(enum model_api a, const char *base, const char *model, struct error *err)
{
    return apis[a].url ? apis[a].url(base, model, err) : url_endpoint(base, apis[a].path, err);
}

enum model_api api_of_body(const struct json *body)
{
    return json_get(body, "input")   ? API_RESPONSES
           : json_get(body, "model") ? API_CHAT_COMPLETIONS
                                     : API_WORKERS_AI;
}
