/* test_files.c - files onto the host: names, what is not written again, how much a session may write. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "sandbox/files.h"
#include "sandbox/ledger.h"

static char dir[64], out[96];
static struct ledger ledger;
static struct delivery d;

static int enter(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/test_files.XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    snprintf(out, sizeof out, "%s/new/out", dir);
    ledger_init(&ledger, 1 << 20);
    delivery_init(&d, &ledger, out);
    return 0;
}

static int leave(void **state)
{
    (void)state;
    delivery_release(&d);
    ledger_release(&ledger);
    return file_remove_tree(dir);
}

/* In pieces of 7 bytes. */
static char *bring(const char *name, const char *text, uint64_t size)
{
    autofree char *safe = file_safe_name(name);

    delivery_begin(&d, name, safe, size);
    for (size_t at = 0, len = strlen(text); at < len; at += 7)
        assert_true(delivery_add(&d, text + at, len - at < 7 ? len - at : 7));
    return delivery_end(&d);
}

static void comes_as(const char *name, const char *text, const char *as)
{
    autofree char *path = bring(name, text, strlen(text));
    struct buf b autorelease(buf_release) = BUF_INIT(0);

    assert_non_null(path);
    assert_string_equal(strrchr(path, '/') + 1, as);
    assert_int_equal(file_read(path, 1000, &b, NULL), 0);
    assert_string_equal(buf_str(&b), text);
}

static char *at(const char *name)
{
    return xasprintf("%s/%s", out, name);
}

static void test_names(void **state)
{
    struct stat st;
    autofree char *link = at("x-1.txt"), *half = at("half.bin"), *target = xasprintf("%s/victim", dir);

    (void)state;
    comes_as("x.txt", "abc", "x.txt");
    /* A link waiting under the next name is neither followed nor replaced. */
    assert_int_equal(symlink(target, link), 0);
    comes_as("x.txt", "z", "x-2.txt");
    assert_int_equal(lstat(target, &st), -1);
    /* More than announced. */
    delivery_begin(&d, "more", "more", 3);
    assert_true(delivery_add(&d, "abc", 3));
    assert_false(delivery_add(&d, "d", 1));
    /* One that does not come to its end leaves nothing, and counts as nothing. */
    uint64_t before = ledger.written - 4096;
    delivery_begin(&d, "half.bin", "half.bin", 100);
    assert_true(delivery_add(&d, "z", 1));
    assert_int_equal(lstat(half, &st), -1);
    delivery_release(&d);
    assert_int_equal(ledger.written, before);
    /* A folder that cannot be made is told, not fatal. */
    d.folder = "/proc/nonesuch/out";
    delivery_begin(&d, "x", "x", 1);
    assert_true(delivery_add(&d, "z", 1));
    assert_null(delivery_end(&d));
    assert_true(strlen(d.why) > 0);
    d.folder = NULL;
    delivery_begin(&d, "x", "x", 1);
    assert_true(delivery_add(&d, "z", 1));
    assert_null(delivery_end(&d));
    assert_true(strlen(d.why) > 0);
    assert_int_equal(ledger.written, before);
}

