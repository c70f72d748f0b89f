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
#include "show/kitty.h"

/* White, with a black bar from top to bottom. */
static struct pixels bar(unsigned width, unsigned height)
{
    struct pixels p = {.width = width, .height = height, .rgb = xmalloc((size_t)width * height * 3)};

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

#define PNG        "\x89PNG\r\n\x1a\n"
#define IHDR(size) "\0\0\0\15IHDR" size "\10\2\0\0\0sums"
#define IDAT       \
    "\0\0\0\4IDAT" \
    "datasums"
#define IEND  "\0\0\0\0IENDsums"
#define SMALL "\0\0\0\4\0\0\0\3"
#define FILE_OF(text)          \
    {                          \
        text, sizeof(text) - 1 \
    }

/* What goes to a terminal unseen is a PNG from its first byte to its last. */
static void test_which_file_kitty_is_given(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
    } wrong[] = {
        FILE_OF(""),
        FILE_OF("GIF89a"),
        FILE_OF(PNG),
        FILE_OF(PNG IHDR(SMALL)),
        FILE_OF(PNG IHDR(SMALL) IDAT),
        FILE_OF(PNG IHDR(SMALL) IDAT IEND "more"),
        FILE_OF(PNG IDAT IHDR(SMALL) IEND),
        FILE_OF(PNG IHDR(SMALL) "\xff\xff\xff\xff"
                                "IDATdatasums" IEND),
        FILE_OF(PNG IHDR(SMALL) "\0\0\0\5IDATdatasums" IEND),
        FILE_OF(PNG IHDR("\0\0\0\0\0\0\0\3") IDAT IEND),
        FILE_OF(PNG IHDR("\0\0\0\3\xff\xff\xff\xff") IDAT IEND),
        FILE_OF(PNG IHDR("\0\0\x27\x10\0\0\x27\x10") IDAT IEND), /* 10000 x 10000 */
    };
    static const char right[] = PNG IHDR(SMALL) IDAT IDAT IEND;
    struct kitty_image i;

    (void)state;
    assert_true(kitty_takes(right, sizeof right - 1, &i));
    assert_true(i.png && i.bytes == right && i.len == sizeof right - 1 && i.width == 4 && i.height == 3);
    for (size_t k = 0; k < sizeof right - 1; k++) {
        autofree char *part = xmemdup0(right, k);

        assert_false(kitty_takes(part, k, &i));
    }
    for (size_t k = 0; k < countof(wrong); k++)
        assert_false(kitty_takes(wrong[k].bytes, wrong[k].len, &i));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_of_any_width_are_straight),
        cmocka_unit_test(test_which_file_kitty_is_given),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
