/* test_output.c - what a cell prints: head, tail and exact counts for the model, the whole on disk. */
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "sandbox/output.h"

static void check_text(struct output *o, const char *all, size_t len, size_t max)
{
    struct buf b = {0};

    output_text(o, max, &b);
    assert_true(b.len <= max);
    assert_true(utf8_valid(buf_str(&b), b.len));
    if (len <= max && utf8_valid(all, len)) {
        assert_int_equal(b.len, len);
        assert_memory_equal(buf_str(&b), all, len);
    } else if (max > 500 && (utf8_valid(all, len) || len > max)) {
        unsigned long long out, lines;
        const char *mark = strstr(buf_str(&b), "\n[... ");

        assert_non_null(mark);
        assert_int_equal(sscanf(mark, "\n[... %llu bytes (%llu lines) left out ...]\n", &out, &lines), 2);
        if (utf8_valid(all, len)) { /* then what is shown and what is left out add up exactly */
            char line[128];
            int n = snprintf(line, sizeof line, "\n[... %llu bytes (%llu lines) left out ...]\n", out, lines);

            assert_int_equal(b.len - (size_t)n + out, len);
        }
    }
    buf_release(&b);
}

static void test_output(void **state)
{
    static const char *const pieces[] = {"a line of text\n",      "\xe2\x82\xac", "\xff\xfe", "x", "\n\n",
                                         "\xf0\x9f\x98\x80 end\n"};
    struct ledger disk = {.most = 1u << 20};
    struct output o;

    (void)state;
    output_init(&o);
    for (size_t kind = 0; kind < countof(pieces); kind++) {
        for (size_t count = 0; count < 40000; count = count * 3 + 1) {
            struct buf all = {0};

            output_begin(&o, NULL, 1, &disk);
            for (size_t i = 0; i < count; i++) {
                const char *p = pieces[kind == 5 ? i % countof(pieces) : kind];

                if (kind < 5 || p[0] != '\xff')
                    buf_addstr(&all, p);
                else
                    buf_addstr(&all, "y");
            }
            for (size_t at = 0; at < all.len;) { /* in uneven pieces */
                size_t n = (at % 977) + 1 < all.len - at ? (at % 977) + 1 : all.len - at;

                output_add(&o, all.data + at, n);
                at += n;
            }
            output_end(&o);
            assert_int_equal(o.bytes, all.len);
            check_text(&o, buf_str(&all), all.len, 65536);
            check_text(&o, buf_str(&all), all.len, 8000);
            check_text(&o, buf_str(&all), all.len, 601);
            check_text(&o, buf_str(&all), all.len, 50);
            check_text(&o, buf_str(&all), all.len, 0);
            buf_release(&all);
        }
    }
    output_release(&o);
}

static void test_disk_limits(void **state)
{
    char dir[] = "/tmp/output-test-XXXXXX";
    struct ledger disk = {.most = 10000};
    struct output o;
    struct stat st;
    char piece[700];

    (void)state;
    assert_non_null(mkdtemp(dir));
    memset(piece, 'p', sizeof piece);
    output_init(&o);
    output_begin(&o, dir, 7, &disk);
    for (int i = 0; i < 20; i++)
        output_add(&o, piece, sizeof piece);
    output_end(&o);
    assert_int_equal(ledger_left(&disk), 0);
    assert_true(o.cut);
    assert_string_equal(strrchr(o.path, '/'), "/cell-7.txt");
    assert_int_equal(stat(o.path, &st), 0);
    assert_int_equal(st.st_size, 10000);
    output_begin(&o, dir, 8, &disk);
    output_end(&o);
    assert_null(o.path); /* nothing written: no file is named */
    output_release(&o);
    file_remove_tree(dir);
}

/* A short output leaves no file behind; a long one is all there, also what came while it was short. */
static void test_short_output_has_no_copy(void **state)
{
    char dir[] = "/tmp/output-test-XXXXXX", want[400], got[500] = "";
    struct ledger disk = {.most = 1u << 20};
    struct output o;
    int fd;

    (void)state;
    assert_non_null(mkdtemp(dir));
    output_init(&o);
    output_begin(&o, dir, 1, &disk);
    output_add(&o, "42\n", 3);
    output_end(&o);
    assert_null(o.path);
    assert_int_equal(disk.written, 0);
    assert_int_equal(rmdir(dir), 0); /* there is nothing in it */
    assert_int_equal(mkdir(dir, 0700), 0);
    output_begin(&o, dir, 2, &disk);
    for (int i = 0; i < 130; i++) { /* few bytes, many lines */
        snprintf(want + 3 * i, 4, "%02d\n", (int)((unsigned)i % 100));
        output_add(&o, want + 3 * i, 3);
    }
    output_end(&o);
    assert_non_null(o.path);
    fd = open(o.path, O_RDONLY);
    assert_int_equal(read(fd, got, sizeof got - 1), 390);
    assert_string_equal(got, want);
    close(fd);
    output_release(&o);
    file_remove_tree(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_output),
        cmocka_unit_test(test_disk_limits),
        cmocka_unit_test(test_short_output_has_no_copy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
