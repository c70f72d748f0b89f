/* spawn.h - makes the process of a child, for child.c. */
#ifndef PROCESS_SPAWN_H
#define PROCESS_SPAWN_H

#include <sys/types.h>

struct child_options;
struct error;

/* o->out and o->err are descriptors or CHILD_NULL. Returns the pid, or -1 with err. */
pid_t child_spawn(const struct child_options *o, struct error *err);

#endif
