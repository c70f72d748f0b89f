/* foreground.h - whether a terminal is this program's, or that of another one in front of it. Who sets the
 * modes of another's is stopped, and for good if it was about to end: nobody continues it any more.
 */
#ifndef PROCESS_FOREGROUND_H
#define PROCESS_FOREGROUND_H

#include <stdbool.h>

/* fd is our controlling terminal. Safe in a signal handler. */
bool in_background(int fd);

#endif
