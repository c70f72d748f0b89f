/* input.h - read stdin without going deaf: every wait serves the loop, so Ctrl-C and SIGTERM work. Inside
 * src/pipe. */
#ifndef PIPE_INPUT_H
#define PIPE_INPUT_H

#include <stdint.h>
#include <sys/types.h>

struct error;
struct loop;

#define INPUT_TIMEOUT (-2)

/* 1: fd shows bytes or its end; INPUT_TIMEOUT: clock_ms() reached until (-1: never); -1: cancelled, err is
 * ERROR_CANCELLED. */
int input_wait(int fd, int64_t until, struct loop *loop, struct error *err);

/* Wait, then read what is there. Bytes read, 0 at the end, INPUT_TIMEOUT, or -1 with err. */
ssize_t input_read(int fd, void *buf, size_t size, int64_t until, struct loop *loop, struct error *err);

/* Read on without keeping anything, for half a second at most: how much more there is, for a message that
 * names sizes. *whole tells whether the end was reached. */
uint64_t input_count_rest(int fd, struct loop *loop, int *whole);

#endif
