/* child.c - start, watch and end child processes. */
#include "process/child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

/* ---- start ---- */

/* What the child reports over the pipe if it cannot become the program. */
struct start_failure {
    int code;
    char step; /* 'd' descriptors, 'c' directory, 'u' user, 'x' exec */
};

/* Only absolute folders of PATH are searched, since the working directory may be hostile. Unlike execvp, this
 * never hands a file without an interpreter line to a shell. */
char *child_find_program(const char *name)
{
    if (strchr(name, '/') != NULL)
        return access(name, X_OK) == 0 ? xstrdup(name) : NULL;
    const char *path = getenv("PATH");
    if (path == NULL)
        path = "/usr/local/bin:/usr/bin:/bin";
    int code = ENOENT;
    while (*name != '\0' && *path != '\0') {
        size_t n = strcspn(path, ":");
        if (path[0] == '/' && n < PATH_MAX) {
            autofree char *full = xasprintf("%.*s/%s", (int)n, path, name);
            struct stat st;
            if (stat(full, &st) == 0 && S_ISREG(st.st_mode)) {
                if (access(full, X_OK) == 0)
                    return steal(&full);
                code = EACCES;
            }
        }
        path += n + (path[n] == ':');
    }
    errno = code;
    return NULL;
}

_Noreturn static void child_fail(int report, char step)
{
    struct start_failure f = {.code = errno, .step = step};
    ssize_t n = write(report, &f, sizeof(f));
    (void)n;
    _exit(127);
}

/* Put fds[0..2] on 0, 1 and 2. All are first moved above 2, so that no dup2 overwrites one that is still
 * needed. */
static int place_standard(const int fds[3], int *report)
{
    int lifted[3];
    if (*report <= 2 && (*report = fcntl(*report, F_DUPFD_CLOEXEC, 3)) < 0)
        return -1;
    for (int i = 0; i < 3; i++) {
        int fd = fds[i] >= 0 ? fds[i] : open("/dev/null", i == 0 ? O_RDONLY : O_WRONLY);
        if (fd < 0 || (lifted[i] = fcntl(fd, F_DUPFD_CLOEXEC, 3)) < 0)
            return -1;
    }
    for (int i = 0; i < 3; i++) {
        if (dup2(lifted[i], i) < 0)
            return -1;
    }
    return 0;
}

/* Set close-on-exec on everything above 2, except what is to be kept. */
static int mark_others(const int *keep)
{
    if (syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC) < 0) {
        /* Linux before 5.11 does not have this flag. */
        long max = sysconf(_SC_OPEN_MAX);
        if (max < 0 || max > 65536)
            max = 65536;
        for (int fd = 3; fd < max; fd++)
            fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
    for (; keep != NULL && *keep >= 0; keep++) {
        if (*keep > 2 && fcntl(*keep, F_SETFD, 0) < 0)
            return -1;
    }
    return 0;
}

static void close_from_to(unsigned from, unsigned to)
{
    if (from > to || syscall(SYS_close_range, from, to, 0U) == 0)
        return;
    long max = sysconf(_SC_OPEN_MAX);
    if (max < 0 || max > 65536)
        max = 65536;
    for (unsigned fd = from; fd <= to && fd < (unsigned)max; fd++)
        close((int)fd);
}

void child_close_others(const int *keep)
{
    for (unsigned from = 3;;) {
        unsigned next = ~0U;
        for (const int *k = keep; k != NULL && *k >= 0; k++) {
            if ((unsigned)*k >= from && (unsigned)*k < next)
                next = (unsigned)*k;
        }
        close_from_to(from, next == ~0U ? next : next - 1);
        if (next == ~0U)
            return;
        from = next + 1;
    }
}

/* Give the child the signal settings of a fresh program: exec would pass on ignored signals, and until exec
 * our handler would write into the parent's signal pipe. All signals have been blocked since before fork. */
