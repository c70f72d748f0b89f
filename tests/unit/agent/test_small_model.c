/* test_small_model.c - what the code of a small model printed, as the answer. */
#include "fake.h"

#include "agent/small_model.h"

#define WARNS                                                                             \
    "<cell 1>:3: UserWarning: Boolean Series key will be reindexed to match the index.\n" \
    "  df = df[a][b]\n"

#define WARNS_LONG                                                           \
    "<cell 2>:1: SettingWithCopyWarning: \n"                                 \
    "A value is trying to be set on a copy of a slice from a DataFrame.\n\n" \
    "See the caveats in the documentation\n"                                 \
    "  tom['end'] = pd.to_timedelta(tom['end'])\n"

/* answer: NULL where the model is asked for words. */
static void test_outputs(void **state)
{
    static const struct {
        const char *output, *answer;
    } cases[] = {
        {"24", "24"},
        {"24\n", "24"},
        {"Tuesday the 3rd", "Tuesday the 3rd"},
        {"24\n" WARNS, "24"},
        {WARNS "24\n", "24"},
        {WARNS WARNS "24", "24"},
        {"24\n<cell 1>:3: UserWarning: so\n  df\nand more", NULL},
        {"Warning: 24", "Warning: 24"},
        {WARNS, NULL},
        {WARNS_LONG "24\n", "24"},
        {"24\n" WARNS WARNS_LONG, "24"},
        {WARNS_LONG "24\n25", NULL},
        {"24\n25", NULL},
        {"{'a': 24}", NULL},
        {"120.00000000000001", "120"},
        {"10.999999999999996", "11"},
        {"-122.40000000000009\n", "-122.4"},
        {"6584.045184817014", "6584.04518482"},
        {"1.4142135623730951", "1.41421356237"},
        {"4.5399929762484854e-05", "4.53999297625e-05"},
        {"1.123456", "1.123456"},
        {"about 10.999999999999996", "about 10.999999999999996"},
        {"v1.2.30000000000001", "v1.2.30000000000001"},
    };

    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        const struct fake_reply replies[] = {CALL("print(1)"), SAY("In words.")};
        const struct fake_cell cells[] = {{.output = cases[i].output}};
        struct session s;

        session_begin(&s);
        fake.output_answers = true;
        SCRIPT(replies, cells);
        print_message("         %s\n", cases[i].output);
        assert_int_equal(session_ask(&s, "1?"), QUESTION_ANSWERED);
        assert_string_equal(fake.done_answer, cases[i].answer ? cases[i].answer : "In words.");
        session_end(&s);
    }
}

/* answer: NULL where the model is asked for words. */
static void test_decimals(void **state)
{
    static const struct {
        const char *question, *output, *answer;
    } cases[] = {
        {"The mean, rounded to two decimals?", "34.56789", "34.57"},
        {"The mean to 3 decimal places?", "34.5", "34.5"},
        {"The mean to 3 decimal places?", "2.0005", "2.001"},
        {"Without: no decimals, please", "2.71", "3"},
        {"How much is it, to the cent?", "6584.045184817014", "6584.05"},
        {"How much is it, to the cent?", "6584.045184817014 euros", NULL},
        {"How much is it, to the cent?", "It is 6584", "It is 6584"},
        {"Which decimal is it?", "0.14285714285714285", "0.142857142857"},
        {" decimal", "1.50", "1.50"},
        {"read_csv(f, decimal=',') The mean to one decimal?", "34.56", "34.6"},
    };

    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        const struct fake_reply replies[] = {CALL("print(1)"), SAY("In words.")};
        const struct fake_cell cells[] = {{.output = cases[i].output}};
        struct session s;

        session_begin(&s);
        fake.output_answers = true;
        SCRIPT(replies, cells);
        print_message("         %s\n", cases[i].question);
        assert_int_equal(session_ask(&s, cases[i].question), QUESTION_ANSWERED);
        assert_string_equal(fake.done_answer, cases[i].answer ? cases[i].answer : "In words.");
        session_end(&s);
    }
}

static void test_values(void **state)
{
    static const struct {
        const char *code, *runs;
    } cases[] = {
        {"a = 6 * 4", "a = 6 * 4\na\n"},
        {"b = 2\nn_1 = b + 1\n\n", "b = 2\nn_1 = b + 1\nn_1\n"},
        {"a = 1\nprint(a)", "a = 1\nprint(a)"},
        {"print(1)\na = 1", "print(1)\na = 1"},
        {"a", "a"},
        {"if a:\n    b = 2", "if a:\n    b = 2"},
        {"a[0] = 1", "a[0] = 1"},
        {"a += 1", "a += 1"},
        {"1 = 2", "1 = 2"},
        {"a == 1", "a == 1"},
        {"", ""},
    };
    struct session s;

    (void)state;
    session_begin(&s);
    for (int small = 0; small < 2; small++)
        for (size_t i = 0; i < countof(cases); i++) {
            fake.output_answers = small;
            autofree char *runs = small_model_code(s.a, cases[i].code);
            assert_string_equal(runs, small ? cases[i].runs : cases[i].code);
        }
    session_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outputs),
        cmocka_unit_test(test_decimals),
        cmocka_unit_test(test_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
