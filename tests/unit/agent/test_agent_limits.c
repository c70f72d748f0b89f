/* test_agent_limits.c - one question: interrupts, budgets, a full window, and replies without an answer. */
#include "fake.h"

#include <signal.h>

#include "base/file.h"
#include "process/signals.h"

/* Ctrl-C at every request and every cell of a long question: the history is valid, and the next question is
 * answered. */
static void test_interrupt_everywhere(void **state)
{
    (void)state;
    for (size_t at = 0; at < 12; at++) {
        struct fake_reply replies[] = {
            {.code = {"a", "b"}}, CALL("c"), {.text = "hm", .code = {"d"}}, {.code = {"e", "f"}}, SAY("end")};
        struct fake_cell cells[] = {OK("1"), FAIL, FAIL, OK("2"), FAIL, OK("3")};
        struct fake_reply again[] = {CALL("g"), SAY("fine")};
        struct fake_cell more[] = {OK("4")};
        struct session s;

        if (at < 5)
            replies[at].interrupt = true;
        else if (at < 11)
            cells[at - 5].interrupt = true;
        session_begin(&s);
        SCRIPT(replies, cells);
        enum question_status status = session_ask(&s, "question");
        assert_int_equal(status, at == 11 ? QUESTION_ANSWERED : QUESTION_INTERRUPTED);
        loop_arm(s.loop);
        SCRIPT(again, more);
        assert_int_equal(session_ask(&s, "again"), QUESTION_ANSWERED);
        session_end(&s);
    }
}

static void test_requests(void **state)
{
    struct fake_reply replies[25];
    struct fake_cell cells[25];
    char code[25][16];
    struct session s;

    (void)state;
    memset(replies, 0, sizeof replies);
    memset(cells, 0, sizeof cells);
    for (int i = 0; i < 25; i++) {
        snprintf(code[i], sizeof code[i], "c%d", i);
        replies[i].code[0] = code[i];
        cells[i].output = "1";
    }
    session_begin(&s);
    SCRIPT(replies, cells);
    assert_int_equal(session_ask(&s, "question"), QUESTION_LIMIT);
    assert_int_equal(fake.asked, 25);
    assert_contains(fake.err.text, "25 requests");
    assert_int_equal(s.c.n, 52);
    assert_string_equal(s.c.v[51].text, "Interrupted.");
    session_end(&s);
}

static void test_calls_of_one_reply(void **state)
{
    struct fake_reply replies[] = {{0}, SAY("done")};
    struct fake_cell cells[32];
    char code[35][16];
    struct session s;

    (void)state;
    memset(cells, 0, sizeof cells);
    for (int i = 0; i < 35; i++) {
        snprintf(code[i], sizeof code[i], "c%d", i);
        replies[0].code[i] = code[i];
        if (i < 32)
            cells[i].output = "1";
    }
    session_begin(&s);
    SCRIPT(replies, cells);
    assert_int_equal(session_ask(&s, "question"), QUESTION_ANSWERED);
    assert_int_equal(s.c.n, 2 + 35 + 1);
    assert_contains(buf_str(&fake.seen), "Not run: at most 32 calls");
    session_end(&s);
}

static void test_tokens(void **state)
{
    const struct fake_reply replies[] = {CALL("a"), CALL("b"), SAY("never")};
    const struct fake_cell cells[] = {OK("1"), OK("2")};
    struct session s;

    (void)state;
    agent_defaults(&s.o);
    s.o.max_tokens_total = 200;
    session_open(&s);
    SCRIPT(replies, cells);
    assert_int_equal(session_ask(&s, "question"), QUESTION_LIMIT);
    assert_int_equal(fake.asked, 2);
    assert_int_equal(fake.done_tokens, 220);
    assert_contains(fake.err.text, "200 tokens");
    session_end(&s);

    const struct fake_reply unknown[] = {
        {.text = "thirty-five bytes of text come here", .unknown_usage = true}};
    session_begin(&s);
    fake_script(unknown, 1, NULL, 0);
    assert_int_equal(session_ask(&s, "question"), QUESTION_ANSWERED);
    assert_true(fake.done_estimated);
    assert_int_equal(fake.done_tokens - fake.done_input, 10);
    session_end(&s);
}

