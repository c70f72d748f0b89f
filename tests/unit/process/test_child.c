/* test_child.c - children: what they inherit, how they end, what is said when they cannot start. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "process/child.h"
#include "process/loop.h"
#include "process/signals.h"

#define CAP        1000
#define ARGV(...)  ((char *const[]){__VA_ARGS__, NULL})
#define SH(script) ARGV((char *)"sh", (char *)"-c", (char *)(script))

static struct child *run(char *const *argv, int deadline_ms, struct loop *loop, struct error *err)
{
    return child_run(&(struct child_options){.argv = argv,
                                             .watch = {.loop = loop},
                                             .deadline_ms = deadline_ms,
                                             .in = CHILD_NULL,
                                             .out = CHILD_KEPT,
                                             .err = CHILD_KEPT,
                                             .cap = CAP},
                     err);
}

static struct child *run_sh(const char *script)
{
    struct error e = {0};
    struct child *r = run(SH(script), 10000, NULL, &e);
    if (r == NULL)
        fail_msg("%s", e.text);
    return r;
}

static void runs_and_reports(void **state)
{
    (void)state;
    struct child *r;
    r = run_sh("echo out; echo err >&2; exit 3");
    assert_string_equal(buf_str(&r->out_text), "out\n");
    assert_string_equal(buf_str(&r->err_text), "err\n");
    assert_false(r->timed_out);
    assert_string_equal(child_status_text(r->status).text, "exit code 3");
    child_free(r);
    r = run_sh("kill -SEGV $$");
    assert_string_equal(child_status_text(r->status).text, "killed by SIGSEGV");
    child_free(r);
    child_free(NULL);
    assert_true(child_wait(NULL, 0));
    assert_false(child_ok(NULL));
    r = run_sh("cat; echo end"); /* stdin is /dev/null */
    assert_string_equal(buf_str(&r->out_text), "end\n");
    child_free(r);
    assert_string_equal(child_status_text(-1).text, "ended for an unknown reason");
}

static void says_why_it_cannot_start(void **state)
{
    (void)state;
    struct error e = {0};
    assert_null(run(ARGV((char *)"no-such-program-here"), 1000, NULL, &e));
    assert_string_equal(e.text, "cannot start no-such-program-here: not found in PATH");
    assert_null(run(ARGV((char *)"/no/such"), 1000, NULL, &e));
    assert_string_equal(e.text, "cannot start /no/such: No such file or directory");
    assert_int_equal(e.code, ENOENT);
    assert_null(run(ARGV((char *)"/etc/passwd"), 1000, NULL, &e));
    assert_int_equal(e.code, EACCES);
    assert_null(run(ARGV((char *)""), 1000, NULL, &e));
    /* No interpreter line: not handed to a shell. */
    assert_int_equal(file_write("/tmp/test_child_script", "echo owned\n", 11, NULL), 0);
    assert_int_equal(chmod("/tmp/test_child_script", 0755), 0);
    assert_null(run(ARGV((char *)"/tmp/test_child_script"), 1000, NULL, &e));
    assert_int_equal(e.code, ENOEXEC);
    unlink("/tmp/test_child_script");
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nothing is left to reap */
    assert_int_equal(errno, ECHILD);
}

static void path_has_only_absolute_folders(void **state)
{
    (void)state;
    char old[4096], here[] = "/tmp/test_child.XXXXXX", cwd[4096];
    snprintf(old, sizeof(old), "%s", getenv("PATH"));
    assert_non_null(mkdtemp(here));
    assert_non_null(getcwd(cwd, sizeof(cwd)));
    assert_int_equal(chdir(here), 0);
    assert_int_equal(file_write("evil-tool", "#!/bin/sh\necho owned\n", 21, NULL), 0);
    assert_int_equal(chmod("evil-tool", 0755), 0);
    struct child *r;
    struct error e = {0};
    setenv("PATH", ":.::/bin:", 1);
    assert_null(run(ARGV((char *)"evil-tool"), 1000, NULL, &e));
    setenv("PATH", here, 1);
    r = run(ARGV((char *)"evil-tool"), 5000, NULL, &e);
    assert_non_null(r);
    assert_string_equal(buf_str(&r->out_text), "owned\n");
    child_free(r);
    assert_int_equal(chmod("evil-tool", 0644), 0);
    assert_null(run(ARGV((char *)"evil-tool"), 1000, NULL, &e));
    assert_int_equal(e.code, EACCES);
    setenv("PATH", old, 1);
    assert_int_equal(chdir(cwd), 0);
    assert_int_equal(file_remove_tree(here), 0);
}

