/* test_left_out.c - code that makes no use of a number of its question. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "codecheck/codecheck.h"

static void test_numbers(void **state)
{
    static const struct {
        const char *question, *code, *left;
    } cases[] = {
        {"6 cooks need 4 hours. How long do 8 need?", "print(4 * 8)", "6"},
        {"6 cooks need 4 hours. How long do 8 need?", "print(6 * 4 / 8)", ""},
        {"Runs 400 m in 80 s.", "speed = 1\nprint(speed)", "400, 80"},
        /* a comment, a name and a long string are no use of a number */
        {"Take 7 and 9.", "# 7\nx9 = 7\nprint(x9)", "9"},
        {"Take 7 and 9.", "'''\n7 and 9'''\nprint(7)", "9"},
        {"Take 7.", "'''7", "7"},
        {"Take 7.", "print('# 7')", ""},
        {"Take 7.", "print('it\\'s # 7')", ""},
        /* nor is a value that nothing reads */
        {"A gate of 5 m.", "gate = 5\nprint(2)", "5"},
        {"A gate of 5 m.", "gate = 5\nprint(gate)", ""},
        {"A gate of 5 m.", "  gate=5\n  gates = 2\nprint(gates)", "5"},
        {"A gate of 5 m.", "gate == 5", ""},
        {"A gate of 5 m.", "r = f(key=5)", ""},
        /* other ways to write it */
        {"35 percent of 2,500", "print(2500 * 0.35)", ""},
        {"20 percent less", "print(0.8)", ""},
        {"20 percent more", "print(1.2, 120)", ""},
        {"5 kg", "print(5000)", ""},
        {"90 cents", "print(0.9)", ""},
        {"2 hours", "print(120)", ""},
        {"2 hours", "print(20)", "2"},
        {"up to 8", "print(sum(range(1, 9)))", ""},
        {"up to 8", "print(9)", "8"},
        {"from 1 to 200", "print(max(1,200))", ""},
        {"at 17:30", "print(17)", "30"},
        {"1.5 or 15", "print(15)", "1.5"},
        {"per cent: 20", "print(0.8)", ""},
        /* what is another number of the question is that alone; nothing is a share without a percentage */
        {"4 bags of 300 g", "print(18 / 4)", "300"},
        {"4 bags at 3 percent, of 300 g", "print(4 * 1.03)", "300"},
        {"3 bags of 3 g", "print(3)", ""},
        {"20 less", "print(0.8)", "20"},
        {"at 9:00", "print(9)", ""},
        /* nor are the digits of round() */
        {"5 of 100", "print(round(5 / 2, 1))", "100"},
        {"5 of 2", "print(round(f(5, 2), 1), round(7))", ""},
        {"5 of 2", "print(round(5, 2), round((", "2"},
        /* no numbers of the question */
        {"no number", "print(1)", ""},
        {"x1 and y_2", "print(3)", ""},
        {"", "", ""},
        {"7", "", "7"},
    };

    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        struct buf out = BUF_INIT(100);
        size_t n = numbers_left_out(cases[i].question, cases[i].code, &out);

        if (strcmp(buf_str(&out), cases[i].left) != 0 || !n != !*cases[i].left)
            fail_msg("%s / %s: %zu: %s", cases[i].question, cases[i].code, n, buf_str(&out));
        buf_release(&out);
    }
}

/* A question that lists data says nothing by its numbers, and neither does code that does. */
static void test_many_numbers(void **state)
{
    struct buf many = BUF_INIT(1 << 16), out = BUF_INIT(100);

    (void)state;
    for (int i = 0; i < 33; i++)
        buf_addstr(&many, "7 ");
    assert_int_equal(numbers_left_out(buf_str(&many), "print(1)", &out), 0);
    for (int i = 0; i < 600; i++)
        buf_addstr(&many, "[7] ");
    assert_int_equal(numbers_left_out("8", buf_str(&many), &out), 0);
    assert_int_equal(out.len, 0);
    buf_release(&many);
    buf_release(&out);
}

/* Each of its names is counted in all of it: a megabyte would take half an hour. */
static void test_long_code_is_not_looked_at(void **state)
{
    struct buf code autorelease(buf_release) = BUF_INIT(0), out autorelease(buf_release) = BUF_INIT(1000);

    (void)state;
    while (code.len < 20000)
        buf_addstr(&code, "a=b\n");
    assert_int_equal(numbers_left_out("Take 7.", buf_str(&code), &out), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_long_code_is_not_looked_at),
        cmocka_unit_test(test_many_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
