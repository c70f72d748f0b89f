/* test_url.c - endpoints, hosts for messages, and who counts as this machine: that decides who gets a key
 * without TLS. */
#include "../unit.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/url.h"

static void endpoints(void **state)
{
    (void)state;
    struct error e = {0};
    static const struct {
        const char *base, *want;
    } cases[] = {
        {"http://h/v1", "http://h/v1/chat/completions"},
        {"http://h/v1/", "http://h/v1/chat/completions"},
        {"https://h/x?api-version=1", "https://h/x/chat/completions?api-version=1"},
        {"http://h/v1/chat/completions", "http://h/v1/chat/completions"},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        autofree char *u = url_endpoint(cases[i].base, "/chat/completions", &e);
        assert_string_equal(u, cases[i].want);
    }
    static const char *const bad[] = {"file:///etc/passwd", "h/v1", "", "http://", "ftp://h/", "http://h/ x"};
    for (size_t i = 0; i < countof(bad); i++)
        assert_null(url_endpoint(bad[i], "/x", &e));
}

static void this_machine(void **state)
{
    (void)state;
    static const char *const yes[] = {
        "http://127.0.0.1:8080/v1", "http://localhost/v1", "http://LocalHost:80",
        "http://[::1]:80/v1",       "http://[::1]",        "http://u:p@127.9.9.9/v1",
    };
    static const char *const no[] = {
        "http://127.evil.example/v1",
        "http://localhost.evil.example/v1",
        "http://localhost@evil.example/v1",
        "http://127.1/v1",
        "http://127.0.0.999/v1",
        "http://x.localhost/v1",
        "http://[::1]evil/v1",
        "http://[::1/v1",
        "http://127.0.0.1:x/v1",
        "http://127.0.0.1.evil.example/v1",
        "http://[::2]/v1",
        "http://0x7f.0.0.1/v1",
        "http:///v1",
        "",
    };
    for (size_t i = 0; i < countof(yes); i++)
        if (!url_is_loopback(yes[i]))
            fail_msg("%s is this machine", yes[i]);
    for (size_t i = 0; i < countof(no); i++)
        if (url_is_loopback(no[i]))
            fail_msg("%s was taken for this machine", no[i]);
}

static void shown(void **state)
{
    (void)state;
    autofree char *host = url_host("https://u:p@h.example:8443/v1?key=s"),
                  *text = url_show("https://u:p@h.example:8443/v1?key=s");

    assert_string_equal(host, "h.example:8443");
    assert_string_equal(text, "https://h.example:8443/v1");
    assert_true(url_same_service("https://eu.api.openai.com/v1", "https://api.openai.com/v1"));
    assert_false(url_same_service("https://evilapi.openai.com.example/v1", "https://api.openai.com/v1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(endpoints), cmocka_unit_test(this_machine),
                                       cmocka_unit_test(shown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