static void output_has_a_cap(void **state)
{
    (void)state;
    struct child *r;
    struct error e = {0};
    r = run(SH("head -c 3000000 /dev/zero; echo x >&2"), 10000, NULL, &e);
    assert_non_null(r);
    assert_int_equal(r->status, 0); /* it was read to the end, so it did not block or die */
    assert_int_equal(r->out_text.len, 1000);
    assert_true(r->out_text.full);
    assert_string_equal(buf_str(&r->err_text), "x\n");
    child_free(r);
}

/* Also where a flood keeps its reader at work. */
static void no_flood_delays_the_deadline(void **state)
{
    struct loop *loop = loop_new();
    char *script = (char *)"trap '' TERM; yes & yes >&2 & yes; sleep 30";

    (void)state;
    for (int with_loop = 0; with_loop < 2; with_loop++) {
        struct error e = {0};
        int64_t start = clock_ms();
        struct child *r = run(SH(script), 300, with_loop ? loop : NULL, &e);

        assert_non_null(r);
        assert_true(r->timed_out);
        assert_true(clock_ms() - start < 2300);
        assert_int_equal(r->out_text.len, CAP);
        child_free(r);
    }
    loop_free(loop);
}

static void deadline_kills_the_group(void **state)
{
    (void)state;
    struct child *r;
    struct error e = {0};
    int64_t start = clock_ms();
    /* The shell's child ignores the polite signal and holds the pipes. */
    r = run(SH("trap '' TERM; (trap '' TERM; sleep 30) & echo $!; wait; sleep 30"), 200, NULL, &e);
    assert_non_null(r);
    assert_true(r->timed_out);
    assert_true(WIFSIGNALED(r->status) && WTERMSIG(r->status) == SIGKILL);
    assert_true(clock_ms() - start < 25000);
    pid_t grandchild = (pid_t)strtol(buf_str(&r->out_text), NULL, 10);
    assert_true(grandchild > 1);
    bool gone = false;
    for (int i = 0; i < 200 && !gone; i++) {
        char path[64], stat_text[256] = "";
        snprintf(path, sizeof(path), "/proc/%d/stat", (int)grandchild);
        FILE *f = fopen(path, "r");
        if (f != NULL) {
            if (fgets(stat_text, sizeof(stat_text), f) == NULL)
                stat_text[0] = '\0';
            fclose(f);
        }
        gone = f == NULL || strstr(stat_text, ") Z ") != NULL;
        usleep(10000);
    }
    assert_true(gone);
    child_free(r);
}

/* Started and, unless how is FREED, run to its deadline. NULL: its trap did not stand by then. */
enum how { ALONE, WITH_LOOP, FREED };

static struct child *run_with_grace(char *script, int grace_ms, enum how how, int deadline_ms,
                                    struct loop *loop)
{
    struct error e = {0};
    int said[2];
    char c;

    assert_int_equal(pipe2(said, O_CLOEXEC), 0);
    struct child_options o = {.argv = SH(script),
                              .watch = {.loop = loop},
                              .deadline_ms = how == FREED ? 0 : deadline_ms,
                              .grace_ms = grace_ms,
                              .in = CHILD_NULL,
                              .out = said[1],
                              .err = CHILD_NULL};
    struct child *r = how == FREED ? child_start(&o, &e) : child_run(&o, &e);
    assert_non_null(r);
    close(said[1]);
    bool ready = read(said[0], &c, 1) == 1;
    close(said[0]);
    if (ready)
        return r;
    child_free(r);
    return NULL;
}

