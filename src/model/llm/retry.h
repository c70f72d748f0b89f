/* retry.h - decides what to do after a failure, and waits before a retry. The decision is a pure function of
 * what happened so far, so tests need no clock. */
#ifndef LLM_RETRY_H
#define LLM_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/failure.h"

#define RETRY_MAX           3 /* attempts after the first */
#define RETRY_POLL_MS       2000
#define RETRY_POLL_LIMIT_MS 300000
#define RETRY_AFTER_MAX     120.0 /* seconds */

enum retry_what { RETRY_NO, RETRY_WAIT, RETRY_POLL, RETRY_DOWNGRADE, RETRY_WITHOUT_STREAM };

struct retry {         /* the state of one request; zeroed at its start */
    unsigned attempts; /* waits so far */
    unsigned once;     /* retries so far for failures that get only one */
    unsigned params;   /* bits of enum failure_param that were downgraded */
    bool unstreamed;
    bool polling;
    int64_t poll_since;
};

struct retry_choice {
    enum retry_what what;
    int wait_ms;
};

struct retry_now {
    bool shown;     /* text of this reply was already passed on */
    bool streaming; /* a stream was asked for */
    int64_t ms;     /* clock_ms() */
    double jitter;  /* 0 to 1 */
};

struct error;
struct loop;

/* The random part of a wait, 0 to 1, so that clients that failed together do not come back together. */
double retry_jitter(void);
/* Waits, while the loop (NULL: none) is served. -1 with ERROR_CANCELLED, or with ERROR_LIMIT at the
 * deadline, in terms of clock_ms(); 0: there is none. */
int retry_wait(struct loop *loop, int ms, int64_t deadline, struct error *err);

struct retry_choice retry_decide(struct retry *t, const struct failure *f, struct retry_now now);

#endif