static void test_time(void **state)
{
    const struct fake_reply slow[] = {{.text = "It", .wait_ms = 50000}}, quick[] = {SAY("yes")};
    const struct fake_reply cell[] = {CALL("a")};
    const struct fake_cell sleeps[] = {{.wait_ms = 50000}};
    struct session s;

    (void)state;
    agent_defaults(&s.o);
    s.o.max_ms = 60;
    session_open(&s);
    fake_script(slow, 1, NULL, 0);
    int64_t began = clock_ms();
    assert_int_equal(session_ask(&s, "question"), QUESTION_LIMIT);
    assert_true(clock_ms() - began < 25000);
    assert_contains(fake.err.text, "--max-time");
    assert_int_equal(fake.err.kind, ERROR_LIMIT);
    assert_int_equal(fake.deadline, 0);
    assert_false(loop_cancelled(s.loop)); /* our own interrupt does not end the next question */
    fake_script(cell, 1, sleeps, 1);
    assert_int_equal(session_ask(&s, "question"), QUESTION_LIMIT);
    assert_false(loop_cancelled(s.loop));
    fake_script(quick, 1, NULL, 0);
    assert_int_equal(session_ask(&s, "question"), QUESTION_ANSWERED);
    session_end(&s);
}

static void test_full_window(void **state)
{
    char big[3000];
    struct session s;

    (void)state;
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    const struct fake_reply first[] = {CALL("a"), SAY("one"), CALL("b"), SAY("two")};
    const struct fake_cell cells[] = {{.output = big}, {.output = big}};
    const struct fake_reply full[] = {{.fail = ERROR_CONTEXT, .error = "the context is too small"},
                                      {.fail = ERROR_CONTEXT, .error = "context"},
                                      SAY("three")};
    const struct fake_reply never[] = {{.fail = ERROR_CONTEXT, .error = "context"},
                                       {.fail = ERROR_CONTEXT, .error = "context"},
                                       {.fail = ERROR_CONTEXT, .error = "context"},
                                       {.fail = ERROR_CONTEXT, .error = "context"}};
    session_begin(&s);
    SCRIPT(first, cells);
    session_ask(&s, "question");
    session_ask(&s, "question");
    assert_int_equal(s.c.n, 8);
    fake_script(full, 3, NULL, 0);
    assert_int_equal(session_ask(&s, "third"), QUESTION_ANSWERED);
    assert_int_equal(s.c.n, 6); /* the oldest question went */
    assert_true(strlen(s.c.v[2].text) < 1000);
    assert_contains(s.c.v[2].text, "bytes left out");
    char *notice = strstr(buf_str(&fake.events), "notice(context full");
    assert_non_null(notice);
    assert_null(strstr(notice + 1, "notice("));

    fake_script(full, 3, NULL, 0); /* full again: that is no news in this session */
    assert_int_equal(session_ask(&s, "again"), QUESTION_ANSWERED);
    assert_null(strstr(buf_str(&fake.events), "notice("));

    fake_script(never, 4, NULL, 0);
    assert_int_equal(session_ask(&s, "fourth"), QUESTION_LIMIT);
    assert_int_equal(s.c.n, 0);
    assert_true(agent_can_retry(s.a));
    session_end(&s);
}

/* What was thought is all there is: it is told, and never thrown away. */
static void test_only_reasoning(void **state)
{
    const struct fake_reply thinks[] = {{.reasoning = "First I\n think."}, {.reasoning = " So it is 42.\n"}};
    const struct fake_reply once[] = {{.reasoning = "I think."}, SAY("")},
                            length[] = {{.reasoning = "I think.", .finish = LLM_FINISH_LENGTH}};
    const struct fake_reply fails[] = {{.reasoning = "I think."}, {.fail = ERROR_API}},
                            good[] = {{.reasoning = "I think."}, SAY("42")};
    struct session s;

    (void)state;
    session_begin(&s);
    fake_script(thinks, 2, NULL, 0);
    assert_int_equal(session_ask(&s, "question"), QUESTION_NO_ANSWER);
    assert_contains(fake.done_error,
                    "fake-model returned no text (tried twice), only reasoning: \"So it is 42.\"\n");
    assert_contains(fake.done_error, "-m MODEL");
    assert_string_equal(fake.done_reasoning, " So it is 42.\n");
    fake_script(once, 2, NULL, 0);
    session_ask(&s, "question");
    assert_contains(fake.done_error, "only reasoning: \"I think.\"\n");
    fake_script(length, 1, NULL, 0);
    assert_int_equal(session_ask(&s, "question"), QUESTION_LIMIT);
    assert_contains(fake.done_error,
                    "reached its token limit before it said anything, only reasoning: \"I think.\"");
    fake_script(fails, 2, NULL, 0);
    assert_int_equal(session_ask(&s, "question"), QUESTION_NO_ANSWER);
    assert_contains(buf_str(&fake.events),
                    "notice(fake-model returned no text, only reasoning: \"I think.\")");
    fake_script(good, 2, NULL, 0);
    assert_int_equal(session_ask(&s, "question"), QUESTION_ANSWERED);
    assert_null(fake.done_reasoning);
    assert_lacks(buf_str(&fake.events), "notice(");
    session_end(&s);
}

