/* failure_class.c - from status, code and words to a class. The words of services stand here, and nowhere
 * else: the HTTP status decides first; codes and words count only where services agree on them.
 */
#include "wire/failure_class.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "json/json.h"

static bool has(const char *text, const char *word)
{
    return strcasestr(text, word) != NULL;
}

static bool has_any(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (has(text, *words))
            return true;
    return false;
}

static bool is_context(const struct failure *f, const char *type)
{
    static const char *const codes[] = {"context_length_exceeded", "exceed_context_size_error",
                                        "too_many_prompt_tokens",  "context_window_exceeded",
                                        "request_too_large",       NULL};
    static const char *const words[] = {"maximum context length",
                                        "context window",
                                        "context size",
                                        "context length",
                                        "prompt is too long",
                                        "prompt too long",
                                        "too many tokens",
                                        "input length",
                                        "reduce the length",
                                        "maximum prompt length",
                                        "input is too long",
                                        "input token count",
                                        "maximum allowed input length",
                                        "maximum model length",
                                        "model's context",
                                        "model token limit",
                                        "token limit exceeded",
                                        "request_too_large",
                                        "maximum number of tokens allowed",
                                        "max_new_tokens` must be",
                                        "context limit",
                                        "context shift is disabled", /* llama.cpp */
                                        NULL};
    static const char *const rate[] = {"rate limit", "throttl", "per minute", "per day", "tpm", NULL};
    if (has_any(f->code, codes) || has_any(type, codes) || !strcmp(f->code, "3006"))
        return true;
    if (has_any(f->message, rate))
        return false;
    if (has_any(f->message, words))
        return true;
    const char *exceeds = strcasestr(f->message, "exceeds the "),
               *limit = exceeds ? strcasestr(exceeds, "limit of ") : NULL;
    return limit && isdigit((unsigned char)limit[9]);
}

/* Returns the window that the error names: "maximum context length is 8192 tokens", "context size (8192
 * tokens)". */
static int context_named(const char *message)
{
    static const char *const before[] = {"context length is only ",
                                         "context length is ",
                                         "context size (",
                                         "context size of ",
                                         "context window of ",
                                         "context window is ",
                                         "limit of ",
                                         "n_ctx = ",
                                         "maximum of ",
                                         "maximum model length of ",
                                         "maximum number of tokens allowed (",
                                         "maximum prompt length is ",
                                         NULL};
    for (const char *const *b = before; *b; b++) {
        const char *at = strcasestr(message, *b);
        if (!at)
            continue;
        long v = strtol(at + strlen(*b), NULL, 10);
        if (v >= 256 && v <= 100000000)
            return (int)v;
    }
    return 0;
}

/* Causes are another key of the account, an alias that moved, a gateway that lost the items. The service
 * would refuse such an item for ever. */
static bool items_refused(const char *message)
{
    static const char *const words[] = {"encrypted content", "could not be verified",
                                        "could not be decrypted", NULL};
    return (has(message, words[0]) && has_any(message, words + 1)) || has(message, "items are not persisted")
           || has(message, "without its required")
           || (has(message, "item with id") && has(message, "not found"));
}

static enum failure_param param_named(const char *message, const char *param)
{
    static const struct {
        const char *name;
        enum failure_param param;
    } fields[] = {
        {"stream_options", PARAM_STREAM_OPTIONS},
        {"reasoning_effort", PARAM_REASONING_EFFORT},
        {"reasoning.effort", PARAM_REASONING_EFFORT},
        {"max_tokens", PARAM_MAX_TOKENS},
        {"max_completion_tokens", PARAM_MAX_COMPLETION_TOKENS},
        {"temperature", PARAM_TEMPERATURE},
        {"max_output_tokens", PARAM_MAX_TOKENS},
        {"reasoning.summary", PARAM_SUMMARY},
        {"reasoning summar", PARAM_SUMMARY},
        {"reasoning.encrypted_content", PARAM_ENCRYPTED},
        {"reasoning_details", PARAM_ITEMS},
        {"reasoning_content", PARAM_ITEMS},
    };
    static const char *const tools[] = {"not support tools",
                                        "not support tool",
                                        "support tool use",
                                        "support function call",
                                        "enable-auto-tool-choice",
                                        "tools is not supported",
                                        "tools are not supported",
                                        "tool use is not supported",
                                        "tool calling is not supported",
                                        NULL};
    for (size_t i = 0; i < countof(fields); i++)
        if (param && !strcmp(param, fields[i].name))
            return fields[i].param;
    if (has(message, "reasoning_content") && (has(message, "missing") || has(message, "must be passed back")))
        return PARAM_THOUGHTS;
    if (items_refused(message))
        return PARAM_ITEMS;
    if ((param && !strcmp(param, "include")) || has(message, "encrypted content is not supported"))
        return PARAM_ENCRYPTED;
    if (has_any(message, tools))
        return PARAM_TOOLS;
    /* "'max_tokens' is not supported. Use 'max_completion_tokens' instead": the service refuses the one that
     * it names first. */
    const char *first = NULL;
    enum failure_param found = PARAM_NONE;
    bool stream = (param && !strcmp(param, "stream"))
                  || (has(message, "stream") && !has(message, "stream_options"));
    if (stream && (has(message, "not support") || has(message, "unsupported")))
        return PARAM_STREAM;
    for (size_t i = 0; i < countof(fields); i++) {
        const char *at = strcasestr(message, fields[i].name);
        if (at && (!first || at < first)) {
            first = at;
            found = fields[i].param;
        }
    }
    return found;
}

