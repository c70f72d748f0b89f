/* hard_limits.h - how many processes and open files a sandbox can be given here. bwrap's and podman's
 * inherit our own hard limits, which may be below what was asked for; docker's daemon has its own.
 */
#ifndef ENGINE_HARD_LIMITS_H
#define ENGINE_HARD_LIMITS_H

#include <stdbool.h>

struct buf;
struct engine_description;
struct error;
struct sandbox_options;

struct engine_room {
    long processes, files; /* our hard limits; -1: none */
    long used;             /* of the processes, by whom the limit counts besides the sandbox */
    bool fresh;            /* nobody: the sandbox has a uid of its own */
};

/* Look at it: the limits, and what runs under our uid where that counts. */
void engine_room(const struct engine_description *d, struct engine_room *room);

/* given (asked for, at first) becomes what there is room for, and a line about each that is less goes into
 * told. -1 with err: too little to run anything, or less than the user has named, which is never replaced. */
int engine_give(const struct engine_description *d, const struct engine_room *room,
                struct sandbox_options *given, struct buf *told, struct error *err);

/* "100 64": our hard limits as far as they may matter; what was learnt under others is not known under these.
 */
char *engine_room_key(void);

#endif
