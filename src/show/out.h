/* out.h - write to a stream whose reader may stall. Inside src/show and src/pipe.
 *
 * A blocking write to a pipe nobody reads (less, a stopped job) would make the program deaf to Ctrl-C. Descriptors are
 * left in the mode they came in: O_NONBLOCK belongs to everyone who shares them.
 */
#ifndef SHOW_OUT_H
#define SHOW_OUT_H

#include <stddef.h>

struct loop;

/* All of it, or -1 with errno: EPIPE when the reader went away, EINTR when it stalled and loop was cancelled. loop may be NULL. */
int out_write(int fd, const void *data, size_t len, struct loop *loop);

#endif
