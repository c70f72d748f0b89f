/* job.h - a child process watched by the loop: what it writes is kept up to a cap, it has a deadline, its end
 * is told once. For the engines' command-line clients and for bwrap itself.
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

/* it ended, or was killed at its deadline. May free the job */
typedef void job_fn(void *ctx, struct job *job);

struct job_watch { /* all 0: nobody watches it, and job_wait is the only way on */
    struct loop *loop;
    job_fn *done; /* from the loop; may be NULL */
    void *ctx;
};

struct job_options {
    char *const *argv;
    struct job_watch watch;
    int deadline_ms; /* 0: none */
    /* descriptors for 0 and 1; in -1: /dev/null, out -1: kept in out_text. Not closed here */
    int in, out;
    const int *keep;
    /* NULL: the root. Never ours: podman's conmon leaves a file "oom" where it was started */
    const char *cwd;
    bool die_with_parent;
    bool own_session; /* it may outlive us, and our terminal */
    bool own_env;     /* an environment made for it: no key of ours is in it */
    int (*setup)(void *ctx);
    void *setup_ctx;
    int (*body)(void *ctx); /* see child.h */
    void *body_ctx;
};

struct job {
    pid_t pid;
    bool ended, timed_out;
    int status; /* of waitpid, when ended */
    struct buf out_text, err_text;
    /* private */
    struct job_watch watch;
    int pidfd, out, err;
    int64_t deadline;
};

struct job *job_start(const struct job_options *o, struct error *err);
/* A command that reads nothing, with the environment of an engine's client; argv is released. Killed after
 * deadline_ms (0: never). NULL: it could not be started. */
struct job *job_command(struct argv *argv, int deadline_ms, struct job_watch watch);
/* without the loop; done is not called. false: it still runs */
bool job_wait(struct job *j, int timeout_ms);
/* The same for a job of the process that forked us; its end cannot be told from its exit code. It needs these
 * descriptors, at most 3. */
bool job_attend(struct job *j, int timeout_ms);
size_t job_descriptors(const struct job *j, int *out);
void job_free(struct job *j);     /* kills the group when it still runs, and reaps */
void job_abandon(struct job *j);  /* forget it; when it still runs it goes on without us */
bool job_ok(const struct job *j); /* ended with exit code 0 */
/* the line of stderr that says most, or how it ended. The caller frees */
char *job_complaint(const struct job *j);

#endif
