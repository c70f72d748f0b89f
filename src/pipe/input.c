/* input.c - read stdin without going deaf. */
#include "pipe/input.h"

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/loop.h"

#define COUNT_MS 500

static void on_ready(void *ctx, short revents)
{
    (void)revents;
    *(bool *)ctx = true;
}

int input_wait(int fd, int64_t until, struct loop *loop, struct error *err)
{
    bool ready = false;

    loop_watch(loop, fd, POLLIN, on_ready, &ready);
    while (!ready && !loop_cancelled(loop)) {
        int64_t left = until < 0 ? -1 : until - clock_ms();

        if (until >= 0 && left <= 0)
            break;
        loop_wait(loop, left > 1000000 ? 1000000 : (int)left);
    }
    loop_unwatch(loop, fd);
    if (loop_cancelled(loop))
        return error_set(err, ERROR_CANCELLED, 0, "interrupted while reading stdin");
    return ready ? 1 : INPUT_TIMEOUT;
}

ssize_t input_read(int fd, void *buf, size_t size, int64_t until, struct loop *loop, struct error *err)
{
    for (;;) {
        int r = input_wait(fd, until, loop, err);
        ssize_t n;

        if (r < 0)
            return r;
        n = read(fd, buf, size);
        if (n >= 0)
            return n;
        /* EAGAIN: someone who shares the descriptor made it non-blocking, and another reader was faster */
        if (errno != EINTR && errno != EAGAIN)
            return error_errno(err, "reading stdin");
    }
}

uint64_t input_count_rest(int fd, struct loop *loop, int *whole)
{
    static char waste[65536];
    int64_t until = clock_ms() + COUNT_MS;
    uint64_t n = 0;
    ssize_t r = INPUT_TIMEOUT;

    while (clock_ms() < until && (r = input_read(fd, waste, sizeof waste, until, loop, NULL)) > 0)
        n += (uint64_t)r;
    *whole = r == 0;
    return n;
}