static bool is_loading(const struct failure *f, const struct json *j)
{
    return has(f->message, "loading model") || json_get(j, "estimated_time")
           || has(f->message, "currently loading");
}

static bool is_quota(const struct failure *f, const char *type)
{
    static const char *const codes[] = {"insufficient_quota", "billing_hard_limit_reached",
                                        "billing_not_active", NULL};
    return has_any(f->code, codes) || has_any(type, codes) || !strcmp(f->code, "3036");
}

static long number_behind(const char *text, const char *word)
{
    const char *at = text;
    while ((at = strcasestr(at, word)) && !isdigit((unsigned char)at[strlen(word)]))
        at++;
    return at ? strtol(at + strlen(word), NULL, 10) : -1;
}

/* The trouble is not too many requests: this one alone exceeds the limit, however long one waits. */
static bool is_too_large(const struct failure *f)
{
    static const char *const rate[] = {"per min", "per day", "tpm", "tpd", NULL};
    if (f->status != 429 && f->status != 413)
        return false;
    long limit = number_behind(f->message, "limit "), asked = number_behind(f->message, "requested ");
    bool never = limit > 0 && asked > limit;
    return has(f->message, "request too large for") ? f->status == 429 || has_any(f->message, rate)
                                                    : never && has_any(f->message, rate);
}

/* The wordings of PROVIDERS: OpenAI and Groq by code, Workers AI by number, Fireworks, NVIDIA (410),
 * Together, OpenRouter. */
static bool is_gone(const struct failure *f)
{
    static const char *const codes[] = {"model_not_found",  "model_decommissioned", "model_not_available",
                                        "model_deprecated", "DeploymentNotFound",   NULL};
    static const char *const words[] = {"no endpoints found for",
                                        "end of life",
                                        "end-of-life",
                                        "decommissioned",
                                        "has been deprecated",
                                        "been retired",
                                        "no longer available",
                                        "no longer supported",
                                        "non-serverless model",
                                        "model not found",
                                        "is not a valid model",
                                        "unknown model",
                                        "model_not_found",
                                        "model not exist",
                                        "invalid model: ",
                                        "not found the model",
                                        NULL};
    bool model = has(f->message, "model");

    if (f->status == 410 || !strcmp(f->code, "5028") || has_any(f->code, codes))
        return true;
    if (f->status && f->status != 400 && f->status != 404 && f->status != 422)
        return false;
    return has_any(f->message, words) || (model && has(f->message, "does not exist"))
           || (model && !strcmp(f->code, "NOT_FOUND"))
           || (f->status == 404 && (model || has(f->code, "model") || has(f->message, "deployment")));
}

/* OpenAI (403) and Gemini (400) where they are not offered. */
bool failure_is_region(const struct failure *f)
{
    static const char *const words[] = {"country, region",
                                        "unsupported_country",
                                        "location is not supported",
                                        "not available in your country",
                                        "not available in your region",
                                        "not supported in your country",
                                        "not supported in your region",
                                        NULL};
    return f->status >= 400 && f->status < 500 && (has_any(f->message, words) || has_any(f->code, words));
}

