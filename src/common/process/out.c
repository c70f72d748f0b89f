/* out.c - writes to a stream whose reader may stall.
 *
 * The descriptor itself may not be made non-blocking, so a single write is kept from blocking instead. A
 * socket is written to with MSG_DONTWAIT, anything else with RWF_NOWAIT. What supports neither (a terminal, a
 * FIFO, a pipe before Linux 6.4) is polled and gets at most PIPE_BUF at once. That may still block: a
 * terminal polls writable when one byte fits, and another program may fill a pipe in between. So a timer's
 * signal interrupts such a write. Opening /proc/self/fd/N again is no alternative: it fails after su, on
 * sockets and where /proc is not mounted.
 *
 * RULE: A signal can end a blocked write to stdout or stderr, and their descriptors keep the mode they came
 *     with.
 */
#include "process/out.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "process/loop.h"
#include "process/signals.h"

#define STALL_MS 200  /* ms that a stalled reader may delay a cancelled program */
#define SLOW_MS  2000 /* the same for a reader that is slow */
#define BRIEF_MS 50   /* ms for the longest single write */
#define PIECE    ((size_t)64 * 1024)

/* After one timeout a reader causes no further delay until it reads again. */
static bool stalled[3];

static bool hurried;               /* see out_hurry() */
static int64_t waited_ms, waiting; /* for the reader of a terminal; clock_ms() since which we wait for it */

static bool given_up(int fd)
{
    return fd >= 0 && fd < 3 && stalled[fd];
}

static void set_stalled(int fd, bool yes)
{
    if (fd >= 0 && fd < 3)
        stalled[fd] = yes;
}

struct out {
    int fd;
    mode_t kind;
    struct loop *loop;
    int64_t moved_at;     /* clock_ms() when the reader last took something, or the write began */
    int64_t cancelled_at; /* clock_ms(); 0: not cancelled */
};

int64_t out_waited_ms(void)
{
    return waited_ms + (waiting ? clock_ms() - waiting : 0);
}

void out_hurry(bool yes)
{
    hurried = yes && !isatty(0) && !isatty(1) && !isatty(2);
}

static void wake(int signal)
{
    (void)signal; /* its arrival alone ends the write: it is caught without SA_RESTART */
}

/* The timer that interrupts a write, or NULL. It is made once, before use, since a signal handler may not
 * make it. */
static const timer_t *brief_timer(void)
{
    static timer_t timer;
    static bool tried, made;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
    struct sigaction catch = {.sa_handler = wake};

    if (!tried) {
        tried = true;
        sigemptyset(&catch.sa_mask);
        made = sigaction(SIGRTMIN, &catch, NULL) == 0 && timer_create(CLOCK_MONOTONIC, &event, &timer) == 0;
    }
    return made ? &timer : NULL;
}

ssize_t out_write_briefly(int fd, const void *data, size_t len)
{
    /* repeat, since the first signal may come before the write has begun */
    const struct timespec step = {.tv_nsec = BRIEF_MS * 1000000L};
    const timer_t *timer = brief_timer();

    if (timer)
        timer_settime(*timer, 0, &(struct itimerspec){step, step}, NULL);
    ssize_t n = write(fd, data, len);
    int saved = errno;
    if (timer)
        timer_settime(*timer, 0, &(struct itimerspec){0}, NULL);
    errno = saved;
    return n;
}

/* Bytes written, or -1 with errno; EAGAIN if it would have to wait. */
static ssize_t write_some(const struct out *o, const char *p, size_t len)
{
    struct iovec v = {.iov_base = (void *)(uintptr_t)p, .iov_len = len < PIECE ? len : PIECE};
    struct pollfd ready = {.fd = o->fd, .events = POLLOUT};

    if (S_ISREG(o->kind))
        return write(o->fd, p, len);
    if (S_ISSOCK(o->kind))
        return send(o->fd, p, v.iov_len, MSG_DONTWAIT | MSG_NOSIGNAL);
    ssize_t n = pwritev2(o->fd, &v, 1, -1, RWF_NOWAIT);
    if (n >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL))
        return n;
    if (poll(&ready, 1, 0) == 0) {
        errno = EAGAIN;
        return -1;
    }
    return out_write_briefly(o->fd, p, len < PIPE_BUF ? len : PIPE_BUF);
}

/* Has the reader had its time? Then errno says why it is not waited for any longer. */
static bool is_over(struct out *o)
{
    int64_t now = clock_ms();

    if (o->loop && loop_check(o->loop)) {
        if (!o->cancelled_at)
            o->cancelled_at = now;
        int64_t since = o->moved_at > o->cancelled_at ? o->moved_at : o->cancelled_at;
        errno = EINTR;
        return given_up(o->fd) || now - since >= STALL_MS || now - o->cancelled_at >= SLOW_MS;
    }
    errno = ETIMEDOUT;
    return hurried && (given_up(o->fd) || now - o->moved_at >= SLOW_MS);
}

/* Wait until fd takes bytes. 0, or -1 with errno if its reader is not waited for any longer. */
static int wait_writable(struct out *o)
{
    if (is_over(o)) {
        set_stalled(o->fd, true);
        return -1;
    }
    loop_poll(o->loop, o->fd, POLLOUT, o->cancelled_at || hurried ? STALL_MS / 4 : 1000);
    return 0;
}

static int write_all(struct out *o, const char *p, size_t len)
{
    while (len > 0) {
        ssize_t n = write_some(o, p, len);

        if (n > 0) {
            p += n;
            len -= (size_t)n;
            set_stalled(o->fd, false);
            o->moved_at = clock_ms();
        } else if (n < 0 && errno != EINTR && errno != EAGAIN) {
            return -1;
        } else if (wait_writable(o) < 0) {
            return -1;
        }
    }
    return 0;
}

int out_write(int fd, const void *data, size_t len, struct loop *loop)
{
    struct out o = {.fd = fd, .loop = loop ? loop : loop_of_signals(), .moved_at = clock_ms()};
    struct stat st;

    o.kind = fstat(fd, &st) == 0 ? st.st_mode : 0;
    if (waiting || !isatty(fd)) /* waiting: the callback of a deadline writes within another write */
        return write_all(&o, data, len);
    waiting = o.moved_at;
    int rc = write_all(&o, data, len), saved = errno;
    waited_ms += clock_ms() - waiting;
    waiting = 0;
    errno = saved;
    return rc;
}