/* SIGTERM comes first, and SIGKILL only for one that does not end of it. */
static void grace_before_the_kill(void **state)
{
    (void)state;
    static const struct {
        const char *script;
        int grace_ms;
        bool ends;
    } rows[] = {
        {"trap 'exit 7' TERM; echo; while :; do sleep 0.02; done", 20000, true},
        {"trap '' TERM; echo; while :; do sleep 0.02; done", 100, false},
    };

    for (size_t i = 0; i < countof(rows); i++)
        for (enum how how = ALONE; how <= FREED; how++) {
            struct loop *loop = how == WITH_LOOP ? loop_new() : NULL;
            struct child *r = NULL;

            for (int ms = 200; !r && ms < 60000; ms *= 3)
                r = run_with_grace((char *)rows[i].script, rows[i].grace_ms, how, ms, loop);
            assert_non_null(r);
            if (how != FREED) {
                assert_true(r->ended && r->timed_out);
                assert_true(rows[i].ends ? WIFEXITED(r->status) && WEXITSTATUS(r->status) == 7
                                         : WIFSIGNALED(r->status) && WTERMSIG(r->status) == SIGKILL);
            }
            pid_t pid = r->pid;
            child_free(r);
            assert_int_equal(kill(pid, 0), -1);
            loop_free(loop);
        }
}

static void a_daemon_holding_the_pipe_does_not_hold_us(void **state)
{
    (void)state;
    struct child *r;
    int64_t start = clock_ms();
    r = run_sh("sleep 30 & echo started");
    assert_string_equal(buf_str(&r->out_text), "started\n");
    assert_int_equal(r->status, 0);
    assert_true(clock_ms() - start < 25000);
    child_free(r);
}

static void interrupt(void *ctx)
{
    loop_interrupt(ctx);
}

static void a_cancel_ends_it(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct error e = {0};
    loop_timer(l, clock_ms() + 100, interrupt, l);
    int64_t start = clock_ms();
    assert_null(run(SH("echo begun; sleep 30"), 20000, l, &e));
    assert_int_equal(e.kind, ERROR_CANCELLED);
    assert_true(clock_ms() - start < 25000);
    loop_free(l);
}

static int leaked_fd = -1;

static void inherits_nothing(void **state)
{
    (void)state;
    /* Descriptors without CLOEXEC, high and low; an ignored and a blocked signal. */
    leaked_fd = open("/dev/null", O_RDONLY);
    int high = fcntl(leaked_fd, F_DUPFD, 300);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    sigset_t set, old;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, &old);
    struct child *r;
    r = run_sh("exec ls /proc/self/fd");
    assert_string_equal(buf_str(&r->out_text), "0\n1\n2\n3\n"); /* 3 is ls's own */
    child_free(r);
    r = run_sh("grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status");
    assert_non_null(strstr(buf_str(&r->out_text), "SigBlk:\t0000000000000000"));
    /* 32 and 33 are glibc's own: posix_spawn, and so make, leaves them ignored, and sigaction() refuses them.
     */
    const char *ignored = strstr(buf_str(&r->out_text), "SigIgn:\t");
    assert_non_null(ignored);
    assert_int_equal(strtoull(ignored + 8, NULL, 16) & ~0x180000000ull, 0);
    child_free(r);
    r = run_sh("ps -o pgid= -p $$ | tr -d ' '; echo $$");
    const char *line = strchr(buf_str(&r->out_text), '\n');
    assert_int_equal(strtol(buf_str(&r->out_text), NULL, 10), strtol(line + 1, NULL, 10));
    child_free(r);
    sigset_t now;
    sigprocmask(SIG_SETMASK, &old, &now);
    assert_true(sigismember(&now, SIGUSR1)); /* ours as before */
    signal(SIGPIPE, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    close(high);
    close(leaked_fd);
}

static void handlers_do_not_run_in_the_child(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    assert_int_equal(loop_signals(l, NULL), 0);
    struct child *r;
    r = run_sh("kill -INT $$; echo not reached");
    assert_true(WIFSIGNALED(r->status) && WTERMSIG(r->status) == SIGINT);
    assert_int_equal(r->out_text.len, 0);
    loop_wait(l, 0);
    assert_int_equal(loop_interrupts(l), 0);
    child_free(r);
    loop_free(l);
}

