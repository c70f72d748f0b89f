/* test_failure.c - what went wrong, read and told: the class of every status and envelope, the wait that a
 * service asks for, and the text, which names endpoint and model and has the next step in a second line, for
 * every class there is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/unit.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "llm/llm.h"
#include "llm/http.h"
#include "llm/retry.h"

#define NOW 1800000000 /* Fri, 15 Jan 2027 08:00:00 GMT */

static void read_body(struct failure *f, int status, const char *body)
{
    struct failure_head h = {.content_type = "application/json"};
    if (body[0] == '<')
        snprintf(h.content_type, sizeof h.content_type, "text/html");
    h.status = status;
    failure_from_response(f, &h, body, strlen(body));
}

static const struct row {
    int status;
    const char *body;
    enum failure_class class;
    enum error_kind kind;
    const char *said, *step; /* in the first line, in the second */
} rows[] = {
    {400, "{\"error\":{\"message\":\"bad thing\"}}", FAILURE_FATAL, ERROR_API, "bad thing", "--trace"},
    {400, "", FAILURE_CONTEXT, ERROR_CONTEXT, "may mean that the prompt is too long",
     "larger context window"},
    {400, "{\"error\":{\"message\":\"x\",\"code\":\"context_length_exceeded\"}}", FAILURE_CONTEXT,
     ERROR_CONTEXT, "context window of m1", "larger context window"},
    {400, "{\"error\":{\"message\":\"the content filter\",\"code\":\"content_filter\"}}", FAILURE_FATAL,
     ERROR_API, "refused", "rephrase"},
    {400,
     "{\"error\":{\"message\":\"Unsupported value: 'temperature' does not support "
     "0.5\",\"param\":\"temperature\"}}",
     FAILURE_PARAMETER, ERROR_API, "temperature", "--temperature"},
    {400,
     "{\"error\":{\"message\":\"Unsupported value: 'stream' does not support true with this "
     "model.\",\"param\":\"stream\"}}",
     FAILURE_PARAMETER, ERROR_API, "stream", "--no-stream"},
    {400,
     "{\"error\":{\"message\":\"Missing `reasoning_content` field in the assistant message at message index "
     "2.\"}}",
     FAILURE_PARAMETER, ERROR_API, "Missing", "--trace"},
    {422,
     "{\"detail\":[{\"msg\":\"Extra inputs are not "
     "permitted\",\"loc\":[\"body\",\"messages\",2,\"assistant\",\"reasoning_content\"]}]}",
     FAILURE_PARAMETER, ERROR_API, "Extra inputs", "--trace"},
    {400, "{\"error\":{\"message\":\"m1 does not support tools\"}}", FAILURE_PARAMETER, ERROR_API, "tools",
     "--dialect blocks"},
    {400,
     "{\"error\":{\"message\":\"Failed to call a "
     "function.\",\"code\":\"tool_use_failed\",\"failed_generation\":\"\"}}",
     FAILURE_TOOL_USE, ERROR_API, "Failed to call", "ask again"},
    {401, "{\"error\":{\"message\":\"no\"}}", FAILURE_AUTH, ERROR_AUTH,
     "refused the credentials (401) for model m1", "The key came from THE_KEY"},
    {401, "", FAILURE_AUTH, ERROR_AUTH, "refused the credentials", "THE_KEY"},
    {402, "{\"error\":{\"message\":\"pay\"}}", FAILURE_QUOTA, ERROR_BUSY, "quota",
     "plan and billing of the account that THE_KEY belongs to"},
    {403, "{\"errors\":[{\"code\":5018,\"message\":\"no model for you\"}],\"success\":false}", FAILURE_AUTH,
     ERROR_AUTH, "no model for you", "may use this model"},
    {404, "{\"error\":{\"message\":\"The model `m1` does not exist\",\"code\":\"model_not_found\"}}",
     FAILURE_GONE, ERROR_API, "has no model \"m1\" (404)", "-m MODEL"},
    {404,
     "{\"error\":{\"code\":\"DeploymentNotFound\",\"message\":\"The API deployment for this resource does "
     "not exist.\"}}",
     FAILURE_GONE, ERROR_API, "has no model \"m1\"", "-m MODEL"},
    {404, "{\"error\":{\"message\":\"model: m1\",\"code\":\"not_found_error\"}}", FAILURE_GONE, ERROR_API,
     "has no model \"m1\"", "-m MODEL"},
    {400, "{\"error\":{\"message\":\"Model Not Exist\",\"code\":\"invalid_request_error\"}}", FAILURE_GONE,
     ERROR_API, "has no model \"m1\"", "-m MODEL"},
    {400, "{\"object\":\"error\",\"message\":\"Invalid model: m1\",\"code\":\"1500\"}", FAILURE_GONE,
     ERROR_API, "has no model \"m1\"", "-m MODEL"},
    {400, "[{\"error\":{\"code\":400,\"message\":\"API key not valid. Please pass a valid API key.\"}}]",
     FAILURE_AUTH, ERROR_AUTH, "refused the credentials", "THE_KEY"},
    {404, "{\"detail\":\"Not Found\"}", FAILURE_NOT_FOUND, ERROR_API,
     "api.example: not found: https://api.example/v1/chat/completions (404)", "/v1"},
    {404, "<html><title>404 page</title></html>", FAILURE_NOT_FOUND, ERROR_API, "an HTML page, \"404 page\"",
     "base URL"},
    {404, "", FAILURE_NOT_FOUND, ERROR_API, ": not found: ", "base URL"},
    {405, "{\"detail\":\"Method Not Allowed\"}", FAILURE_FATAL, ERROR_API, "Method Not Allowed", "URL used"},
    {407, "<html><title>Proxy</title></html>", FAILURE_FATAL, ERROR_API, "(407)", "proxy"},
    {408, "", FAILURE_BUSY, ERROR_BUSY, "failed (408)", "Try again later"},
    {409, "", FAILURE_BUSY, ERROR_BUSY, "failed (409)", "Try again"},
    {413, "", FAILURE_CONTEXT, ERROR_CONTEXT, "context window of m1 at api.example", "larger context window"},
    {413, "<html><title>413 Request Entity Too Large</title></html>", FAILURE_CONTEXT, ERROR_CONTEXT,
     "api.example refused a request of this size (413) for model m1: an HTML page", "client_max_body_size"},
    {413, "{\"error\":\"Payload Too Large\"}", FAILURE_CONTEXT, ERROR_CONTEXT, "a request of this size",
     "start a new session"},
    {403,
     "{\"error\":{\"code\":\"unsupported_country_region_territory\",\"message\":\"Country, region, or "
     "territory "
     "not supported\"}}",
     FAILURE_FATAL, ERROR_API, "refused the request (403)", "--provider NAME uses another service"},
    {400,
     "[{\"error\":{\"code\":400,\"message\":\"User location is not supported for the API use.\",\"status\":"
     "\"FAILED_PRECONDITION\"}}]",
     FAILURE_FATAL, ERROR_API, "User location", "--provider NAME uses another service"},
    {403, "<html><title>Attention Required!</title></html>", FAILURE_FATAL, ERROR_API, "refused the request",
     "proxy or firewall"},
    {422, "{\"detail\":[{\"msg\":\"\"}]}", FAILURE_FATAL, ERROR_API, "no message", "--trace"},
    {422, "{\"detail\":[{\"loc\":[\"body\",\"messages\"],\"msg\":\"field required\",\"type\":\"x\"}]}",
     FAILURE_FATAL, ERROR_API, "field required at", "--trace"},
    {429, "{\"error\":{\"message\":\"slow down\"}}", FAILURE_BUSY, ERROR_BUSY, "is busy (429)",
     "Try again later"},
    {429, "{\"error\":{\"message\":\"You exceeded your current quota\",\"code\":\"insufficient_quota\"}}",
     FAILURE_QUOTA, ERROR_BUSY, "used up", "Retrying will not help"},
    {429, "{\"errors\":[{\"code\":3036,\"message\":\"daily neurons\"}],\"success\":false}", FAILURE_QUOTA,
     ERROR_BUSY, "daily neurons", "Retrying will not help"},
    {429, "{\"errors\":[{\"code\":3040,\"message\":\"capacity\"}],\"success\":false}", FAILURE_BUSY,
     ERROR_BUSY, "capacity", "Try again"},
    {498, "", FAILURE_BUSY, ERROR_BUSY, "is busy (498)", "Try again"},
    {500, "{\"error\":{\"message\":\"oops\"}}", FAILURE_BUSY, ERROR_BUSY, "failed (500)", "another model"},
    {502, "<html><title>502 Bad Gateway</title></html>", FAILURE_BUSY, ERROR_BUSY, "502 Bad Gateway",
     "Try again"},
    {503, "{\"error\":{\"code\":503,\"message\":\"Loading model\",\"type\":\"unavailable_error\"}}",
     FAILURE_LOADING, ERROR_BUSY, "still loading m1", "smaller model"},
    {503, "{\"error\":\"Model is currently loading\",\"estimated_time\":20}", FAILURE_LOADING, ERROR_BUSY,
     "still loading m1", "Try again"},
    {524, "", FAILURE_BUSY, ERROR_BUSY, "failed (524)", "Try again"},
    {529, "{\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}", FAILURE_BUSY, ERROR_BUSY,
     "is busy (529)", "Try again"},
    {429,
     "{\"error\":{\"message\":\"Request too large for m1 on tokens per min (TPM): Limit 30000, Requested "
     "45000.\",\"code\":\"rate_limit_exceeded\"}}",
     FAILURE_TOO_LARGE, ERROR_LIMIT, "is too large for model", "Ask for less"},
    {413,
     "{\"error\":{\"message\":\"Request too large for model `m1` on tokens per minute (TPM): Limit 6000, "
     "Requested 7500\"}}",
     FAILURE_TOO_LARGE, ERROR_LIMIT, "Requested 7500", "higher limit"},
    {429, "{\"error\":{\"message\":\"Rate limit reached on tokens per min. Limit 10000, Requested 12000.\"}}",
     FAILURE_TOO_LARGE, ERROR_LIMIT, "is too large for model", "less"},
    {429,
     "{\"error\":{\"message\":\"Rate limit reached on tokens per min. Limit 10000, Used 9900, Requested "
     "2000.\"}}",
     FAILURE_BUSY, ERROR_BUSY, "Used 9900", "Try"},
    {400, "{\"statusCode\":400,\"error\":\"Bad Request\",\"message\":\"body/messages must be array\"}",
     FAILURE_FATAL, ERROR_API, "must be array", "--trace"},
    {400, "{\"error\":\"the model field is missing\",\"message\":\"Bad Request, and some more of it\"}",
     FAILURE_FATAL, ERROR_API, "field is missing", "--trace"},
    {400, "{\"code\":1214,\"msg\":\"messages is not valid\"}", FAILURE_FATAL, ERROR_API,
     "messages is not valid", "--trace"},
    {400, "{\"error_code\":336003,\"error_msg\":\"the length of messages must be an odd number\"}",
     FAILURE_FATAL, ERROR_API, "odd number", "--trace"},
    {401, "{\"base_resp\":{\"status_code\":1004,\"status_msg\":\"login fail\"}}", FAILURE_AUTH, ERROR_AUTH,
     "login fail", "THE_KEY"},
    {400, "data: {\"error\":{\"message\":\"litellm: no such thing\"}}\n\n", FAILURE_FATAL, ERROR_API,
     "litellm: no such thing", "--trace"},
    {302, "", FAILURE_FATAL, ERROR_API, "(302)", "Check the base URL"},
    {200, "<html><title>Log in</title></html>", FAILURE_NOT_API, ERROR_PROTOCOL, "Log in", "/v1"},
    {200, "", FAILURE_NOT_API, ERROR_PROTOCOL, "nothing", "/v1"},
    {200, "hello", FAILURE_NOT_API, ERROR_PROTOCOL, "hello", "/v1"},
};

