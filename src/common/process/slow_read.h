/* slow_read.h - read from a writer that may take its time. A wait serves the loop, so that Ctrl-C and
 * SIGTERM work and what starts meanwhile goes on.
 */
#ifndef PROCESS_SLOW_READ_H
#define PROCESS_SLOW_READ_H

#include <stdint.h>
#include <sys/types.h>

struct error;
struct loop;

struct slow_reader {
    int fd;
    const char *name; /* for errors: "stdin" */
    struct loop *loop;
    int64_t until; /* clock_ms() to wait for at most; 0: for ever */
};

#define SLOW_TIMEOUT (-2)

/* 1: fd shows bytes or its end; SLOW_TIMEOUT; -1: cancelled, err is ERROR_CANCELLED. */
int slow_wait(const struct slow_reader *s, struct error *err);

/* Wait, then read what is there. Bytes read, 0 at the end, SLOW_TIMEOUT, or -1 with err. */
ssize_t slow_read(const struct slow_reader *s, void *buf, size_t size, struct error *err);

/* Read on without keeping anything, for half a second at most: how much more there is, for a message that
 * names sizes. *whole tells whether the end was reached. */
uint64_t slow_count_rest(const struct slow_reader *s, int *whole);

/* One byte of fd, or -1 at its end or when the user interrupts. Serves nothing: for a callback that must
 * wait. loop may be NULL. */
int slow_byte(int fd, struct loop *loop);

#endif
