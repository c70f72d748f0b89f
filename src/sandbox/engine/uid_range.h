/* uid_range.h - a uid of its own for each container. Otherwise one sandbox could use up for all others what
 * the kernel counts per user: descriptors in flight, pipes, pending signals, watches, processes.
 */
#ifndef ENGINE_UID_RANGE_H
#define ENGINE_UID_RANGE_H

/* Within the 65536 ids that the user namespace of a rootless user or of a remapped daemon has. Without
 * such a namespace, the uid is the same outside. */
#define UID_RANGE_FIRST 20000u
#define UID_RANGE_COUNT 40000u

/* Picks at random a uid that no user of this host, no process and no record of our sandboxes has. */
unsigned uid_range_draw(void);

#endif