static const struct llm_options options = {.base_url = "https://u:pw@api.example/v1",
                                           .model = "m1",
                                           .api_key = "sk-0123456789",
                                           .key_name = "THE_KEY"};

static void tell(const struct failure *f, struct error *e)
{
    *e = (struct error){0};
    failure_error(f, &options, "https://u:pw@api.example/v1/chat/completions?k=v", e);
}

static void check_text(const struct failure *f, enum error_kind kind, const char *said, const char *step,
                       const char *where)
{
    struct error e;
    tell(f, &e);
    if (e.kind != kind || !*e.remedy || strchr(e.remedy, '\n') || !strstr(message_of(&e), "api.example")
        || !strstr(message_of(&e), "m1") || !strstr(e.remedy, step) || !strstr(message_of(&e), said)
        || strstr(e.text, "pw") || strstr(e.text, "k=v") || !utf8_valid(e.text, strlen(e.text)))
        fail_msg("%s: kind %d: %s", where, e.kind, message_of(&e));
}

static void every_status(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(rows); i++) {
        const struct row *r = &rows[i];
        struct failure f;
        char where[64];
        snprintf(where, sizeof where, "row %zu, status %d", i, r->status);
        read_body(&f, r->status, r->body);
        if (f.class != r->class)
            fail_msg("%s: class %d, not %d (%s)", where, f.class, r->class, f.message);
        check_text(&f, r->kind, r->said, r->step, where);
    }
}

