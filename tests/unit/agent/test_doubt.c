/* test_doubt.c - a result that is most likely wrong, and what is done then. */
#include "fake.h"

#include "agent/private.h"

static void test_signs(void **state)
{
    static const struct {
        const char *question, *code, *output;
        unsigned doubts;
        const char *why;
    } cases[] = {
        {"6 and 4", "print(6 * 4)", "24", 0, ""},
        {"6 and 4", "print(6 * 4)", "24 hours\n", 0, ""},
        {"6 and 4", "print(6 * 4)", "1.25", 0, ""},
        {"6 and 4", "print(6 * 4)", "1", 0, ""},
        {"6 and 4", "print(6 - 4)", "-2", 2, "it is below 1"},
        {"6 and 4", "print(6 - 4)", "It is -2.", 2, "it is below 1"},
        {"6 and 4", "print(6 - 4)", "0", 2, "it is below 1"},
        {"6 and 4", "print(4 / 6)", "0.6666", 2, "it is below 1"},
        {"6 and 4", "print(6 / 4)", "1.333", 2, "it has more than two decimals"},
        {"6 and 4", "print(6 / 4)", "120.00000000000001", 0, ""},
        {"6 and 4", "print(6 / 4)", "1e300", 0, ""},
        {"6 and 4", "print(6)", "6", 1, "the code does not use 4"},
        {"6 and 4", "print(6)", "-6", 3, "it is below 1; the code does not use 4"},
        /* no number, or several of them */
        {"6 and 4", "print(6, 4)", "", 0, ""},
        {"6 and 4", "print(6, 4)", "Tuesday", 0, ""},
        {"6 and 4", "print(6, 4)", "-6 -4", 0, ""},
        {"6 and 4", "print(6, 4)", "2024-01-05", 0, ""},
        {"6 and 4", "print(6, 4)", "0:30", 0, ""},
    };

    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        struct buf why = BUF_INIT(100);
        unsigned n = doubts(cases[i].question, cases[i].code, cases[i].output, &why);

        if (n != cases[i].doubts || strcmp(buf_str(&why), cases[i].why) != 0)
            fail_msg("%s gave %s: %u %s", cases[i].code, cases[i].output, n, buf_str(&why));
        buf_release(&why);
    }
}

#define BAD                        \
    {                              \
        .code = { "print(4 * 8)" } \
    }
#define GOOD                           \
    {                                  \
        .code = { "print(6 * 4 / 8)" } \
    }

