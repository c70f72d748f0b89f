/* test_percent.c - percent-encoding there and back, and what cannot be decoded. */
#include "tests/unit/unit.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/percent.h"

static void encodes(void **state)
{
    (void)state;
    struct buf b = BUF_INIT(0);
    percent_encode(&b, "a-Z_0.9~/ \xc3\xa4%?", "/");
    assert_string_equal(buf_str(&b), "a-Z_0.9~/%20%C3%A4%25%3F");
    autofree char *back = percent_decode(b.data, b.len, false);
    assert_string_equal(back, "a-Z_0.9~/ \xc3\xa4%?");
    buf_release(&b);
}

static void decodes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool plus;
        const char *means; /* NULL: refused */
    } rows[] =
        {
            {"", false, ""},         {"a+b", false, "a+b"},      {"a+b", true, "a b"},
            {"%2f%2F", false, "//"}, {"%252f", false, "%2f"},    {"%", false, NULL},
            {"%4", false, NULL},     {"%4g", false, NULL},       {"%00", false, NULL},
            {"x%zz", true, NULL},    {"%\x14\x11", false, NULL}, /* digits but for one bit */
        };
    for (size_t i = 0; i < countof(rows); i++) {
        autofree char *got = percent_decode(rows[i].text, strlen(rows[i].text), rows[i].plus);
        if (rows[i].means)
            assert_string_equal(got, rows[i].means);
        else
            assert_null(got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(encodes), cmocka_unit_test(decodes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
