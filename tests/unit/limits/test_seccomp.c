/* test_engine_seccomp.c - the table answers what we mean; the kernel, given our program, and an engine, given
 * our profile, answer as the table does.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/error.h"
#include "json/json.h"
#include "base/mem.h"
#include "limits/seccomp.h"

struct call {
    const char *name;
    uint64_t args[6];
    int answer;
};

#define HIGH (1ull << 32)

static const struct call calls[] = {
    {"read", {0}, 0},
    {"execve", {0}, 0},
    {"memfd_create", {0}, 0},
    {"kill", {0}, 0},
    {"mount", {0}, EPERM},
    {"unshare", {CLONE_NEWUSER}, EPERM},
    {"ptrace", {0}, EPERM},
    {"io_uring_setup", {1}, EPERM},
    {"clone3", {0}, ENOSYS},
    {"openat2", {0}, ENOSYS},
    {"landlock_create_ruleset", {0}, ENOSYS},
    {"a_call_of_linux_9", {0}, ENOSYS},
    {"io_setup", {0}, ENOSYS},
    {"mq_open", {0}, ENOSYS},
    {"shmget", {0}, ENOSYS},
    {"setxattr", {0}, EOPNOTSUPP},
    {"socket", {AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0}, 0},
    {"socket", {AF_UNIX, SOCK_SEQPACKET, 0}, 0},
    {"socket", {AF_INET, SOCK_STREAM, 0}, 0},
    {"socket", {AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 6}, 0},
    {"socket", {AF_INET6, SOCK_DGRAM, 17}, 0},
    {"socket", {AF_INET | HIGH, SOCK_STREAM, 0}, 0},
    {"socket", {AF_INET, SOCK_RAW, 1}, ENOSYS},
    {"socket", {AF_INET, SOCK_DGRAM, 1}, ENOSYS},
    {"socket", {AF_INET, SOCK_STREAM, 262}, ENOSYS},
    {"socket", {AF_NETLINK, SOCK_RAW, 0}, EAFNOSUPPORT},
    {"socket", {AF_PACKET, SOCK_RAW, 0}, EAFNOSUPPORT},
    {"socket", {AF_ALG, SOCK_SEQPACKET, 0}, EAFNOSUPPORT},
    {"socket", {AF_VSOCK, SOCK_STREAM, 0}, EAFNOSUPPORT},
    {"socket", {AF_VSOCK | HIGH, SOCK_STREAM, 0}, EAFNOSUPPORT},
    {"socket", {AF_AX25, SOCK_STREAM, 0}, ENOSYS},
    {"socketpair", {AF_UNIX, SOCK_STREAM, 0}, 0},
    {"socketpair", {AF_VSOCK, SOCK_STREAM, 0}, EAFNOSUPPORT},
    {"setsockopt", {-1ull, SOL_SOCKET, SO_LINGER}, EPERM},
    {"setsockopt", {-1ull, SOL_SOCKET | HIGH, SO_LINGER | HIGH}, EPERM},
    {"setsockopt", {-1ull, SOL_SOCKET, SO_REUSEADDR}, 0},
    {"setsockopt", {-1ull, SOL_SOCKET, SO_LINGER | 0x40}, 0},
    {"setsockopt", {-1ull, 6, SO_LINGER}, 0},
    {"setsockopt", {-1ull, 0, SO_LINGER}, 0},
    {"setsockopt", {-1ull, SOL_SOCKET, 12}, 0},
    {"clone", {SIGCHLD}, 0},
    {"clone", {CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD}, 0},
    {"clone", {CLONE_NEWUSER | SIGCHLD}, EPERM},
    {"clone", {CLONE_NEWNS}, EPERM},
    {"clone", {CLONE_NEWPID | CLONE_NEWNET}, EPERM},
    {"prlimit64", {0, 7}, 0},
    {"prlimit64", {HIGH, 7}, 0},
    {"prlimit64", {1, 7}, EPERM},
    {"prlimit64", {1u << 21, 7}, EPERM},
    {"sched_setscheduler", {0, 5}, 0},
    {"sched_setscheduler", {1, 5}, EPERM},
    {"sched_setattr", {1}, EPERM},
    {"sched_setparam", {1}, EPERM},
    {"setpriority", {0, 0, 5}, 0},
    {"setpriority", {0, 1, 5}, EPERM},
    {"setpriority", {1, 0, 5}, EPERM},
    {"setpriority", {2, 0, 5}, EPERM},
    {"ioprio_set", {1, 0}, 0},
    {"ioprio_set", {1, 1}, EPERM},
    {"ioprio_set", {2, 0}, EPERM},
    {"ioprio_set", {0, 0}, EPERM},
    {"sched_setaffinity", {0}, 0},
    {"sched_setaffinity", {HIGH}, 0},
    {"sched_setaffinity", {1}, EPERM},
    {"sched_setaffinity", {1u << 31}, EPERM},
    {"sync", {0}, EPERM},
    {"syncfs", {0}, EPERM},
    {"fsync", {0}, 0},
    {"fdatasync", {0}, 0},
    {"inotify_init", {0}, ENOSYS},
    {"inotify_init1", {0}, ENOSYS},
    {"inotify_add_watch", {0}, ENOSYS},
    {"fanotify_init", {0}, EPERM},
    {"fanotify_mark", {0}, EPERM},
    {"fcntl", {0, F_GETFD}, 0},
    {"fcntl", {0, F_GETFL | HIGH}, 0},
    {"fcntl", {0, F_GETLK}, 0},
    {"fcntl", {0, F_OFD_GETLK}, 0},
    {"fcntl", {0, F_GETPIPE_SZ}, 0},
    {"fcntl", {0, F_GET_SEALS}, 0},
    {"fcntl", {0, F_SETLEASE, F_RDLCK}, EPERM},
    {"fcntl", {0, F_SETLEASE | HIGH, F_RDLCK}, EPERM},
    {"fcntl", {0, F_NOTIFY}, EPERM},
    {"fcntl", {0, F_NOTIFY | HIGH}, EPERM},
    {"fcntl", {0, F_SET_RW_HINT}, EPERM},
    {"fcntl", {0, F_SET_FILE_RW_HINT}, EPERM},
    {"fcntl", {0, 1040}, EPERM},
    {"fcntl", {0, 1100}, ENOSYS},
    {"fcntl", {0, F_NOTIFY | 1u << 31}, ENOSYS},
    {"personality", {0}, 0},
    {"personality", {0xffffffff}, 0},
    {"personality", {0x0040000}, ENOSYS},
    {"ioctl", {0, TCGETS}, 0},
    {"ioctl", {0, TIOCGWINSZ}, 0},
    {"ioctl", {0, FIONREAD}, 0},
    {"ioctl", {0, 0x80045430}, 0},
    {"ioctl", {0, TIOCSTI}, EPERM},
    {"ioctl", {0, TIOCSTI | HIGH}, EPERM},
    {"ioctl", {0, 0x541c}, EPERM},
    {"ioctl", {0, 0x541c | HIGH}, EPERM},
    {"ioctl", {0, 0x5413}, 0},
    {"ioctl", {0, 0x541b}, 0},
    {"ioctl", {0, 0x541d}, 0},
    {"ioctl", {0, 0x5402}, 0},
    {"ioctl", {0, 0}, 0},
    {"chmod", {0, 0755}, 0},
    {"chmod", {0, 04755}, EPERM},
    {"fchmod", {0, 02755}, EPERM},
    {"fchmodat", {0, 0, 06755}, EPERM},
    {"fchmodat2", {0, 0, 04755}, EPERM},
    {"fchmodat2", {0, 0, 0755}, 0},
    {"mkdir", {0, 02777}, EPERM},
    {"mkdirat", {0, 0, 01777}, 0},
    {"creat", {0, 04755}, EPERM},
    {"open", {0, O_RDONLY, 04755}, 0},
    {"open", {0, O_CREAT | O_WRONLY, 04755}, EPERM},
    {"openat", {0, 0, O_CREAT, 0644}, 0},
    {"openat", {0, 0, O_CREAT, 02644}, EPERM},
    {"openat", {0, 0, O_TMPFILE | O_RDWR, 04600}, EPERM},
    {"openat", {0, 0, O_TMPFILE | O_RDWR, 0600}, 0},
    {"openat", {0, 0, O_DIRECTORY, 07777}, 0},
};

struct decision {
    const char *name;
    const uint64_t *args;
    int answer;
};

static void decide(void *ctx, const struct seccomp_rule *r)
{
    struct decision *d = ctx;

    if (strcmp(r->name, d->name) != 0)
        return;
    for (unsigned i = 0; i < r->n; i++)
        if ((d->args[r->cmp[i].arg] & r->cmp[i].mask) != r->cmp[i].value)
            return;
    d->answer = r->err;
}

/* What the table decides: 0 allowed, otherwise the errno. The oracle for both back ends. */
static int table_decides(const char *name, const uint64_t args[6])
{
    struct decision d = {.name = name, .args = args, .answer = ENOSYS};

    seccomp_walk(decide, &d);
    return d.answer;
}

