/* test_links.c - paths that become URLs: the same text however it is cut, the longest path, nothing invented.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "upload/links.h"

static void check(struct links *l, const char *text, const char *wanted)
{
    size_t len = strlen(text);

    for (size_t i = 0; i <= len; i++)
        for (size_t k = i; k <= len; k++) {
            struct buf out = BUF_INIT(0);

            links_feed(l, text, i, &out);
            links_feed(l, text + i, k - i, &out);
            links_feed(l, text + k, len - k, &out);
            links_end(l, &out);
            assert_string_equal(buf_str(&out), wanted);
            buf_release(&out);
        }
}

static void test_links(void **state)
{
    struct links l = {0};

    (void)state;
    check(&l, "see /mnt/data/a.png", "see /mnt/data/a.png");
    links_add(&l, "a.png", "http://h/1");
    links_add(&l, "a.png.gz", "http://h/2");
    links_add(&l, "sub/b c.csv", "http://h/3");
    check(&l, "see /mnt/data/a.png", "see http://h/1");
    check(&l, "(sandbox:/mnt/data/a.png.gz) /mnt/data/a.png.", "(http://h/2) http://h/1.");
    check(&l, "/mnt/data/sub/b c.csv/mnt/data/x ssandbox:/mnt/", "http://h/3/mnt/data/x ssandbox:/mnt/");
    check(&l, "//mnt/data/a.pn /mnt/data/", "//mnt/data/a.pn /mnt/data/");
    check(&l, "/mnt/data/a.pngs /mnt/data/a.png_1 /mnt/data/a.png.bz2 /mnt/data/a.png-old",
          "/mnt/data/a.pngs /mnt/data/a.png_1 /mnt/data/a.png.bz2 /mnt/data/a.png-old");
    check(&l, "/mnt/data/a.png... /mnt/data/a.png- /mnt/data/a.png\xe3\x81\xab `/mnt/data/a.png`.",
          "http://h/1... http://h/1- http://h/1\xe3\x81\xab `http://h/1`.");
    links_add(&l, "a.png", "http://h/4");
    check(&l, "/mnt/data/a.png", "http://h/4");
    links_release(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_links)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