static void read_end(int fd, char *out, size_t size)
{
    size_t n = 0;
    for (ssize_t k; n < size - 1 && (k = read(fd, out + n, size - 1 - n)) > 0;)
        n += (size_t)k;
    out[n] = '\0';
}

static void passes_what_is_asked(void **state)
{
    (void)state;
    int out[2], extra[2];
    char text[256];
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(pipe2(extra, O_CLOEXEC), 0);
    assert_int_equal(write(extra[1], "secret\n", 7), 7);
    close(extra[1]);
    char script[128];
    snprintf(script, sizeof(script), "cat <&%d; echo $ONLY; env | wc -l", extra[0]);
    char *env[] = {(char *)"ONLY=this", NULL};
    int keep[] = {extra[0], -1};
    struct child_options o = {
        .argv = SH(script), .env = env, .in = CHILD_NULL, .out = out[1], .err = CHILD_NULL, .keep = keep};
    struct error e = {0};
    struct child *r = child_start(&o, &e);
    assert_non_null(r);
    close(out[1]);
    read_end(out[0], text, sizeof(text));
    assert_true(child_wait(r, 5000));
    assert_true(child_ok(r));
    child_free(r);
    assert_non_null(strstr(text, "secret\nthis\n"));
    assert_true(fcntl(extra[0], F_GETFD) & FD_CLOEXEC); /* ours is as it was */
    close(out[0]);
    close(extra[0]);
    int gone[] = {999, -1};
    o = (struct child_options){
        .argv = SH("true"), .in = CHILD_NULL, .out = CHILD_NULL, .err = CHILD_NULL, .keep = gone};
    assert_null(child_start(&o, &e));
    assert_non_null(strstr(e.text, "descriptors"));
}

/* 0, 1 and 2 given crosswise: each must arrive where it was asked to. */
static void crossed_descriptors(void **state)
{
    (void)state;
    pid_t outer = fork();
    if (outer == 0) {
        int a[2], b[2];
        close(0);
        close(1);
        if (pipe(a) < 0 || pipe(b) < 0) /* a is 0 and 1 now */
            _exit(2);
        struct child_options o = {.argv = SH("cat; echo err >&2"), .in = a[0], .out = b[1], .err = a[1]};
        if (write(a[1], "hello", 5) != 5)
            _exit(3);
        o.argv = SH("head -c 5; echo err >&2");
        struct child *r = child_start(&o, NULL);
        if (!r || !child_wait(r, 5000))
            _exit(4);
        char text[32] = {0};
        if (read(b[0], text, 5) != 5 || memcmp(text, "hello", 5) != 0)
            _exit(5);
        _exit(read(a[0], text, 4) == 4 && memcmp(text, "err\n", 4) == 0 ? 0 : 6);
    }
    int status;
    waitpid(outer, &status, 0);
    assert_int_equal(status, 0);
}

static int setup_ok(void *ctx)
{
    return write(*(int *)ctx, "set up\n", 7) == 7 ? 0 : 1;
}

static int setup_fails(void *ctx)
{
    (void)ctx;
    return 1;
}

static void setup_runs_before_exec(void **state)
{
    (void)state;
    int out[2];
    char text[64];
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    struct child_options o = {.argv = SH("echo ran"),
                              .in = CHILD_NULL,
                              .out = out[1],
                              .err = CHILD_NULL,
                              .setup = setup_ok,
                              .ctx = &out[1]};
    struct child *r = child_start(&o, NULL);
    assert_non_null(r);
    assert_true(child_wait(r, 5000));
    child_free(r);
    o.setup = setup_fails;
    r = child_start(&o, NULL);
    assert_non_null(r);
    assert_true(child_wait(r, 5000));
    assert_true(WIFEXITED(r->status) && WEXITSTATUS(r->status) == 126);
    child_free(r);
    close(out[1]);
    read_end(out[0], text, sizeof(text));
    close(out[0]);
    assert_string_equal(text, "set up\nran\n");
}

