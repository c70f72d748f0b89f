/* foreground.c - see foreground.h. */
#include "process/foreground.h"

#include <unistd.h>

bool in_background(int fd)
{
    pid_t front = tcgetpgrp(fd);

    return front >= 0 && front != getpgrp();
}
