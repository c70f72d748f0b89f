/* Texts of a figure in the cells of a terminal: each in its place, none over another, nothing outside;
 * whatever is told of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "show/figure_texts.h"

/* The rows, each ended by '|', a '.' for each cell without a text. */
static char *placed(const char *told, size_t len, int columns, int rows)
{
    struct figure_cell *grid = xcalloc((size_t)columns * (size_t)rows, sizeof *grid);
    struct buf out = BUF_INIT(0);

    figure_texts_place(told, len, columns, rows, grid);
    for (int i = 0; i < columns * rows; i++) {
        if (grid[i].character != FIGURE_CELL_BEHIND)
            utf8_add(&out, grid[i].character ? grid[i].character : '.');
        if (i % columns == columns - 1)
            buf_addch(&out, '|');
    }
    free(grid);
    return buf_steal(&out, NULL);
}

static void assert_placed(const char *told, size_t len, int columns, int rows, const char *expected)
{
    autofree char *found = placed(told, len, columns, rows);

    assert_string_equal(found, expected);
}

#define PLACED(told, columns, rows, expected) assert_placed(told, sizeof(told) - 1, columns, rows, expected)

static void test_alignment(void **state)
{
    (void)state;
    PLACED("3000 7000 5000 0 c 0 title", 10, 1, "..title...|");
    PLACED("3000 7000 5000 0 l 0 ab", 10, 1, "...ab.....|");
    PLACED("3000 7000 5000 0 r 0 ab", 10, 1, ".....ab...|");
    PLACED("0 0 0 0 c 0 a\0"
           "0 0 9999 0 c 0 b\0"
           "9999 9999 4000 0 c 0 c",
           3, 3, "a..|..c|b..|");
    PLACED("2000 4000 5000 90 c 0 up", 5, 4, ".....|.u...|.p...|.....|");
    PLACED("2000 4000 5000 270 c 0 up", 5, 4, ".....|.u...|.p...|.....|");
    PLACED("2000 4000 5000 30 c 0 ab", 5, 3, ".....|ab...|.....|");
}

static void test_nothing_leaves_the_figure(void **state)
{
    (void)state;
    PLACED("-9000 -8000 -9000 0 r 0 left\0"
           "19000 20000 20000 0 l 0 right",
           8, 2, "left....|...right|");
    PLACED("0 10000 5000 0 c 0 a title that is long", 8, 1, "a title\u2026|");
    PLACED("0 0 5000 90 c 0 amplitude", 3, 4, "a..|m..|p..|\u2026..|");
    PLACED("0 10000 5000 0 c 0 a title", 1, 1, "\u2026|");
}

/* The earlier one stays; words do not run into each other, so of ticks that are too close every other one is
 * left. */
static void test_texts_in_each_others_way(void **state)
{
    (void)state;
    PLACED("0 2000 0 0 l 0 10\0"
           "2000 4000 0 0 l 0 20\0"
           "4000 6000 0 0 l 0 30\0"
           "6000 8000 0 0 l 0 40\0"
           "8000 10000 0 0 l 0 50",
           10, 1, "10..30..50|");
    PLACED("0 0 5000 90 c 0 abc\0"
           "0 0 5000 0 l 0 lost\0"
           "5000 5000 5000 0 l 0 kept",
           9, 3, "a........|b....kept|c........|");
    PLACED("0 0 5000 0 l 0 kept\0"
           "0 0 5000 90 c 0 abc",
           9, 3, ".........|kept.....|.........|");
}

static void test_wide_characters(void **state)
{
    (void)state;
    PLACED("0 10000 0 0 c 0 \u65e5\u672c", 8, 1, "..\u65e5\u672c..|");
    PLACED("0 10000 0 0 c 0 \u65e5\u672c\u8a9e", 5, 1, "\u65e5\u672c\u2026|");
    PLACED("10000 10000 0 90 c 0 \u65e5\u672c", 4, 2, "..\u65e5|..\u672c|");
    PLACED("0 0 0 90 c 0 \u65e5", 1, 1, ".|");
    PLACED("0 0 0 0 l 0 e\u0301a", 4, 1, "ea..|"); /* a mark has no cell of its own */
}

static void test_hostile(void **state)
{
    static const char *const wrong[] = {
        "",
        "text",
        "0 0 0 0 c 0",
        "0 0 0 0 c 0 ",
        "0 0 0 0 x 0 a",
        "0 0 0 0 ca 0 a",
        "0 0 0 0 c 1000000 a",
        "0 0 0 0 c -1 a",
        "0 0 0 360 c 0 a",
        "0 0 0 -1 c 0 a",
        "20001 0 0 0 c 0 a",
        "0 -10001 0 0 c 0 a",
        "0 0 99999999999999999999 0 c 0 a",
        "0  0 0 0 0 c",
        "nan 0 0 0 c 0 a",
        "0 0 0 0 c 0 \033[2J",
        "0 0 0 0 c 0 \u200b\u0301",
    };

    (void)state;
    for (size_t i = 0; i < countof(wrong); i++)
        assert_placed(wrong[i], strlen(wrong[i]), 3, 1, "...|");
    PLACED("0 0 0 0 l 0 a\033[31mb\nc\x9b\xff", 9, 1, "ab c\ufffd\ufffd...|");
    PLACED("\0\0\0"
           "0 0 0 0 l 0 a\0",
           3, 1, "a..|");
}

static void test_caps(void **state)
{
    struct buf told autorelease(buf_release) = BUF_INIT(0);

    (void)state;
    for (int i = 0; i < FIGURE_TEXTS_MOST; i++) { /* malformed ones count */
        buf_addstr(&told, "0 0 0 0 l");
        buf_addch(&told, '\0');
    }
    buf_addstr(&told, "0 0 0 0 l 0 a");
    assert_placed(told.data, told.len, 3, 1, "...|");
    buf_drop(&told, 10);
    assert_placed(told.data, told.len, 3, 1, "a..|");

    buf_clear(&told);
    buf_addstr(&told, "0 0 0 0 l 0 ");
    for (int i = 0; i < 100000; i++)
        buf_addch(&told, 'x');
    autofree char *found = placed(told.data, told.len, 1000, 1);
    assert_int_equal(strspn(found, "x"), FIGURE_TEXT_MOST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alignment),
        cmocka_unit_test(test_nothing_leaves_the_figure),
        cmocka_unit_test(test_texts_in_each_others_way),
        cmocka_unit_test(test_wide_characters),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_caps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
