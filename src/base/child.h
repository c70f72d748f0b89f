/* child.h - child processes: by argument vector, own process group (a terminal's Ctrl-C never reaches them),
 * all other descriptors closed, default signals, a deadline, the group killed, the child reaped.
 */
#ifndef BASE_CHILD_H
#define BASE_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

struct error;
struct loop;

struct child_options {
    char *const *argv; /* argv[0] is looked up in PATH when it has no slash */
    char *const *env;  /* NULL: our own environment */
    int in, out, err;  /* descriptors to become 0, 1, 2; -1: /dev/null. Not closed here */
    const char *cwd;   /* where it runs; NULL: where we do */
    /* further descriptors to pass on under their own numbers, ended by -1; NULL: none */
    const int *keep;
    uid_t uid;            /* when not 0 and we are root: setgroups(0), setgid, setuid to it before exec */
    bool die_with_parent; /* PR_SET_PDEATHSIG SIGKILL */
    bool own_session;     /* a session of its own, not only a group */
    /* with a body: what ends programs from outside (SIGHUP, SIGINT, SIGQUIT, SIGTERM) is ignored from the
     * first moment on */
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

/* The program's file; NULL with errno when it is not there or cannot be executed. The caller frees. Only
 * absolute folders of PATH are searched: the working directory may be hostile. */
char *child_find_program(const char *name);

/* Start it. Returns the pid, or -1 with err (also when exec itself failed: the cause comes back over a pipe).
 */
pid_t child_spawn(const struct child_options *o, struct error *err);

struct child_result {
    int status; /* of waitpid */
    bool timed_out;
    struct buf out, err; /* what it wrote, each up to cap bytes, the rest read and dropped */
};

/* Run to the end with stdin /dev/null, or until deadline_ms from now, then kill the group. loop may be NULL;
 * when given, its descriptors are served and a cancel ends the child with ERROR_CANCELLED. 0: it ran (look at
 * status). */
int child_run(char *const *argv, int deadline_ms, size_t cap, struct loop *loop, struct child_result *r,
              struct error *err);
void child_result_release(struct child_result *r);

void child_kill(pid_t pid, int sig); /* the whole group; pid <= 0 is ignored */
/* reap; false when it still runs after timeout_ms */
bool child_wait(pid_t pid, int timeout_ms, int *status);
void child_status_text(int status, char *out, size_t size); /* "exit code 3", "killed by SIGSEGV" */

#endif
