/* slow_read.c - polls a descriptor in the loop until it can be read, then reads. */
#include "process/slow_read.h"

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "process/loop.h"
#include "process/signals.h"

#define COUNT_MS 500

static void on_ready(void *ctx)
{
    *(bool *)ctx = true;
}

int slow_wait(const struct slow_reader *s, struct error *err)
{
    bool ready = false;

    loop_watch(s->loop, s->fd, POLLIN, on_ready, &ready);
    while (!ready && !loop_cancelled(s->loop)) {
        int64_t left = s->until ? s->until - clock_ms() : -1;

        if (s->until && left <= 0)
            break;
        loop_wait(s->loop, left > 1000000 ? 1000000 : (int)left);
    }
    loop_unwatch(s->loop, s->fd);
    if (loop_cancelled(s->loop))
        return error_set(err, ERROR_CANCELLED, 0, "interrupted while reading %s", s->name);
    return ready ? 1 : SLOW_TIMEOUT;
}

ssize_t slow_read(const struct slow_reader *s, void *buf, size_t size, struct error *err)
{
    for (;;) {
        int r = slow_wait(s, err);
        ssize_t n;

        if (r < 0)
            return r;
        n = read(s->fd, buf, size);
        if (n >= 0)
            return n;
        /* EAGAIN: another process that shares the descriptor made it non-blocking and read first. */
        if (errno != EINTR && errno != EAGAIN)
            return error_errno(err, "cannot read %s", s->name);
    }
}

uint64_t slow_count_rest(const struct slow_reader *s, int *whole)
{
    static char waste[65536];
    struct slow_reader rest = *s;
    uint64_t n = 0;
    ssize_t r = SLOW_TIMEOUT;

    rest.until = clock_ms() + COUNT_MS;
    while (clock_ms() < rest.until && (r = slow_read(&rest, waste, sizeof waste, NULL)) > 0)
        n += (uint64_t)r;
    *whole = r == 0;
    return n;
}

int slow_byte(int fd, struct loop *loop)
{
    unsigned char c;

    while (!loop || !loop_check(loop)) {
        struct pollfd p = {.fd = fd, .events = POLLIN};

        if (poll(&p, 1, 100) > 0)
            return read(fd, &c, 1) == 1 ? c : -1;
    }
    return -1;
}