static void reset_signals(bool deaf)
{
    static const int enders[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE};
    struct sigaction sa = {.sa_handler = SIG_DFL};
    for (int sig = 1; sig < NSIG; sig++)
        sigaction(sig, &sa, NULL);
    sa.sa_handler = SIG_IGN; /* also discards one that came since fork */
    for (size_t i = 0; deaf && i < countof(enders); i++)
        sigaction(enders[i], &sa, NULL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static int become_user(uid_t uid)
{
    if (uid == 0 || geteuid() != 0)
        return 0;
    return setgroups(0, NULL) < 0 || setgid((gid_t)uid) < 0 || setuid(uid) < 0 ? -1 : 0;
}

/* Runs between fork and exec: only async-signal-safe calls. */
_Noreturn static void child_main(const struct child_options *o, const char *program, pid_t parent, int report)
{
    if (o->own_session)
        setsid(); /* also makes it leader of a group */
    else if (!o->our_group)
        setpgid(0, 0);
    reset_signals(o->deaf);
    const int fds[3] = {o->in, o->out, o->err};
    if (place_standard(fds, &report) < 0)
        child_fail(report, 'd');
    if (o->cwd != NULL && chdir(o->cwd) < 0)
        child_fail(report, 'c');
    if (become_user(o->uid) < 0)
        child_fail(report, 'u');
    if (o->die_with_parent) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* must follow setuid, which clears it */
        if (getppid() != parent)
            _exit(127); /* the parent died before the line above */
    }
    if (o->setup != NULL && o->setup(o->setup_ctx) != 0)
        _exit(126);
    if (o->body != NULL) {
        child_close_others(o->keep); /* closes the report pipe too, which lets the parent go on */
        _exit(o->body(o->body_ctx));
    }
    if (mark_others(o->keep) < 0)
        child_fail(report, 'd');
    execve(program, o->argv, o->env != NULL ? o->env : environ);
    child_fail(report, 'x');
}

static int report_failure(const struct child_options *o, const struct start_failure *f, struct error *err)
{
    errno = f->code;
    if (f->step == 'u')
        return error_errno(err, "cannot start %s: switching to user %u", o->argv[0], (unsigned)o->uid);
    if (f->step == 'c')
        return error_errno(err, "cannot start %s: its directory %s", o->argv[0], o->cwd);
    if (f->step == 'd')
        return error_errno(err, "cannot start %s: passing its descriptors", o->argv[0]);
    return error_errno(err, "cannot start %s", o->argv[0]);
}

pid_t child_spawn(const struct child_options *o, struct error *err)
{
    bool path = o->body == NULL && strchr(o->argv[0], '/') != NULL;
    autofree char *program = o->body != NULL ? NULL
                             : path          ? xstrdup(o->argv[0])
                                             : child_find_program(o->argv[0]);
    if (program == NULL && o->body == NULL) {
        if (errno == ENOENT && strchr(o->argv[0], '/') == NULL)
            return error_set(err, ERROR_SYSTEM, ENOENT, "cannot start %s: not found in PATH", o->argv[0]);
        return error_errno(err, "cannot start %s", o->argv[0]);
    }
    int pipes[2];
    if (pipe2(pipes, O_CLOEXEC) < 0)
        return error_errno(err, "cannot start %s", o->argv[0]);
    autoclose int report = pipes[0];
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pid_t parent = getpid();
    /* as fork, which cannot say whose child it is to be */
    pid_t pid = o->for_parent ? (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0) : fork();
    if (pid == 0)
        child_main(o, program, parent, pipes[1]);
    int code = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(pipes[1]);
    if (pid < 0) {
        errno = code;
        return error_errno(err, "cannot start %s", o->argv[0]);
    }
    /* Not before setsid, which fails in a process that leads a group. */
    if (!o->own_session && !o->our_group)
        setpgid(pid, pid); /* in the parent too: the group must exist before anybody kills it */
    struct start_failure f;
    ssize_t n;
    do
        n = read(report, &f, sizeof(f));
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof(f))
        return pid; /* end of file: exec closed the pipe (or the setup ended the child) */
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return report_failure(o, &f, err);
}

/* ---- end ---- */

void child_kill(pid_t pid, int sig)
{
    /* kill(-1) would signal everybody, and 1 is never our child. */
    if (pid > 1)
        kill(-pid, sig);
}

static int pidfd_of(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0U); /* close-on-exec by default; -1 before Linux 5.3 */
}

/* -1: still running; 0: gone (or never our child). */
static int try_reap(pid_t pid, int *status)
{
    for (;;) {
        int st;
        pid_t got = waitpid(pid, &st, WNOHANG);
        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0)
            return -1;
        if (status != NULL)
            *status = got > 0 ? st : -1;
        return 0;
    }
}

bool child_wait(pid_t pid, int timeout_ms, int *status)
{
    if (pid <= 0) {
        if (status != NULL)
            *status = -1;
        return true;
    }
    if (try_reap(pid, status) == 0)
        return true;
    autoclose int fd = pidfd_of(pid);
    int64_t end = clock_ms() + timeout_ms;
    for (;;) {
        int64_t left = timeout_ms < 0 ? 1000 : end - clock_ms();
        if (left <= 0)
            return false;
        struct pollfd p = {.fd = fd, .events = POLLIN};
        poll(&p, fd >= 0 ? 1 : 0, fd < 0 && left > 5 ? 5 : (int)left);
        if (try_reap(pid, status) == 0)
            return true;
    }
}

void child_status_text(int status, char *out, size_t size)
{
    if (WIFEXITED(status)) {
        snprintf(out, size, "exit code %d", WEXITSTATUS(status));
    } else if (WIFSIGNALED(status)) {
        const char *name = sigabbrev_np(WTERMSIG(status));
        if (name != NULL)
            snprintf(out, size, "killed by SIG%s", name);
        else
            snprintf(out, size, "killed by signal %d", WTERMSIG(status));
    } else {
        snprintf(out, size, "ended for an unknown reason");
    }
}
