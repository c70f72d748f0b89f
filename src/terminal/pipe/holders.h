/* holders.h - which processes could still write to the pipe or socket that is our stdin, as far as /proc
 * tells. Private to pipe. */
#ifndef PIPE_HOLDERS_H
#define PIPE_HOLDERS_H

#include <stdbool.h>

enum holder {
    /* a process that is not an ancestor of ours has the write end open: it probably wants to write */
    HOLDER_OTHER,
    HOLDER_ANCESTORS, /* only processes that started us: they probably forgot to close it */
    HOLDER_UNKNOWN,   /* no process that we can see: another container, another machine */
};

enum holder holders_find(int fd);
/* Does our parent have the same pipe or socket as its stdin? So it is in a shell's "while read" loop, and in
 * a script that is read from stdin. One that only runs us, as "timeout 60 sandpiper ..." does, reads
 * nothing. */
bool holders_parent_reads(int fd);

#endif
