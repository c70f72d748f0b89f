/* out.c - write to a stream whose reader may stall. */
#include "show/out.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/loop.h"

#define STALL_MS 200            /* how long a stalled reader may hold up a cancelled program */
#define PIECE 4096              /* PIPE_BUF: what a pipe that shows POLLOUT takes without blocking */

/* Until fd takes bytes: 0, or -1 with EINTR when it stays stuck after a cancel. */
static int wait_writable(int fd, struct loop *loop)
{
    int64_t give_up = 0;

    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLOUT};
        int n = poll(&p, 1, 50);

        if (n > 0)
            return 0;           /* POLLERR too: write() then says what it is */
        if (n < 0 && errno != EINTR)
            return -1;
        if (!loop || !loop_check(loop))
            continue;
        if (!give_up)
            give_up = clock_ms() + STALL_MS;
        else if (clock_ms() >= give_up) {
            errno = EINTR;
            return -1;
        }
    }
}

int out_write(int fd, const void *data, size_t len, struct loop *loop)
{
    const char *p = data;
    struct stat st;
    bool file = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);

    while (len > 0) {
        size_t n = file || len < PIECE ? len : PIECE;
        ssize_t w;

        if (!file && wait_writable(fd, loop) < 0)
            return -1;
        w = write(fd, p, n);
        if (w < 0 && errno != EINTR && errno != EAGAIN)
            return -1;
        if (w > 0) {
            p += w;
            len -= (size_t)w;
        }
    }
    return 0;
}
