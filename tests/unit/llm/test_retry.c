/* test_retry.c - the retry policy with a clock of our own, the reading of Retry-After, and the texts for the
 * user. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/unit.h"

#include "base/error.h"
#include "base/mem.h"
#include "llm/llm.h"
#include "llm/http.h"
#include "llm/retry.h"

static struct failure of(enum failure_class class)
{
    return (struct failure){.class = class, .retry_after = -1};
}

static void backoff(void **state)
{
    (void)state;
    struct retry t = {0};
    struct failure f = of(FAILURE_BUSY);
    const int most[] = {500, 1000, 2000}, least[] = {375, 750, 1500};
    for (int i = 0; i < 3; i++) {
        struct retry copy = t;
        struct retry_choice c = retry_decide(&copy, &f, (struct retry_now){false, true, 0, 1.0});
        assert_int_equal(c.what, RETRY_WAIT);
        assert_int_equal(c.wait_ms, least[i]);
        assert_int_equal(retry_decide(&t, &f, (struct retry_now){false, true, 0, 0.0}).wait_ms, most[i]);
    }
    assert_int_equal(retry_decide(&t, &f, (struct retry_now){false, true, 0, 0}).what, RETRY_NO);
}

/* What two headers say, in either order; -1: nothing. */
static double waits(const char *ms, const char *after, time_t now)
{
    struct failure_head h = {0}, back = {0};
    autofree char *one = xasprintf("retry-after-ms: %s", ms), *two = xasprintf("Retry-After: %s\r\n", after);
    http_header(&h, one, strlen(one), now);
    http_header(&h, two, strlen(two), now);
    http_header(&back, two, strlen(two), now);
    http_header(&back, one, strlen(one), now);
    assert_true(h.waits == back.waits && (!h.waits || h.wait == back.wait));
    return h.waits ? h.wait : -1;
}

static void server_says_when(void **state)
{
    (void)state;
    struct retry t = {0};
    struct failure f = of(FAILURE_BUSY);
    f.retry_after = 7.5;
    assert_int_equal(retry_decide(&t, &f, (struct retry_now){false, true, 0, 0.5}).wait_ms, 7500);
    f.retry_after = 120;
    assert_int_equal(retry_decide(&t, &f, (struct retry_now){false, true, 0, 0.5}).wait_ms, 120000);
    f.retry_after = 121;
    assert_int_equal(retry_decide(&t, &f, (struct retry_now){false, true, 0, 0.5}).what, RETRY_NO);
    f.retry_after = 0;
    assert_int_equal(retry_decide(&t, &f, (struct retry_now){false, true, 0, 0}).wait_ms, 2000);

    assert_true(waits("", "2", 0) == 2);
    assert_true(waits("250", "2", 0) == 0.25);
    assert_true(waits("0", "1", 0) == 0);
    assert_true(waits("x", "3", 0) == 3);
    assert_true(waits("", "Wed, 21 Oct 2015 07:28:30 GMT", 1445412480) == 30);
    assert_true(waits("", "Wed, 21 Oct 2015 07:28:30 GMT", 1800000000) < 0);
    assert_true(waits("", "-5", 0) < 0);
    assert_true(waits("", "nan", 0) < 0);
    assert_true(waits("", "inf", 0) < 0);
    assert_true(waits("", "soon", 0) < 0);
    assert_true(waits("", "", 0) < 0);
}

static void nothing_after_text(void **state)
{
    (void)state;
    for (int c = FAILURE_FATAL; c <= FAILURE_NETWORK; c++) {
        struct retry t = {0};
        struct failure f = of(c);
        f.param = PARAM_STREAM_OPTIONS;
        assert_int_equal(retry_decide(&t, &f, (struct retry_now){true, true, 0, 0}).what, RETRY_NO);
    }
}

static void kinds(void **state)
{
    (void)state;
    const enum failure_class never[] = {FAILURE_FATAL,   FAILURE_AUTH,    FAILURE_NOT_FOUND, FAILURE_QUOTA,
                                        FAILURE_CONTEXT, FAILURE_NOT_API, FAILURE_PROTOCOL};
    for (size_t i = 0; i < countof(never); i++) {
        struct retry t = {0};
        struct failure f = of(never[i]);
        assert_int_equal(retry_decide(&t, &f, (struct retry_now){false, true, 0, 0}).what, RETRY_NO);
    }
    struct retry t = {0};
    struct failure f = of(FAILURE_PARAMETER);
    f.param = PARAM_TEMPERATURE;
    assert_int_equal(retry_decide(&t, &f, (struct retry_now){false, true, 0, 0}).what, RETRY_DOWNGRADE);
    assert_int_equal(retry_decide(&t, &f, (struct retry_now){false, true, 0, 0}).what, RETRY_NO);
    f.param = PARAM_STREAM_OPTIONS;
    assert_int_equal(retry_decide(&t, &f, (struct retry_now){false, true, 0, 0}).what, RETRY_DOWNGRADE);
    f = of(FAILURE_TRUNCATED);
    assert_int_equal(retry_decide(&t, &f, (struct retry_now){false, true, 0, 0}).what, RETRY_WITHOUT_STREAM);
    assert_int_equal(retry_decide(&t, &f, (struct retry_now){false, false, 0, 0}).what, RETRY_NO);
    f = of(FAILURE_TOOL_USE);
    t = (struct retry){0};
    assert_int_equal(retry_decide(&t, &f, (struct retry_now){false, true, 0, 0}).what, RETRY_WAIT);
    assert_int_equal(retry_decide(&t, &f, (struct retry_now){false, true, 0, 0}).what, RETRY_NO);
    f = of(FAILURE_NETWORK);
    f.never = true;
    t = (struct retry){0};
    assert_int_equal(retry_decide(&t, &f, (struct retry_now){false, true, 0, 0}).what, RETRY_NO);
}

