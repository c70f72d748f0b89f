/* keeper.c - forks the keeper and is its main function: wait for the end of file on a pipe that only the
 * program holds, then remove what was started.
 */
#include "engine/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "engine/attempt.h"
#include "engine/site.h"
#include "process/child.h"

#define DISMISS_MS 100         /* it only has to exit */
#define NAME       "sp-keeper" /* so that "killall sandpiper" spares it */

/* A message to the keeper. It is shorter than PIPE_BUF, so it is written whole or not at all. */
struct message {
    bool go; /* there is nothing left to do: exit */
    bool up, unmade;
    pid_t peer;
    unsigned long long peer_start;
};

/* Read messages until told what to do. False: there is nothing to do. True: the program is gone. */
static bool await_end(struct attempt *a)
{
    struct message m;
    ssize_t n;

    while ((n = read(a->keeper.pipe, &m, sizeof m)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n != (ssize_t)sizeof m)
            break;
        if (m.go)
            return false;
        a->up = m.up;
        a->unmade = m.unmade;
        a->peer = m.peer;
        a->peer_start = m.peer_start;
    }
    return true;
}

/* The program, or its end, comes before what is not there yet: bwrap may hang. */
static void do_first(struct attempt *a, const struct keeper_first *first)
{
    struct pollfd fds[] = {{.fd = a->keeper.pipe, .events = POLLIN}, {.fd = STDIN_FILENO, .events = POLLIN}};

    while (poll(fds, countof(fds), -1) < 0 && errno == EINTR)
        continue;
    if (!fds[0].revents)
        first->act(a);
    autoclose int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
}

struct duty {
    struct attempt *a;
    const struct keeper_first *first; /* or NULL */
};

static int keeper_main(void *ctx)
{
    const struct duty *duty = ctx;

    prctl(PR_SET_NAME, NAME);
    if (duty->first)
        do_first(duty->a, duty->first);
    if (await_end(duty->a))
        attempt_end_as_keeper(duty->a);
    return 0;
}

bool keeper_start_with(struct attempt *a, const struct keeper_first *first)
{
    struct duty duty = {a, first};

    if (a->keeper.process)
        keeper_dismiss(a, DISMISS_MS);
    char *const argv[] = {(char *)"the sandbox's keeper", NULL};
    int ends[2], keep_open[8];
    size_t n = a->client ? child_descriptors(a->client, keep_open) : 0;
    autoclose int lock = a->dir.path ? run_dir_keep(&a->dir, NULL) : -1;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    a->keeper.pipe = ends[0]; /* for the keeper's copy of the attempt */
    keep_open[n++] = ends[0];
    if (lock >= 0)
        keep_open[n++] = lock;
    if (site_descriptor(a->site) >= 0) /* what the sandbox is in stays until the keeper has ended it */
        keep_open[n++] = site_descriptor(a->site);
    keep_open[n] = -1;
    struct child_options o = {.argv = argv,
                              .in = first ? first->in : CHILD_NULL,
                              .out = first ? first->out : CHILD_NULL,
                              .err = CHILD_NULL,
                              .cwd = "/",
                              .keep = keep_open,
                              .own_session = true,
                              .ignores_signals = true,
                              .body = keeper_main,
                              .ctx = &duty};
    a->keeper.process = child_start(&o, NULL);
    fd_close(&ends[0]);
    if (!a->keeper.process)
        fd_close(&ends[1]);
    a->keeper.pipe = ends[1];
    return a->keeper.process;
}

bool keeper_start(struct attempt *a)
{
    return keeper_start_with(a, NULL);
}

static void send_message(const struct attempt *a, bool go)
{
    const struct message m = {
        .go = go, .up = a->up, .unmade = a->unmade, .peer = a->peer, .peer_start = a->peer_start};

    if (a->keeper.process)
        (void)!write(a->keeper.pipe, &m, sizeof m);
}

void keeper_tell(const struct attempt *a)
{
    send_message(a, false);
}

void keeper_dismiss(struct attempt *a, int wait_ms)
{
    send_message(a, true);
    fd_close(&a->keeper.pipe);
    child_wait(a->keeper.process, wait_ms);
    child_abandon(steal(&a->keeper.process));
}

pid_t keeper_take_over(struct attempt *a)
{
    if (child_wait(a->keeper.process, 0)) { /* there is none, or it was killed */
        fd_close(&a->keeper.pipe);
        child_free(steal(&a->keeper.process));
        keeper_start(a);
    }
    pid_t pid = a->keeper.process ? a->keeper.process->pid : 0;
    keeper_tell(a);
    fd_close(&a->keeper.pipe);
    child_abandon(steal(&a->keeper.process));
    return pid;
}
