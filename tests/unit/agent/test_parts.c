/* test_parts.c - the pure parts of the agent: budgets, placeholders, the words about a result. */
#include "fake.h"

#include "agent/private.h" /* cell_tell: else each of its lines needs a model and a sandbox */

static void test_budget(void **state)
{
    const struct budget_limits max = {
        .requests = 3, .calls = 32, .malformed = 2, .repairs = 1, .tokens = 100};
    struct budget b;
    struct error err = {0};

    (void)state;
    budget_init(&b, &max);
    budget_asked(&b, 2, 40);
    assert_int_equal(budget_may_ask(&b, &err), 0);
    budget_asked(&b, 1, 1);
    assert_int_equal(budget_may_ask(&b, &err), -1);
    assert_int_equal(err.kind, ERROR_LIMIT);
    b.requests = 0;
    budget_asked(&b, 1, 100);
    assert_int_equal(budget_may_ask(&b, &err), -1);
    assert_int_equal(budget_bad_call(&b, "no JSON", &err), 0);
    assert_int_equal(budget_bad_call(&b, "no JSON", &err), 0);
    budget_good_call(&b);
    assert_int_equal(budget_bad_call(&b, "no JSON", &err), 0);
    assert_int_equal(budget_bad_call(&b, "no JSON", &err), 0);
    assert_int_equal(budget_bad_call(&b, "no JSON", &err), -1);
    budget_failed(&b, "a\n  b", "why", "told");
    assert_false(budget_round_end(&b));
    assert_false(budget_round_end(&b)); /* a reply without failing code changes nothing */
    budget_failed_again(&b);
    assert_true(budget_round_end(&b));
    assert_false(budget_round_end(&b)); /* told once */
    budget_release(&b);
    budget_release(NULL);
}

/* A question that has cost so much is not mended, whatever is left of the repairs; code that works is. */
static void test_repair_tokens(void **state)
{
    const struct budget_limits max = {.requests = 9, .repairs = 3, .repair_tokens = 100};
    struct budget b;

    (void)state;
    budget_init(&b, &max);
    budget_asked(&b, 1, 99);
    budget_failed(&b, "a", "why", "told");
    assert_false(budget_round_end(&b));
    budget_asked(&b, 1, 1);
    budget_worked(&b);
    assert_false(budget_round_end(&b));
    budget_failed(&b, "b", "why", "told");
    assert_true(budget_round_end(&b));
    budget_release(&b);
}

static void test_same_code(void **state)
{
    static const struct {
        const char *code;
        bool same;
    } cases[] = {
        {"for i in x:\n    print(i)", true},
        {"for i in x:\n    print(i)\n\n", true},
        {"\nfor i in x:  \n\n    print(i)", true},
        {"for i in x:\r\n    print(i)\r\n", true},
        {"for i in x:\n  print(i)", false},
        {"for i in x:\n    print(i )", false},
        {"", false},
        {"for i in x:", false},
        {"for i in x:\n    print(i)\nprint(1)", false},
    };
    const struct budget_limits max = {.repairs = 3};
    struct budget b;

    (void)state;
    budget_init(&b, &max);
    budget_failed(&b, "for i in x:\n    print(i)", "NameError", "told");
    for (size_t i = 0; i < countof(cases); i++)
        assert_int_equal(budget_failed_code(&b, cases[i].code) != NULL, cases[i].same);
    budget_worked(&b);
    assert_null(budget_failed_code(&b, cases[0].code));
    budget_release(&b);
}

static char *tell(struct cell_result *r, const char *code, const char *output)
{
    struct buf b = BUF_INIT(1 << 20);

    buf_addstr(&b, output);
    cell_tell(r, code, &b);
    return buf_steal(&b, NULL);
}

static void test_tell(void **state)
{
    char long_line[5000], exception[] = "KeyError: 'x'", hint[] = "the columns are: 'a', 'b'";
    struct cell_result r = {.status = CELL_EXCEPTION, .exception = exception, .line = 2};
    char *s;

    (void)state;
    s = tell(&r, "a = 1\n    b = a['x']\n", "one\n\n");
    assert_string_equal(s, "one\nKeyError: 'x'\nline 2: b = a['x']");
    free(s);
    r.hint = hint;
    s = tell(&r, "a", "");
    assert_string_equal(s, "KeyError: 'x'\nline 2\nthe columns are: 'a', 'b'");
    free(s);
    memset(long_line, 'x', sizeof long_line - 1);
    long_line[sizeof long_line - 1] = '\0';
    r = (struct cell_result){.status = CELL_EXCEPTION, .exception = long_line};
    s = tell(&r, "a", "");
    assert_true(strlen(s) < 2100);
    assert_contains(s, "[2951 bytes more]");
    free(s);
    r = (struct cell_result){.status = CELL_MEMORY};
    s = tell(&r, "a", "");
    assert_string_equal(s, "it failed");
    free(s);
    r = (struct cell_result){.status = CELL_EXIT, .exit_code = 3, .state_restored = true};
    s = tell(&r, "a", "");
    assert_contains(s, "a copy made before this cell");
    free(s);
    r.earlier = true; /* what this cell made is there */
    s = tell(&r, "a", "");
    assert_contains(s, "a copy made after the last cell");
    free(s);
    memset(long_line, 'x', 199);
    memcpy(long_line + 199, "\xc3\xa9.txt", 7);
    r = (struct cell_result){
        .status = CELL_OK, .files = &(struct cell_file){.name = long_line, .size = 1}, .n_files = 1};
    s = tell(&r, "a", "");
    assert_contains(s, "xxx (1 bytes)"); /* cut at a character */
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_repair_tokens),
        cmocka_unit_test(test_same_code),
        cmocka_unit_test(test_tell),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
