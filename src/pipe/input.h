/* input.h - reads stdin while the loop runs, so that Ctrl-C and SIGTERM work during each wait. Private to
 * src/pipe. */
#ifndef PIPE_INPUT_H
#define PIPE_INPUT_H

#include <stdint.h>
#include <sys/types.h>

struct error;
struct loop;

#define INPUT_TIMEOUT (-2)

/* Wait until fd is readable or at its end. until: a clock_ms() time, -1 for no limit. Returns 1,
 * INPUT_TIMEOUT, or -1 with ERROR_CANCELLED. */
int input_wait(int fd, int64_t until, struct loop *loop, struct error *err);

/* Wait, then read what is there. Bytes read, 0 at the end, INPUT_TIMEOUT, or -1 with err. */
ssize_t input_read(int fd, void *buf, size_t size, int64_t until, struct loop *loop, struct error *err);

/* Read and discard for at most half a second, to find out how many more bytes there are (for an error
 * message). *whole: the end was reached. */
uint64_t input_count_rest(int fd, struct loop *loop, int *whole);

#endif
