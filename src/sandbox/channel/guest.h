/* guest.h - the Python source that runs inside (guest), compiled into the program. */
#ifndef CHANNEL_GUEST_H
#define CHANNEL_GUEST_H

struct buf;

/* The source for "python3 -c", which connects and reads the rest from the channel. The caller frees. */
char *guest_text(void);
void guest_parts(struct buf *out); /* the rest: the body of the first frame */
const char *guest_profile(void);   /* source of profile(path) -> str */
/* source of the same form, for what doctor looks for; needs HERE = {...} before it */
const char *guest_walls(void);

#endif
