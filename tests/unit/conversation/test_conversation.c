/* test_conversation.c - how a conversation grows, is mended, and each rule of it broken on purpose. */
#include "tests/unit/unit.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "conversation/conversation.h"

static void user(struct conversation *c, const char *text)
{
    conversation_user(c, text, strlen(text));
}

static struct call call(const char *id, const char *arguments)
{
    return (struct call){
        .id = xstrdup(id), .name = xstrdup("execute_python"), .arguments = xstrdup(arguments)};
}

static void result(struct conversation *c, const char *id, const char *text)
{
    conversation_result(c, id, RESULT_OK, text, strlen(text));
}

/* user, assistant with calls a and b, their results */
static void fill(struct conversation *c)
{
    conversation_init(c);
    user(c, "question");
    struct call calls[] = {call("a", "{\"code\":\"1\"}"), call("b", "{}")};
    assert_non_null(conversation_assistant(c, "", calls, 2));
    result(c, "a", "1");
    result(c, "b", "2");
}

static void grows(void **state)
{
    (void)state;
    struct conversation c;
    struct error e = {0};
    fill(&c);
    assert_int_equal(conversation_check(&c, &e), 0);
    assert_int_equal(c.n, 4);
    assert_int_equal(c.v[1].n_calls, 2);
    assert_string_equal(c.v[1].text, "");
    assert_non_null(conversation_assistant(&c, "the answer", NULL, 0));
    user(&c, "next");
    assert_int_equal(conversation_check(&c, &e), 0);
    for (int i = 0; i < 100; i++) {
        struct call one = call("x", "{}");
        conversation_assistant(&c, "t", &one, 1);
        assert_null(one.id); /* taken over */
        result(&c, "x", "r");
    }
    assert_int_equal(conversation_check(&c, &e), 0);
    conversation_truncate(&c, 1);
    assert_int_equal(c.n, 1);
    conversation_truncate(&c, 5);
    assert_int_equal(c.n, 1);
    assert_int_equal(conversation_check(&c, &e), 0);
    conversation_release(&c);
    conversation_release(&c);
    conversation_release(NULL);
    call_release(NULL);
}

static void joins_user_turns(void **state)
{
    (void)state;
    struct conversation c;
    conversation_init(&c);
    user(&c, "one");
    user(&c, "two");
    assert_int_equal(c.n, 1);
    assert_string_equal(c.v[0].text, "one\n\ntwo");
    conversation_release(&c);
    user(&c, "");
    user(&c, "two");
    assert_string_equal(c.v[0].text, "two");
    conversation_release(&c);
}

static void stores_no_empty_assistant_turn(void **state)
{
    (void)state;
    struct conversation c;
    conversation_init(&c);
    assert_null(conversation_assistant(&c, "", NULL, 0));
    assert_null(conversation_assistant(&c, NULL, NULL, 0));
    assert_int_equal(c.n, 0);
    conversation_release(&c);
}

