/* starter.c - both ends of the socketpair: the front's order and the starter's fork. A packet is one struct;
 * both sides are the same program.
 */
#include "front/starter.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/argv.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "process/child.h"
#include "process/spawn.h"
#include "operations/runner_messages.h"

struct start_order {
    char name[128]; /* "": none */
    int64_t idle_ms;
};

struct start_answer {
    pid_t pid; /* -1: err says why */
    struct error err;
};

int starter_pair(int pair[2], struct error *err)
{
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return error_errno(err, "the process that starts sandboxes cannot be started");
    return 0;
}

/* ---- the front's side ---- */

static int send_order(int starter, const struct start_order *o, int fd)
{
    ssize_t n;

    do
        n = fd_send(starter, o, sizeof *o, fd);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof *o ? 0 : -1;
}

/* When the answer is late, the connection is closed. Otherwise it would be taken for the answer to the next
 * order.
 */
static int hear_started(int starter, struct start_answer *s)
{
    struct pollfd p = {starter, POLLIN, 0};
    ssize_t n;

    do
        n = poll(&p, 1, STARTER_MS);
    while (n < 0 && errno == EINTR);
    if (n > 0)
        n = recv(starter, s, sizeof *s, MSG_DONTWAIT);
    if (n == (ssize_t)sizeof *s)
        return 0;
    shutdown(starter, SHUT_RDWR);
    return -1;
}

pid_t starter_start(int starter, const char *name, int64_t idle_ms, int *sock, struct error *err)
{
    struct start_order o = {.idle_ms = idle_ms};
    struct start_answer s;
    int pair[2];

    snprintf(o.name, sizeof o.name, "%s", name ? name : "");
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return error_errno(err, "a runner cannot be started");
    autoclose int ours = pair[0], theirs = pair[1];
    if (send_order(starter, &o, theirs) < 0 || hear_started(starter, &s) < 0)
        return error_set(err, ERROR_SYSTEM, 0,
                         "no sandbox can be started: the process that starts them has ended\n"
                         "Start the program again.");
    if (s.pid < 0) {
        if (err)
            *err = s.err;
        return -1;
    }
    *sock = ours;
    ours = -1;
    return s.pid;
}

/* ---- the starter's side ---- */

/* False: the front has closed the connection. */
static bool hear_order(int sock, struct start_order *o, int *fd)
{
    if (fd_receive(sock, o, sizeof *o, 0, fd) != (ssize_t)sizeof *o || *fd < 0)
        return false;
    return memchr(o->name, '\0', sizeof o->name) != NULL;
}

struct fork_job {
    starter_fork *run;
    char *const *argv;
};

static int run_fork(void *ctx)
{
    const struct fork_job *job = ctx;

    return job->run(job->argv);
}

/* Starts this program as a runner, with the options that the user gave. Nothing else is ever started here. */
static pid_t spawn_runner(const struct start_order *o, int fd, const char *const *words, starter_fork *run,
                          struct error *err)
{
    struct argv v autorelease(argv_release) = ARGV_INIT;

    argv_pushl(&v, "/proc/self/exe", "runner", NULL);
    for (; words && *words; words++)
        argv_push(&v, *words);
    if (*o->name)
        argv_pushf(&v, "--sandbox-name=%s", o->name);
    if (*o->name && o->idle_ms > 0)
        argv_pushf(&v, "--sandbox-idle=%llds", (long long)(o->idle_ms + 999) / 1000);
    struct fork_job job = {run, v.v};
    return child_spawn(&(struct child_options){.argv = v.v,
                                               .in = fd,
                                               .out = -1,
                                               .err = 2,
                                               .own_session = true,
                                               .for_parent = true,
                                               .body = run ? run_fork : NULL,
                                               .ctx = &job},
                       err);
}

/* Closes what the front has open: its socket, and the pipes whose end a client may be waiting for. */
static void leave_front(int sock)
{
    static const int enders[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE};
    const int keep[] = {sock, -1};

    setsid();
    for (size_t i = 0; i < countof(enders); i++)
        signal(enders[i], SIG_IGN);
    autoclose int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(nothing, 0);
    dup2(nothing, 1);
    child_close_others(keep);
    nothing = -1;
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
}

void starter_serve(int sock, const char *const *words, starter_fork *run)
{
    struct start_order o;
    int fd;

    leave_front(sock);
    while (hear_order(sock, &o, &fd)) {
        struct start_answer s = {0};

        s.pid = spawn_runner(&o, fd, words, run, &s.err);
        close(fd);
        if (send(sock, &s, sizeof s, MSG_NOSIGNAL) < 0)
            return;
    }
}
