/* lease_fork.h - the operation "fork" of a call (lease_call.h): a new sandbox is made, in turn; a live copy
 * of the first one is written, from which the new one goes on. The result is {"copy_of": the first one's id}.
 */
#ifndef FRONT_LEASE_FORK_H
#define FRONT_LEASE_FORK_H

struct error;
struct lease_call;
struct lease_fork;

/* For lease_call.c. The listener of c is told of the end; -1 with err: nothing is under way. */
int lease_fork_begin(struct lease_call *c, struct error *err);
/* A descriptor of the copy for a runner, which closes it; f NULL: -1. */
int lease_fork_file(const struct lease_fork *f);
void lease_fork_free(struct lease_fork *f); /* nothing is under way any more; f may be NULL */

#endif
