/* reaper.h - runners' processes that nobody needs any more: each is reaped when it has ended, and killed if
 * it has not ended by itself after REAPER_MS. Nothing waits for them but reaper_settle(). */
#ifndef FRONT_REAPER_H
#define FRONT_REAPER_H

#include <sys/types.h>

struct loop;

#define REAPER_MS 20000

void reaper_take(struct loop *loop, pid_t pid); /* a child of ours */
/* Waits until all have ended, for at most ms, or until another signal comes that ends programs. Returns how
 * many are left. */
unsigned reaper_settle(struct loop *loop, int ms);
void reaper_let_go(void); /* forgets those that are left, so that the loop may be freed */

#endif
