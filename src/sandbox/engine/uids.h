/* uids.h - which uids are users of this host, and a uid of its own for each container. Otherwise one sandbox
 * could use up for all others what the kernel counts per user: descriptors in flight, pipes, pending
 * signals, watches, processes.
 */
#ifndef ENGINE_UIDS_H
#define ENGINE_UIDS_H

#include <stdbool.h>

/* As getpwuid(3) says, but where only local files and systemd tell users (nsswitch.conf), /etc/passwd alone
 * is read: loading systemd's module and asking it takes 0.4 ms of a start. Not for a uid
 * of systemd's own, 60001 to 65534 and 524288 to 1879048191 (systemd.io/UIDS-GIDS). */
bool host_has_user(unsigned uid);

/* Within the 65536 ids that the user namespace of a rootless user or of a remapped daemon has. Without
 * such a namespace, the uid is the same outside. */
#define UID_RANGE_FIRST 20000u
#define UID_RANGE_COUNT 40000u

/* Picks at random a uid that no user of this host, no process and no record of our sandboxes has. */
unsigned uid_range_draw(void);

#endif
