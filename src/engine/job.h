/* job.h - a child process watched by the loop. Its output is kept up to a cap, it may have a deadline, and
 * its end is reported once. Used for the engines' command-line clients and for bwrap itself.
 */
#ifndef ENGINE_JOB_H
#define ENGINE_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

struct argv;
struct error;
struct loop;
struct job;

/* The job ended, or was killed at its deadline. The callee may free it. */
typedef void job_fn(void *ctx, struct job *job);

struct job_watch { /* all 0: the loop does not watch it, and only job_wait() follows it */
    struct loop *loop;
    job_fn *done; /* called from the loop; may be NULL */
    void *ctx;
};

struct job_options {
    char *const *argv;
    struct job_watch watch;
    int deadline_ms; /* 0: no deadline */
    /* Descriptors for stdin and stdout; not closed here. in -1: /dev/null; out -1: kept in out_text. */
    int in, out;
    const int *keep;
    /* Working directory; NULL: the root. Never our own, because podman's conmon leaves a file "oom" where
     * it was started. */
    const char *cwd;
    bool die_with_parent;
    bool own_session; /* it may outlive us and our terminal */
    bool own_env;     /* it gets an environment made for it, without any of our keys */
    int (*setup)(void *ctx);
    void *setup_ctx;
    int (*body)(void *ctx); /* see child.h */
    void *body_ctx;
};

struct job {
    pid_t pid;
    bool ended, timed_out;
    int status; /* from waitpid(), once ended */
    struct buf out_text, err_text;
    /* private */
    struct job_watch watch;
    int pidfd, out, err;
    int64_t deadline;
};

struct job *job_start(const struct job_options *o, struct error *err);
/* Run a command that reads nothing, in the environment for an engine's client. Releases argv. The command
 * is killed after deadline_ms (0: never). NULL: it could not be started. */
struct job *job_command(struct argv *argv, int deadline_ms, struct job_watch watch);
/* Wait without the loop; done is not called. False: it still runs. */
bool job_wait(struct job *j, int timeout_ms);
/* The same for a job of the process that forked us, whose exit code we cannot learn. It needs the
 * descriptors that job_descriptors() lists, at most 3. */
bool job_attend(struct job *j, int timeout_ms);
size_t job_descriptors(const struct job *j, int *out);
void job_free(struct job *j);     /* kills its process group if it still runs, and reaps it */
void job_abandon(struct job *j);  /* forget it; if it still runs, it goes on without us */
bool job_ok(const struct job *j); /* it ended with exit code 0 */
/* The most telling line of its stderr, or how it ended. The caller frees it. */
char *job_complaint(const struct job *j);

#endif
