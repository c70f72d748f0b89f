/* test_numbers.c - numbers that two texts share. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "provenance/numbers.h"

static void test_numbers(void **state)
{
    static const struct {
        const char *answer, *output;
        bool shared;
    } cases[] = {
        {"It is 7919.", "7919\n", true},
        {"It is 7,919.", "7919", true},
        {"About 3.14.", "3.14159265", true},
        {"About 3.15.", "3.14159265", false},
        {"It is 8.", "7919", false},
        {"Seven of them.", "7", true},
        {"no number", "no number", true},
        {"nothing", "5", false},
        {"12.5%", "0.125", true},
        {"1.5 million", "1500001", false},
        {"On 2024-03-05", "2024-03-05 00:00:00", true},
        {"", "1", false},
        {"x1 is good", "1", false},
        {"1e3", "1000", true},
        {"It is -4", "-4", true},
        {"3", "3.2", true},
        {"4", "3.2", false},
        {"10", "1,2,3,10", true},
        {"1234567", "1,234,567", true},
        {"9e999", "1", false},
        {"1e-2147483648", "1", false},
        {"5", "1e99999999999999999999", false},
    };

    (void)state;
    for (size_t i = 0; i < countof(cases); i++)
        if (numbers_shared(cases[i].answer, cases[i].output) != cases[i].shared)
            fail_msg("%s / %s", cases[i].answer, cases[i].output);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