/* Also those that no body can cause. */
static void every_class_has_a_text(void **state)
{
    (void)state;
    for (int c = FAILURE_FATAL; c <= FAILURE_NETWORK; c++) {
        struct failure f;
        char where[32];
        failure_set(&f, (enum failure_class)c, "words");
        snprintf(where, sizeof where, "class %d", c);
        struct error e;
        tell(&f, &e);
        check_text(&f, e.kind, "", " ", where);
        assert_int_not_equal(e.kind, ERROR_NONE);
    }
}

static void context_in_every_wording(void **state)
{
    (void)state;
    static const char *const words[] = {
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        "the request exceeds the available context size (4096 tokens). try increasing the context size or "
        "enable context shift",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "prompt too long; exceeded max context length by 12 tokens",
        "Too many tokens: total number of tokens in the request exceeds 128000",
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
        "Please reduce the length of the messages or completion.",
        "prompt token count of 70000 exceeds the limit of 64000",
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        "The input token count (1196265) exceeds the maximum number of tokens allowed (1048576).",
        "Input is too long for requested model.",
        "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
        "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
        "Your request exceeded model token limit: 262144 (requested: 300000)",
        "tokens to keep from the initial prompt is greater than the context length",
        "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens",
        "AiError: The estimated number of input and maximum output tokens (30000) exceeded this model "
        "context window limit (24000).",
        "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context "
        "length",
    };
    for (size_t i = 0; i < countof(words); i++) {
        struct failure f;
        autofree char *body = xasprintf("{\"error\":{\"message\":\"%s\"}}", words[i]);
        read_body(&f, 400, body);
        if (f.class != FAILURE_CONTEXT)
            fail_msg("not seen as context: %s", words[i]);
    }
    static const char *const others[] = {"Rate limit reached: too many tokens per minute",
                                         "Request throttled, too many tokens, please wait",
                                         "Rate limit reached for m1 on tokens per day (TPD): limit of 1000"};
    for (size_t i = 0; i < countof(others); i++) {
        struct failure f;
        autofree char *body = xasprintf("{\"error\":{\"message\":\"%s\"}}", others[i]);
        read_body(&f, 429, body);
        assert_int_equal(f.class, FAILURE_BUSY);
    }
}

