/* When Enter ends a message, and what the message is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "term/message.h"

#define Q "\"\"\""

static void test_open(void **state)
{
    static const char *const open[] = {
        Q, " " Q, Q "a", Q "a\nb", "look: " Q, "look: " Q " ", "a " Q "\nb\n" Q "c"};
    static const char *const whole[] = {"",
                                        "a",
                                        Q Q,
                                        Q "a" Q,
                                        Q "\na\n" Q,
                                        Q "a" Q " \n",
                                        "a" Q,
                                        "a\nb " Q,
                                        "x " Q "\n" Q,
                                        "say " Q "hi" Q "!",
                                        "\"\"",
                                        Q "\"" Q};

    (void)state;
    for (size_t i = 0; i < countof(open); i++)
        assert_true(message_is_open(open[i]));
    for (size_t i = 0; i < countof(whole); i++)
        assert_false(message_is_open(whole[i]));
    assert_true(message_ends_in_backslash("a\\"));
    assert_false(message_ends_in_backslash("a\\ "));
    assert_false(message_ends_in_backslash(""));
}

static void test_take(void **state)
{
    static const struct {
        const char *text, *meant;
        bool block;
    } t[] = {
        {"a\nb", "a\nb", false},
        {Q "a" Q, "a", true},
        {Q "\n  a\n\n b\n" Q " ", "  a\n\n b", true},
        {"  " Q "a\nb" Q, "a\nb", true},
        {"look: " Q "\na\nb\n" Q, "look:\na\nb", true},
        {"look: " Q "\n" Q, "look:", true},
        {Q Q, "", true},
        {Q "a\n", Q "a\n", false}, /* open: sent by a key of the user's own */
        {"a " Q "hi" Q " b", "a " Q "hi" Q " b", false},
    };

    (void)state;
    for (size_t i = 0; i < countof(t); i++) {
        struct buf out autorelease(buf_release) = BUF_INIT(0);

        assert_int_equal(message_take(t[i].text, &out), t[i].block);
        assert_string_equal(buf_str(&out), t[i].meant);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open),
        cmocka_unit_test(test_take),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