/* Gemini and xAI answer a wrong key with a 400. */
static bool is_wrong_key(const struct failure *f)
{
    static const char *const words[] = {"api key not valid", "incorrect api key", "invalid api key",
                                        "api key is invalid", NULL};
    return f->status == 401 || f->status == 403 || (f->status == 400 && has_any(f->message, words));
}

/* For models that take tools only there: "use /v1/responses", "only supported in v1/responses". */
static bool names_responses(const struct failure *f)
{
    return (f->status == 400 || f->status == 404) && has(f->message, "v1/responses");
}

/* OpenRouter (404), llama.cpp and Ollama (500), vLLM, DeepSeek, Groq and Mistral, which want text in its
 * place, and chat templates that know no user message behind a result. */
bool failure_is_images(const struct failure *f)
{
    static const char *const words[] = {"image",
                                        "vision",
                                        "multimodal",
                                        "multi-modal",
                                        "must be a string",
                                        "should be a valid string",
                                        "expected a string",
                                        "untagged enum",
                                        "unsupported content",
                                        "after role 'tool'",
                                        "roles must alternate",
                                        NULL};
    return f->class != FAILURE_AUTH && f->class != FAILURE_QUOTA && f->class != FAILURE_CONTEXT
           && f->class != FAILURE_NETWORK && has_any(f->message, words);
}

static enum failure_class class_of_words(const struct failure *f, const char *type)
{
    static const char *const busy[] = {"server_error",
                                       "overloaded",
                                       "rate_limit",
                                       "rate limit",
                                       "unavailable",
                                       "internal",
                                       "timeout",
                                       "timed out",
                                       "disconnected",
                                       "upstream connect error", /* Envoy */
                                       "capacity",
                                       "error parsing tool call",
                                       "harmony",
                                       "unexpected tokens",
                                       NULL};
    if (has(type, "auth") || has(f->code, "invalid_api_key") || !strcmp(f->code, "10000"))
        return FAILURE_AUTH;
    if (has(type, "invalid_request") || has(type, "badrequest") || has(type, "bad_request"))
        return FAILURE_FATAL;
    if (has_any(type, busy) || has_any(f->code, busy) || has_any(f->message, busy))
        return FAILURE_BUSY;
    return FAILURE_FATAL;
}

enum failure_class failure_classify(struct failure *f, const struct failure_evidence *e)
{
    const struct json *j = e->j;
    const char *type = e->type, *should_retry = e->h ? e->h->should_retry : "";
    int s = f->status;
    if (is_too_large(f))
        return FAILURE_TOO_LARGE;
    if (is_context(f, type)) {
        int64_t n = json_int(json_get(json_get(j, "error"), "n_ctx"), 0);
        f->context = n >= 256 && n <= 100000000 ? (int)n : context_named(f->message);
        return FAILURE_CONTEXT;
    }
    if (is_quota(f, type) || s == 402)
        return FAILURE_QUOTA;
    if (!strcmp(f->code, "tool_use_failed"))
        return FAILURE_TOOL_USE;
    if (failure_is_region(f) || (s == 403 && f->page))
        return FAILURE_FATAL;
    if (is_wrong_key(f))
        return FAILURE_AUTH;
    if (names_responses(f)) {
        f->param = PARAM_API;
        return FAILURE_PARAMETER;
    }
    if (s == 400 || s == 404 || s == 422 || s == 501) {
        f->param = has(f->code, "invalid_encrypted_content") ? PARAM_ITEMS
                                                             : param_named(f->message, e->param);
        if (f->param == PARAM_TOOLS || f->param == PARAM_ITEMS || (f->param && s != 404))
            return FAILURE_PARAMETER;
    }
    if (s != 429 && s < 500 && is_gone(f))
        return FAILURE_GONE;
    if (s == 404)
        return FAILURE_NOT_FOUND;
    if (s == 413) {
        f->body_limit = true;
        return FAILURE_CONTEXT;
    }
    if (!strcasecmp(should_retry, "false"))
        return FAILURE_FATAL;
    if (s >= 500 && is_loading(f, j))
        return FAILURE_LOADING;
    if (s == 408 || s == 409 || s == 429 || s == 498 || s >= 500 || (!strcasecmp(should_retry, "true")))
        return FAILURE_BUSY;
    enum failure_class known = s < 300 ? failure_by_number(j) : FAILURE_NONE;
    return s >= 300 ? FAILURE_FATAL : known ? known : class_of_words(f, type);
}
