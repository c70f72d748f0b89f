/* child.h - starts child processes by argument vector, never by a shell string. A child has its own process
 * group (so a terminal's Ctrl-C does not reach it), default signal handlers, and only the descriptors given
 * here. At its deadline the whole group is killed, and the child is reaped.
 */
#ifndef PROCESS_CHILD_H
#define PROCESS_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct error;

struct child_options {
    char *const *argv; /* argv[0] is looked up in PATH when it has no slash */
    char *const *env;  /* NULL: our own environment */
    int in, out, err;  /* become descriptors 0, 1, 2; -1: /dev/null. The caller closes them */
    const char *cwd;   /* working directory; NULL: ours */
    /* more descriptors to pass on under their own numbers; ends with -1; NULL: none */
    const int *keep;
    uid_t uid;            /* if not 0 and we are root: setgroups(0), setgid and setuid to it before exec */
    bool die_with_parent; /* PR_SET_PDEATHSIG SIGKILL */
    bool own_session;     /* a session of its own, not only a group */
    bool our_group;       /* stays in our process group: a program that takes over the terminal for a while */
    bool for_parent;      /* it becomes a child of our parent, which is to reap it */
    /* with a body: ignore SIGHUP, SIGINT, SIGQUIT and SIGTERM from the start */
    bool deaf;
    int (*setup)(
        void *ctx); /* runs in the child just before exec; non-zero return ends it with 126. May be NULL */
    void *setup_ctx;
    /* Instead of a program: runs in the child, with 0, 1, 2 and keep alone open; what it returns is the exit
     * code. It may block, and may call only what is safe after fork. argv then is a name for errors. May be
     * NULL. */
    int (*body)(void *ctx);
    void *body_ctx;
};

/* A program's path: name itself when it has a slash, else the first in the absolute folders of PATH, since
 * the working directory may be hostile. NULL with errno when there is none that may be run; the caller
 * frees. */
char *child_find_program(const char *name);

/* Start it. Returns the pid, or -1 with err (also when exec itself failed: the cause comes back over a pipe).
 */
pid_t child_spawn(const struct child_options *o, struct error *err);

/* Close everything above 2 except keep, which ends with -1 and may be in any order; NULL: nothing is kept. */
void child_close_others(const int *keep);

void child_kill(pid_t pid, int sig); /* signal the whole group; pid <= 0 is ignored */
/* Reap the child; false if it is still running after timeout_ms. */
bool child_wait(pid_t pid, int timeout_ms, int *status);
void child_status_text(int status, char *out, size_t size); /* "exit code 3", "killed by SIGSEGV" */

#endif
