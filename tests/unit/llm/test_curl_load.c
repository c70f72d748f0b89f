/* test_curl_load.c - the options that all transfers have, with a libcurl that knows less than ours, or
 * refuses. */
#include "tests/unit/unit.h"

#include "base/mem.h"
#include "llm/curl_load.h"

static CURLoption asked[64], unknown[4];
static size_t n_asked, n_unknown;

static CURLcode setopt(CURL *easy, CURLoption option, ...)
{
    (void)easy;
    if (n_asked < countof(asked))
        asked[n_asked++] = option;
    for (size_t i = 0; i < n_unknown; i++)
        if (unknown[i] == option)
            return CURLE_UNKNOWN_OPTION;
    return CURLE_OK;
}

static bool was_asked(CURLoption option)
{
    for (size_t i = 0; i < n_asked; i++)
        if (asked[i] == option)
            return true;
    return false;
}

static CURLcode set_all(void)
{
    struct curl_api api = {.easy_setopt = setopt};
    n_asked = 0;
    return curl_common(&api, NULL, "http://127.0.0.1/v1", NULL, 1000);
}

static void the_newer_option_is_enough(void **state)
{
    (void)state;
    n_unknown = 0;
    assert_int_equal(set_all(), CURLE_OK);
    assert_true(was_asked(CURLOPT_PROTOCOLS_STR));
    assert_false(was_asked(CURLOPT_PROTOCOLS));
    assert_true(was_asked(CURLOPT_SSL_VERIFYPEER) && was_asked(CURLOPT_SSL_VERIFYHOST));
}

/* 7.66 to 7.84: other schemes are refused there too. */
static void an_older_libcurl(void **state)
{
    (void)state;
    unknown[0] = CURLOPT_PROTOCOLS_STR;
    unknown[1] = CURLOPT_QUICK_EXIT;
    n_unknown = 2;
    assert_int_equal(set_all(), CURLE_OK);
    assert_true(was_asked(CURLOPT_PROTOCOLS));
}

static void what_cannot_be_set_is_an_error(void **state)
{
    static const CURLoption needed[] = {CURLOPT_PROTOCOLS,  CURLOPT_SSL_VERIFYPEER, CURLOPT_SSL_VERIFYHOST,
                                        CURLOPT_SSLVERSION, CURLOPT_FOLLOWLOCATION, CURLOPT_PROXY};
    (void)state;
    for (size_t i = 0; i < countof(needed); i++) {
        unknown[0] = CURLOPT_PROTOCOLS_STR;
        unknown[1] = needed[i];
        n_unknown = 2;
        assert_int_equal(set_all(), CURLE_UNKNOWN_OPTION);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newer_option_is_enough),
        cmocka_unit_test(an_older_libcurl),
        cmocka_unit_test(what_cannot_be_set_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