static void runs_where_it_is_told(void **state)
{
    (void)state;
    int out[2];
    char text[64];
    struct error err = {0};
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    struct child_options o = {
        .argv = SH("pwd"), .in = CHILD_NULL, .out = out[1], .err = CHILD_NULL, .cwd = "/usr"};
    struct child *r = child_start(&o, NULL);
    assert_non_null(r);
    assert_true(child_wait(r, 5000));
    child_free(r);
    close(out[1]);
    read_end(out[0], text, sizeof(text));
    close(out[0]);
    assert_string_equal(text, "/usr\n");
    o = (struct child_options){
        .argv = SH("pwd"), .in = CHILD_NULL, .out = CHILD_NULL, .err = CHILD_NULL, .cwd = "/no/such"};
    assert_null(child_start(&o, &err));
    assert_non_null(strstr(err.text, "its directory /no/such"));
}

static void dies_with_its_parent(void **state)
{
    (void)state;
    int fds[2];
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    pid_t parent = fork();
    if (parent == 0) {
        struct child_options o = {.argv = SH("exec sleep 30"),
                                  .in = CHILD_NULL,
                                  .out = fds[1],
                                  .err = CHILD_NULL,
                                  .die_with_parent = true};
        _exit(child_start(&o, NULL) ? 0 : 1);
    }
    close(fds[1]);
    int status;
    waitpid(parent, &status, 0);
    assert_int_equal(status, 0);
    struct pollfd p = {.fd = fds[0], .events = POLLIN};
    assert_int_equal(poll(&p, 1, 5000), 1); /* its end of the pipe closes when it dies */
    close(fds[0]);
}

static void waiting(void **state)
{
    (void)state;
    struct child_options o = {.argv = SH("sleep 30"), .in = CHILD_NULL, .out = CHILD_NULL, .err = CHILD_NULL};
    struct child *r = child_start(&o, NULL);
    assert_non_null(r);
    assert_int_equal(getpgid(r->pid), r->pid);
    int64_t start = clock_ms();
    assert_false(child_wait(r, 0));
    assert_false(child_wait(r, 50));
    assert_true(clock_ms() - start >= 50);
    child_kill(r, SIGTERM);
    assert_true(child_wait(r, 30000));
    assert_true(WIFSIGNALED(r->status));
    assert_true(child_wait(r, 1000)); /* gone already */
    child_kill(r, SIGKILL);           /* its number may be another's by now */
    child_free(r);
    child_kill(NULL, SIGKILL);
}

/* A process that was forked from us, like a keeper, waits for our child, of which it is not the parent. */
static void waits_for_a_child_of_its_parent(void **state)
{
    (void)state;
    int in[2];
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    struct child_options o = {
        .argv = SH("read x; echo last words >&2; exit 3"), .in = in[0], .out = CHILD_KEPT, .err = CHILD_KEPT};
    struct child *r = child_start(&o, NULL);
    assert_non_null(r);
    pid_t sibling = fork();
    if (sibling == 0) {
        if (child_wait(r, 50))
            _exit(1);
        close(in[1]);
        if (!child_wait(r, 30000) || r->status != -1 || child_ok(r))
            _exit(3);
        _exit(strcmp(buf_str(&r->err_text), "last words\n") ? 4 : 0);
    }
    close(in[0]);
    int status;
    close(in[1]); /* it reads the end once both of us have closed this */
    waitpid(sibling, &status, 0);
    assert_int_equal(status, 0);
    assert_true(child_wait(r, 30000));
    assert_true(WIFEXITED(r->status) && WEXITSTATUS(r->status) == 3);
    child_free(r);
}

/* One that nobody waits for is reaped when the next starts. */
static void an_abandoned_child_leaves_no_zombie(void **state)
{
    (void)state;
    int out[2];
    char text[8];
    siginfo_t info;
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    struct child_options o = {.argv = SH("echo here"), .in = CHILD_NULL, .out = out[1], .err = CHILD_NULL};
    child_abandon(child_start(&o, NULL));
    close(out[1]);
    read_end(out[0], text, sizeof text); /* it was not killed */
    close(out[0]);
    assert_string_equal(text, "here\n");
    assert_int_equal(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT), 0); /* it is a zombie now */
    child_free(run_sh(":"));
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