static void repairs_texts(void **state)
{
    (void)state;
    struct conversation c;
    struct error e = {0};
    conversation_init(&c);
    conversation_user(&c, "a\0b\xff", 4);
    assert_string_equal(c.v[0].text, "a\xef\xbf\xbd"
                                     "b\xef\xbf\xbd");
    struct call calls[] = {call("a", "not json"),
                           call("a", "[1]"),
                           call("", "{\"a\":1,\"a\":2}"),
                           {0},
                           call("e\xff", "{\"x\":1}")};
    struct turn *t = conversation_assistant(&c, "\xc3", calls, countof(calls));
    assert_string_equal(t->text, "\xef\xbf\xbd");
    for (size_t i = 0; i < t->n_calls; i++) {
        assert_string_equal(t->calls[i].arguments, i == 4 ? "{\"x\":1}" : "{}");
        assert_non_null(t->calls[i].name);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(t->calls[i].id, t->calls[k].id);
    }
    assert_string_equal(t->calls[0].id, "a");
    assert_int_equal(strlen(t->calls[1].id), 9);
    assert_int_equal(strspn(t->calls[1].id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"),
                     9);
    conversation_close_open_calls(&c, "interrupted by the user");
    assert_int_equal(conversation_check(&c, &e), 0);
    conversation_release(&c);
}

static void result_is_never_empty(void **state)
{
    (void)state;
    struct conversation c;
    fill(&c);
    conversation_truncate(&c, 3);
    result(&c, "b", "");
    assert_string_equal(c.v[3].text, "(no output)");
    conversation_release(&c);
}

static void open_calls_are_closed(void **state)
{
    (void)state;
    struct error e = {0};
    for (size_t keep = 2; keep <= 4; keep++) {
        struct conversation c;
        fill(&c);
        conversation_truncate(&c, keep);
        assert_int_equal(conversation_check(&c, &e), keep == 4 ? 0 : -1);
        conversation_close_open_calls(&c, "interrupted by the user");
        assert_int_equal(c.n, 4);
        assert_int_equal(conversation_check(&c, &e), 0);
        assert_string_equal(c.v[3].call_id, "b");
        if (keep < 4) {
            assert_int_equal(c.v[3].result, RESULT_INTERRUPTED);
            assert_string_equal(c.v[3].text, "interrupted by the user");
        }
        conversation_interrupted(&c);
        assert_int_equal(c.n, 5);
        assert_string_equal(c.v[4].text, "Interrupted.");
        conversation_interrupted(&c);
        assert_int_equal(c.n, 5);
        user(&c, "go on");
        assert_int_equal(conversation_check(&c, &e), 0);
        conversation_release(&c);
    }
    struct conversation middle; /* results are missing in the middle, and turns follow */
    fill(&middle);
    conversation_truncate(&middle, 2);
    user(&middle, "next");
    conversation_close_open_calls(&middle, "lost");
    assert_int_equal(middle.n, 6);
    assert_string_equal(middle.v[4].text, "Interrupted.");
    assert_int_equal(conversation_check(&middle, &e), 0);
    conversation_release(&middle);
}

/* A step that breaks what fill() made: which turn (or call of the second turn), which of its texts, and what
 * that becomes; NULL: nothing. */
struct step {
    enum { NOTHING, KEEP, RESULT, ANSWER, USER, IS_USER, OF_TURN, OF_CALL } what;
    size_t at, member;
    const char *value;
};

/* clang-format off */
#define TURN(at, member, value) {OF_TURN, at, offsetof(struct turn, member), value}
#define CALL(at, member, value) {OF_CALL, at, offsetof(struct call, member), value}
#define SAID(what, value)       {what, 0, 0, value}
#define AT(what, at)            {what, at, 0, NULL}
/* clang-format on */

static const struct breach {
    struct step steps[5];
    const char *said;
} breaches[] = {
    {{AT(KEEP, 3)}, "turn 2: a call has no result"},
    {{AT(KEEP, 2)}, "turn 2: a call has no result"},
    {{TURN(2, call_id, "b"), TURN(3, call_id, "a")}, "turn 3: the result is not the one"},
    {{TURN(3, call_id, "a")}, "turn 4: the result is not the one"},
    {{SAID(RESULT, "b")}, "turn 5: a result without a call"},
    {{AT(IS_USER, 2)}, "turn 2: a call has no result"},
    {{CALL(0, arguments, "[]")}, "turn 2: the arguments"},
    {{CALL(0, arguments, "{\"code\":")}, "turn 2: the arguments"},
    {{CALL(0, arguments, NULL)}, "turn 2: the arguments"},
    {{TURN(0, text, "")}, "turn 1: empty turn"},
    {{TURN(3, text, "")}, "turn 4: empty turn"},
    {{SAID(ANSWER, "answer")}, "turn 5: the last turn is the assistant's"},
    {{SAID(ANSWER, "x"), SAID(USER, "u"), SAID(ANSWER, "y"), SAID(USER, "w"), AT(IS_USER, 6)},
     "turn 7: two user turns"},
    {{TURN(3, text, "\xff")}, "turn 4: text that is not valid"},
    {{CALL(1, id, "")}, "turn 2: a call has no id"},
    {{CALL(1, id, "a"), TURN(3, call_id, "a")}, "turn 2: two calls have the same id"},
    {{CALL(1, name, "")}, "turn 2: a call has no name"},
    {{AT(KEEP, 0)}, "no turn"},
    {{AT(KEEP, 1), SAID(RESULT, "a")}, "turn 2: a result without a call"},
    {{SAID(ANSWER, "x"), SAID(USER, "u"), TURN(4, text, "")}, "turn 5: empty turn"},
    {{TURN(1, origin, "here"), CALL(1, extra, "\xc0\x80")}, "turn 2: text that is not valid"},
    {{SAID(USER, "next")}, "turn 5: a user turn right behind a result"},
    {{SAID(ANSWER, "x"), SAID(ANSWER, "y"), SAID(USER, "u")}, "turn 6: two assistant turns"},
    {{AT(KEEP, 0), SAID(ANSWER, "x"), SAID(USER, "u")}, "turn 1: the first turn is not the user's"},
    {{AT(KEEP, 0), SAID(RESULT, "a")}, "turn 1: a result without a call"},
    {{TURN(2, reasoning, "hm")}, "turn 3: reasoning outside"},
    {{TURN(1, reasoning_field, "reasoning_content")}, "turn 2: reasoning or extra"},
    {{CALL(0, extra, "{}")}, "turn 2: reasoning or extra"},
    {{TURN(1, reasoning, "\xed\xa0\x80")}, "turn 2: text that is not valid"},
    {{CALL(0, id, "a\xff")}, "turn 2: text that is not valid"},
    {{CALL(0, id, NULL)}, "turn 2: a call has no id"},
    {{TURN(2, call_id, NULL)}, "turn 3: the result is not the one"},
    {{SAID(ANSWER, "x"), SAID(USER, "u"), SAID(RESULT, "a")}, "turn 7: a result without a call"},
};

static void set(void *of, const struct step *step)
{
    char **text = (char **)(void *)((char *)of + step->member);

    free(*text);
    *text = step->value ? xstrdup(step->value) : NULL;
}

static void take(struct conversation *c, const struct step *step)
{
    switch (step->what) {
    case NOTHING:
        break;
    case KEEP:
        conversation_truncate(c, step->at);
        break;
    case RESULT:
        result(c, step->value, "again");
        break;
    case ANSWER:
        conversation_assistant(c, step->value, NULL, 0);
        break;
    case USER:
        user(c, step->value);
        break;
    case IS_USER:
        c->v[step->at].role = TURN_USER;
        break;
    case OF_TURN:
        set(&c->v[step->at], step);
        break;
    case OF_CALL:
        set(&c->v[1].calls[step->at], step);
        break;
    }
}

static void each_rule_is_held(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(breaches); i++) {
        struct conversation c;
        struct error e = {0};
        fill(&c);
        for (size_t k = 0; k < countof(breaches[i].steps); k++)
            take(&c, &breaches[i].steps[k]);
        if (conversation_check(&c, &e) != -1 || e.kind != ERROR_PROTOCOL || !strstr(e.text, breaches[i].said))
            fail_msg("%zu: %s", i, e.text);
        conversation_release(&c);
    }
}

