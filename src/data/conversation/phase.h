/* phase.h - what a question is waiting for at this moment, for the status line. Plain data. */
#ifndef CHAT_PHASE_H
#define CHAT_PHASE_H

#include <stdint.h>

#define PHASE_TOLD_FROM     (20u << 20) /* bytes: what is smaller is copied before one could read of it */
#define PHASE_TOLD_EVERY_MS 100

enum phase {
    PHASE_ASKING,    /* a request was sent, and nothing has come back */
    PHASE_LOADING,   /* the server is still loading the model */
    PHASE_RETRYING,  /* the next try begins at until */
    PHASE_THINKING,  /* the model is reasoning */
    PHASE_WRITING,   /* it writes text */
    PHASE_CODING,    /* it writes code: lines of it so far */
    PHASE_STARTING,  /* the sandbox is starting */
    PHASE_COPYING,   /* data is copied into it */
    PHASE_RUNNING,   /* code runs */
    PHASE_STOPPING,  /* the code was interrupted and has not ended yet */
    PHASE_RESTORING, /* it was killed; the interpreter is being replaced */
    PHASE_SAVING,    /* it has ended; its files are being copied out */
    PHASE_UPLOADING, /* and put on the storage of artifacts.upload */
    PHASE_NONE,      /* nothing is waited for any more */
};

struct phase_now {
    enum phase phase;
    unsigned lines;       /* CODING */
    int64_t until;        /* clock_ms(); RETRYING */
    uint64_t done, total; /* bytes of a large copy; COPYING, SAVING, UPLOADING; total 0: not told */
};

#endif
