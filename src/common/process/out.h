/* out.h - writes to stdout and stderr. A write waits for a slow reader, but a signal can end that wait.
 *
 * A blocking write to a pipe nobody reads (less, a stopped job) would make the program deaf to Ctrl-C and to
 * SIGTERM, and keep its sandbox alive. Descriptors are left in the mode they came in: O_NONBLOCK belongs to
 * everyone who shares them, the user's shell among them.
 */
#ifndef PROCESS_OUT_H
#define PROCESS_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct loop;

/* All of it, or -1 with errno: EPIPE when the reader went away, EINTR when it stalled and loop was
 * cancelled, ETIMEDOUT when it stalled and out_hurry() was called. Deadlines of loop are kept meanwhile.
 * loop NULL: the one that takes the process's signals, if there is one yet; before that a signal ends the
 * process anyway. */
int out_write(int fd, const void *data, size_t len, struct loop *loop);

/* How many ms writes of this process have waited for terminals. */
int64_t out_waited_ms(void);
/* A time limit was reached: where nobody is at a terminal, a reader that takes nothing for 2 s is not
 * waited for any longer. Not yes: it is, as at the start. */
void out_hurry(bool yes);

/* One write(2) that returns within 50 ms: what was written, or -1 with errno, EINTR when nothing was. A
 * signal handler may call it once it has been called outside of one. */
ssize_t out_write_briefly(int fd, const void *data, size_t len);

#endif
