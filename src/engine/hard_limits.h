/* hard_limits.h - how many processes and open files a sandbox can be given here. bwrap's and podman's
 * inherit our own hard limits, which may be below what was asked for; docker's daemon has its own.
 */
#ifndef ENGINE_HARD_LIMITS_H
#define ENGINE_HARD_LIMITS_H

#include <stdbool.h>

struct buf;
struct engine;
struct error;
struct sandbox_options;

struct hard_limits { /* as they bind a sandbox of this engine */
    const struct engine *engine;
    long processes, files; /* -1: none */
    long used;             /* of the processes, by whom the limit counts besides the sandbox */
    bool fresh;            /* nobody: the sandbox has a uid of its own */
};

/* Look at them, and at what runs under our uid where that counts. */
void hard_limits_read(const struct engine *engine, struct hard_limits *limits);

/* given (asked for, at first) becomes what there is room for, and a line about each that is less goes into
 * told. -1 with err: too little to run anything, or less than the user has named, which is never replaced. */
int hard_limits_fit(const struct hard_limits *limits, struct sandbox_options *given, struct buf *told,
                    struct error *err);

/* "100 64": our hard limits as far as they may matter; what was learnt under others is not known under these.
 */
char *hard_limits_key(void);

#endif