static void waits(void **state)
{
    (void)state;
    static const struct {
        const char *after, *ms, *body;
        double want;
    } cases[] = {
        {"2", "", "{}", 2},
        {"2.5", "", "{}", 2.5},
        {"2", "250", "{}", 0.25},
        {"1", "0", "{\"error\":{\"message\":\"try again in 9s\"}}", 0},
        {"Fri, 15 Jan 2027 08:00:30 GMT", "", "{}", 30},
        {"Fri, 15 Jan 2027 07:00:00 GMT", "", "{}", -1},
        {"soon", "", "{}", -1},
        {"3600", "", "{}", 3600},
        {"-1", "", "{}", -1},
        {"nan", "", "{}", -1},
        {"inf", "inf", "{}", -1},
        {"1e9", "", "{}", 1e9},
        {"", "", "{\"error\":{\"message\":\"Rate limit reached. Please try again in 7.66s. Visit\"}}", 7.66},
        {"", "", "{\"error\":{\"message\":\"Please try again in 1m26.4s.\"}}", 86.4},
        {"", "", "{\"error\":{\"message\":\"please try again in 250ms\"}}", 0.25},
        {"", "", "{\"error\":{\"message\":\"Try again in 2h3m.\"}}", 7380},
        {"", "", "{\"error\":{\"message\":\"Please retry after 20 seconds.\"}}", 20},
        {"", "", "{\"error\":{\"message\":\"Please retry in 33.5s.\"}}", 33.5},
        {"", "", "{\"error\":{\"message\":\"Try again in a moment\"}}", -1},
        {"", "", "{\"error\":{\"message\":\"Try again in 5 tokens\"}}", -1},
        {"", "", "{\"error\":{\"message\":\"Try again in 99999999999999999999 s\"}}", -1},
        {"4", "", "{\"error\":{\"message\":\"try again in 9s\"}}", 4},
        {"", "",
         "[{\"error\":{\"code\":429,\"message\":\"x\",\"details\":[{\"@type\":\"RetryInfo\",\"retryDelay\":"
         "\"28s\"}]}}]",
         28},
        {"", "", "{\"error\":{\"message\":\"x\",\"retry_after\":3}}", 3},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct failure f;
        struct failure_head h = {0};
        autofree char *after = xasprintf("Retry-After: %s\r\n", cases[i].after),
                      *ms = xasprintf("retry-after-ms:%s", cases[i].ms);
        http_header(&h, ms, strlen(ms), NOW);
        http_header(&h, after, strlen(after), NOW);
        h.status = 429;
        failure_from_response(&f, &h, cases[i].body, strlen(cases[i].body));
        if (f.class != FAILURE_BUSY || f.retry_after < cases[i].want - 0.001
            || f.retry_after > cases[i].want + 0.001)
            fail_msg("case %zu: class %d, wait %f, not %f", i, f.class, f.retry_after, cases[i].want);
        struct retry t = {0};
        struct retry_choice c = retry_decide(&t, &f, (struct retry_now){false, true, 0, 0});
        assert_int_equal(c.what, cases[i].want > 120 ? RETRY_NO : RETRY_WAIT);
        assert_int_equal(c.wait_ms, cases[i].want > 120 ? 0
                                    : cases[i].want > 0 ? (int)(cases[i].want * 1000 + 0.5)
                                                        : 500);
        if (cases[i].want > 120 && cases[i].want < 1e6)
            check_text(&f, ERROR_BUSY, "", cases[i].want == 3600 ? "in 60 min" : "in 2.0", "far");
    }
    struct failure f;
    struct failure_head h = {.waits = true, .wait = 9};
    h.status = 400;
    failure_from_response(&f, &h, "{}", 2);
    assert_true(f.retry_after < 0); /* only where it is worth a wait */
}

