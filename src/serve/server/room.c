/* room.c - what gives way to others: connections that send nothing, and sandboxes of which nobody knows. */
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "process/loop.h"
#include "server/private.h"

/* Of one token, in the middle of a request; or of one address, without a token. */
static bool alike(const struct connection *a, const struct connection *b)
{
    return a->token == b->token
           && (a->token >= 0 ? a->q != NULL : !memcmp(a->address, b->address, sizeof a->address));
}

/* A request counts from the end of its body to its answer: before and after, what takes its time is the
 * client. One without a token never counts, for all of those are answered at once. */
static bool has_no_request(const struct connection *c)
{
    const struct http_request *q = c->q;

    return !c->leaves && !(q && q->client && q->dispatched && (q->streams || !q->answered));
}

/* Has it sent bytes that we have not read yet? Then we are slow, not the client. */
static bool has_sent_more(const struct connection *c)
{
    int n = 0;

    return ioctl(c->fd, FIONREAD, &n) == 0 && n > 0;
}

/* May it be closed for another one? It has no request under way, and had the time to send one. */
static bool may_go(const struct connection *c)
{
    return has_no_request(c) && clock_ms() - c->since >= SLOW_MS && !has_sent_more(c);
}

/* Should a go before b? Those that have shown no token go first, then those that have waited longest. Of two
 * that are as old, a is the older one. */
static bool goes_before(const struct connection *a, const struct connection *b)
{
    return (a->token < 0) != (b->token < 0) ? a->token < 0 : a->since <= b->since;
}

/* Closes one that may go: one like this or, if that is NULL, any; but none that has shown a token while there
 * are others, which are only too young. False: there is none. */
static bool close_one(struct server *s, const struct connection *like)
{
    struct connection *first = NULL;
    bool unknown = false;

    for (struct connection *c = s->connections; c; c = c->next) { /* the newest first */
        unknown |= !like && has_no_request(c) && c->token < 0;
        if (may_go(c) && (!like || alike(c, like)) && (!first || goes_before(c, first)))
            first = c;
    }
    if (!first || (first->token >= 0 && unknown))
        return false;
    first->leaves = true;
    if (!first->idle && !(first->q && first->q->answered))
        connection_refuse(first, 408, NULL, "the request did not arrive before others needed the connection");
    shutdown(first->fd, SHUT_RDWR);
    return true;
}

/* The connections that stay. */
static unsigned staying(const struct server *s)
{
    unsigned n = 0;

    for (const struct connection *c = s->connections; c; c = c->next)
        n += !c->leaves;
    return n;
}

static void make_room_soon(void *ctx);

/* Clients that do not finish their headers may not keep others out. */
static void close_for_newcomer(struct server *s)
{
    while (staying(s) > CONNECTIONS_MAX)
        if (!close_one(s, NULL)) {
            loop_timer(s->o.loop, clock_ms() + LOOK_MS, make_room_soon, &s->n_connections);
            return;
        }
}

/* The timer's context has to be one of its own. */
static void make_room_soon(void *ctx)
{
    close_for_newcomer((struct server *)(void *)((char *)ctx - offsetof(struct server, n_connections)));
}

/* The last quarter of all connections is not for a token that has another quarter of them in requests whose
 * body does not come or whose answer is not read, nor for an address that has one without a token. Behind a
 * proxy, or on this machine, all clients have one address: so those that have shown a token do not count, and
 * hundreds that connect before they send are left alone while there is room. */
void give_way(struct server *s, const struct connection *newcomer)
{
    unsigned silent = 0;

    if (staying(s) > CONNECTIONS_MAX / 4 * 3)
        for (const struct connection *c = s->connections; c; c = c->next)
            silent += alike(c, newcomer) && may_go(c);
    if (silent >= CONNECTIONS_MAX / 4)
        close_one(s, newcomer);
    if (s->n_connections > CONNECTIONS_MAX)
        close_for_newcomer(s);
}

void note_address(struct connection *c, const struct sockaddr *a)
{
    static const unsigned char v4[12] = {[10] = 0xff, [11] = 0xff};

    if (a && a->sa_family == AF_INET6) {
        memcpy(c->address, &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr, 16);
    } else if (a && a->sa_family == AF_INET) {
        memcpy(c->address, v4, sizeof v4);
        memcpy(c->address + 12, &((const struct sockaddr_in *)(const void *)a)->sin_addr, 4);
    }
}

/* The client closed the connection without reading all of our last answer. So the sandbox that this told of
 * may be nobody's: it is spare until somebody uses it. */
void look_at_made(const struct connection *c)
{
    enum { STATE_CLOSE = 7 }; /* TCP_CLOSE of netinet/tcp.h: it was reset. One that ends waits in another. */
    struct tcp_info info = {0};
    socklen_t len = sizeof info;

    if (!*c->made || getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &len) != 0
        || info.tcpi_state != STATE_CLOSE)
        return;
    struct lease *h = runners_find(c->s->o.runners, c->made_for, c->made, NULL);
    if (h)
        lease_set_spare(h, true);
}
