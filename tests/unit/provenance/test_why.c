/* test_why.c - which line of output has a number, and which line of code printed it; where that cannot be
 * told, none is named. */
#include "tests/unit/unit.h"

#include <string.h>

#include "base/mem.h"
#include "provenance/why.h"

static void test_number(void **state)
{
    struct numeral n;

    (void)state;
    assert_true(why_number("$1,234.50", &n));
    assert_true(n.as[0].value == 1234.5);
    assert_true(why_number("about 42 %", &n));
    assert_true(n.as[0].value == 42);
    assert_false(why_number("", &n));
    assert_false(why_number("the mean", &n));
    assert_false(why_number("3.11.2", &n));
}

static void test_line(void **state)
{
    static const struct {
        const char *text, *number;
        bool exactly;
        size_t want;
    } rows[] = {
        {"a 1\nb 42\nc 3", "42", true, 2},   {"\n\n42", "42", true, 3},
        {"42.123\n", "42.1", true, 0},       {"42.123\n", "42.1", false, 1},
        {"x\n0.125\n", "12.5 %", false, 2},  {"420\n", "42", true, 0},
        {"1234567\n", "1,234,567", true, 1}, {"", "42", false, 0},
    };

    (void)state;
    for (size_t i = 0; i < countof(rows); i++) {
        struct numeral n;

        assert_true(why_number(rows[i].number, &n));
        struct text_line l = why_line(rows[i].text, &n, rows[i].exactly);
        if (l.number != rows[i].want)
            fail_msg("row %zu: line %zu", i, l.number);
    }
}

static void test_printed(void **state)
{
    static const struct {
        const char *code, *output, *number;
        size_t want;
    } rows[] = {
        {"x = 41\nprint(x + 1)\n", "42\n", "42", 2},
        /* the same text in both */
        {"print('mean', m)\nprint('sum', s)\nfor i in r: print(i)", "mean 7\n1\n2\nsum 42\n", "42", 2},
        {"print(f'mean: {m:.2f}')\nprint(f\"sum: {s}\")\nprint()", "mean: 7.00\nsum: 42\n", "42", 2},
        /* one print for each line */
        {"print(a)\n# print(b)\nprint(c)", "1\n42\n", "42", 3},
        /* the value of the last expression */
        {"print(1)\nx = 2\nx * 21\n\n# done\n", "1\n= 42\n", "42", 3},
        {"df = read()\ndf", "=     n\n0  41\n1  42\n", "42", 2},
        /* nothing tells which */
        {"for i in a: print(i)\nfor i in b: print(i)", "1\n2\n42\n", "42", 0},
        {"x = 1", "42\n", "42", 0},
        {"print(\"", "42\n", "42", 1},
        {"print('", "42 '\n", "42", 1},
        {"print('a\\", "42\n", "42", 1},
    };

    (void)state;
    for (size_t i = 0; i < countof(rows); i++) {
        struct numeral n;

        assert_true(why_number(rows[i].number, &n));
        struct text_line at = why_line(rows[i].output, &n, true);
        assert_true(at.number > 0);
        struct text_line by = why_printed(rows[i].code, rows[i].output, at);
        if (by.number != rows[i].want)
            fail_msg("row %zu: line %zu", i, by.number);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_number),
        cmocka_unit_test(test_line),
        cmocka_unit_test(test_printed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