static const struct look {
    const char *name;
    struct fake_reply replies[3];
    const char *last_system; /* the instructions of the last request, or NULL */
    size_t n_replies;
    struct fake_cell cells[3];
    const char *ran, *events, *answer;
    size_t turns;
    bool off, data, instructions;
    int64_t max_tokens;
    enum question_status status;
} looks[] = {
    {.name = "the better result counts",
     .replies = {BAD, GOOD},
     .n_replies = 2,
     .cells = {{.output = "32"}, {.output = "3"}},
     .ran = "print(4 * 8);print(6 * 4 / 8);",
     .events = "notice(the result is doubtful (the code does not use 6); asking "
               "fake-model once more) calls2 call:2 ",
     .answer = "3",
     .turns = 6},
    {.name = "a number below one is doubted, whatever the code",
     .replies = {GOOD, {.code = {"print(8 * 4 / 6)"}}},
     .n_replies = 2,
     .cells = {{.output = "-0.5"}, {.output = "3"}},
     .ran = "print(6 * 4 / 8);print(8 * 4 / 6);",
     .events = "the result is doubtful (it is below 1); ",
     .answer = "3",
     .turns = 6},
    {.name = "its words are told",
     .replies = {BAD, {.text = "Look:", .code = {"print(6 * 4 / 8)"}}},
     .n_replies = 2,
     .cells = {{.output = "32"}, {.output = "3"}},
     .ran = "print(4 * 8);print(6 * 4 / 8);",
     .events = "text2 calls2 ",
     .answer = "3",
     .turns = 6},
    {.name = "a result without doubt is the answer at once",
     .replies = {GOOD},
     .n_replies = 1,
     .cells = {{.output = "3"}},
     .ran = "print(6 * 4 / 8);",
     .answer = "3",
     .turns = 4},
    {.name = "where the second result is no better, that in words counts",
     .replies = {BAD, {.code = {"print(4 + 8)"}}, {.text = "24 hours in all. Answer: 3 hours"}},
     .n_replies = 3,
     .last_system = "WORDS",
     .cells = {{.output = "32"}, {.output = "12"}},
     .ran = "print(4 * 8);print(4 + 8);",
     .events =
         "calls2 call:2 out:2 result:2:0 notice(the second try is no better; asking fake-model to solve the "
         "problem in words) text3 nudged3 notice(using the solution in words, not the result of the code) "
         "text4 "
         "answer4 ",
     .answer = "3",
     .turns = 4},
    {.name = "where it is the same it counts",
     .replies = {BAD, {.code = {"print(4 + 28)"}}},
     .n_replies = 2,
     .cells = {{.output = "32"}, {.output = "32.0"}},
     .ran = "print(4 * 8);print(4 + 28);",
     .events = "notice(there is no better result; keeping the first one) ",
     .answer = "32",
     .turns = 4},
    {.name = "the words decide between two",
     .replies = {BAD, {.code = {"print(4 + 8)"}}, {.text = "**Answer:** 12"}},
     .n_replies = 3,
     .cells = {{.output = "32"}, {.output = "12"}},
     .ran = "print(4 * 8);print(4 + 8);",
     .answer = "12",
     .turns = 6},
    {.name = "for the first as well",
     .replies = {BAD, {.code = {"print(4 + 8)"}}, {.text = "Answer: 32"}},
     .n_replies = 3,
     .cells = {{.output = "32"}, {.output = "12"}},
     .ran = "print(4 * 8);print(4 + 8);",
     .events = "notice(there is no better result; keeping the first one) ",
     .answer = "32",
     .turns = 4},
    {.name = "a worse second result is forgotten, and so are words without a number",
     .replies = {BAD, GOOD, {.text = "Answer: a few"}},
     .n_replies = 3,
     .cells = {{.output = "32"}, {.output = "-3"}},
     .ran = "print(4 * 8);print(6 * 4 / 8);",
     .answer = "32",
     .turns = 4},
    {.name = "and those with a number that is most likely wrong",
     .replies = {BAD, GOOD, {.text = "Answer: -3"}},
     .n_replies = 3,
     .cells = {{.output = "32"}, {.output = "-5"}},
     .ran = "print(4 * 8);print(6 * 4 / 8);",
     .answer = "32",
     .turns = 4},
    {.name = "a result that is no number is not asked for in words",
     .replies = {BAD, GOOD},
     .n_replies = 2,
     .cells = {{.output = "Tuesday"}, {.status = CELL_EXCEPTION, .exception = "E: x"}},
     .ran = "print(4 * 8);print(6 * 4 / 8);",
     .answer = "Tuesday",
     .turns = 4},
    {.name = "code in the words is not run",
     .replies = {BAD, {.code = {"print(4 + 8)"}}, {.text = "Answer: 3", .code = {"print(3)"}}},
     .n_replies = 3,
     .cells = {{.output = "32"}, {.output = "12"}},
     .ran = "print(4 * 8);print(4 + 8);",
     .answer = "32",
     .turns = 4},
    {.name = "a third request that fails does no harm",
     .replies = {BAD, {.code = {"print(4 + 8)"}}, {.fail = ERROR_NETWORK}},
     .n_replies = 3,
     .cells = {{.output = "32"}, {.output = "12"}},
     .ran = "print(4 * 8);print(4 + 8);",
     .events = "notice(that request failed: the service failed) notice(there is no better result; "
               "keeping the first one) ",
     .answer = "32",
     .turns = 4},
    {.name = "Ctrl-C ends it there, too",
     .replies = {BAD, {.code = {"print(4 + 8)"}}, {.text = "Answer: 3", .interrupt = true}},
     .n_replies = 3,
     .cells = {{.output = "32"}, {.output = "12"}},
     .ran = "print(4 * 8);print(4 + 8);",
     .status = QUESTION_INTERRUPTED},
    {.name = "second code that fails is not mended",
     .replies = {BAD, GOOD, {.text = "Answer: 4"}},
     .n_replies = 3,
     .cells = {{.output = "32"}, {.status = CELL_EXCEPTION, .exception = "E: x"}},
     .ran = "print(4 * 8);print(6 * 4 / 8);",
     .answer = "4",
     .turns = 4},
    {.name = "a second reply without code is no result",
     .replies = {BAD, {.text = "Three hours."}, {.text = "6 * 4 / 8 = 3. The answer is 3."}},
     .n_replies = 3,
     .cells = {{.output = "32"}},
     .ran = "print(4 * 8);",
     .answer = "3",
     .turns = 4},
    {.name = "nor is one with a broken call",
     .replies = {BAD, {.code = {"print(6 * 4 / 8)"}, .problem = "broken"}, {.text = "Answer: 1,250"}},
     .n_replies = 3,
     .cells = {{.output = "32"}},
     .ran = "print(4 * 8);",
     .answer = "1250",
     .turns = 4},
    {.name = "code that fails is mended as ever, and its result not looked at",
     .replies = {GOOD, BAD},
     .n_replies = 2,
     .cells = {{.status = CELL_EXCEPTION, .exception = "E: x"}, {.output = "32"}},
     .ran = "print(6 * 4 / 8);print(4 * 8);",
     .answer = "32",
     .turns = 6},
    {.name = "a second request that fails does no harm",
     .replies = {BAD, {.fail = ERROR_NETWORK}},
     .n_replies = 2,
     .cells = {{.output = "32"}},
     .ran = "print(4 * 8);",
     .events = "notice(that request failed: the service failed) notice(there is no better result; "
               "keeping the first one) ",
     .answer = "32",
     .turns = 4},
    {.name = "nor does the limit of tokens",
     .replies = {BAD},
     .n_replies = 1,
     .cells = {{.output = "32"}},
     .max_tokens = 100,
     .ran = "print(4 * 8);",
     .answer = "32",
     .turns = 4},
    {.name = "Ctrl-C ends it, and nothing more is run",
     .replies = {BAD, {.code = {"print(6 * 4 / 8)"}, .interrupt = true}},
     .n_replies = 2,
     .cells = {{.output = "32"}},
     .ran = "print(4 * 8);",
     .status = QUESTION_INTERRUPTED},
    {.name = "only for a model whose profile says so",
     .replies = {BAD},
     .n_replies = 1,
     .cells = {{.output = "32"}},
     .off = true,
     .ran = "print(4 * 8);",
     .answer = "32",
     .turns = 4},
    {.name = "not with data",
     .replies = {BAD},
     .n_replies = 1,
     .cells = {{.output = "1"}, {.output = "32"}},
     .data = true,
     .ran = "1;print(4 * 8);",
     .answer = "32",
     .turns = 4},
    {.name = "not with the user's own instructions",
     .replies = {BAD, {.text = "32"}},
     .n_replies = 2,
     .cells = {{.output = "32"}},
     .instructions = true,
     .ran = "print(4 * 8);",
     .answer = "32",
     .turns = 4},
};

