/* test_event.c - exit codes of questions, and which of two counts. */
#include "tests/unit/unit.h"

#include "base/mem.h"
#include "conversation/event.h"

static void codes(void **state)
{
    (void)state;
    static const struct {
        enum question_status s;
        int code;
    } rows[] = {
        {QUESTION_ANSWERED, 0},      {QUESTION_NO_ANSWER, 1},    {QUESTION_USAGE, 2},
        {QUESTION_NO_SANDBOX, 3},    {QUESTION_CODE_FAILED, 4},  {QUESTION_UNDELIVERED, 1},
        {QUESTION_LIMIT, 5},         {QUESTION_TRY_LATER, 75},   {QUESTION_REFUSED, 77},
        {QUESTION_INTERRUPTED, 130}, {QUESTION_TERMINATED, 143}, {QUESTION_UNVERIFIED, 6},
    };
    for (size_t i = 0; i < countof(rows); i++)
        assert_int_equal(question_exit_code(rows[i].s), rows[i].code);
}

static void worse(void **state)
{
    (void)state;
    static const int from_worst[] = {143, 130, 2, 3, 77, 75, 5, 1, 6, 4, 0};
    for (size_t i = 0; i < countof(from_worst); i++) {
        for (size_t k = i; k < countof(from_worst); k++) {
            assert_int_equal(exit_code_worse(from_worst[i], from_worst[k]), from_worst[i]);
            assert_int_equal(exit_code_worse(from_worst[k], from_worst[i]), from_worst[i]);
        }
    }
    assert_int_equal(exit_code_worse(0, 99), 99);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(codes), cmocka_unit_test(worse)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
