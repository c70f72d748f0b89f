/* guest.h - the Python that runs inside, compiled into the program (src/guest). */
#ifndef SANDBOX_GUEST_H
#define SANDBOX_GUEST_H

/* One text for "python3 -c": the supervisor, the other parts as strings that it compiles when needed, the call of main. The caller frees. */
char *guest_text(void);
const char *guest_profile(void);        /* source of profile(path) -> str */

#endif
