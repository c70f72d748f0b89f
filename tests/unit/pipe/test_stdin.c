/* Is stdin data? Every kind of descriptor and every kind of writer. What plays sandpiper is a child, so the
 * test is its parent, and what else it starts are siblings.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "pipe/stdin.h"
#include "process/loop.h"
#include "process/signals.h"

static void collect(void *ctx, enum notice_level level, const char *line)
{
    (void)level;
    buf_addf(ctx, "[%s]", line);
}

struct outcome {
    char text[4096]; /* "none" or "data N: its bytes", then the lines said; or "error KIND TEXT" */
    int64_t ms;
};

static void describe(struct stdin_rules *r, struct buf *out)
{
    struct stdin_data d;
    struct error err = {0};
    char bytes[256];

    r->say = collect;
    r->ctx = out;
    if (stdin_take(r, &d, &err) < 0) {
        buf_addf(out, "error %d %s", error_exit_code(&err), err.text);
        return;
    }
    if (d.any) {
        ssize_t n = read(d.fd, bytes, sizeof bytes - 1);

        bytes[n < 0 ? 0 : n] = '\0';
        buf_addf(out, "data %llu: %s", (unsigned long long)d.size, bytes);
    } else {
        buf_addstr(out, "none");
    }
    stdin_data_release(&d);
}

struct play {
    int fd;   /* its stdin */
    int shut; /* our end, that it must not inherit; -1 */
    enum stdin_mode mode;
    bool closed;
    uint64_t max;
    int interrupt_ms; /* send it SIGINT after so long; 0: never */
};

/* A child takes its stdin; the parent (an ancestor) only waits. */
static struct outcome take(struct play p)
{
    struct outcome o = {0};
    int64_t start = clock_ms();
    size_t len = 0;
    ssize_t n;
    int back[2];
    pid_t pid;

    assert_int_equal(pipe(back), 0);
    pid = fork();
    if (!pid) {
        struct stdin_rules r = {.fd = p.fd,
                                .mode = p.mode,
                                .closed = p.closed,
                                .max = p.max ? p.max : 1000000,
                                .loop = loop_new()};
        struct buf out = BUF_INIT(4000);

        alarm(20);
        if (p.shut >= 0)
            close(p.shut);
        loop_signals(r.loop, NULL);
        describe(&r, &out);
        loop_free(r.loop);
        _exit(write(back[1], buf_str(&out), out.len) < 0);
    }
    close(back[1]);
    if (p.interrupt_ms) {
        usleep((useconds_t)p.interrupt_ms * 1000);
        kill(pid, SIGINT);
    }
    while ((n = read(back[0], o.text + len, sizeof o.text - 1 - len)) > 0)
        len += (size_t)n;
    close(back[0]);
    waitpid(pid, NULL, 0);
    o.ms = clock_ms() - start;
    return o;
}

/* A process that writes text into fd after a delay, holds it open for hold ms, and ends. */
static pid_t writer(int fd, int shut, int delay, const char *text, int hold)
{
    pid_t pid = fork();

    if (!pid) {
        if (shut >= 0)
            close(shut);
        usleep((useconds_t)delay * 1000);
        if (*text && write(fd, text, strlen(text)) < 0)
            _exit(1);
        usleep((useconds_t)hold * 1000);
        _exit(0);
    }
    return pid;
}