static void test_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(calls); i++) {
        int is = table_decides(calls[i].name, calls[i].args);

        if (is != calls[i].answer)
            fail_msg("%s(%llx, %llx, %llx, %llx) gets %d instead of %d", calls[i].name,
                     (unsigned long long)calls[i].args[0], (unsigned long long)calls[i].args[1],
                     (unsigned long long)calls[i].args[2], (unsigned long long)calls[i].args[3], is,
                     calls[i].answer);
    }
}

/* No call is both allowed and refused, and no name is misspelt: what libseccomp never heard of is newer than
 * it or another machine's. */
struct seen {
    const char *name;
    int err;
    unsigned n;
};
struct seen_list {
    struct seen v[2000];
    size_t n;
    unsigned unknown;
};

static void see(void *ctx, const struct seccomp_rule *r)
{
    struct seen_list *l = ctx;

    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->v[i].name, r->name) == 0 && (r->n == 0 || l->v[i].n == 0))
            fail_msg("%s has a rule without comparison and another one", r->name);
    if (seccomp_syscall_resolve_name(r->name) == __NR_SCMP_ERROR)
        l->unknown++;
    assert_true(l->n < countof(l->v));
    l->v[l->n++] = (struct seen){r->name, r->err, r->n};
}

static void test_one_answer(void **state)
{
    (void)state;
    static struct seen_list l;

    seccomp_walk(see, &l);
    assert_true(l.n > 300);
    assert_true(l.unknown < 20);
}

