/* foreground.h - is this program in front at its terminal? One in the background that sets the terminal's
 * modes is stopped; if it was about to end, nobody continues it, and it stays for good.
 */
#ifndef PROCESS_FOREGROUND_H
#define PROCESS_FOREGROUND_H

#include <stdbool.h>

/* fd is our controlling terminal. Safe in a signal handler. */
bool in_background(int fd);

#endif
