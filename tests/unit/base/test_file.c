/* test_file.c - descriptors, files, trees that resist removal, XDG folders. */
#include "tests/unit/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"

static char dir[64];

static int enter(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/test_file.XXXXXX");
    return mkdtemp(dir) == NULL || chdir(dir) < 0 ? -1 : 0;
}

static int leave(void **state)
{
    (void)state;
    return chdir("/") < 0 ? -1 : file_remove_tree(dir);
}

static void read_and_write(void **state)
{
    (void)state;
    struct error e = {0};
    assert_int_equal(file_write("f", "a\0b", 3, &e), 0);
    struct stat st;
    assert_int_equal(stat("f", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    struct buf b = BUF_INIT(0);
    assert_int_equal(file_read("f", 3, &b, &e), 0);
    assert_int_equal(b.len, 3);
    assert_memory_equal(b.data, "a\0b", 3);
    assert_int_equal(file_write("f", "new", 3, &e), 0);
    buf_clear(&b);
    assert_int_equal(file_read("f", 100, &b, &e), 0);
    assert_string_equal(b.data, "new");
    assert_int_equal(file_read("f", 2, &b, &e), -1);
    assert_int_equal(e.kind, ERROR_USAGE);
    assert_non_null(strstr(e.text, "3 bytes"));
    assert_non_null(strstr(e.text, "the limit is 2"));
    assert_int_equal(file_read("none", 2, &b, &e), -1);
    assert_int_equal(e.kind, ERROR_SYSTEM);
    assert_int_equal(e.code, ENOENT);
    assert_int_equal(file_read(".", 2, &b, &e), -1);
    assert_int_equal(e.code, EISDIR);
    assert_int_equal(file_read("/dev/zero", 100000, &b, &e), -1);
    assert_int_equal(e.kind, ERROR_USAGE);
    assert_int_equal(file_write("no/such/f", "", 0, &e), -1);
    buf_clear(&b);
    assert_int_equal(file_read("/proc/self/stat", 100000, &b, &e), 0); /* size 0 beforehand */
    assert_true(b.len > 0);
    buf_release(&b);
    DIR *d = opendir("."); /* no temporary file is left behind */
    int names = 0;
    while (readdir(d) != NULL)
        names++;
    closedir(d);
    assert_int_equal(names, 3);
}

static void a_fifo_does_not_hang(void **state)
{
    (void)state;
    assert_int_equal(mkfifo("fifo", 0600), 0);
    struct buf b = BUF_INIT(0);
    assert_int_equal(file_read("fifo", 100, &b, NULL), 0);
    assert_int_equal(b.len, 0);
    buf_release(&b);
}

static void mkdirs(void **state)
{
    (void)state;
    struct error e = {0};
    assert_int_equal(file_mkdirs("a/b//c/", 0700, &e), 0);
    assert_int_equal(access("a/b/c", F_OK), 0);
    assert_int_equal(file_mkdirs("a/b/c", 0700, &e), 0);
    autofree char *absolute = xasprintf("%s/x/y", dir);
    assert_int_equal(file_mkdirs(absolute, 0755, &e), 0);
    assert_int_equal(file_mkdirs("/", 0755, &e), 0);
    assert_int_equal(file_mkdirs("", 0755, &e), 0);
    assert_int_equal(file_write("plain", "", 0, &e), 0);
    assert_int_equal(file_mkdirs("plain/x", 0700, &e), -1);
    assert_int_equal(e.code, ENOTDIR);
    assert_non_null(strstr(e.text, "plain"));
}

/* 2000 levels deep, each with files and a directory of mode 000, links that lead out, names from another
 * world. */
static void remove_tree(void **state)
{
    (void)state;
    assert_int_equal(file_write("keep", "x", 1, NULL), 0);
    assert_int_equal(mkdir("outside", 0700), 0);
    assert_int_equal(file_write("outside/keep", "x", 1, NULL), 0);
    assert_int_equal(mkdir("t", 0700), 0);
    autoclose int fd = open("t", O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < 2000; i++) {
        assert_int_equal(mkdirat(fd, "down", 0700), 0);
        assert_int_equal(mkdirat(fd, "closed", 0000), 0);
        assert_int_equal(symlinkat(dir, fd, "link"), 0);
        assert_int_equal(mknodat(fd, "\xff\n fifo", S_IFIFO | 0600, 0), 0);
        int next = openat(fd, "down", O_RDONLY | O_DIRECTORY);
        assert_true(next >= 0);
        if (i % 3 == 0)
            assert_int_equal(fchmod(fd, 0), 0);
        close(fd);
        fd = next;
    }
    fd_close(&fd);
    assert_int_equal(file_remove_tree("t"), 0);
    assert_int_equal(access("t", F_OK), -1);
    assert_int_equal(access("keep", F_OK), 0);
    assert_int_equal(file_remove_tree("t"), 0); /* not there: fine */
    assert_int_equal(symlink("outside", "alink"), 0);
    assert_int_equal(file_remove_tree("alink"), 0); /* the link, not where it leads */
    assert_int_equal(access("outside/keep", F_OK), 0);
    assert_int_equal(file_remove_tree("keep"), 0);
    assert_int_equal(access("keep", F_OK), -1);
}

static void wide_tree(void **state)
{
    (void)state;
    assert_int_equal(mkdir("w", 0700), 0);
    for (int i = 0; i < 300; i++) {
        autofree char *name = xasprintf("w/%d/same/same", i);
        assert_int_equal(file_mkdirs(name, 0500 | 0200, NULL), 0);
        autofree char *file = xasprintf("w/%d/same/file", i);
        assert_int_equal(file_write(file, "", 0, NULL), 0);
        assert_int_equal(chmod(file, 0), 0);
    }
    assert_int_equal(file_remove_tree("w"), 0);
    assert_int_equal(access("w", F_OK), -1);
}

/* Not as root: modes count then. */
static void remove_tree_as_a_user(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(chmod(".", 0777), 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (setgid(65534) < 0 || setuid(65534) < 0)
            _exit(2);
        int bad = file_mkdirs("u/a/b/c", 0700, NULL) < 0 || file_write("u/a/f", "", 0, NULL) < 0
                  || chmod("u/a/f", 0400) < 0 || chmod("u/a/b", 0) < 0 || chmod("u/a", 0500) < 0
                  || chmod("u", 0) < 0;
        _exit(bad ? 3 : file_remove_tree("u") < 0 ? 4 : access("u", F_OK) == 0 ? 5 : 0);
    }
    int status;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    /* What belongs to another cannot be removed, and that is said, without an endless round. */
    assert_int_equal(file_mkdirs("r/a/b", 0755, NULL), 0);
    pid = fork();
    if (pid == 0) {
        if (setgid(65534) < 0 || setuid(65534) < 0)
            _exit(2);
        _exit(file_remove_tree("r") == -1 ? 0 : 3);
    }
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
}

static void write_all_to_a_full_pipe(void **state)
{
    (void)state;
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(fd_nonblock(fds[1], true), 0);
    size_t size = 300000;
    pid_t pid = fork();
    if (pid == 0) {
        close(fds[1]);
        usleep(20000);
        char c[4096];
        size_t n = 0;
        for (ssize_t k; (k = read(fds[0], c, sizeof(c))) > 0;)
            n += (size_t)k;
        _exit(n == size ? 0 : 1);
    }
    close(fds[0]);
    autofree char *data = xcalloc(size, 1);
    assert_int_equal(fd_write_all(fds[1], data, size), 0);
    assert_int_equal(fd_nonblock(fds[1], false), 0);
    assert_int_equal(fcntl(fds[1], F_GETFL) & O_NONBLOCK, 0);
    fd_close(&fds[1]);
    assert_int_equal(fds[1], -1);
    fd_close(&fds[1]);
    int status;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    assert_int_equal(fd_write_all(-1, "x", 1), -1);
    assert_int_equal(errno, EBADF);
}

static void standard_descriptors(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        close(0);
        close(2);
        int mask = fd_open_standard();
        char c;
        bool good = mask == 5 && fcntl(0, F_GETFD) == 0 && fcntl(2, F_GETFD) == 0 && read(0, &c, 1) == 0
                    && write(2, "x", 1) == 1;
        _exit(good && fd_open_standard() == 0 ? 0 : 1);
    }
    int status;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
}

static void expect_path(enum xdg which, const char *name, const char *want)
{
    autofree char *got = xdg_path(which, name);
    assert_string_equal(got, want);
}

static void xdg_paths(void **state)
{
    (void)state;
    setenv("HOME", "/usr", 1);
    unsetenv("XDG_CONFIG_HOME");
    setenv("XDG_CACHE_HOME", "/c", 1);
    setenv("XDG_STATE_HOME", "relative", 1); /* ignored, as the specification wants */
    setenv("XDG_DATA_HOME", "", 1);
    expect_path(XDG_CONFIG, "config.yaml", "/usr/.config/sandpiper/config.yaml");
    expect_path(XDG_CACHE, NULL, "/c/sandpiper");
    expect_path(XDG_STATE, "x", "/usr/.local/state/sandpiper/x");
    expect_path(XDG_DATA, NULL, "/usr/.local/share/sandpiper");
    /* root could make it */
    setenv("HOME", "/nonexistent", 1);
    autofree char *data = xdg_path(XDG_DATA, NULL);
    if (geteuid() == 0)
        assert_true(data && strncmp(data, "/nonexistent", 12) != 0);
    chmod(dir, 0700);
    setenv("XDG_RUNTIME_DIR", dir, 1);
    autofree char *want = xasprintf("%s/sandpiper/s", dir);
    expect_path(XDG_RUNTIME, "s", want);
    autofree char *fallback = xasprintf("/tmp/sandpiper-%u", (unsigned)geteuid());
    chmod(dir, 0755); /* open to others: not used */
    expect_path(XDG_RUNTIME, NULL, fallback);
    unsetenv("XDG_RUNTIME_DIR");
    expect_path(XDG_RUNTIME, NULL, fallback);
    struct stat st;
    assert_int_equal(lstat(fallback, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
}

/* What a writer left that was killed goes; what is being written, and what others have called alike, stays.
 */
static void sweep(void **state)
{
    static const char *const names[] = {"d/x.abc123",  "d/x.Zz9Zz9", "d/x.abc12",
                                        "d/x.abc1234", "d/xabc1234", "d/y.abc123"};

    (void)state;
    assert_int_equal(file_mkdirs("d", 0700, NULL), 0);
    for (size_t i = 0; i < countof(names); i++)
        close(open(names[i], O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    int fd = open(names[1], O_RDONLY | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    file_sweep("d/x");
    for (size_t i = 0; i < countof(names); i++)
        assert_int_equal(access(names[i], F_OK), i == 0 ? -1 : 0);
    close(fd);
    file_sweep("d/x");
    assert_int_equal(access(names[1], F_OK), -1);
    file_sweep("no/such/x");
    assert_int_equal(file_write("d/x", "1", 1, NULL), 0);
    file_sweep("d/x");
    assert_int_equal(access("d/x", F_OK), 0);
}

static int open_descriptors(void)
{
    int n = 0;

    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* Two at once, as a hostile sender would: one is ours, and nobody has the other. */
static void receive_a_descriptor(void **state)
{
    (void)state;
    union {
        char bytes[CMSG_SPACE(2 * sizeof(int))];
        struct cmsghdr align;
    } control = {{0}};
    struct iovec v = {(char *)"x", 1};
    struct msghdr m = {
        .msg_iov = &v, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    int pair[2], two[2] = {0, 1}, fd;
    char byte;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    int before = open_descriptors();
    assert_int_equal(fd_send(pair[0], "a", 1, -1), 1);
    assert_int_equal(fd_receive(pair[1], &byte, 1, MSG_DONTWAIT, &fd), 1);
    assert_int_equal(fd, -1);
    assert_int_equal(fd_receive(pair[1], &byte, 1, MSG_DONTWAIT, &fd), -1);
    assert_int_equal(fd, -1);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof two);
    memcpy(CMSG_DATA(c), two, sizeof two);
    assert_int_equal(sendmsg(pair[0], &m, 0), 1);
    assert_int_equal(fd_receive(pair[1], &byte, 1, MSG_DONTWAIT, &fd), 1);
    assert_true(fd >= 0 && fcntl(fd, F_GETFD) == FD_CLOEXEC);
    assert_int_equal(open_descriptors(), before + 1);
    close(fd);
    close(pair[0]);
    close(pair[1]);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, enter, leave)
    const struct CMUnitTest tests[] = {
        T(read_and_write),
        T(a_fifo_does_not_hang),
        T(mkdirs),
        T(remove_tree),
        T(wide_tree),
        T(remove_tree_as_a_user),
        T(write_all_to_a_full_pipe),
        T(standard_descriptors),
        T(xdg_paths),
        T(sweep),
        T(receive_a_descriptor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