/* Load the program as bwrap does. */
static void load_filter(void)
{
    struct error err;
    struct sock_fprog prog;
    struct stat st;
    int fd = seccomp_program(&err);

    if (fd < 0 || fstat(fd, &st) != 0)
        _exit(100);
    prog.len = (unsigned short)((size_t)st.st_size / sizeof(struct sock_filter));
    prog.filter = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) != 0)
        _exit(101);
}

static long raw_call(long nr, const uint64_t a[6])
{
    return syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Exit codes: 0 as decided; else 1 + index of the first that was not. */
static void child_refusals(void)
{
    static const uint64_t none[6];
    char *names[512] = {0};
    int answers[512];

    for (int nr = 0; nr < 512; nr++) {
        names[nr] = seccomp_syscall_resolve_num_arch(seccomp_arch_native(), nr);
        answers[nr] = names[nr] ? table_decides(names[nr], none) : ENOSYS;
    }
    load_filter();
    for (int nr = 0; nr < 512; nr++) {
        if (answers[nr] == 0)
            continue; /* what is allowed is not called: exit, pause, fork */
#ifdef __x86_64__
        if (nr == 335 || nr == 336)
            /* uretprobe, uprobe: the kernel ends whoever calls them by hand, before any filter */
            continue;
#endif
        errno = 0;
        if (raw_call(nr, none) != -1 || errno != answers[nr]) {
            fprintf(stderr, "%s (%d): errno %d instead of %d\n", names[nr] ? names[nr] : "?", nr, errno,
                    answers[nr]);
            _exit(1);
        }
    }
    _exit(0);
}

static bool harmless(const struct call *c)
{
    return c->answer != 0 || strncmp(c->name, "socket", 6) == 0 || strcmp(c->name, "setsockopt") == 0
           || strcmp(c->name, "ioctl") == 0 || strcmp(c->name, "personality") == 0
           || strcmp(c->name, "fcntl") == 0 || strcmp(c->name, "sched_setaffinity") == 0
           || strstr(c->name, "sync") || strstr(c->name, "chmod") || strstr(c->name, "open")
           || strstr(c->name, "mkdir");
}

static void child_arguments(void)
{
    int nrs[countof(calls)];

    for (size_t i = 0; i < countof(calls); i++)
        nrs[i] = seccomp_syscall_resolve_name(calls[i].name);
    load_filter();
    for (size_t i = 0; i < countof(calls); i++) {
        if (nrs[i] < 0 || !harmless(&calls[i]))
            continue;
        errno = 0;
        long rc = raw_call(nrs[i], calls[i].args);
        /* Let through, it fails in another way (a null pointer, no terminal) or works; refused, it fails as
         * decided. */
        bool ok = calls[i].answer ? rc == -1 && errno == calls[i].answer
                                  : rc >= 0 || (errno != EPERM && errno != EAFNOSUPPORT);
        if (calls[i].answer == 0 && rc == -1 && errno == ENOSYS && strcmp(calls[i].name, "fchmodat2") != 0)
            ok = false;
        if (!ok) {
            fprintf(stderr, "call %zu, %s: rc %ld errno %d, decided %d\n", i, calls[i].name, rc, errno,
                    calls[i].answer);
            _exit(1);
        }
    }
    _exit(0);
}

static void child_x32(void)
{
    load_filter();
    syscall(0x40000000 | 39); /* getpid by the x32 table */
    _exit(0);
}

static void child_i386(void)
{
    load_filter();
#ifdef __x86_64__
    long rc;
    __asm__ volatile("int $0x80" : "=a"(rc) : "0"(20) : "memory");
#endif
    _exit(0);
}

static int run_child(void (*body)(void))
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        /* If the filter were broken, nothing bad must happen on the machine that tests it. */
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
            _exit(102);
        signal(SIGSYS, SIG_DFL);
        body();
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

/* What is built in is what the table says now. */
static void test_ready(void **state)
{
    (void)state;
    struct error err = {0};
    char a[65536], b[65536];
    int made = seccomp_program(&err), built = seccomp_ready(&err);
    ssize_t n = read(made, a, sizeof a), m = read(built, b, sizeof b);

    assert_true(n > 1000 && n < (ssize_t)sizeof a);
    assert_int_equal(n, m);
    assert_memory_equal(a, b, (size_t)n);
    assert_int_equal(fcntl(built, F_GETFD), FD_CLOEXEC);
    close(made);
    close(built);
}

static void test_kernel_refuses(void **state)
{
    (void)state;
    assert_int_equal(run_child(child_refusals), 0);
}

static void test_kernel_arguments(void **state)
{
    (void)state;
    assert_int_equal(run_child(child_arguments), 0);
}

static void test_foreign_calls_kill(void **state)
{
    (void)state;
#ifdef __x86_64__
    int status = run_child(child_x32);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
    status = run_child(child_i386);
    /* SIGSEGV: a kernel without 32-bit calls at all */
    assert_true(WIFSIGNALED(status) && (WTERMSIG(status) == SIGSYS || WTERMSIG(status) == SIGSEGV));
#else
    skip();
#endif
}

/* What runc and crun make of the profile. The kernel says ENOSYS where a tracer is to decide and there is
 * none. */
static int profile_decides(const struct json *profile, const char *name, const uint64_t args[6])
{
    int answer = (int)json_int(json_get(profile, "defaultErrnoRet"), ENOSYS);

    for (const struct json *e = json_first(json_get(profile, "syscalls")); e; e = json_next(e)) {
        bool named = false, holds = true;

        for (const struct json *n = json_first(json_get(e, "names")); n; n = json_next(n))
            named = named || strcmp(json_str(n), name) == 0;
        for (const struct json *a = json_first(json_get(e, "args")); a; a = json_next(a)) {
            assert_string_equal(json_str(json_get(a, "op")), "SCMP_CMP_MASKED_EQ");
            holds = holds
                    && (args[json_int(json_get(a, "index"), 0)]
                        & (uint64_t)json_int(json_get(a, "value"), -1))
                           == (uint64_t)json_int(json_get(a, "valueTwo"), -1);
        }
        if (!named || !holds)
            continue;
        if (strcmp(json_str(json_get(e, "action")), "SCMP_ACT_ALLOW") == 0)
            answer = 0;
        else
            answer = (int)json_int(json_get(e, "errnoRet"), -1);
    }
    return answer;
}

static void test_profile(void **state)
{
    (void)state;
    autojson struct json *profile = seccomp_profile();

    assert_string_equal(json_str(json_get(profile, "defaultAction")), "SCMP_ACT_ERRNO");
    assert_int_equal(json_size(json_get(profile, "architectures")), 1);
    for (size_t i = 0; i < countof(calls); i++)
        assert_int_equal(profile_decides(profile, calls[i].name, calls[i].args), calls[i].answer);
}

/* Apptainer refuses a rule that says what the default says. */
static void test_profile_apptainer(void **state)
{
    (void)state;
    autojson struct json *profile = seccomp_profile_apptainer();

    assert_string_equal(json_str(json_get(profile, "defaultAction")), "SCMP_ACT_TRACE");
    assert_null(json_get(profile, "defaultErrnoRet"));
    for (const struct json *e = json_first(json_get(profile, "syscalls")); e; e = json_next(e))
        assert_int_not_equal(json_int(json_get(e, "errnoRet"), 0), ENOSYS);
    for (size_t i = 0; i < countof(calls); i++)
        assert_int_equal(profile_decides(profile, calls[i].name, calls[i].args), calls[i].answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_one_answer),
        cmocka_unit_test(test_ready),
        cmocka_unit_test(test_kernel_refuses),
        cmocka_unit_test(test_kernel_arguments),
        cmocka_unit_test(test_foreign_calls_kill),
        cmocka_unit_test(test_profile),
        cmocka_unit_test(test_profile_apptainer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
