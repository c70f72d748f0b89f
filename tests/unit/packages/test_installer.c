/* test_installer.c - how much uv may write: a program in its place writes without end, and is ended. */
#include "../unit.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "packages/installer.h"
#include "packages/packages.h"
#include "process/loop.h"

/* One that is not ended says how it went. Returns what was said of it; what it wrote is to be gone. */
static char *run_writer(const char *program, int64_t most_bytes, int64_t most_files)
{
    char root[] = "/tmp/sp-installer-XXXXXX";
    struct packages_python python = {.version = "3.11", .platform = "x86_64-manylinux_2_36"};
    struct error err = {0};

    assert_non_null(mkdtemp(root));
    autofree char *scratch = xasprintf("%s/new", root), *uv = xasprintf("%s/uv", root),
                  *cache = xasprintf("%s/uv-cache", root);
    assert_int_equal(mkdir(scratch, 0700) | mkdir(cache, 0700), 0);
    assert_int_equal(file_write_soon(uv, program, strlen(program), &err) | chmod(uv, 0700), 0);
    struct installer t = {.loop = loop_new(),
                          .root = root,
                          .scratch = scratch,
                          .uv = xstrdup(uv),
                          .python = xstrdup("/usr/bin/python3"),
                          .said = BUF_INIT(4096),
                          .most_bytes = most_bytes,
                          .most_files = most_files};
    int rc = installer_install(&t, &python, "one==1\n", scratch, &err);
    bool emptied = access(cache, F_OK) != 0;
    char *said = xasprintf("%d %s%s", rc, err.text, emptied ? " (removed)" : "");

    installer_release(&t);
    loop_free(t.loop);
    file_remove_tree(root);
    return said;
}

static void bytes_have_an_end(void **state)
{
    autofree char *said = run_writer("#!/bin/sh\n"
                                     "n=0; while [ $n -lt 512 ]; do n=$((n+1))\n"
                                     "head -c 1048576 /dev/zero >$UV_CACHE_DIR/$n; done; sleep 20\n",
                                     4 << 20, 100000);

    (void)state;
    assert_string_equal(
        said, "-1 the packages unpack to more than 100,000 files or 4 MiB, so this was ended (removed)");
}

static void files_have_an_end(void **state)
{
    autofree char *said = run_writer("#!/bin/sh\n"
                                     "n=0; while [ $n -lt 200000 ]; do n=$((n+1))\n"
                                     ": >$UV_CACHE_DIR/$n; done; sleep 20\n",
                                     1LL << 40, 200);

    (void)state;
    assert_string_equal(
        said, "-1 the packages unpack to more than 200 files or 1 TiB, so this was ended (removed)");
}

static void what_is_less_is_kept(void **state)
{
    autofree char *said = run_writer("#!/bin/sh\nhead -c 1048576 /dev/zero >$UV_CACHE_DIR/1\nsleep 0.6\n",
                                     INSTALLER_BYTES, INSTALLER_FILES);

    (void)state;
    assert_string_equal(said, "0 ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_have_an_end),
        cmocka_unit_test(files_have_an_end),
        cmocka_unit_test(what_is_less_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
