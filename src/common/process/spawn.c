/* spawn.c - forks, closes and places descriptors, resets signals, and execs; a failure comes back through a
 * pipe.
 */
#include "process/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "process/child.h"

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

/* What the child reports over the pipe if it cannot become the program. */
struct start_failure {
    int code;
    char step; /* 'd' descriptors, 'c' directory, 'x' exec */
};

/* Only absolute folders of PATH are searched, since the working directory may be hostile. Unlike execvp, this
 * never hands a file without an interpreter line to a shell. */
char *child_find_program(const char *name)
{
    if (strchr(name, '/') != NULL)
        return access(name, X_OK) == 0 ? xstrdup(name) : NULL;
    const char *path = getenv("PATH");
    if (!path)
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
    (void)!write(report, &f, sizeof(f));
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

/* Close from..to, now or when the program begins. */
static void close_range_of(unsigned from, unsigned to, bool at_exec)
{
    if (from > to || syscall(SYS_close_range, from, to, at_exec ? CLOSE_RANGE_CLOEXEC : 0U) == 0)
        return;
    /* Linux before 5.11 does not have this flag, before 5.9 not this call. */
    long max = sysconf(_SC_OPEN_MAX);
    if (max < 0 || max > 65536)
        max = 65536;
    for (unsigned fd = from; fd <= to && fd < (unsigned)max; fd++)
        at_exec ? fcntl((int)fd, F_SETFD, FD_CLOEXEC) : close((int)fd);
}

static int close_others(const int *keep, bool at_exec)
{
    for (unsigned from = 3, next; from; from = next + 1) { /* next + 1 is 0 after the last */
        next = ~0U;
        for (const int *k = keep; k != NULL && *k >= 0; k++) {
            if ((unsigned)*k >= from && (unsigned)*k < next)
                next = (unsigned)*k;
        }
        if (next != ~0U && fcntl((int)next, F_SETFD, 0) < 0)
            return -1;
        close_range_of(from, next == ~0U ? next : next - 1, at_exec);
    }
    return 0;
}

void child_close_others(const int *keep)
{
    close_others(keep, false);
}

/* Give the child the signal settings of a fresh program: exec would pass on ignored signals, and until exec
 * our handler would write into the parent's signal pipe. All signals have been blocked since before fork. */
static void reset_signals(bool ignores_signals)
{
    static const int enders[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE};
    struct sigaction sa = {.sa_handler = SIG_DFL};
    for (int sig = 1; sig < NSIG; sig++)
        sigaction(sig, &sa, NULL);
    sa.sa_handler = SIG_IGN; /* also discards one that came since fork */
    for (size_t i = 0; ignores_signals && i < countof(enders); i++)
        sigaction(enders[i], &sa, NULL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Runs between fork and exec: only async-signal-safe calls. Behind vfork it is in the parent's memory, so it
 * changes nothing there, and must not be inlined into the caller's frame. */
_Noreturn __attribute__((noinline)) static void child_main(const struct child_options *o, const char *program,
                                                           pid_t parent, int report)
{
    if (o->own_session)
        setsid(); /* also makes it leader of a group */
    else if (!o->our_group)
        setpgid(0, 0);
    reset_signals(o->ignores_signals);
    const int fds[3] = {o->in, o->out, o->err};
    if (place_standard(fds, &report) < 0)
        child_fail(report, 'd');
    if (o->cwd != NULL && chdir(o->cwd) < 0)
        child_fail(report, 'c');
    if (o->die_with_parent) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(127); /* the parent died before the line above */
    }
    if (o->setup != NULL && o->setup(o->ctx) != 0)
        _exit(126);
    /* For a body this closes the report pipe too, which lets the parent go on. */
    if (close_others(o->keep, !o->body) < 0)
        child_fail(report, 'd');
    if (o->body != NULL)
        _exit(o->body(o->ctx));
    execve(program, o->argv, o->env != NULL ? o->env : environ);
    child_fail(report, 'x');
}

static int report_failure(const struct child_options *o, const struct start_failure *f, struct error *err)
{
    errno = f->code;
    if (f->step == 'c')
        return error_errno(err, "cannot start %s: its directory %s", o->argv[0], o->cwd);
    if (f->step == 'd')
        return error_errno(err, "cannot start %s: passing its descriptors", o->argv[0]);
    return error_errno(err, "cannot start %s", o->argv[0]);
}

pid_t child_spawn(const struct child_options *o, struct error *err)
{
    bool path = !o->body && strchr(o->argv[0], '/') != NULL;
    autofree char *program = o->body != NULL ? NULL
                             : path          ? xstrdup(o->argv[0])
                                             : child_find_program(o->argv[0]);
    if (!program && !o->body) {
        if (errno == ENOENT && !strchr(o->argv[0], '/'))
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
    /* The first is as fork, which cannot say whose child it is to be. A program needs no copy of our memory:
     * with libcurl in it that copy takes as long as all else. */
    pid_t pid = o->for_parent ? (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0)
                : o->body     ? fork()
                              : vfork();
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
