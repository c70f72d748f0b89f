/* test_value.c - sizes, times, numbers and choices as people write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/mem.h"
#include "base/value.h"

static void sizes(void **state)
{
    static const struct {
        const char *text;
        int64_t bytes;
    } good[] = {
        {"0", 0},       {"17", 17},     {"512m", 512LL << 20}, {"1g", 1LL << 30}, {"1G", 1LL << 30},
        {"1.5k", 1536}, {"2KiB", 2048}, {"3mb", 3 << 20},      {"1t", 1LL << 40}, {"10b", 10},
    };
    static const char *const bad[] = {"",
                                      "m",
                                      "-1",
                                      "1x",
                                      "1 g",
                                      "0x10",
                                      "1e9",
                                      "inf",
                                      "nan",
                                      "1gg",
                                      "9999999999999999",
                                      "99999999999t",
                                      " 1",
                                      "1,5m"};
    int64_t v;

    (void)state;
    for (size_t i = 0; i < countof(good); i++) {
        assert_true(value_size(good[i].text, &v));
        assert_int_equal(v, good[i].bytes);
    }
    for (size_t i = 0; i < countof(bad); i++)
        assert_false(value_size(bad[i], &v));
}

static void times(void **state)
{
    static const struct {
        const char *text;
        int64_t ms;
    } good[] = {
        {"90", 90000}, {"90s", 90000},  {"2m", 120000}, {"1h", 3600000},   {"250ms", 250},
        {"0.5", 500},  {"1.5m", 90000}, {"0", 0},       {"2d", 172800000},
    };
    static const char *const bad[] = {"", "s", "1w", "90 s", "-5", "1m30s", "soon"};
    int64_t v;

    (void)state;
    for (size_t i = 0; i < countof(good); i++) {
        assert_true(value_time(good[i].text, &v));
        assert_int_equal(v, good[i].ms);
    }
    for (size_t i = 0; i < countof(bad); i++)
        assert_false(value_time(bad[i], &v));
}

static void shown_texts_read_back(void **state)
{
    static const int64_t values[] = {0,       1,       1023,      1024,      1536,
                                     1 << 20, 3 << 20, 1LL << 30, 1LL << 40, 5LL << 40};
    static const int64_t ms[] = {0, 1, 250, 1000, 90000, 120000, 180000, 3600000, 7200000, 100001};
    char text[32];
    int64_t v;

    (void)state;
    for (size_t i = 0; i < countof(values); i++) {
        value_size_text(values[i], text, sizeof text);
        assert_true(value_size(text, &v));
        assert_int_equal(v, values[i]);
    }
    for (size_t i = 0; i < countof(ms); i++) {
        value_time_text(ms[i], text, sizeof text);
        assert_true(value_time(text, &v));
        assert_int_equal(v, ms[i]);
    }
}

static void the_rest(void **state)
{
    int64_t n;
    double d;
    bool b;

    (void)state;
    assert_true(value_int("128", &n) && n == 128);
    assert_false(value_int("", &n) || value_int("1.5", &n) || value_int("-1", &n)
                 || value_int("12345678901234567890", &n));
    assert_true(value_number("0.25", &d) && d == 0.25);
    assert_false(value_number("1e5", &d) || value_number("", &d) || value_number(".", &d));
    assert_true(value_bool("Yes", &b) && b);
    assert_true(value_bool("0", &b) && !b);
    assert_false(value_bool("maybe", &b) || value_bool("", &b));
    assert_true(value_choice("docker", "auto|docker|podman"));
    assert_true(value_choice("podman", "auto|docker|podman"));
    assert_false(value_choice("dock", "auto|docker|podman") || value_choice("", "auto|docker")
                 || value_choice("auto|docker", "auto|docker") || value_choice("ocker", "auto|docker"));
    for (unsigned i = 0; i < 3; i++) { /* and back */
        int len;
        const char *word = value_choice_at("auto|docker|podman", i, &len);
        assert_int_equal(value_choice_index(word, (size_t)len, "auto|docker|podman"), i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sizes), cmocka_unit_test(times),
                                       cmocka_unit_test(shown_texts_read_back), cmocka_unit_test(the_rest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
