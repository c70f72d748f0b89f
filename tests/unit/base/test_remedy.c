/* test_remedy.c - every next step has words in both places, and they are those of the place. */
#include "../unit.h"

#include "base/mem.h"
#include "base/remedy.h"

static bool has(const char *text, const char *word)
{
    return strstr(text, word) != NULL;
}

static void both_places(void **state)
{
    (void)state;
    assert_string_equal(remedy(REMEDY_NONE, false), "");
    assert_string_equal(remedy(REMEDY_NONE, true), "");
    for (enum remedy r = REMEDY_NONE + 1; r < REMEDY_END; r++) {
        const char *shell = remedy(r, false), *chat = remedy(r, true);

        if (strlen(shell) < 8 || strlen(chat) < 8)
            fail_msg("remedy %d has no words", (int)r);
        if (strlen(shell) > 160 || strlen(chat) > 160 || strchr(shell, '\n') || strchr(chat, '\n'))
            fail_msg("more than a line: %s", chat);
        if (has(shell, "/model") || has(shell, "/clear") || has(shell, "/retry"))
            fail_msg("a command of the chat where there is none: %s", shell);
        if (has(chat, "-m MODEL"))
            fail_msg("a flag where there is /model: %s", chat);
        if ((has(chat, " --") || has(chat, "export")) && !has(chat, "again"))
            fail_msg("nobody can give a flag in the chat: %s", chat);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(both_places)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