static int file_of(const char *text)
{
    int fd = memfd_create("data", 0);

    assert_true(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    lseek(fd, 0, SEEK_SET);
    return fd;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void test_regular_file(void **state)
{
    int fd = file_of("a,b\n1,2\n");

    (void)state;
    assert_string_equal(take((struct play){.fd = fd, .shut = -1}).text, "data 8: a,b\n1,2\n");
    lseek(fd, 0, SEEK_SET);
    assert_string_equal(take((struct play){.fd = fd, .shut = -1, .mode = STDIN_IGNORE}).text, "none");
    close(fd);
}

static void test_shared_file(void **state)
{
    int fd = file_of("one\ntwo\n");
    struct outcome o;

    (void)state;
    lseek(fd, 4, SEEK_SET);
    o = take((struct play){.fd = fd, .shut = -1});
    assert_non_null(strstr(o.text, "--stdin data reads it anyway)]none"));
    assert_int_equal(lseek(fd, 0, SEEK_CUR), 4); /* the parent reads on where it was */
    assert_string_equal(take((struct play){.fd = fd, .shut = -1, .mode = STDIN_DATA}).text, "data 4: two\n");
    close(fd);
}

static void test_file_that_says_it_is_empty(void **state)
{
    int fd = open("/proc/self/comm", O_RDONLY), empty = file_of("");
    struct outcome o;

    (void)state;
    o = take((struct play){.fd = fd, .shut = -1});
    assert_memory_equal(o.text, "data ", 5);
    o = take((struct play){.fd = empty, .shut = -1});
    assert_string_equal(o.text, "[stdin was empty: there is no data]none");
    close(fd);
    close(empty);
}

static void test_devices_and_closed(void **state)
{
    int null = open("/dev/null", O_RDONLY), dir = open("/", O_RDONLY);

    (void)state;
    assert_string_equal(take((struct play){.fd = null, .shut = -1}).text, "none");
    assert_string_equal(take((struct play){.fd = null, .shut = -1, .closed = true}).text, "none");
    assert_string_equal(take((struct play){.fd = null, .shut = -1, .closed = true, .mode = STDIN_DATA}).text,
                        "error 2 --stdin data, but stdin is closed");
    assert_string_equal(take((struct play){.fd = 99, .shut = -1}).text, "none");
    assert_string_equal(take((struct play){.fd = dir, .shut = -1}).text,
                        "[stdin is a directory; not read]none");
    close(null);
    close(dir);
}

static void test_too_big(void **state)
{
    int fd = file_of("12345678901"), ends[2];
    struct outcome o = take((struct play){.fd = fd, .shut = -1, .max = 10});

    (void)state;
    assert_non_null(
        strstr(o.text, "error 2 stdin is too large: 11 bytes, /mnt/data in the sandbox holds 10."));
    close(fd);
    assert_int_equal(pipe(ends), 0);
    pid_t w = writer(ends[1], ends[0], 0, "123456789012", 0);
    o = take((struct play){.fd = ends[0], .shut = ends[1], .max = 10});
    assert_memory_equal(o.text, "error 2 stdin is ", 17);
    close(ends[1]);
    end(w);
    close(ends[0]);
    /* endless: refused soon, with what is known */
    assert_int_equal(pipe(ends), 0);
    w = fork();
    if (!w) {
        char piece[4096] = "x";

        while (write(ends[1], piece, sizeof piece) > 0)
            ;
        _exit(0);
    }
    o = take((struct play){.fd = ends[0], .shut = ends[1], .max = 100000});
    assert_non_null(strstr(o.text, "error 2 stdin is too large: more than "));
    end(w);
    close(ends[0]);
    close(ends[1]);
}

static void test_pipe_with_data(void **state)
{
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "x\n", 2), 2);
    close(ends[1]);
    assert_string_equal(take((struct play){.fd = ends[0], .shut = -1}).text, "data 2: x\n");
    assert_string_equal(take((struct play){.fd = ends[0], .shut = -1}).text,
                        "[stdin was empty: there is no data]none");
    close(ends[0]);
}

/* (sleep; echo x) | sandpiper q */
static void test_slow_sibling(void **state)
{
    struct outcome o;
    int ends[2];
    pid_t w;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    w = writer(ends[1], ends[0], 300, "late\n", 0);
    close(ends[1]);
    o = take((struct play){.fd = ends[0], .shut = -1});
    /* no line about waiting in the first second; on a busy machine the writer may take longer than that */
    assert_non_null(strstr(o.text, "data 5: late\n"));
    assert_true(!strncmp(o.text, "data", 4) || o.ms >= 1000);
    assert_true(o.ms >= 250);
    end(w);
    close(ends[0]);

    assert_int_equal(pipe(ends), 0);
    w = writer(ends[1], ends[0], 1500, "later\n", 0);
    close(ends[1]);
    o = take((struct play){.fd = ends[0], .shut = -1});
    assert_string_equal(
        o.text, "[waiting for stdin; Ctrl-C stops, --stdin ignore continues without it]data 6: later\n");
    end(w);
    close(ends[0]);
}

/* A parent forgot to close it, or has nothing to say. */
static void test_ancestor_alone(void **state)
{
    struct outcome o;
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    o = take((struct play){.fd = ends[0], .shut = ends[1]});
    assert_non_null(strstr(o.text, "no data on stdin; continuing without it (--stdin data"));
    assert_non_null(strstr(o.text, "]none"));
    assert_true(o.ms >= 190);
    assert_string_equal(take((struct play){.fd = ends[0], .shut = ends[1], .mode = STDIN_IGNORE}).text,
                        "none");
    close(ends[0]);
    close(ends[1]);
}

/* The sibling ends without a word while a parent keeps the pipe open. */
static void test_sibling_gone_parent_left(void **state)
{
    struct outcome o;
    int ends[2];
    pid_t w;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    signal(SIGCHLD, SIG_IGN);
    w = writer(ends[1], ends[0], 500, "", 0);
    o = take((struct play){.fd = ends[0], .shut = ends[1]});
    assert_non_null(strstr(o.text, "continuing without it (--stdin data waits for it)]none"));

    w = writer(ends[1], ends[0], 400, "part", 1500);
    o = take((struct play){.fd = ends[0], .shut = ends[1]});
    assert_non_null(strstr(o.text, "a parent keeps it open; continuing with what came]data 4: part"));
    signal(SIGCHLD, SIG_DFL);
    (void)w;
    close(ends[0]);
    close(ends[1]);
}

