/* failure.c - reads error bodies in all the envelopes that services use, and classifies them. The HTTP status
 * decides first; codes and words count only where services agree on them. Everything in a body is hostile, so
 * only short copies on one line are kept.
 */
#include "wire/failure.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/error.h"
#include "json/json.h"
#include "base/mem.h"
#include "base/utf8.h"

#define DOTS " ..."

/* Cuts a text of n bytes that is too long at a word, or at a character when there is no word near. size has
 * room for the dots too. */
static size_t cut_at_word(char *out, size_t n, size_t size)
{
    size_t most = size > sizeof DOTS ? size - sizeof DOTS : 0, at = utf8_cut(out, n, most), word = at;
    while (word && at - word < 100 && out[word] != ' ')
        word--;
    at = word && at - word < 100 ? word : at;
    while (at && out[at - 1] == ' ')
        at--;
    if (most)
        memcpy(out + at, DOTS, sizeof DOTS);
    return most ? at + sizeof DOTS - 1 : 0;
}

/* Copies onto one line, with blanks for control characters, cut at a word. */
static void line_copy(char *out, size_t size, const char *s, size_t len)
{
    struct buf b = BUF_INIT(4096);
    utf8_repair(&b, s, len < 2048 ? len : 2048);
    size_t n = 0, i = 0;
    for (; i < b.len && n + 1 < size; i++) {
        char c = b.data[i];
        if ((unsigned char)c < 0x20 || c == 0x7f)
            c = ' ';
        if (c == ' ' && (!n || out[n - 1] == ' '))
            continue;
        out[n++] = c;
    }
    while (n && out[n - 1] == ' ')
        n--;
    out[n] = '\0';
    if (i < b.len || len > 2048)
        n = cut_at_word(out, n, size);
    out[n] = '\0';
    buf_release(&b);
}

void failure_set(struct failure *f, enum failure_class class, const char *fmt, ...)
{
    *f = (struct failure){.class = class, .retry_after = -1};
    va_list ap;
    va_start(ap, fmt);
    autofree char *text = xvasprintf(fmt, ap);
    va_end(ap);
    line_copy(f->message, sizeof f->message, text, strlen(text));
}

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

void failure_brief(const struct failure *f, const char *key, char *out, size_t size)
{
    struct buf b = BUF_INIT(0);
    size_t n = key ? strlen(key) : 0, whole = strlen(f->message);
    for (const char *s = f->message; *s;) {
        const char *at = n >= 8 ? strstr(s, key) : NULL;
        buf_add(&b, s, at ? (size_t)(at - s) : strlen(s));
        if (!at)
            break;
        buf_addstr(&b, "[key]");
        s = at + n;
    }
    /* When the message was cut inside a key, a part of the key is at its end. */
    size_t dots = whole > 4 && !strcmp(f->message + whole - 4, DOTS) ? 4 : 0;
    for (size_t k = n; k-- > 6 && dots;)
        if (b.len >= k + dots && !memcmp(b.data + b.len - dots - k, key, k)) {
            b.len -= k + dots;
            buf_addstr(&b, "[key]" DOTS);
            break;
        }
    line_copy(out, size, buf_str(&b), b.len);
    buf_release(&b);
}

/* Returns a string, or the serialised value of anything else; NULL for nothing. */
static char *text_of(const struct json *j)
{
    const char *s = json_str(j);
    if (s)
        return *s ? xstrdup(s) : NULL;
    return json_truthy(j) ? json_print(j) : NULL;
}

static char *list_text(const struct json *list)
{
    struct buf b = BUF_INIT(2048);
    for (const struct json *e = json_first(list); e; e = json_next(e)) {
        const char *msg = json_str(json_get(e, "msg"));
        if (!msg)
            msg = json_str(json_get(e, "message"));
        if (!msg || !*msg)
            continue;
        if (b.len)
            buf_addstr(&b, "; ");
        buf_addstr(&b, msg);
        autofree char *loc = text_of(json_get(e, "loc"));
        if (loc)
            buf_addf(&b, " at %s", loc);
    }
    return b.len ? buf_steal(&b, NULL) : NULL;
}