/* Nobody reads what it prints any more, and it goes on. */
static void one_that_outlives_us(void **state)
{
    (void)state;
    int in[2], out[2];
    char text[8];
    for (int outlives = 0; outlives < 2; outlives++) {
        assert_int_equal(pipe2(in, O_CLOEXEC), 0);
        assert_int_equal(pipe2(out, O_CLOEXEC), 0);
        struct child_options o = {.argv = SH("read x; echo unread >&2; echo here >&9"),
                                  .in = in[0],
                                  .out = CHILD_NULL,
                                  .err = CHILD_KEPT,
                                  .keep = (const int[]){9, -1},
                                  .outlives_us = outlives};
        assert_int_equal(dup2(out[1], 9), 9);
        child_abandon(child_start(&o, NULL));
        close(9);
        close(in[0]);
        close(in[1]);
        close(out[1]);
        read_end(out[0], text, sizeof text);
        close(out[0]);
        assert_string_equal(text, outlives ? "here\n" : "");
    }
}

static void descriptors_do_not_leak(void **state)
{
    (void)state;
    int before = dup(0);
    close(before);
    for (int i = 0; i < 20; i++) {
        struct child *r;
        r = run_sh(":");
        child_free(r);
        assert_null(run(ARGV((char *)"/no/such"), 1000, NULL, NULL));
    }
    int after = dup(0);
    close(after);
    assert_int_equal(before, after);
}

/* Waits for its stdin to end, so a parent that waited for it in turn would stand still. */
static int body(void *ctx)
{
    char c;
    int open_above = 0;

    while (read(0, &c, 1) > 0)
        ;
    for (int fd = 3; fd < 256; fd++)
        open_above += fcntl(fd, F_GETFD) >= 0;
    return open_above ? 99 : *(int *)ctx;
}

static void a_body_runs_in_place_of_a_program(void **state)
{
    (void)state;
    struct error e = {0};
    int in[2], code = 42;

    assert_int_equal(pipe(in), 0);
    struct child_options o = {.argv = ARGV((char *)"a body"),
                              .in = in[0],
                              .out = CHILD_NULL,
                              .err = CHILD_NULL,
                              .body = body,
                              .ctx = &code};
    struct child *r = child_start(&o, &e);
    assert_non_null(r);
    assert_false(child_wait(r, 0));
    close(in[1]);
    assert_true(child_wait(r, 5000));
    assert_true(WIFEXITED(r->status));
    assert_int_equal(WEXITSTATUS(r->status), 42);
    child_free(r);
    close(in[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_and_reports),
        cmocka_unit_test(says_why_it_cannot_start),
        cmocka_unit_test(path_has_only_absolute_folders),
        cmocka_unit_test(output_has_a_cap),
        cmocka_unit_test(deadline_kills_the_group),
        cmocka_unit_test(no_flood_delays_the_deadline),
        cmocka_unit_test(grace_before_the_kill),
        cmocka_unit_test(a_daemon_holding_the_pipe_does_not_hold_us),
        cmocka_unit_test(a_cancel_ends_it),
        cmocka_unit_test(inherits_nothing),
        cmocka_unit_test(handlers_do_not_run_in_the_child),
        cmocka_unit_test(passes_what_is_asked),
        cmocka_unit_test(crossed_descriptors),
        cmocka_unit_test(setup_runs_before_exec),
        cmocka_unit_test(runs_where_it_is_told),
        cmocka_unit_test(a_body_runs_in_place_of_a_program),
        cmocka_unit_test(dies_with_its_parent),
        cmocka_unit_test(waiting),
        cmocka_unit_test(waits_for_a_child_of_its_parent),
        cmocka_unit_test(an_abandoned_child_leaves_no_zombie),
        cmocka_unit_test(one_that_outlives_us),
        cmocka_unit_test(descriptors_do_not_leak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