/* A service's words are cut at a word, and the key is nowhere in them, also where the cut fell into it. */
static void words_are_cut(void **state)
{
    (void)state;
    struct failure f;
    char long_words[4000];
    for (size_t i = 0; i + 8 < sizeof long_words; i += 7)
        memcpy(long_words + i, "sevens ", 8);
    failure_set(&f, FAILURE_FATAL, "%s", long_words);
    assert_true(strlen(f.message) < sizeof f.message && strlen(f.message) > 400);
    assert_non_null(strstr(f.message, "sevens ..."));
    struct error e;
    tell(&f, &e);
    assert_non_null(strstr(e.text, "sevens ..."));
    char brief[50];
    failure_brief(&f, NULL, brief, sizeof brief);
    assert_string_equal(brief, "sevens sevens sevens sevens sevens sevens ...");
    failure_set(&f, FAILURE_FATAL, "your key sk-0123456789 is bad, sk-0123456789!");
    failure_brief(&f, "sk-0123456789", brief, sizeof brief);
    assert_string_equal(brief, "your key [key] is bad, [key]!");
    for (size_t n = 470; n < 520; n++) { /* no blanks: the cut may fall anywhere */
        char solid[600];
        memset(solid, 'x', n);
        snprintf(solid + n, sizeof solid - n,
                 "sk-0123456789yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy");
        failure_set(&f, FAILURE_BUSY, "%s", solid);
        tell(&f, &e);
        if (strstr(message_of(&e), "sk-0123"))
            fail_msg("%zu: %s", n, message_of(&e));
    }
    for (size_t n = 480; n < 520; n++) { /* nor into a character */
        char umlauts[600] = "";
        memset(umlauts, 'x', n % 2);
        for (size_t i = n % 2; i + 2 < n + 60; i += 2)
            memcpy(umlauts + i, "\xc3\xa4", 3);
        failure_set(&f, FAILURE_BUSY, "%s", umlauts);
        assert_true(utf8_valid(f.message, strlen(f.message)));
        assert_null(strstr(f.message, "\xef\xbf\xbd"));
    }
}

