/* uid_range.h - a uid for each container that no other has. What the kernel counts per user (descriptors in
 * flight, pipes, pending signals, watches, processes) one sandbox could else use up for all.
 */
#ifndef ENGINE_UID_RANGE_H
#define ENGINE_UID_RANGE_H

/* Within the 65536 ids of a rootless user's or a remapped daemon's namespace; where there is none, outside as
 * well. */
#define UID_RANGE_FIRST 20000u
#define UID_RANGE_COUNT 40000u

/* By lot; no user's of this host, no process's, and not in the record of any sandbox of ours. */
unsigned uid_range_draw(void);

#endif
