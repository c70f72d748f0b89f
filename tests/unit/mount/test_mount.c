/* test_mount.c - folders of this machine: how they are written down, and what must be the same inside.
 * Which are refused is tested with the program (tests/e2e/test_mount.py).
 */
#include "tests/unit/unit.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/argv.h"
#include "base/error.h"
#include "base/mem.h"
#include "mount/mount.h"

static struct mounts three(void)
{
    static const char *const texts[] = {"r 64 12 /mnt/host/a /srv/a", "w 64 13 /mnt/host/b c",
                                        "w 2 9 /mnt/host/d-2 /x y/d"};
    struct mounts m = {0};

    for (size_t i = 0; i < countof(texts); i++)
        mounts_take(&m, texts[i]);
    assert_int_equal(m.n, countof(texts));
    for (size_t i = 0; i < countof(texts); i++) {
        autofree char *text = mount_text(&m.v[i]);
        assert_string_equal(text, texts[i]);
    }
    return m;
}

static void test_record(void **state)
{
    (void)state;
    static const char *const nonsense[] = {
        "", "r", "r 1 2", "r x y /mnt/host/a /b", "r 1 2 /etc /b", "r 1 2 /mnt/host/a"};
    struct mounts m = three();

    assert_int_equal(m.v[0].dev, 64);
    assert_int_equal(m.v[2].ino, 9);
    assert_false(m.v[0].write);
    assert_true(m.v[1].write);
    assert_string_equal(m.v[2].path, "/x y/d");
    assert_int_equal(m.v[2].fd, -1);
    mounts_release(&m);
    for (size_t i = 0; i < countof(nonsense); i++)
        mounts_take(&m, nonsense[i]);
    for (size_t i = 0; i < MOUNTS_MAX + 5; i++)
        mounts_take(&m, "r 1 2 /mnt/host/a /b");
    assert_int_equal(m.n, MOUNTS_MAX);
    mounts_release(&m);
}

static void test_within(void **state)
{
    (void)state;
    struct mounts a = three(), b = three(), none = {0};

    assert_true(mounts_within(&a, &b) && mounts_within(&none, &a) && mounts_within(NULL, &a));
    assert_false(mounts_within(&a, &none) || mounts_within(&a, NULL));
    b.v[1].write = false; /* more is asked for than there is */
    assert_false(mounts_within(&a, &b));
    assert_true(mounts_within(&b, &a));
    b.v[1].ino++;
    assert_false(mounts_within(&b, &a));
    mounts_release(&a);
    mounts_release(&b);
}

/* What comes from inside is hostile for all we know: only what was opened will do. */
static void test_compare(void **state)
{
    (void)state;
    static const char *const good[] = {"64 12 r r-x a", "64 13 w rwx b", "2 9 w r-x d-2"};
    static const struct {
        size_t at;
        const char *line, *says;
    } bad[] = {
        {0, "64 99 r r-x a", "not the one"},      {0, "65 12 r r-x a", "not the one"},
        {0, "64 12 w rwx a", "not read-only"},    {1, "64 13 r r-x b", "is read-only"},
        {2, "2 9 w rwx other", "not in the"},     {2, "", "not in the"},
        {2, "2 9 w rwx d-2/sub", "not in the"},   {2, "-1 x w rwx d-2", "not in the"},
        {2, "2 9 w rwxrwxrwx d-2", "not in the"},
    };
    struct mounts m = three();
    struct error err = {0};

    for (size_t i = 0; i <= countof(bad); i++) {
        struct argv seen = ARGV_INIT;

        for (size_t k = 0; k < countof(good); k++)
            argv_push(&seen, i < countof(bad) && bad[i].at == k ? bad[i].line : good[k]);
        assert_int_equal(mounts_compare(&m, &seen, &err), i < countof(bad) ? -1 : 0);
        if (i < countof(bad)) {
            assert_int_equal(err.kind, ERROR_SANDBOX);
            assert_non_null(strstr(err.text, bad[i].says));
            assert_true(*err.remedy);
        } else { /* and nothing besides */
            assert_int_equal(mounts_compare(NULL, &seen, &err), -1);
            argv_push(&seen, "7 7 r r-x a/sub");
            assert_int_equal(mounts_compare(&m, &seen, &err), -1);
            assert_non_null(strstr(err.text, "more was mounted"));
        }
        argv_release(&seen);
    }
    struct argv nothing = ARGV_INIT;
    assert_int_equal(mounts_compare(NULL, &nothing, &err), 0);
    mounts_release(&m);
}

static void test_lacks(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        bool other, write;
        unsigned closed;
        const char *says;
    } rows[] = {
        {"64 12 r r-x a", true, false, 0, NULL},
        {"64 12 r --x a", true, false, 0, "cannot read the folder"},
        {"64 12 r r-- a", true, false, 0, "cannot read the folder"},
        {"64 12 w r-x a", true, true, 0, "cannot make or change files"},
        {"64 12 w rwx a", true, true, 0, NULL},
        {"64 12 r r-x a", true, false, 1, "cannot read sub/k"},
        {"64 12 r r-x a", true, false, 2, "and others"},
        {"64 12 r r-x a", false, false, 2, NULL},
    };

    for (size_t i = 0; i < countof(rows); i++) {
        struct mount m = {.path = (char *)"/srv/a",
                          .inside = (char *)"/mnt/host/a",
                          .write = rows[i].write,
                          .seen = {.closed = rows[i].closed, .closed_name = (char *)"sub/k"}};
        struct argv seen = ARGV_INIT;

        argv_push(&seen, rows[i].line);
        autofree char *line = mount_lacks(&m, rows[i].other, &seen);
        argv_release(&seen);
        if (rows[i].says)
            assert_non_null(strstr(line, rows[i].says));
        else
            assert_null(line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_record),
        cmocka_unit_test(test_within),
        cmocka_unit_test(test_compare),
        cmocka_unit_test(test_lacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
