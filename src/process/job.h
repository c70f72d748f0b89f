/* job.h - a child process (child.h) whose output is kept up to a cap, and which may have a deadline. The loop
 * watches it and reports its end once, or the caller waits for it.
 */
#ifndef PROCESS_JOB_H
#define PROCESS_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

struct error;
struct loop;
struct job;

/* The job ended, or was killed at its deadline. The callee may free it. */
typedef void job_fn(void *ctx, struct job *job);

struct job_watch { /* all 0: the loop does not watch it, and only job_wait() and job_run() follow it */
    struct loop *loop;
    job_fn *done; /* called from the loop; may be NULL */
    void *ctx;
};

struct job_options {
    char *const *argv;
    char *const *env; /* NULL: our own environment */
    struct job_watch watch;
    int deadline_ms; /* 0: no deadline */
    /* Descriptors for stdin and stdout; not closed here. in -1: /dev/null; out -1: kept in out_text. */
    int in, out;
    size_t
        cap; /* bytes of out_text that are kept, 0: all; the rest is read and dropped, so it blocks nobody */
    const int *keep;
    const char *cwd; /* working directory; NULL: ours */
    bool die_with_parent;
    bool own_session; /* it may outlive us and our terminal */
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
/* Start it and wait for its end or its deadline, which it must have. With watch.loop, the loop is served
 * meanwhile, and a cancel ends the job. NULL with err: it could not be started, or ERROR_CANCELLED. */
struct job *job_run(const struct job_options *o, struct error *err);
/* Wait without the loop; done is not called. False: it still runs. */
bool job_wait(struct job *j, int timeout_ms);
/* The same for a job of the process that forked us, whose exit code we cannot learn. It needs the
 * descriptors that job_descriptors() lists, at most 3. */
bool job_attend(struct job *j, int timeout_ms);
size_t job_descriptors(const struct job *j, int *out);
void job_free(struct job *j);     /* kills its process group if it still runs, and reaps it */
void job_abandon(struct job *j);  /* forget it; if it still runs, it goes on without us */
bool job_ok(const struct job *j); /* it ended with exit code 0 */

#endif
