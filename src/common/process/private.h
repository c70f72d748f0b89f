/* private.h - the loop, which loop.c waits with, and what signals.c reads of it. */
#ifndef PROCESS_PRIVATE_H
#define PROCESS_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct timer;
struct watch;

struct signals {
    int fd; /* the read end of the signal pipe, or -1 */
    unsigned interrupts, fatals;
    int fatal; /* the first of these */
    bool resized, continued, hung_up;
    bool hang_ups; /* SIGHUP sets hung_up, and is not fatal */
    bool news;     /* one was read outside a wait, so the next wait must not sleep */
};

struct loop {
    struct watch *watches;
    size_t n_watches;
    struct timer *timers;
    size_t n_timers;
    uint64_t made; /* serial number of the latest watch or timer */
    short revents; /* of the watch whose callback was called last */
    bool blocked;  /* a callback waits in loop_poll() */
    struct signals signals;
    int64_t awake_until_us; /* see loop_expect() */
};

/* Turn the bytes in the signal pipe into state. True: there were some. */
bool signals_read(struct signals *s);
/* Catch none any more, if this loop did. */
void signals_release(struct signals *s);

#endif
