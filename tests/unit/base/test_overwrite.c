/* Lines that are overwritten: only the last state is left, however the text was cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/overwrite.h"

static void test_rows(void **state)
{
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"a\nb", "a\nb"},
        {"a\rb\n", "b\n"},
        {"10%\r20%\r30%", "30%"},
        {"\r1\r2\n\r3\r\n", "2\n3\n"},
        {"a\r\nb\r\n", "a\nb\n"},
        {"a\r\r\nb", "a\nb"},
        {"done\r", "done"},
        {"x\r\rlong\ry\n\n", "y\n\n"},
        {"", ""},
        {"a\033[Kb\n", "ab\n"},
        {"\r 0%\n\r  0\033[A\r50%\n\r  1\033[A\r99%\n\r   \033[A\rend\n", "end\n"}, /* tqdm, nested */
        {"\ra\n\rb\033[A\rc\n\nd\ne", "c\nb\nd\ne"},
        {"x\ny\n\033[1A\033[2K\033[1A\033[2KX\nY\n\033[2A\033[KZ\nW\n",
         "x\ny\nZ\nW\n"}, /* the first has passed */
        {"\ra\n\rb\n\033[2Jc\nd", "a\nb\nc\nd"},
        {"\ra\n\rb\n\033[A\033[Jc\nd", "a\nc\nd"},
        {"\ra\n\rb\033[9Ac\033[9Bd", "ac\nbd"},
        {"\ra\033[?25l\nb\033[31mc\033[", "a\nb\033[31mc\033["},
    };

    (void)state;
    for (size_t i = 0; i < countof(rows); i++)
        for (size_t cut = 0; cut <= strlen(rows[i].in); cut++) {
            struct overwrite o = {0};
            struct buf out = BUF_INIT(0);

            overwrite_feed(&o, rows[i].in, cut, &out);
            overwrite_feed(&o, rows[i].in + cut, strlen(rows[i].in) - cut, &out);
            overwrite_end(&o, &out);
            assert_string_equal(buf_str(&out), rows[i].out);
            overwrite_release(&o);
            buf_release(&out);
        }
}

/* What is too long to be held passes at once, and stays. */
static void test_long_line(void **state)
{
    struct overwrite o = {0};
    struct buf out = BUF_INIT(0);
    char *text = xcalloc(1, OVERWRITE_MAX + 2);

    (void)state;
    memset(text, 'x', OVERWRITE_MAX + 1);
    overwrite_feed(&o, text, OVERWRITE_MAX + 1, &out);
    assert_int_equal(out.len, OVERWRITE_MAX + 1);
    overwrite_feed(&o, "\ry\n", 3, &out);
    overwrite_end(&o, &out);
    assert_string_equal(buf_str(&out) + OVERWRITE_MAX + 1, "\ny\n");
    overwrite_release(&o);
    buf_release(&out);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_long_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
