/* test_packages.c - what is read before anything is fetched: what is wanted, locks of uv and pip, pip's
 * files, and what the Python inside says of itself.
 */
#include "../unit.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/argv.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "packages/index.h"
#include "packages/lock.h"
#include "packages/packages.h"

#define HASH_A "c4230d80640def9071599ff56b1b5950fe13a2a94c0da98c5deab12431b24330"
#define HASH_B "ff9e9b1c48389ef78ed1787e7693c555e84e6bb9bac16be1fd65e1616dbf80c8"

/* What is wanted, with a bar between two; or "!" and the error. */
static char *wanted_of(const char *text)
{
    struct argv wanted autorelease(argv_release) = ARGV_INIT;
    struct buf out = BUF_INIT(0);
    struct error err = {0};

    if (packages_want(&wanted, "--with", text, &err) < 0) {
        assert_int_equal(err.kind, ERROR_USAGE);
        return xasprintf("!%s", err.text);
    }
    for (size_t i = 0; i < wanted.n; i++)
        buf_addf(&out, "%s%s", i ? "|" : "", wanted.v[i]);
    return buf_steal(&out, NULL);
}

static void names_are_parted_and_versions_are_not(void **state)
{
    static const char *const rows[][2] = {
        {"emoji", "emoji"},
        {"seaborn,polars>=1", "seaborn|polars>=1"},
        {"polars>=1,<2,emoji", "polars>=1,<2|emoji"},
        {"polars>=1, <2 , emoji", "polars>=1, <2|emoji"},
        {"x[a,b]==1.*,y", "x[a,b]==1.*|y"},
        {"a~=1.4.2,b!=2", "a~=1.4.2|b!=2"},
        {"emoji,emoji", "emoji"},
        {"tzdata ; python_version < '3.9'", "tzdata ; python_version < '3.9'"},
    };

    (void)state;
    for (size_t i = 0; i < countof(rows); i++) {
        autofree char *got = wanted_of(rows[i][0]);
        assert_string_equal(got, rows[i][1]);
    }
}

static void nothing_else_is_a_name(void **state)
{
    static const char *const rows[] = {
        "",
        " ",
        "-r x",
        "--index-url=http://x",
        "x @ http://y",
        "http://x/y.whl",
        "git+ssh://x",
        "./x",
        "../x",
        "/x",
        "x/y",
        "x;\n-r y",
        "x\ty",
        "x==1 --hash=sha256:0",
        "x#sub",
        "x[",
        "x[a",
        "x>=",
        ">=1",
        "x,,y",
        "x y",
        "\xc3\xa9",
        "x==1;`id`",
        "$(id)",
        "_x",
        "x===1=2",
        "x==1 @ y",
    };

    (void)state;
    for (size_t i = 0; i < countof(rows); i++) {
        autofree char *got = wanted_of(rows[i]);
        if (got[0] != '!')
            fail_msg("%s was taken: %s", rows[i], got);
    }
}

static const char pylock[] =
    "lock-version = \"1.0\"\ncreated-by = \"uv\"\n\n[[packages]]\nname = \"emoji\"\nversion = \"2.16.0\"\n"
    "wheels = [{ url = \"https://x/emoji.whl\", upload-time = 2026-09-16T19:47:55Z, size = 610912, hashes = "
    "{ sha256 = "
    "\"" HASH_A "\" } }]\n\n[[packages]]\nname = \"Font.Tools\"\nversion = \"4.68.0\"\n"
    "sdist = { url = \"https://x\", size = 5, hashes = { sha256 = \"" HASH_A "\" } }\n"
    "wheels = [\n    { url = \"https://x/a.whl\", size = 7, hashes = { sha256 = \"" HASH_B "\" } },\n"
    "    { url = \"https://x/b.whl\", size = 8, hashes = { sha256 = \"" HASH_A "\" } },\n]\n";

