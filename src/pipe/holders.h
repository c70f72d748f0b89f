/* holders.h - who could write to the pipe or socket we read from, as far as /proc tells. Inside src/pipe. */
#ifndef PIPE_HOLDERS_H
#define PIPE_HOLDERS_H

#include <stdbool.h>

enum holder {
    /* a process that is no ancestor of ours holds the write end: someone means to write */
    HOLDER_OTHER,
    HOLDER_ANCESTORS, /* only processes that started us: most likely they forgot to close it */
    HOLDER_UNKNOWN,   /* nobody that can be seen: another container, another machine */
};

enum holder holders_find(int fd);
/* Our parent has the same pipe or socket as its own stdin (a shell's "while read", a script that is itself
 * read from there). */
bool holders_parent_reads(int fd);

#endif
