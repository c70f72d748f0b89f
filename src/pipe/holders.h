/* holders.h - who could write to the pipe or socket we read from, as far as /proc tells. Inside src/pipe. */
#ifndef PIPE_HOLDERS_H
#define PIPE_HOLDERS_H

enum holder {
    HOLDER_OTHER,       /* a process that is no ancestor of ours holds the write end: someone means to write */
    HOLDER_ANCESTORS,   /* only processes that started us: most likely they forgot to close it */
    HOLDER_UNKNOWN,     /* nobody that can be seen: another container, another machine */
};

enum holder holders_find(int fd);

#endif