/* Every failure there is, in the chat: no flag stands there alone, and what can be done there is. */
static void words_of_the_chat(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *body, *said;
    } cases[] = {
        {404, "{\"error\":{\"message\":\"no such model\"}}", "Choose another: /model NAME"},
        {429, "{\"error\":{\"message\":\"slow\"}}", "or choose another model: /model NAME"},
        {400, "{\"error\":{\"message\":\"m1 does not support tools\"}}",
         "choose another (/model NAME), or start sandpiper again with --dialect blocks"},
        {400, "", "/clear"},
        {401, "", "Quit, export THE_KEY=..., start again"},
        {407, "", "Quit, export HTTPS_PROXY"},
        {200, "{\"a\":1}", "start sandpiper again with --no-stream"},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        for (int chat = 0; chat < 2; chat++) {
            struct failure f;
            struct error e = {0};
            struct llm_options o = options;
            o.chat = chat;
            o.api_key = NULL;
            read_body(&f, cases[i].status, cases[i].body);
            if (cases[i].status == 200)
                failure_set(&f, FAILURE_PROTOCOL, "no choices");
            failure_error(&f, &o, "https://api.example/v1/chat/completions", &e);
            if (!strstr(message_of(&e), cases[i].said) != !chat)
                fail_msg("chat %d: %s", chat, message_of(&e));
        }
    }
}

/* An error without a key names the variable that would have given one. */
static void no_key(void **state)
{
    (void)state;
    struct failure f;
    struct error e = {0};
    struct llm_options o = options;
    o.api_key = NULL;
    read_body(&f, 401, "{}");
    failure_error(&f, &o, "https://api.example/v1/chat/completions", &e);
    assert_non_null(strstr(e.remedy, "No API key was sent; set THE_KEY"));
    o.key_name = NULL;
    failure_error(&f, &o, "https://api.example/v1/chat/completions", &e);
    assert_non_null(strstr(e.remedy, "no key belongs to this base URL"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status),
        cmocka_unit_test(every_class_has_a_text),
        cmocka_unit_test(context_in_every_wording),
        cmocka_unit_test(waits),
        cmocka_unit_test(words_are_cut),
        cmocka_unit_test(no_key),
        cmocka_unit_test(words_of_the_chat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
