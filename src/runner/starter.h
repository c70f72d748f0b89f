/* starter.h - the process that starts runners. It has the environment and the options with which a front
 * (serve, mcp) was started. The front, which reads what strangers send, has neither, so that no key of a
 * model service is in it. It passes one end of a socketpair, and gets a runner that is a child of its own:
 * the starter makes it with CLONE_PARENT. The starter ends with its front; without it nothing new is
 * started.
 */
#ifndef RUNNER_STARTER_H
#define RUNNER_STARTER_H

#include <stdint.h>
#include <sys/types.h>

struct error;

#define STARTER_MS 20000 /* that a start may take; over it, the starter counts as dead */

/* A pair of connected sockets: the front's, and the starter's. -1: ERROR_SYSTEM. */
int starter_pair(int pair[2], struct error *err);

/* The front's side. name: of a named sandbox, or NULL; idle_ms: its idle limit, 0: as the options say.
 * Returns the runner's pid, with our end of its socketpair in *sock; waits until it has begun. -1:
 * ERROR_SYSTEM. */
pid_t starter_start(int starter, const char *name, int64_t idle_ms, int *sock, struct error *err);

/* The starter's side: serve until the front closes the connection. words: the options that each runner gets,
 * ends with NULL; or NULL. Signals that end programs are ignored; of the descriptors 2 and sock stay open. */
void starter_serve(int sock, const char *const *words);

#endif
