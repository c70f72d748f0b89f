/* test_left_out.c - code that makes no use of a number of its question, and what is done then. */
#include "fake.h"

#include "agent/private.h"

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
    size_t n_replies;
    const char *ran, *events;
    bool off, data, instructions;
    int64_t max_tokens;
    enum question_status status;
} looks[] = {
    {.name = "the second code is run alone",
     .replies = {BAD, GOOD},
     .n_replies = 2,
     .ran = "print(6 * 4 / 8);",
     .events = "notice(the code leaves out numbers of the question (6); asking fake-model once more) nudged1 "
               "calls2 call:1 "},
    {.name = "its words are told",
     .replies = {BAD, {.text = "Look:", .code = {"print(6 * 4 / 8)"}}},
     .n_replies = 2,
     .ran = "print(6 * 4 / 8);",
     .events = "nudged1 text2 calls2 "},
    {.name = "code that uses them all is run at once",
     .replies = {GOOD},
     .n_replies = 1,
     .ran = "print(6 * 4 / 8);"},
    {.name = "a second code that is no better is not",
     .replies = {BAD, {.code = {"print(4 + 8)"}}},
     .n_replies = 2,
     .ran = "print(4 * 8);",
     .events = "notice(the new code is no better, so the first is run) calls1 "},
    {.name = "nor is one that leaves out more",
     .replies = {BAD, {.code = {"print(1)"}}},
     .n_replies = 2,
     .ran = "print(4 * 8);"},
    {.name = "nor a second reply without code",
     .replies = {BAD, {.text = "Three hours."}},
     .n_replies = 2,
     .ran = "print(4 * 8);"},
    {.name = "nor one with a broken call",
     .replies = {BAD, {.code = {"print(6 * 4 / 8)"}, .problem = "broken"}},
     .n_replies = 2,
     .ran = "print(4 * 8);"},
    {.name = "a second request that fails does no harm",
     .replies = {BAD, {.fail = ERROR_NETWORK}},
     .n_replies = 2,
     .ran = "print(4 * 8);",
     .events = "notice(that request failed, so the code is run: the service failed) calls1 "},
    {.name = "nor does the limit of tokens",
     .replies = {BAD},
     .n_replies = 1,
     .max_tokens = 100,
     .ran = "print(4 * 8);"},
    {.name = "Ctrl-C ends it, and nothing is run",
     .replies = {BAD, {.code = {"print(6 * 4 / 8)"}, .interrupt = true}},
     .n_replies = 2,
     .ran = "",
     .status = QUESTION_INTERRUPTED},
    {.name = "only for a model whose profile says so",
     .replies = {BAD},
     .n_replies = 1,
     .off = true,
     .ran = "print(4 * 8);"},
    {.name = "not with data", .replies = {BAD}, .n_replies = 1, .data = true, .ran = "1;print(4 * 8);"},
    {.name = "not with the user's own instructions",
     .replies = {BAD, {.text = "32"}},
     .n_replies = 2,
     .instructions = true,
     .ran = "print(4 * 8);"},
};

static void test_looks(void **state)
{
    static const struct fake_cell cells[] = {{.output = "3"}, {.output = "3"}};

    (void)state;
    for (size_t i = 0; i < countof(looks); i++) {
        const struct look *t = &looks[i];
        struct session s;

        agent_defaults(&s.o);
        s.o.prompts = NULL;
        s.o.max_tokens_total = t->max_tokens;
        session_open(&s);
        fake.output_answers = true;
        fake.check_numbers = !t->off;
        fake_script(t->replies, t->n_replies, cells, countof(cells));
        if (t->data)
            assert_int_equal(agent_run(s.a, "1", 1, &fake.err), 0);
        if (t->instructions)
            agent_set_system(s.a, "Answer in words.");
        print_message("         %s\n", t->name);
        assert_int_equal(session_ask(&s, "6 cooks need 4 hours. How long do 8 need?"), t->status);
        assert_string_equal(buf_str(&fake.code), t->ran);
        assert_int_equal(fake.asked, t->n_replies);
        if (t->events)
            assert_contains(buf_str(&fake.events), t->events);
        if (t->status == QUESTION_ANSWERED)
            assert_int_equal(s.c.n, 4); /* the code that lost is in no turn */
        if (t->n_replies == 2 && !t->instructions)
            assert_string_equal(fake.system_blocks, "AGAIN");
        session_end(&s);
    }
}

/* What both requests cost is counted, the next question gets the usual instructions, and a repair is not
 * looked at. */
static void test_afterwards(void **state)
{
    static const struct fake_reply replies[] = {BAD, GOOD, BAD}, next[] = {GOOD};
    static const struct fake_cell cells[] = {{.status = CELL_EXCEPTION, .exception = "E: x"},
                                             {.output = "3"}};
    struct session s;

    (void)state;
    session_begin(&s);
    fake.output_answers = fake.check_numbers = true;
    SCRIPT(replies, cells);
    assert_int_equal(session_ask(&s, "6 cooks need 4 hours. How long do 8 need?"), QUESTION_ANSWERED);
    assert_int_equal(fake.done_tokens, 3 * (INPUT_TOKENS + OUTPUT_TOKENS));
    assert_int_equal(fake.done_requests, 3);
    assert_string_equal(buf_str(&fake.code), "print(6 * 4 / 8);print(4 * 8);");
    assert_string_equal(fake.system_blocks, "OUTPUT ALONE");
    fake_script(next, 1, cells + 1, 1);
    assert_int_equal(session_ask(&s, "6 cooks need 4 hours. How long do 8 need?"), QUESTION_ANSWERED);
    assert_string_equal(fake.system_blocks, "OUTPUT ALONE");
    session_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_many_numbers),
        cmocka_unit_test(test_looks),
        cmocka_unit_test(test_afterwards),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