static void a_pylock_is_read(void **state)
{
    struct lock l autorelease(lock_release) = {0};
    struct buf out autorelease(buf_release) = BUF_INIT(0);
    struct argv installed autorelease(argv_release) = ARGV_INIT;
    struct error err;

    (void)state;
    assert_int_equal(lock_read_pylock(&l, pylock, strlen(pylock), &err), 0);
    assert_int_equal(l.n, 2);
    assert_int_equal(l.v[0].size, 610912);
    assert_int_equal(l.v[0].uploaded, 1789588075);
    assert_int_equal(l.v[1].size, 7);
    lock_write(&l, &out);
    assert_string_equal(buf_str(&out), "Font.Tools==4.68.0 --hash=sha256:" HASH_A " --hash=sha256:" HASH_B
                                       "\nemoji==2.16.0 --hash=sha256:" HASH_A "\n");
    assert_ptr_equal(lock_youngest(&l, 1789588075 + 100, 200), &l.v[0]);
    assert_null(lock_youngest(&l, 1789588075 + 300, 200));
    argv_push(&installed, "font-tools==4.68.0");
    lock_leave_out(&l, &installed);
    assert_int_equal(l.n, 1);
    assert_string_equal(l.v[0].name, "emoji");
}

/* What is for another machine is in a lock for all of them, and a package may have many wheels. */
static void a_pylock_for_all_machines(void **state)
{
    struct lock l autorelease(lock_release) = {0};
    struct buf text autorelease(buf_release) = BUF_INIT(0), out autorelease(buf_release) = BUF_INIT(0);
    struct argv wanted autorelease(argv_release) = ARGV_INIT;
    struct error err;
    size_t at;

    (void)state;
    buf_addstr(&text, "[[packages]]\nname = \"a\"\nversion = \"1\"\nmarker = \"sys_platform == 'win32' and "
                      "(os_name != 'x')\"\nwheels = [\n");
    for (unsigned i = 0; i < 200; i++)
        buf_addf(&text, "    { hashes = { sha256 = \"%064x\" } },\n", i);
    buf_addstr(&text, "]\n");
    assert_int_equal(lock_read_pylock(&l, buf_str(&text), text.len, &err), 0);
    assert_int_equal(l.v[0].hashes.n, 200);
    lock_write(&l, &out);
    assert_ptr_equal(
        strstr(buf_str(&out), "a==1 ; sys_platform == 'win32' and (os_name != 'x') --hash=sha256:00"),
        buf_str(&out));
    assert_int_equal(packages_want_lock(&wanted, "here", buf_str(&out), &err), 0);
    assert_int_equal(wanted.n, 1);
    at = strlen("[[packages]]\nname = \"a\"\nversion = \"1\"\nmarker = \"");
    for (const char *bad = "`$;\\\t/:#"; *bad; bad++) {
        struct lock other autorelease(lock_release) = {0};

        text.data[at] = *bad;
        assert_int_equal(lock_read_pylock(&other, buf_str(&text), text.len, &err), -1);
    }
}

/* However it is cut, it is refused or a part of it is read. */
static void a_pylock_may_be_damaged(void **state)
{
    struct error err;

    (void)state;
    for (size_t len = 0; len < strlen(pylock); len++) {
        struct lock l = {0};
        autofree char *part = xmemdup0(pylock, len);

        lock_read_pylock(&l, part, len, &err);
        lock_release(&l);
    }
    static const char *const bad[] = {
        "", "[[packages]]\n", "[[packages]]\nname = \"x\"\nversion = \"1\"\n",
        "[[packages]]\nname = \"x;y\"\nversion = \"1\"\nwheels = [{ hashes = { sha256 = \"" HASH_A
        "\" } }]\n",
        "[[packages]]\nname = \"x\"\nversion = \"1\"\nwheels = [{ hashes = { sha256 = \"1234\" } }]\n"};
    for (size_t i = 0; i < countof(bad); i++) {
        struct lock l = {0};

        assert_int_equal(lock_read_pylock(&l, bad[i], strlen(bad[i]), &err), -1);
        assert_int_equal(err.kind, ERROR_PROTOCOL);
        lock_release(&l);
    }
}