static char *detail_text(const struct json *d)
{
    return json_type(d) == JSON_ARRAY ? list_text(d) : text_of(d);
}

/* Looks into error.message first, then into the other places. The caller frees it. */
static char *message_of(const struct json *j)
{
    const struct json *error = json_get(j, "error"), *message = json_get(j, "message");
    char *s = NULL;
    const struct json *inner = json_get(error, "message");
    if (inner)
        s = json_get(inner, "detail") ? detail_text(json_get(inner, "detail")) : text_of(inner);
    const char *raw = json_str(json_get(json_get(error, "metadata"), "raw"));
    /* OpenRouter has the cause one level down. */
    if (s && raw && *raw && !strcmp(s, "Provider returned error")) {
        char *both = xasprintf("%s: %s", s, raw);
        free(s);
        s = both;
    }
    if (!s && json_str(error))
        s = text_of(failure_telling(error, message ? message : json_get(j, "error_description")));
    if (!s && message)
        s = json_get(message, "detail") ? detail_text(json_get(message, "detail")) : text_of(message);
    const struct json *others[] = {
        json_get(json_get(j, "base_resp"), "status_msg"),
        json_get(j, "msg"),
        json_get(j, "error_msg"),
        raw ? json_get(json_get(error, "metadata"), "raw") : NULL,
        json_type(error) == JSON_OBJECT ? error : NULL,
    };
    if (!s)
        s = detail_text(json_get(j, "detail"));
    if (!s)
        s = list_text(json_get(j, "errors"));
    for (size_t i = 0; i < countof(others) && !s; i++)
        s = text_of(others[i]);
    return s;
}

static void code_copy(char *out, size_t size, const struct json *j)
{
    const char *s = json_str(j);
    if (s)
        line_copy(out, size, s, strlen(s));
    else if (json_type(j) == JSON_NUMBER)
        snprintf(out, size, "%lld", (long long)json_int(j, 0));
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

/* What an error says besides its status, code and message. */
struct evidence {
    const char *type, *param;     /* param may be NULL */
    const struct json *j;         /* the whole body; may be NULL */
    const struct failure_head *h; /* may be NULL */
};

static enum failure_class classify(struct failure *f, const struct evidence *e)
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
    if (s == 413)
        return FAILURE_CONTEXT;
    if (!strcasecmp(should_retry, "false"))
        return FAILURE_FATAL;
    if (s >= 500 && is_loading(f, j))
        return FAILURE_LOADING;
    if (s == 408 || s == 409 || s == 429 || s == 498 || s >= 500 || (!strcasecmp(should_retry, "true")))
        return FAILURE_BUSY;
    enum failure_class known = s < 300 ? failure_by_number(j) : FAILURE_NONE;
    return s >= 300 ? FAILURE_FATAL : known ? known : class_of_words(f, type);
}

static void from_json(struct failure *f, int status, const struct json *j, const struct failure_head *h)
{
    *f = (struct failure){.status = status, .retry_after = -1, .in_stream = status < 300};
    if (json_type(j) == JSON_ARRAY)
        j = json_at(j, 0);
    const struct json *error = json_get(j, "error");
    const struct json *o = json_type(error) == JSON_OBJECT ? error : j;
    autofree char *message = message_of(j);
    if (message)
        line_copy(f->message, sizeof f->message, message, strlen(message));
    const struct json *codes[] = {
        json_get(o, "code"),         json_get(json_at(json_get(j, "errors"), 0), "code"),
        json_get(j, "internalCode"), json_get(json_get(j, "base_resp"), "status_code"),
        json_get(j, "error_code"),
    };
    for (size_t i = 0; i < countof(codes) && !*f->code; i++)
        code_copy(f->code, sizeof f->code, codes[i]);
    char type[64] = "";
    code_copy(type, sizeof type, json_get(o, "type"));
    if (!*f->code)
        snprintf(f->code, sizeof f->code, "%s", type);
    if (status < 300) { /* the body has the status, since HTTP's says that all is well */
        int64_t named[] = {strtol(f->code, NULL, 10), json_int(json_get(j, "httpCode"), 0),
                           json_int(json_get(o, "status"), 0)};
        f->status = 0;
        for (size_t i = 0; i < countof(named) && !f->status; i++)
            f->status = named[i] >= 400 && named[i] <= 599 ? (int)named[i] : 0;
    }
    f->class = classify(f, &(struct evidence){type, json_str(json_get(o, "param")), j, h});
    if (f->class == FAILURE_BUSY || f->class == FAILURE_QUOTA)
        f->retry_after = failure_wait_in_body(o, f->message);
}

