/* guest.h - the Python source that runs inside (guest), compiled into the program. */
#ifndef CHANNEL_GUEST_H
#define CHANNEL_GUEST_H

struct buf;

/* The source for "python3 -c", which connects and reads the rest from the channel. The caller frees. */
char *guest_text(void);
void guest_parts(struct buf *out); /* the rest: the body of the first frame */
/* The same as a sealed memory file, for an engine that can hand over a descriptor; not the caller's to close.
 * -1: there can be none. */
int guest_parts_file(void);
/* Append a module with profile(path) -> str, as a request to examine a file takes it: what describes a file;
 * what doctor looks for, with the source here, which sets HERE = {...}, in front of it. */
void guest_profile(struct buf *out);
void guest_walls(const char *here, struct buf *out);

#endif