static void test_looks(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(looks); i++) {
        const struct look *t = &looks[i];
        struct session s;

        agent_defaults(&s.o);
        s.o.prompts = NULL;
        s.o.max_tokens_total = t->max_tokens;
        session_open(&s);
        fake.output_answers = true;
        fake.check_results = !t->off;
        fake_script(t->replies, t->n_replies, t->cells, countof(t->cells));
        if (t->data)
            assert_int_equal(agent_run(s.a, "1", 1, &fake.err), 0);
        if (t->instructions)
            agent_set_system(s.a, "Answer in words.");
        print_message("         %s\n", t->name);
        assert_int_equal(session_ask(&s, "6 cooks need 4 hours. How long do 8 need?"), t->status);
        assert_string_equal(buf_str(&fake.code), t->ran);
        assert_int_equal(fake.asked, t->n_replies);
        if (t->last_system)
            assert_string_equal(fake.system_blocks, t->last_system);
        if (t->events)
            assert_contains(buf_str(&fake.events), t->events);
        if (t->answer)
            assert_string_equal(fake.done_answer, t->answer);
        if (t->turns)
            assert_int_equal(s.c.n, t->turns);
        session_end(&s);
    }
}

/* What both requests cost is counted, the second is asked with its own instructions and nothing else that was
 * said, and the next question with the usual ones. */
static void test_afterwards(void **state)
{
    static const struct fake_reply replies[] = {BAD, GOOD}, next[] = {GOOD};
    static const struct fake_cell cells[] = {{.output = "32"}, {.output = "3"}};
    struct session s;

    (void)state;
    session_begin(&s);
    fake.output_answers = fake.check_results = true;
    SCRIPT(replies, cells);
    assert_int_equal(session_ask(&s, "6 cooks need 4 hours. How long do 8 need?"), QUESTION_ANSWERED);
    assert_int_equal(fake.done_tokens, 2 * (INPUT_TOKENS + OUTPUT_TOKENS));
    assert_int_equal(fake.done_requests, 2);
    assert_string_equal(fake.system_blocks, "AGAIN");
    fake_script(next, 1, cells + 1, 1);
    assert_int_equal(session_ask(&s, "6 cooks need 4 hours. How long do 8 need?"), QUESTION_ANSWERED);
    assert_string_equal(fake.system_blocks, "OUTPUT ALONE");
    session_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signs),
        cmocka_unit_test(test_looks),
        cmocka_unit_test(test_afterwards),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
