/* test_precedence.c - "a or b and c", and the line with brackets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "codecheck/codecheck.h"

static void test_lines(void **state)
{
    static const struct {
        const char *code, *line;
    } cases[] = {
        {"n = sum(1 for i in range(9) if i % 4 == 0 or i % 6 == 0 and i % 9 != 0)\nprint(n)",
         "n = sum(1 for i in range(9) if (i % 4 == 0 or i % 6 == 0) and i % 9 != 0)"},
        {"x = 1\nif a or b and c:\n    pass", "if (a or b) and c:"},
        {"for i in r:\n    if '3' in str(i) or i % 3 == 0 and i % 4:\n        n += 1",
         "if ('3' in str(i) or i % 3 == 0) and i % 4:"},
        {"x = (a or f(b, c[1]) and c)", "x = ((a or f(b, c[1])) and c)"},
        {"x = [i for i in r if (a and b) or (c) or d and (e)]",
         "x = [i for i in r if ((a and b) or (c) or d) and (e)]"},
        {"while a or b and not c: pass", "while (a or b) and not c: pass"},
        {"x = (a or b\n     and c)", "x = ((a or b)\n     and c)"},
        {"a or b and c", "(a or b) and c"},
        {"x = a or b == c and d", "x = (a or b == c) and d"},
        {"print(len(df[(df.a > 1) | (df.b > 2) & (df.c > 3)]))",
         "print(len(df[((df.a > 1) | (df.b > 2)) & (df.c > 3)]))"},
        {"x = a)]} or b and c", "x = (a)]} or b) and c"},
        {"'''a or b and c'''\nx = a or b and 'it\\'s' # so", "x = (a or b) and 'it\\'s' # so"},
        {"x = (a or b) and c", NULL},
        {"x = a and b or c", NULL},
        {"x = a or (b and c)", NULL},
        {"x = f(a or b, c and d)", NULL},
        {"x = a or b\ny = c and d", NULL},
        {"x = a or b; y = c and d", NULL},
        {"x = 1 if a or b else c and d", NULL},
        {"x = [1 for i in a or b if c and d]", NULL},
        {"if a or b: x = c and d", NULL},
        {"return_or = a or b # and c", NULL},
        {"print('a or b and c', \"a or b and c\")", NULL},
        {"y = x = a or b\nz = d and e", NULL},
        {"for_order = band or land", NULL},
        {"x |= a & b", NULL},
        {"'''", NULL},
        {"'", NULL},
        {"", NULL},
    };
    struct buf deep = BUF_INIT(0);

    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        autofree char *line = line_with_brackets(cases[i].code);

        if (cases[i].line ? !line || strcmp(line, cases[i].line) != 0 : line != NULL)
            fail_msg("%s\n%s", cases[i].code, line ? line : "(none)");
    }
    for (size_t i = 0; i < 1000; i++)
        buf_addstr(&deep, "(");
    buf_addstr(&deep, "a or b and c");
    autofree char *line = line_with_brackets(buf_str(&deep));
    assert_non_null(line);
    buf_release(&deep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
