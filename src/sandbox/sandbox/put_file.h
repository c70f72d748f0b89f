/* put_file.h - bytes of a descriptor on their way into the sandbox, for a request that takes a file. */
#ifndef SANDBOX_PUT_FILE_H
#define SANDBOX_PUT_FILE_H

#include "sandbox/private.h"

struct put {
    struct request request; /* its sandbox is set by request_begin() */
    int fd;                 /* the caller's */
    uint64_t sent;
    bool ended, over; /* over: more than /mnt/data holds */
    int read_errno;
};

void put_send(struct put *u, enum to_guest type, const char *data, size_t len);
/* Read the source and send it, no faster than the channel accepts it. Stops early when the supervisor has
 * refused it or accepts nothing any more. The source itself may be slow. */
void put_pump(struct put *u);
/* The source has ended, or nothing more of it is wanted: wait for what the supervisor makes of that. */
int put_finish(struct put *u, struct error *err);

#endif
