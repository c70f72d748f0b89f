/* starter.h - the process that starts runners. It has the environment and the options with which a front
 * (serve, mcp) was started. The front itself reads what strangers send, so it has neither, and thus no key
 * of a model service. The front passes one end of a socketpair to the starter, which starts a runner with
 * CLONE_PARENT, so that it becomes a child of the front. The starter ends with its front. Without a starter
 * no new runner can be started.
 */
#ifndef FRONT_STARTER_H
#define FRONT_STARTER_H

#include <stdint.h>
#include <sys/types.h>

struct error;

#define STARTER_MS 20000 /* for one start. A starter that takes longer counts as dead. */

/* Makes the connection: pair[0] is for the front, pair[1] for the starter. -1 with ERROR_SYSTEM. */
int starter_pair(int pair[2], struct error *err);

/* The front's side: starts a runner and waits until it has begun. name and idle_ms are as in
 * runner_options. Returns the runner's pid, with our end of its socketpair in *sock. -1 with ERROR_SYSTEM. */
pid_t starter_start(int starter, const char *name, int64_t idle_ms, int *sock, struct error *err);

/* The starter's side: serves until the front closes the connection. words are the options that each runner
 * gets; they end with NULL, and words itself may be NULL. Signals that end programs are ignored. All
 * descriptors but 2 and sock are closed.
 *
 * A runner is this program begun anew, or, with run, a fork of the starter, which then has loaded once what
 * each of them needs. run gets the command line and returns the exit code. */
typedef int starter_fork(char *const *argv);
void starter_serve(int sock, const char *const *words, starter_fork *run);

#endif