/* Nobody that can be seen holds the write end: it lies in a message that nobody reads (as with another
 * container). */
static void test_unknown_writer(void **state)
{
    char control[CMSG_SPACE(sizeof(int))] = {0}, byte = 'x';
    struct iovec io = {.iov_base = &byte, .iov_len = 1};
    struct msghdr m = {
        .msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    struct outcome o;
    int ends[2], pair[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &ends[1], sizeof(int));
    assert_int_equal(sendmsg(pair[0], &m, 0), 1);
    close(ends[1]);
    o = take((struct play){.fd = ends[0], .shut = -1});
    assert_non_null(strstr(o.text, "no data on stdin; continuing without it (--stdin data"));
    close(ends[0]);
    close(pair[0]);
    close(pair[1]);
}

static void test_sockets(void **state)
{
    struct outcome o;
    int pair[2];
    pid_t w;

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    o = take((struct play){.fd = pair[0], .shut = pair[1]});
    assert_non_null(strstr(o.text, "no data on stdin"));
    w = writer(pair[1], pair[0], 600, "sock", 0);
    close(pair[1]);
    o = take((struct play){.fd = pair[0], .shut = -1});
    assert_string_equal(o.text, "data 4: sock");
    end(w);
    close(pair[0]);
}

static void test_fifo(void **state)
{
    char dir[] = "/tmp/sp-fifo-XXXXXX", path[64];
    struct outcome o;
    int in, out;
    pid_t w;

    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/f", dir);
    assert_int_equal(mkfifo(path, 0600), 0);
    in = open(path, O_RDONLY | O_NONBLOCK);
    out = open(path, O_WRONLY);
    w = writer(out, in, 600, "fifo", 0);
    close(out);
    o = take((struct play){.fd = in, .shut = -1});
    assert_string_equal(o.text, "data 4: fifo");
    end(w);
    close(in);
    unlink(path);
    rmdir(dir);
}

/* "sudo cat x | sandpiper q": the writer's descriptors cannot be seen, but it is of our pipeline. */
static void test_hidden_sibling(void **state)
{
    struct outcome o;
    int ends[2], status;
    pid_t w, user;

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(pipe(ends), 0);
    w = writer(ends[1], ends[0], 900, "root's", 0);
    close(ends[1]);
    user = fork();
    if (!user) {
        if (setgid(65534) || setuid(65534))
            _exit(3);
        o = take((struct play){.fd = ends[0], .shut = -1});
        _exit(strcmp(o.text, "data 6: root's") != 0);
    }
    assert_int_equal(waitpid(user, &status, 0), user);
    assert_int_equal(status, 0);
    end(w);
    close(ends[0]);
}

static void test_interrupt_while_waiting(void **state)
{
    struct outcome o;
    int ends[2];
    pid_t w;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    w = writer(ends[1], ends[0], 0, "begun", 10000);
    close(ends[1]);
    o = take((struct play){.fd = ends[0], .shut = -1, .interrupt_ms = 500});
    assert_memory_equal(o.text, "error 130", 9);
    assert_true(o.ms < 8000); /* the writer would hold it for 10 s */
    end(w);
    close(ends[0]);
    assert_int_equal(pipe(ends), 0);
    w = writer(ends[1], ends[0], 10000, "", 0);
    close(ends[1]);
    o = take((struct play){.fd = ends[0], .shut = -1, .interrupt_ms = 500});
    assert_memory_equal(o.text, "error 130", 9);
    end(w);
    close(ends[0]);
}

static void test_asked_for(void **state)
{
    struct outcome o;
    int ends[2];

    (void)state;
    /* the parent writes late: with --stdin data it is waited for */
    assert_int_equal(pipe(ends), 0);
    pid_t w = writer(ends[1], ends[0], 700, "x", 0);
    o = take((struct play){.fd = ends[0], .shut = ends[1], .mode = STDIN_DATA, .interrupt_ms = 1800});
    assert_non_null(strstr(o.text, "error 130")); /* our own write end is open: no end came */
    end(w);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_regular_file),
        cmocka_unit_test(test_shared_file),
        cmocka_unit_test(test_file_that_says_it_is_empty),
        cmocka_unit_test(test_devices_and_closed),
        cmocka_unit_test(test_too_big),
        cmocka_unit_test(test_pipe_with_data),
        cmocka_unit_test(test_slow_sibling),
        cmocka_unit_test(test_ancestor_alone),
        cmocka_unit_test(test_sibling_gone_parent_left),
        cmocka_unit_test(test_unknown_writer),
        cmocka_unit_test(test_sockets),
        cmocka_unit_test(test_fifo),
        cmocka_unit_test(test_hidden_sibling),
        cmocka_unit_test(test_interrupt_while_waiting),
        cmocka_unit_test(test_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