void failure_from_json(struct failure *f, int status, const struct json *j)
{
    from_json(f, status, j, NULL);
    if (!*f->message)
        snprintf(f->message, sizeof f->message, "an error with no message");
}

/* Copies the title of an HTML page, on one line. */
static void html_title(char *out, size_t size, const char *body, size_t len)
{
    autofree char *copy = xmemdup0(body, len < 8192 ? len : 8192);
    const char *t = strcasestr(copy, "<title"), *from = t ? strchr(t, '>') : NULL,
               *to = from ? strchr(from, '<') : NULL;
    out[0] = '\0';
    if (to)
        line_copy(out, size, from + 1, (size_t)(to - from - 1));
}

static bool looks_html(const char *body, size_t len, const char *content_type)
{
    if (has(content_type, "html"))
        return true;
    while (len && isspace((unsigned char)*body))
        body++, len--;
    return len > 5 && (!strncasecmp(body, "<!doc", 5) || !strncasecmp(body, "<html", 5));
}

/* True for bytes that nobody could read in a message. */
static bool is_binary(const char *body, size_t len)
{
    size_t n = len < 512 ? len : 512;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)body[i] < 0x20 && !isspace((unsigned char)body[i]))
            return true;
    return !utf8_valid(body, utf8_cut(body, len, n));
}

static void from_other(struct failure *f, const struct failure_head *h, const char *body, size_t len)
{
    int status = h->status;
    *f = (struct failure){.status = status, .retry_after = -1};
    if (looks_html(body, len, h->content_type)) {
        char title[128];
        html_title(title, sizeof title, body, len);
        if (*title)
            snprintf(f->message, sizeof f->message, "an HTML page, \"%s\"", title);
        else
            snprintf(f->message, sizeof f->message, "an HTML page");
    } else if (is_binary(body, len)) {
        snprintf(f->message, sizeof f->message, "%zu bytes that are not text", len);
    } else {
        line_copy(f->message, 200, body, len);
    }
    if (status < 300)
        f->class = FAILURE_NOT_API;
    else if (!len && (status == 400 || status == 413))
        f->class = FAILURE_CONTEXT; /* this is how Cerebras answers a prompt that is too long */
    else
        f->class = classify(f, &(struct evidence){.type = "", .h = h});
}

void failure_from_response(struct failure *f, const struct failure_head *h, const char *body, size_t len)
{
    int status = h->status;
    autojson struct json *j = json_parse(body, len, JSON_DUPLICATES, NULL, NULL);
    if (!j && status >= 300)
        /* LiteLLM sends the error of a stream that never began as a stream */
        j = failure_event(body, len);
    if (json_type(j) == JSON_OBJECT || json_type(j) == JSON_ARRAY)
        from_json(f, status, j, h);
    else
        from_other(f, h, body, len);
    if (h->waits && (f->class == FAILURE_BUSY || f->class == FAILURE_QUOTA))
        f->retry_after = h->wait; /* the header takes precedence over the body */
    if (status >= 300 && status < 400 && *h->location) {
        line_copy(f->location, sizeof f->location, h->location, strlen(h->location));
        snprintf(f->message, sizeof f->message, "a redirect to %.160s, which is not followed", f->location);
    }
}
