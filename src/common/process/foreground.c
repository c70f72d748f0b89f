/* foreground.c - compares the terminal's process group with ours. */
#include "process/foreground.h"

#include <unistd.h>

bool in_background(int fd)
{
    pid_t front = tcgetpgrp(fd);

    return front >= 0 && front != getpgrp();
}
