/* runner_spawn.h - starts the process of a runner, which is this program. For runner.c. */
#ifndef RUNNER_RUNNER_SPAWN_H
#define RUNNER_RUNNER_SPAWN_H

#include "runner/runner.h"

/* *sock: our end of its socketpair. -1 with err: ERROR_SYSTEM. */
pid_t runner_spawn(const struct runner_options *o, int *sock, struct error *err);

#endif
