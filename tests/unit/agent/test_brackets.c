/* test_brackets.c - what is done about "a or b and c" in the code of a small model. */
#include "fake.h"

#include "agent/private.h"

#define WITHOUT "print(6 or 4 and 8)"
#define WITH    "print((6 or 4) and 8)"

/* It is told once a question: the model may have meant it so. */
static void test_told_once(void **state)
{
    static const struct {
        struct fake_reply replies[2];
        const char *ran;
        bool off;
    } cases[] = {
        {{{.code = {WITHOUT}}, {.code = {WITH}}}, WITH ";", false},
        {{{.code = {WITHOUT}}, {.code = {WITHOUT}}}, WITHOUT ";", false},
        {{{.code = {WITHOUT}}, {.text = "8"}}, WITHOUT ";", true},
    };

    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        const struct fake_cell cells[] = {{.output = "8"}, {.output = "8"}};
        struct session s;

        agent_defaults(&s.o);
        s.o.prompts = NULL;
        session_open(&s);
        fake.output_answers = true;
        fake.check_results = !cases[i].off;
        fake_script(cases[i].replies, 2, cells, countof(cells));
        assert_int_equal(session_ask(&s, "6 or 4 and 8?"), 0);
        assert_string_equal(buf_str(&fake.code), cases[i].ran);
        assert_string_equal(fake.done_answer, "8");
        if (!cases[i].off)
            assert_contains(s.c.v[2].text, "the line is:\n" WITH);
        session_end(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_told_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
