/* test_place.c - files below the home: whose links are followed, and what is made. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/place.h"

static char dir[64];

static int enter(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/test_place.XXXXXX");
    return mkdtemp(dir) && chdir(dir) == 0 ? 0 : -1;
}

static int leave(void **state)
{
    (void)state;
    return chdir("/") < 0 ? -1 : file_remove_tree(dir);
}

static char *in(const char *name)
{
    return xasprintf("%s/%s", dir, name);
}

static void puts_in(const char *name, const char *text)
{
    assert_int_equal(file_write(name, text, strlen(text), NULL), 0);
}

static void expect_text(const char *name, const char *text)
{
    autofree char *path = in(name);
    struct buf b autorelease(buf_release) = BUF_INIT(0);
    struct error e = {0};

    if (place_read(path, 100, &b, &e) < 0)
        fail_msg("%s: %s", name, e.text);
    assert_string_equal(buf_str(&b), text);
}

static void makes_folders_and_files(void **state)
{
    autofree char *path = in("a/b/c/f"), *alone = in("f");
    struct error e = {0};
    struct stat st;

    (void)state;
    assert_int_equal(place_write(path, "one", 3, &e), 0);
    assert_int_equal(stat("a/b", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(stat("a/b/c/f", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(place_write_soon(path, "two", 3, &e), 0);
    expect_text("a/b/c/f", "two");
    expect_text("a//b/../b/./c/f", "two");
    assert_int_equal(place_open(alone, O_RDONLY, &e), -1);
    assert_int_equal(e.code, ENOENT);
    autoclose int fd = place_open(alone, O_WRONLY | O_CREAT, &e);
    assert_true(fd >= 0);
    assert_int_equal(chmod("f", 0620), 0);
    struct buf b = BUF_INIT(0);
    assert_int_equal(place_read(alone, 10, &b, &e), -1); /* others may have put anything into it */
    assert_int_equal(place_read(path, 2, &b, &e), -1);
    assert_non_null(strstr(e.text, path)); /* not the number of a descriptor */
    assert_int_equal(e.code, EFBIG);
    assert_int_equal(b.len, 0);
}

static void ones_own_links(void **state)
{
    autofree char *made = in("link/new/f"), *through = in("relative"), *absolute = in("disk");

    (void)state;
    assert_int_equal(mkdir("disk", 0700), 0);
    assert_int_equal(symlink(absolute, "link"), 0);
    assert_int_equal(place_write(made, "there", 5, NULL), 0);
    expect_text("disk/new/f", "there");
    assert_int_equal(symlink("link/../link/new/f", through), 0);
    expect_text("relative", "there");
    autoclose int fd = place_open(through, O_WRONLY | O_APPEND, NULL);
    assert_int_equal(fd_write_all(fd, "!", 1), 0);
    expect_text("disk/new/f", "there!");
}

static void nothing_behind_a_dangling_link(void **state)
{
    autofree char *f = in("nowhere"), *below = in("lost/a/f"), *round = in("round/f");
    struct error e = {0};

    (void)state;
    assert_int_equal(symlink("made", "nowhere"), 0);
    assert_int_equal(symlink("made", "lost"), 0);
    assert_int_equal(symlink("round", "round"), 0);
    assert_int_equal(place_open(f, O_WRONLY | O_CREAT, &e), -1);
    assert_int_equal(place_write(below, "x", 1, &e), -1);
    assert_int_equal(place_write(round, "x", 1, &e), -1);
    assert_int_equal(e.code, ELOOP);
    assert_int_equal(access("made", F_OK), -1);
}

static void links_of_others(void **state)
{
    autofree char *file = in("theirs"), *below = in("folder/f"), *hard = in("second");
    struct error e = {0};

    (void)state;
    if (geteuid() != 0)
        skip();
    puts_in("target", "mine");
    assert_int_equal(symlink("target", "theirs"), 0);
    assert_int_equal(symlink(dir, "folder"), 0);
    assert_int_equal(lchown("theirs", 12345, 12345), 0);
    assert_int_equal(lchown("folder", 12345, 12345), 0);
    assert_int_equal(place_open(file, O_RDWR, &e), -1);
    assert_non_null(strstr(e.text, "link of another user (uid 12345)"));
    assert_int_equal(place_write(below, "x", 1, &e), -1);
    assert_int_equal(access("f", F_OK), -1);
    assert_int_equal(link("target", "second"), 0);
    assert_int_equal(place_open(hard, O_RDWR, &e), -1);
    assert_non_null(strstr(e.text, "hard link"));
    puts_in("other", "not mine");
    assert_int_equal(chown("other", 12345, 12345), 0);
    autofree char *other = in("other");
    assert_int_equal(place_open(other, O_RDWR, &e), -1);
    assert_non_null(strstr(e.text, "belongs to another user (uid 12345)"));
}

static void no_file(void **state)
{
    autofree char *fifo = in("fifo"), *folder = in("folder"), *below = in("file/f");
    struct error e = {0};

    (void)state;
    assert_int_equal(mkfifo("fifo", 0600), 0);
    assert_int_equal(mkdir("folder", 0700), 0);
    puts_in("file", "");
    assert_int_equal(place_open(fifo, O_RDONLY, &e), -1);
    assert_non_null(strstr(e.text, "is not a regular file"));
    assert_int_equal(place_open(folder, O_RDONLY, &e), -1);
    assert_int_equal(place_open(below, O_RDONLY, &e), -1);
    assert_int_equal(e.code, ENOTDIR);
}

/* root takes a home of its own, whatever sudo left in HOME. */
static void roots_home(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(mkdir("home", 0700), 0);
    autofree char *home = in("home"), *state_home = in("home/.local/state");
    unsetenv("XDG_STATE_HOME");
    setenv("HOME", home, 1);
    autofree char *own = xdg_path(XDG_STATE, "history");
    assert_memory_equal(own, home, strlen(home));
    assert_int_equal(chown("home", 12345, 12345), 0);
    autofree char *roots = xdg_path(XDG_STATE, "history");
    assert_null(roots ? strstr(roots, home) : NULL);
    setenv("XDG_STATE_HOME", state_home, 1); /* it is not there; what it would be made in counts */
    autofree char *named = xdg_path(XDG_STATE, "history");
    assert_null(named ? strstr(named, home) : NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(makes_folders_and_files, enter, leave),
        cmocka_unit_test_setup_teardown(ones_own_links, enter, leave),
        cmocka_unit_test_setup_teardown(nothing_behind_a_dangling_link, enter, leave),
        cmocka_unit_test_setup_teardown(links_of_others, enter, leave),
        cmocka_unit_test_setup_teardown(no_file, enter, leave),
        cmocka_unit_test_setup_teardown(roots_home, enter, leave),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
