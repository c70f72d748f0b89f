/* test_conversation.c - how a conversation grows, is mended, and each rule of it broken on purpose. */
#include "tests/unit/unit.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "chat/conversation.h"

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

static void set(char **text, const char *value)
{
    free(*text);
    *text = xstrdup(value);
}

static void break_it(struct conversation *c, int how)
{
    switch (how) {
    case 0:
        conversation_truncate(c, 3);
        break;
    case 1:
        conversation_truncate(c, 2);
        break;
    case 2:
        set(&c->v[2].call_id, "b");
        set(&c->v[3].call_id, "a");
        break;
    case 3:
        set(&c->v[3].call_id, "a");
        break;
    case 4:
        result(c, "b", "again");
        break;
    case 5:
        c->v[2].role = TURN_USER;
        break;
    case 6:
        set(&c->v[1].calls[0].arguments, "[]");
        break;
    case 7:
        set(&c->v[1].calls[0].arguments, "{\"code\":");
        break;
    case 8:
        free(c->v[1].calls[0].arguments);
        c->v[1].calls[0].arguments = NULL;
        break;
    case 9:
        set(&c->v[0].text, "");
        break;
    case 10:
        set(&c->v[3].text, "");
        break;
    case 11:
        conversation_assistant(c, "answer", NULL, 0);
        break;
    case 12:
        conversation_assistant(c, "x", NULL, 0);
        user(c, "u");
        conversation_assistant(c, "y", NULL, 0);
        user(c, "w");
        c->v[6].role = TURN_USER;
        break;
    case 13:
        set(&c->v[3].text, "\xff");
        break;
    case 14:
        set(&c->v[1].calls[1].id, "");
        break;
    case 15:
        set(&c->v[1].calls[1].id, "a");
        set(&c->v[3].call_id, "a");
        break;
    case 16:
        set(&c->v[1].calls[1].name, "");
        break;
    case 17:
        conversation_truncate(c, 0);
        break;
    case 18:
        conversation_truncate(c, 1);
        result(c, "a", "orphan");
        break;
    case 19:
        conversation_assistant(c, "x", NULL, 0);
        user(c, "u");
        set(&c->v[4].text, "");
        break;
    case 20:
        set(&c->v[1].origin, "here");
        set(&c->v[1].calls[1].extra, "\xc0\x80");
        break;
    case 21:
        user(c, "next");
        break;
    case 22:
        conversation_assistant(c, "x", NULL, 0);
        conversation_assistant(c, "y", NULL, 0);
        user(c, "u");
        break;
    case 23:
        conversation_truncate(c, 0);
        conversation_assistant(c, "x", NULL, 0);
        user(c, "u");
        break;
    case 24:
        conversation_truncate(c, 0);
        result(c, "a", "orphan");
        break;
    case 25:
        set(&c->v[2].reasoning, "hm");
        break;
    case 26:
        set(&c->v[1].reasoning_field, "reasoning_content");
        break;
    case 27:
        set(&c->v[1].calls[0].extra, "{}");
        break;
    case 28:
        set(&c->v[1].reasoning, "\xed\xa0\x80");
        break;
    case 29:
        set(&c->v[1].calls[0].id, "a\xff");
        break;
    case 30:
        free(c->v[1].calls[0].id);
        c->v[1].calls[0].id = NULL;
        break;
    case 31:
        free(c->v[2].call_id);
        c->v[2].call_id = NULL;
        break;
    case 32:
        conversation_assistant(c, "x", NULL, 0);
        user(c, "u");
        result(c, "a", "again");
        break;
    }
}

static void each_rule_is_held(void **state)
{
    (void)state;
    static const char *const said[] = {
        "turn 2: a call has no result",
        "turn 2: a call has no result",
        "turn 3: the result is not the one",
        "turn 4: the result is not the one",
        "turn 5: a result without a call",
        "turn 2: a call has no result",
        "turn 2: the arguments",
        "turn 2: the arguments",
        "turn 2: the arguments",
        "turn 1: empty turn",
        "turn 4: empty turn",
        "turn 5: the last turn is the assistant's",
        "turn 7: two user turns",
        "turn 4: text that is not valid",
        "turn 2: a call has no id",
        "turn 2: two calls have the same id",
        "turn 2: a call has no name",
        "no turn",
        "turn 2: a result without a call",
        "turn 5: empty turn",
        "turn 2: text that is not valid",
        "turn 5: a user turn right behind a result",
        "turn 6: two assistant turns",
        "turn 1: the first turn is not the user's",
        "turn 1: a result without a call",
        "turn 3: reasoning outside",
        "turn 2: reasoning or extra",
        "turn 2: reasoning or extra",
        "turn 2: text that is not valid",
        "turn 2: text that is not valid",
        "turn 2: a call has no id",
        "turn 3: the result is not the one",
        "turn 7: a result without a call",
    };
    for (size_t i = 0; i < countof(said); i++) {
        struct conversation c;
        struct error e = {0};
        fill(&c);
        break_it(&c, (int)i);
        if (conversation_check(&c, &e) != -1 || e.kind != ERROR_PROTOCOL || strstr(e.text, said[i]) == NULL)
            fail_msg("%zu: %s", i, e.text);
        conversation_release(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows),
        cmocka_unit_test(joins_user_turns),
        cmocka_unit_test(stores_no_empty_assistant_turn),
        cmocka_unit_test(repairs_texts),
        cmocka_unit_test(result_is_never_empty),
        cmocka_unit_test(open_calls_are_closed),
        cmocka_unit_test(each_rule_is_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
