/* Figures: what is drawn is the image, whatever its width. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "show/figure.h"

/* White, with a black bar from top to bottom. */
static struct pixels bar(unsigned width, unsigned height)
{
    struct pixels p = {width, height, xmalloc((size_t)width * height * 3)};

    for (unsigned y = 0; y < height; y++)
        for (unsigned x = 0; x < width; x++)
            memset(p.rgb + 3 * ((size_t)y * width + x), x / 4 == width / 8 ? 0 : 255, 3);
    return p;
}

/* Every row of the image is the same, so every line is. libchafa steps through rows in units of four bytes,
 * and slants an image whose rows are not a multiple of that. */
static void test_rows_of_any_width_are_straight(void **state)
{
    (void)state;
    for (unsigned width = 60; width < 64; width++) {
        struct graphics g = {.background = 0xffffff};
        struct figure_screen s = {.graphics = &g, .columns = 40, .rows = 30, .colours = 1 << 24};
        struct pixels p = bar(width, 48);
        struct buf out autorelease(buf_release) = BUF_INIT(0);
        struct error err = {0};
        size_t lines = 0;

        assert_int_equal(figure_draw(&s, &p, &out, &err), 0);
        const char *second = strchr(buf_str(&out), '\n') + 1, *line = second; /* the first resets colours */
        size_t length = strcspn(second, "\n");
        for (; *line; line += length + 1, lines++)
            assert_memory_equal(line, second, length + 1);
        assert_true(lines > 3);
        pixels_release(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows_of_any_width_are_straight)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
