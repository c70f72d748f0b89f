/* child.h - the one way to run a child process: by argument vector, never by a shell string. A child has its
 * own process group (so a terminal's Ctrl-C does not reach it), default signal handlers, and only the
 * descriptors given here. What it prints may be kept up to a cap. At its deadline, if it has one, its whole
 * group is ended. The loop watches it and reports its end once, or the caller waits for it.
 *
 * No zombies: whoever does not want to wait calls child_abandon(); it is reaped when a later child starts.
 */
#ifndef PROCESS_CHILD_H
#define PROCESS_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/size.h"

struct child;
struct error;
struct loop;

/* The child ended, or was killed at its deadline. The callee may free it. */
typedef void child_fn(void *ctx, struct child *child);

struct child_watch { /* all 0: the loop does not watch it, and only child_wait() and child_run() follow it */
    struct loop *loop;
    child_fn *done; /* called from the loop; may be NULL */
    void *ctx;
};

enum {
    CHILD_NULL = -1, /* /dev/null */
    CHILD_KEPT = -2, /* out and err: a pipe, whose text is kept in struct child */
};

struct child_options {
    char *const *argv; /* argv[0] is looked up in PATH when it has no slash */
    char *const *env;  /* NULL: our own environment */
    const char *cwd;   /* working directory; NULL: ours */
    int in, out, err;  /* become descriptors 0, 1, 2; see above. The caller closes its own */
    /* bytes of out_text that are kept, 0: all; the rest is read and dropped, so it blocks nobody */
    size_t cap;
    const int *keep; /* more descriptors to pass on under their own numbers; ends with -1; NULL: none */
    int deadline_ms; /* 0: no deadline */
    int grace_ms;    /* at its deadline, and by child_free(), SIGTERM comes this long before SIGKILL */
    struct child_watch watch;
    /* It holds the reading ends of its pipes too, so that no SIGPIPE ends it when we are gone. Only for one
     * that prints less than a pipe holds (64 KiB): after our end nobody reads. */
    bool outlives_us;
    bool die_with_parent; /* PR_SET_PDEATHSIG SIGKILL */
    bool own_session;     /* a session of its own, not only a group: it may outlive us and our terminal */
    bool our_group;       /* stays in our process group: a program that takes over the terminal for a while */
    bool for_parent;      /* it becomes a child of our parent, which is to reap it */
    bool ignores_signals; /* with a body: ignores SIGHUP, SIGINT, SIGQUIT and SIGTERM from the start */
    /* Runs in the child just before exec; non-zero ends it with 126. May be NULL. */
    int (*setup)(void *ctx);
    /* Instead of a program: runs in the child, with 0, 1, 2 and keep alone open; what it returns is the exit
     * code. It may block, and may call only what is safe after fork. argv then is a name for errors. May be
     * NULL. */
    int (*body)(void *ctx);
    void *ctx;              /* for both */
    struct child **running; /* child_run() puts it here while it runs, for a timer of the loop's; or NULL */
};

struct child {
    pid_t pid;
    bool ended, timed_out;
    int status; /* from waitpid(), once ended; -1: unknown */
    struct buf out_text, err_text;
    /* private */
    struct child_watch watch;
    bool our_group, warned; /* warned: it got SIGTERM at its deadline */
    int pidfd, out, err, grace_ms;
    int64_t deadline;
    struct child *next; /* of those that were abandoned */
};

/* NULL with err, also when exec itself failed: the cause comes back over a pipe. */
struct child *child_start(const struct child_options *o, struct error *err);
/* Start it and wait for its end or its deadline, which it must have. With watch.loop, the loop is served
 * meanwhile, and a cancel ends the child. NULL with err: it could not be started, or ERROR_CANCELLED. */
struct child *child_run(const struct child_options *o, struct error *err);
/* Wait without the loop; done is not called. False: it still runs; NULL counts as ended. A child of the
 * process that forked us can be waited for too, if we have the descriptors that child_descriptors() lists (at
 * most 3), but its exit code cannot be learnt. */
bool child_wait(struct child *c, int timeout_ms);
size_t child_descriptors(const struct child *c, int *out);
/* Signal its process group, or it alone if it is in ours. Nothing happens for NULL and one that has ended. */
void child_kill(struct child *c, int sig);
void child_free(struct child *c);     /* ends its process group if it still runs, and reaps it */
void child_abandon(struct child *c);  /* forget it; if it still runs, it goes on without us */
bool child_ok(const struct child *c); /* it ended with exit code 0; NULL: false */

struct short_text child_status_text(int status); /* "exit code 3", "killed by SIGSEGV" */

/* Close everything above 2 except keep, which ends with -1 and may be in any order; NULL: nothing is kept. */
void child_close_others(const int *keep);

/* A program's path: name itself when it has a slash, else the first in the absolute folders of PATH, since
 * the working directory may be hostile. NULL with errno when there is none that may be run; the caller
 * frees. */
char *child_find_program(const char *name);

#endif
