/* out.h - writes to stdout and stderr. A write waits for a slow reader, but a signal can end that wait.
 *
 * A blocking write to a pipe nobody reads (less, a stopped job) would make the program deaf to Ctrl-C and to
 * SIGTERM, and keep its sandbox alive. Descriptors are left in the mode they came in: O_NONBLOCK belongs to
 * everyone who shares them, the user's shell among them.
 */
#ifndef PROCESS_OUT_H
#define PROCESS_OUT_H

#include <stddef.h>
#include <sys/types.h>

struct loop;

/* All of it, or -1 with errno: EPIPE when the reader went away, EINTR when it stalled and loop was cancelled.
 * loop NULL: the one that takes the process's signals, if there is one yet; before that a signal ends the
 * process anyway. */
int out_write(int fd, const void *data, size_t len, struct loop *loop);

/* One write(2) that returns within 50 ms: what was written, or -1 with errno, EINTR when nothing was. A
 * signal handler may call it once it has been called outside of one. */
ssize_t out_write_briefly(int fd, const void *data, size_t len);

#endif