/* Of a long thought the end, from a whole word on, whatever it is made of. */
static void test_long_reasoning(void **state)
{
    struct session s;
    struct buf words = BUF_INIT(0), umlauts = BUF_INIT(0);

    (void)state;
    for (int i = 0; i < 2000; i++) {
        buf_addf(&words, "word%d\n", i);
        buf_addstr(&umlauts, "\xc3\xa4");
    }
    const struct fake_reply long_one[] = {{.reasoning = words.data}, SAY("")},
                            solid[] = {{.reasoning = umlauts.data}, SAY("")};
    session_begin(&s);
    fake_script(long_one, 2, NULL, 0);
    session_ask(&s, "question");
    assert_contains(fake.done_error, "\"... word");
    assert_contains(fake.done_error, "word1999\"\n");
    assert_true(strlen(fake.done_error) < 600);
    assert_string_equal(fake.done_reasoning, words.data);
    fake_script(solid, 2, NULL, 0);
    session_ask(&s, "question");
    assert_lacks(fake.done_error, "\xef\xbf\xbd");
    assert_contains(fake.done_error, "\xa4\"\n");
    session_end(&s);
    buf_release(&words);
    buf_release(&umlauts);
}

/* One more request than is allowed is not worth an answer that is there, and a sandbox that is not there runs
 * nothing. */
static void test_not_worth_asking(void **state)
{
    const struct fake_reply replies[] = {{.text = "Like this.", .unsure = true}};
    struct session s;

    (void)state;
    agent_defaults(&s.o);
    s.o.max_requests = 1;
    session_open(&s);
    fake_script(replies, 1, NULL, 0);
    assert_int_equal(session_ask(&s, "question"), QUESTION_ANSWERED);
    assert_string_equal(buf_str(&fake.events), "text1 answer1 ");
    session_end(&s);
    session_begin(&s);
    fake.no_sandbox = true;
    fake_script(replies, 1, NULL, 0);
    assert_int_equal(session_ask(&s, "question"), QUESTION_ANSWERED);
    assert_string_equal(fake.done_answer, "Like this.");
    session_end(&s);

    const struct fake_reply slow[] = {{.text = "Like this.", .unsure = true},
                                      {.text = "OK.", .wait_ms = 5000}};
    agent_defaults(&s.o);
    s.o.max_ms = 60; /* the answer came in time */
    session_open(&s);
    fake_script(slow, 2, NULL, 0);
    assert_int_equal(session_ask(&s, "question"), QUESTION_ANSWERED);
    assert_string_equal(fake.done_answer, "Like this.");
    assert_false(loop_cancelled(s.loop));
    session_end(&s);
}

/* The same limits in the words of the two places where they are read. */
static void test_words_of_the_place(void **state)
{
    const struct fake_reply cut[] = {{.text = "It is", .finish = LLM_FINISH_LENGTH}},
                            empty[] = {SAY(""), SAY("")}, calls[] = {CALL("a")};
    const struct fake_cell cells[] = {OK("1")};

    (void)state;
    for (int chat = 0; chat < 2; chat++) {
        struct session s;

        agent_defaults(&s.o);
        s.o.max_requests = 2;
        s.o.max_tokens_total = 100;
        s.o.chat = chat;
        session_open(&s);
        fake_script(cut, 1, NULL, 0);
        session_ask(&s, "question");
        assert_contains(fake.done_error,
                        chat ? "start sandpiper again with more --max-tokens" : "--max-tokens allows more");
        SCRIPT(calls, cells);
        session_ask(&s, "question");
        assert_contains(fake.done_error, chat ? "start sandpiper again with more --max-tokens-total"
                                              : "--max-tokens-total allows more");
        session_end(&s);
        agent_defaults(&s.o);
        s.o.chat = chat;
        session_open(&s);
        fake_script(empty, 2, NULL, 0);
        session_ask(&s, "question");
        assert_contains(fake.done_error, chat ? "/model NAME" : "-m MODEL");
        session_end(&s);
    }
}

static void test_limit_of_told_output(void **state)
{
    char big[5000];
    const struct fake_reply replies[] = {CALL("a"), SAY("one")};
    struct session s;

    (void)state;
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    const struct fake_cell cells[] = {{.output = big}};
    session_begin(&s);
    fake.context = 8192;
    SCRIPT(replies, cells);
    session_ask(&s, "question");
    assert_int_equal(strlen(s.c.v[2].text), 3072); /* an eighth of the window at 3 bytes a token */
    session_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interrupt_everywhere),
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_calls_of_one_reply),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_full_window),
        cmocka_unit_test(test_only_reasoning),
        cmocka_unit_test(test_long_reasoning),
        cmocka_unit_test(test_not_worth_asking),
        cmocka_unit_test(test_words_of_the_place),
        cmocka_unit_test(test_limit_of_told_output),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