static void a_report_of_pip_is_read(void **state)
{
    static const char text[] =
        "{\"version\":\"1\",\"install\":[{\"download_info\":{\"url\":\"https://x\",\"archive_info\":{"
        "\"hashes\":{\"sha256\":\"" HASH_B "\"}}},\"metadata\":{\"name\":\"emoji\",\"version\":"
        "\"2.16.0\"}}]}";
    struct lock l autorelease(lock_release) = {0};
    struct buf out autorelease(buf_release) = BUF_INIT(0);
    struct error err;

    (void)state;
    assert_int_equal(lock_read_report(&l, text, strlen(text), &err), 0);
    lock_write(&l, &out);
    assert_string_equal(buf_str(&out), "emoji==2.16.0 --hash=sha256:" HASH_B "\n");
}

static void files_of_pip_are_read(void **state)
{
    static const char text[] =
        "# index-url = http://no\n[list]\nindex-url = http://no\n[global]\n Index-Url\n"
        "index-url = http://one\n[install]\nindex-url: https://two/simple  \n"
        "extra-index-url =\n    https://a\n    https://b\nother = x\n    https://c\n";
    (void)state;
    autofree char *index = index_of_pip(text, "index-url"), *extra = index_of_pip(text, "extra-index-url");

    assert_string_equal(index, "https://two/simple");
    assert_string_equal(extra, "https://a https://b");
    assert_null(index_of_pip(text, "cert"));
    assert_null(index_of_pip("", "cert"));
}

static void the_python_inside_tells_of_itself(void **state)
{
    static const char text[] =
        "python cpython 3.11 x86_64\nlibc glibc 2.36\nhas Pillow-9.4.0.egg-info\nhas "
        "PyYAML-6.0-py3.11.egg-info\n"
        "has numpy-1.24.2-py3.11.egg-info\nhas numpy-1.0.dist-info\nhas mpmath-0.0.0.egg-info\n"
        "has ../x-1.egg-info\nhas x-$(id).egg-info\nhas scikit_learn-1.2.1.dist-info\n";
    struct packages_python p autorelease(packages_python_release) = {0};
    struct error err;

    (void)state;
    assert_int_equal(packages_python_read(&p, text, &err), 0);
    assert_string_equal(p.version, "3.11");
    assert_string_equal(p.platform, "x86_64-manylinux_2_36");
    assert_int_equal(p.installed.n, 4);
    assert_string_equal(p.installed.v[0], "numpy==1.24.2");
    assert_string_equal(p.installed.v[1], "pillow==9.4.0");
    assert_string_equal(p.installed.v[2], "pyyaml==6.0");
    assert_string_equal(p.installed.v[3], "scikit-learn==1.2.1");
}

static void some_pythons_have_no_wheels(void **state)
{
    static const char *const rows[][2] = {
        {"python cpython 3.13 aarch64\nlibc -\n", "aarch64-unknown-linux-musl"},
        {"python cpython 3.14 x86_64\nlibc glibc 2.43\n", "x86_64-manylinux_2_40"},
        {"python cpython 3.8 x86_64\nlibc glibc 2.27\n", "x86_64-manylinux_2_17"},
        {"python pypy 3.10 x86_64\nlibc glibc 2.36\n", NULL},
        {"python cpython 3.11 riscv64\nlibc glibc 2.36\n", NULL},
        {"python cpython 2.7 x86_64\nlibc glibc 2.36\n", NULL},
        {"python cpython 3.11 x86_64\nlibc glibc 2.5\n", NULL},
        {"", NULL},
    };

    (void)state;
    for (size_t i = 0; i < countof(rows); i++) {
        struct packages_python p = {0};
        struct error err = {0};

        assert_int_equal(packages_python_read(&p, rows[i][0], &err), rows[i][1] ? 0 : -1);
        if (rows[i][1])
            assert_string_equal(p.platform, rows[i][1]);
        else
            assert_int_equal(err.kind, ERROR_SANDBOX);
        packages_python_release(&p);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_parted_and_versions_are_not),
        cmocka_unit_test(nothing_else_is_a_name),
        cmocka_unit_test(a_pylock_is_read),
        cmocka_unit_test(a_pylock_may_be_damaged),
        cmocka_unit_test(a_pylock_for_all_machines),
        cmocka_unit_test(a_report_of_pip_is_read),
        cmocka_unit_test(files_of_pip_are_read),
        cmocka_unit_test(the_python_inside_tells_of_itself),
        cmocka_unit_test(some_pythons_have_no_wheels),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
