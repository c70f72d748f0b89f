/* test_newfile.c - a file that has its name only when it is whole, also where the file system refuses what
 * makes that easy: the calls are refused here, as such file systems do.
 */
#include "tests/unit/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/newfile.h"

static char dir[64];
static int no_tmpfile, no_noreplace, no_link; /* the errno that each is refused with */
static unsigned nameless;

int openat(int at, const char *path, int flags, ...)
{
    va_list list;
    mode_t mode;

    va_start(list, flags);
    mode = va_arg(list, mode_t);
    va_end(list);
    if ((flags & O_TMPFILE) == O_TMPFILE) {
        nameless++;
        if (no_tmpfile) {
            errno = no_tmpfile;
            return -1;
        }
    }
    return (int)syscall(SYS_openat, at, path, flags, mode);
}

int renameat2(int from, const char *a, int to, const char *b, unsigned flags)
{
    if (no_noreplace && flags) {
        errno = no_noreplace;
        return -1;
    }
    return (int)syscall(SYS_renameat2, from, a, to, b, flags);
}

int linkat(int from, const char *a, int to, const char *b, int flags)
{
    if (no_link) {
        errno = no_link;
        return -1;
    }
    return (int)syscall(SYS_linkat, from, a, to, b, flags);
}

static int enter(void **state)
{
    (void)state;
    no_tmpfile = no_noreplace = no_link = 0;
    snprintf(dir, sizeof dir, "/tmp/test_newfile.XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int leave(void **state)
{
    (void)state;
    return file_remove_tree(dir);
}

static unsigned entries(void)
{
    DIR *d = opendir(dir);
    unsigned n = 0;

    for (struct dirent *e; (e = readdir(d)) != NULL;)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(d);
    return n;
}

static void holds(const char *name, const char *text)
{
    autofree char *path = xasprintf("%s/%s", dir, name);
    struct buf b autorelease(buf_release) = BUF_INIT(0);

    assert_int_equal(file_read(path, 1000, &b, NULL), 0);
    assert_string_equal(buf_str(&b), text);
}

static void make(struct newfile *f, const char *text)
{
    *f = NEWFILE_INIT;
    assert_int_equal(newfile_open(f, dir, 0644), 0);
    assert_int_equal(fd_write_all(f->fd, text, strlen(text)), 0);
}

/* Never under its name before it is whole, never over what is there, and nothing left of one that gets no
 * name. */
static void rounds(unsigned while_written)
{
    struct newfile f;

    make(&f, "first");
    assert_int_equal(entries(), while_written);
    assert_int_equal(newfile_name(&f, "a"), 0);
    newfile_release(&f);
    holds("a", "first");
    assert_int_equal(entries(), 1);
    make(&f, "second");
    assert_int_equal(newfile_name(&f, "a"), -1);
    assert_int_equal(errno, EEXIST);
    holds("a", "first");
    assert_int_equal(newfile_name(&f, "a-1"), 0);
    newfile_release(&f);
    holds("a-1", "second");
    make(&f, "third");
    newfile_release(&f);
    assert_int_equal(entries(), 2);
    struct stat st;
    autofree char *path = xasprintf("%s/a", dir), *link = xasprintf("%s/link", dir),
                  *target = xasprintf("%s/target", dir);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0644);
    assert_int_equal(symlink(target, link), 0);
    make(&f, "fourth");
    assert_int_equal(newfile_name(&f, "link"), -1);
    assert_int_equal(errno, EEXIST);
    newfile_release(&f);
    assert_int_equal(access(target, F_OK), -1);
}

static void without_a_name(void **state)
{
    (void)state;
    nameless = 0;
    rounds(0);
    assert_int_equal(nameless, 4);
}

static void with_a_hidden_name(void **state)
{
    static const int refusals[] = {EOPNOTSUPP, EISDIR, EINVAL, ENOENT};

    for (size_t i = 0; i < countof(refusals); i++) {
        no_tmpfile = refusals[i];
        rounds(1);
        leave(state);
        enter(state);
    }
}

static void where_a_rename_always_replaces(void **state)
{
    (void)state;
    no_tmpfile = EOPNOTSUPP;
    no_noreplace = EINVAL;
    rounds(1);
}

static void where_there_are_no_links_either(void **state)
{
    (void)state;
    no_tmpfile = EOPNOTSUPP;
    no_noreplace = EINVAL;
    no_link = EPERM;
    rounds(1);
}

/* A file system that makes nameless files, but can name none. */
static void where_it_can_have_no_name(void **state)
{
    (void)state;
    no_link = EXDEV;
    rounds(0);
}

static void a_full_disk_is_said_as_such(void **state)
{
    struct newfile f = NEWFILE_INIT;

    (void)state;
    no_tmpfile = ENOSPC;
    assert_int_equal(newfile_open(&f, dir, 0644), -1);
    assert_int_equal(errno, ENOSPC);
    newfile_release(&f);
    assert_int_equal(entries(), 0);
}

/* What a killed writer leaves is gone with the next file; what a living one writes is not. */
static void sweep(void **state)
{
    struct newfile f, other;
    int ready[2], status;
    char byte;

    (void)state;
    no_tmpfile = EOPNOTSUPP;
    make(&other, "alive");
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        make(&f, "half");
        fd_write_all(ready[1], "x", 1);
        pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(entries(), 2);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(entries(), 2);
    pid = fork(); /* another program: a folder is looked through once by each */
    if (pid == 0) {
        newfile_release(&(struct newfile){.dir = -1, .fd = -1});
        file_mkdirs(dir, 0700, NULL);
        autofree char *below = xasprintf("%s/below", dir), *all = xstrdup(dir);
        mkdir(below, 0700);
        snprintf(dir, sizeof dir, "%s", below);
        make(&f, "elsewhere");
        newfile_release(&f);
        rmdir(below);
        snprintf(dir, sizeof dir, "%s", all);
        make(&f, "next");
        _exit(newfile_name(&f, "next"));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(entries(), 2);
    holds("next", "next");
    assert_int_equal(newfile_name(&other, "other"), 0);
    newfile_release(&other);
    holds("other", "alive");
    assert_int_equal(entries(), 2);
    close(ready[0]);
    close(ready[1]);
}

int main(void)
{
#define R(test) cmocka_unit_test_setup_teardown(test, enter, leave)
    const struct CMUnitTest tests[] = {
        R(without_a_name),
        R(with_a_hidden_name),
        R(where_a_rename_always_replaces),
        R(where_there_are_no_links_either),
        R(where_it_can_have_no_name),
        R(a_full_disk_is_said_as_such),
        R(sweep),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
