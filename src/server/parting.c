/* parting.c - closing a connection such that a refusal is still read by a client that is sending: the bytes
 * behind it would make the kernel reset the connection when it is closed, and the client lose the answer.
 * So a second descriptor keeps it open until they have been read, for a short time.
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

struct parting {
    struct loop *loop;
    struct parting *next, **at;
    int fd;
};

void parting_end(void *ctx, short revents)
{
    struct parting *l = ctx;

    (void)revents;
    loop_timer_stop(l->loop, l);
    loop_unwatch(l->loop, l->fd);
    fd_close(&l->fd);
    *l->at = l->next;
    if (l->next)
        l->next->at = l->at;
    free(l);
}

static void parting_read(void *ctx, short revents)
{
    struct parting *l = ctx;
    char waste[16384];
    ssize_t n = recv(l->fd, waste, sizeof waste, MSG_DONTWAIT);

    (void)revents;
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        parting_end(l, 0);
}

void parting_begin(struct connection *c)
{
    int fd = dup(c->fd);

    if (fd < 0)
        return;
    struct parting *l = xmalloc(sizeof *l);
    *l = (struct parting){c->s->o.loop, c->s->partings, &c->s->partings, fd};
    if (l->next)
        l->next->at = &l->next;
    c->s->partings = l;
    shutdown(fd, SHUT_WR);
    loop_watch(l->loop, fd, POLLIN, parting_read, l);
    loop_timer(l->loop, clock_ms() + LINGER_MS, parting_end, l);
}