/* Results of a turn's calls that come in any order, beside one that was there at once. */
static void results_in_their_places(void **state)
{
    struct conversation c;
    struct call calls[3] = {{.id = xstrdup("a")}, {.id = xstrdup("b")}, {.id = xstrdup("c")}};
    struct error err = {0};

    (void)state;
    conversation_init(&c);
    assert_null(conversation_open_call(&c, 0));
    assert_false(conversation_answer_call(&c, "a", "x"));
    conversation_user(&c, "q", 1);
    assert_false(conversation_answer_call(&c, "a", "x"));
    conversation_assistant(&c, "", calls, 3);
    conversation_result(&c, "b", RESULT_OK, "of b", 4);
    assert_string_equal(conversation_open_call(&c, 0)->id, "a");
    assert_string_equal(conversation_open_call(&c, 1)->id, "c");
    assert_null(conversation_open_call(&c, 2));
    assert_false(conversation_answer_call(&c, "d", "x"));
    assert_true(conversation_answer_call(&c, "c", "of c"));
    assert_true(conversation_answer_call(&c, "a", "wrong"));
    assert_true(conversation_answer_call(&c, "a", "of a"));
    assert_null(conversation_open_call(&c, 0));
    assert_int_equal(c.n, 5);
    assert_string_equal(c.v[2].text, "of a");
    assert_string_equal(c.v[3].text, "of b");
    assert_string_equal(c.v[4].text, "of c");
    assert_int_equal(conversation_check(&c, &err), 0);
    conversation_assistant(&c, "done", NULL, 0);
    assert_false(conversation_answer_call(&c, "a", "late"));
    conversation_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_in_their_places), cmocka_unit_test(grows),
        cmocka_unit_test(joins_user_turns),        cmocka_unit_test(stores_no_empty_assistant_turn),
        cmocka_unit_test(repairs_texts),           cmocka_unit_test(result_is_never_empty),
        cmocka_unit_test(open_calls_are_closed),   cmocka_unit_test(each_rule_is_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
