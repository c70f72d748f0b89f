/* linger.c - closes a connection so that a client that is still sending can read our refusal. If we closed
 * it with unread bytes, the kernel would reset it, and the client would lose the answer. So a second
 * descriptor keeps it open for a short time, until those bytes have been read.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "process/loop.h"
#include "server/private.h"

#define LINGERING_MAX 64 /* each has a descriptor, beside those of the open connections */

struct lingering_connection {
    struct loop *loop;
    struct lingering_connection *next, **at;
    int fd;
};

void linger_end(void *ctx)
{
    struct lingering_connection *l = ctx;

    loop_timer_stop(l->loop, l);
    loop_unwatch(l->loop, l->fd);
    fd_close(&l->fd);
    *l->at = l->next;
    if (l->next)
        l->next->at = l->at;
    free(l);
}

static void linger_read(void *ctx)
{
    struct lingering_connection *l = ctx;
    char waste[16384];
    ssize_t n = recv(l->fd, waste, sizeof waste, MSG_DONTWAIT);

    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        linger_end(l);
}

/* Closes the oldest one if there are as many as there may be. */
static void close_oldest(struct lingering_connection *newest)
{
    struct lingering_connection *oldest = newest;
    size_t n = newest != NULL;

    for (; oldest && oldest->next; n++)
        oldest = oldest->next;
    if (n >= LINGERING_MAX)
        linger_end(oldest);
}

void linger_begin(struct connection *c)
{
    close_oldest(c->s->lingering);
    int fd = dup(c->fd);

    if (fd < 0)
        return;
    struct lingering_connection *l = xmalloc(sizeof *l);
    *l = (struct lingering_connection){c->s->o.loop, c->s->lingering, &c->s->lingering, fd};
    if (l->next)
        l->next->at = &l->next;
    c->s->lingering = l;
    shutdown(fd, SHUT_WR);
    loop_watch(l->loop, fd, POLLIN, linger_read, l);
    loop_timer(l->loop, clock_ms() + LINGER_MS, linger_end, l);
}
