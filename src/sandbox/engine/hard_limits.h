/* hard_limits.h - how many processes and open files a sandbox can be given on this machine. Sandboxes of
 * bwrap and podman inherit our own hard limits, which may be lower than what was asked for; docker's daemon
 * has its own limits.
 */
#ifndef ENGINE_HARD_LIMITS_H
#define ENGINE_HARD_LIMITS_H

#include <stdbool.h>
#include <sys/resource.h>

struct buf;
struct engine;
struct error;
struct engine_options;

struct hard_limits { /* as they apply to a sandbox of this engine */
    const struct engine *engine;
    long processes, files; /* -1: no limit */
    long used;             /* processes besides the sandbox's own that the limit counts */
    bool fresh;            /* the limit counts no others, since the sandbox has a uid of its own */
};

/* Read the limits, and count the processes under our uid where the limit includes them. */
void hard_limits_read(const struct engine *engine, struct hard_limits *limits);

/* Lower the limits in given (at first what was asked for) to what is available, and add a line to told for
 * each one lowered. -1 with err: too few to run anything, or fewer than the user named, which are never
 * lowered. */
int hard_limits_fit(const struct hard_limits *limits, struct engine_options *given, struct buf *told,
                    struct error *err);

/* Our own hard limit (RLIMIT_...), or most if it is higher or cannot be read. */
rlim_t hard_limit(int what, rlim_t most);

/* "100 64": our hard limits, as far as they may matter. It is part of the cache's key, because what was
 * learnt under other limits does not apply under these. */
char *hard_limits_key(void);

#endif