static void loading(void **state)
{
    (void)state;
    struct retry t = {0};
    struct failure f = of(FAILURE_LOADING);
    int64_t now = 5000;
    unsigned polls = 0;
    for (struct retry_choice c;
         (c = retry_decide(&t, &f, (struct retry_now){false, true, now, 0})).what == RETRY_POLL; polls++)
        now += c.wait_ms;
    assert_int_equal(polls, 150);
    assert_int_equal(now, 305000);
}

static const char *text_of(int status, const char *body, const struct llm_options *o, struct error *err)
{
    struct failure f;
    struct failure_head h = {.content_type = ""};
    h.status = status;
    failure_from_response(&f, &h, body, strlen(body));
    *err = (struct error){0};
    failure_error(&f, o, "https://u:pw@api.example/v1/chat/completions?k=v", err);
    return message_of(err);
}

static void texts(void **state)
{
    (void)state;
    struct error e;
    struct llm_options o = {.base_url = "https://u:pw@api.example/v1",
                            .model = "m1",
                            .api_key = "sk-0123456789",
                            .key_name = "OPENAI_API_KEY"};
    const char *s = text_of(401, "{\"error\":{\"message\":\"bad key sk-0123456789\"}}", &o, &e);
    assert_int_equal(e.kind, ERROR_AUTH);
    assert_non_null(strstr(s, "OPENAI_API_KEY"));
    assert_null(strstr(s, "sk-01"));
    o.api_key = NULL;
    s = text_of(401, "", &o, &e);
    assert_non_null(strstr(s, "No API key was sent"));
    s = text_of(404, "{\"error\":{\"message\":\"no such model\"}}", &o, &e);
    assert_non_null(strstr(s, "https://api.example/v1/chat/completions"));
    assert_non_null(strstr(s, "m1"));
    assert_null(strstr(s, "pw"));
    assert_null(strstr(s, "k=v"));
    s = text_of(200, "<html><title>Log in</title></html>", &o, &e);
    assert_int_equal(e.kind, ERROR_PROTOCOL);
    assert_non_null(strstr(s, "Log in"));
    assert_non_null(strstr(s, "/v1"));
    text_of(429, "{\"error\":{\"message\":\"slow\"}}", &o, &e);
    assert_int_equal(e.kind, ERROR_BUSY);
    s = text_of(400, "{\"error\":{\"message\":\"maximum context length is 8192 tokens\"}}", &o, &e);
    assert_int_equal(e.kind, ERROR_CONTEXT);
    assert_non_null(strstr(s, "context"));
    s = text_of(400, "{\"error\":{\"message\":\"a\\nb\\u001b[31mc\"}}", &o, &e);
    assert_int_equal(e.kind, ERROR_API);
    /* the service's words are one line, the next step the other */
    assert_ptr_equal(strchr(s, '\n'), strrchr(s, '\n'));
    assert_null(strchr(s, 27));
}

static void learnt_window(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        int want;
    } cases[] = {
        {"{\"error\":{\"message\":\"This model's maximum context length is 8192 tokens. However\"}}", 8192},
        {"{\"error\":{\"message\":\"request (9 tokens) exceeds the available context size (4096 "
         "tokens)\",\"type\":\"exceed_context_size_error\",\"n_ctx\":4096}}",
         4096},
        {"{\"error\":{\"message\":\"prompt is too long\"}}", 0},
        {"{\"error\":{\"message\":\"maximum context length is -3\"}}", 0},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct failure f;
        struct failure_head h = {0};
        h.status = 400;
        failure_from_response(&f, &h, cases[i].body, strlen(cases[i].body));
        assert_int_equal(f.class, FAILURE_CONTEXT);
        assert_int_equal(f.context, cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(backoff),
        cmocka_unit_test(server_says_when),
        cmocka_unit_test(nothing_after_text),
        cmocka_unit_test(kinds),
        cmocka_unit_test(loading),
        cmocka_unit_test(texts),
        cmocka_unit_test(learnt_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
