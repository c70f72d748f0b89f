/* guest.h - the Python that runs inside, compiled into the program (src/guest). */
#ifndef SANDBOX_GUEST_H
#define SANDBOX_GUEST_H

struct buf;

/* for "python3 -c": it dials, and takes the rest from the channel. The caller frees */
char *guest_text(void);
void guest_parts(struct buf *out); /* the rest: body of the first frame */
const char *guest_profile(void);   /* source of profile(path) -> str */
const char *guest_walls(void);     /* the same of what doctor looks for; needs HERE = {...} before it */

#endif