static void test_the_same_again(void **state)
{
    autofree char *path = at("x.txt"), *away = at("away"), *extra = at("x-2.txt");
    struct stat st, after;

    (void)state;
    comes_as("x.txt", "twenty bytes of text", "x.txt");
    comes_as("empty", "", "empty");
    uint64_t written = ledger.written;
    assert_int_equal(stat(path, &st), 0);
    for (int i = 0; i < 1000; i++) {
        comes_as("x.txt", "twenty bytes of text", "x.txt");
        comes_as("empty", "", "empty");
    }
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(ledger.written, written);
    assert_memory_equal(&after.st_mtim, &st.st_mtim, sizeof st.st_mtim);
    /* Of the same size, and different at its end, in its middle, at its beginning, or cut short. */
    comes_as("x.txt", "twenty bytes of texT", "x-1.txt");
    assert_int_equal(ledger.written, written + 4096);
    comes_as("x.txt", "twenty bytes_of texT", "x-2.txt");
    comes_as("x.txt", "Twenty bytes_of texT", "x-3.txt");
    free(bring("x.txt", "Twenty by", 20));
    autofree char *cut = at("x-4.txt");
    assert_int_equal(stat(cut, &after), 0);
    assert_int_equal(after.st_size, 9);
    /* Another name is another file. */
    comes_as("y.txt", "Twenty by", "y.txt");
    /* What its user did to it meanwhile: removed, moved away, changed, replaced by a link. */
    comes_as("x.txt", "newest", "x-5.txt");
    autofree char *newest = at("x-5.txt");
    assert_int_equal(unlink(newest), 0);
    comes_as("x.txt", "newest", "x-5.txt");
    assert_int_equal(rename(newest, away), 0);
    comes_as("x.txt", "newest", "x-5.txt");
    autoclose int fd = open(newest, O_WRONLY);
    assert_int_equal(write(fd, "edited", 6), 6);
    comes_as("x.txt", "newest", "x-6.txt");
    autofree char *last = at("x-6.txt");
    assert_int_equal(rename(last, away), 0);
    assert_int_equal(symlink("away", last), 0);
    comes_as("x.txt", "newest", "x-7.txt");
    unlink(extra);
}

static void test_quota(void **state)
{
    char *path;
    struct stat st;
    autofree char *big = at("big");

    (void)state;
    ledger_init(&ledger, 40960);
    for (int i = 0; i < 7; i++) {
        autofree char *name = xasprintf("f%d", i);
        comes_as(name, "x", name);
        assert_false(ledger_warns(&ledger));
    }
    comes_as("f7", "x", "f7");
    assert_true(ledger_warns(&ledger));
    assert_false(ledger_warns(&ledger));
    assert_int_equal(ledger_left(&ledger), 8192);
    path = bring("big", "x", 8193);
    assert_null(path);
    assert_true(d.over);
    assert_int_equal(stat(big, &st), -1);
    assert_int_equal(ledger_left(&ledger), 8192);
    path = bring("big", "x", 8192);
    assert_non_null(path);
    assert_false(d.over);
    free(path);
    /* Not one empty file more, but what is here already is no loss. */
    path = bring("none", "", 0);
    assert_null(path);
    assert_true(d.over);
    comes_as("f7", "x", "f7");
    path = bring("f7", "y", 1);
    assert_null(path);
    assert_true(d.over);
    delivery_begin(&d, "huge", "huge", UINT64_MAX);
    assert_true(d.over);
}

/* However many files: they are forgotten, never miscounted. */
static void test_many(void **state)
{
    (void)state;
    ledger_init(&ledger, INT64_C(1) << 40);
    for (int i = 0; i < LEDGER_FILES + 5; i++) {
        autofree char *name = xasprintf("name %d", i);
        ledger_note(&ledger, name, "/dev/null", 0);
    }
    assert_int_equal(ledger.n, LEDGER_FILES);
}

static void test_safe_names(void **state)
{
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"plot.png", "plot.png"},
        {"a/b/c.csv", "a-b-c.csv"},
        {"../../etc/passwd", "_..-..-etc-passwd"},
        {".bashrc", "_.bashrc"},
        {"-rf", "_-rf"},
        {"./x", "x"},
        {"", "file"},
        {"/abs", "-abs"},
        {"a\\b", "a-b"},
        {"a\x1b[31mb\nc", "ab c"},
        {"sal\xc3\xa9s.csv", "sal\xc3\xa9s.csv"},
    };
    char longer[600];
    char *safe;

    (void)state;
    for (size_t i = 0; i < countof(rows); i++) {
        safe = file_safe_name(rows[i].in);
        assert_string_equal(safe, rows[i].out);
        free(safe);
    }
    memset(longer, 'n', sizeof longer);
    memcpy(longer + sizeof longer - 5, ".png", 5);
    safe = file_safe_name(longer);
    assert_int_equal(strlen(safe), 200);
    assert_string_equal(safe + 196, ".png");
    free(safe);
}

int main(void)
{
#define R(test) cmocka_unit_test_setup_teardown(test, enter, leave)
    const struct CMUnitTest tests[] = {R(test_names), R(test_the_same_again), R(test_quota), R(test_many),
                                       cmocka_unit_test(test_safe_names)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
