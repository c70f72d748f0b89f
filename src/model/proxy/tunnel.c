/* tunnel.c - CONNECT: bytes both ways between the code and a host, once the code's TLS names the same host.
 *
 * RULE: Nothing of a tunnel reaches a host before its TLS has named that host.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "proxy/hello.h"
#include "proxy/private.h"

#define HELLO_MS 10000
#define PIECE    65536

/* NULL, or why this tunnel is not for the host that it was opened for. */
static const char *judge_hello(const struct client *c, enum hello_state state, const char *name)
{
    char host[HOST_SIZE];

    switch (state) {
    case HELLO_MORE:
        return "the tunnel sent no TLS in time";
    case HELLO_BAD:
        return "a tunnel is for TLS alone";
    case HELLO_HIDDEN:
        return "its TLS hides the name of the host (ECH)";
    case HELLO_NAMELESS:
        return c->h.address ? NULL : "its TLS names no host (SNI)";
    case HELLO_NAMED:
        break;
    }
    if (host_normal(name, strlen(name), host) == HOST_NAME && !c->h.address && !strcmp(host, c->h.host))
        return NULL;
    return "its TLS names another host (SNI)";
}

/* Read until the code's first message is whole, and look whom it names. */
static const char *hello_wrong(struct client *c)
{
    int64_t until = clock_ms() + HELLO_MS, left;
    char name[HOST_SIZE];
    enum hello_state state;

    while ((state = hello_read((const unsigned char *)buf_str(&c->in), c->in.len, name)) == HELLO_MORE
           && (left = until - clock_ms()) > 0 && client_read(c, (int)left) > 0)
        ;
    return judge_hello(c, state, name);
}

/* One way of a tunnel: what was read from one side waits for the other. */
struct way {
    int from, to;
    struct buf wait;
    bool ended, shut; /* nothing more comes; that was passed on */
};

static bool way_read(struct client *c, struct way *w, bool out)
{
    char piece[PIECE];
    ssize_t n = recv(w->from, piece, sizeof piece, MSG_DONTWAIT);

    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    w->ended = n == 0;
    if (!(out ? client_may_send(c, (size_t)n) : client_may_receive(c, (size_t)n)))
        return false;
    buf_add(&w->wait, piece, (size_t)n);
    return true;
}

static bool way_write(struct way *w)
{
    if (w->wait.len) {
        ssize_t n = send(w->to, w->wait.data, w->wait.len, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        buf_drop(&w->wait, (size_t)n);
    }
    if (w->ended && !w->wait.len && !w->shut) {
        shutdown(w->to, SHUT_WR);
        w->shut = true;
    }
    return true;
}

static void way_events(const struct way *w, struct pollfd *from, struct pollfd *to)
{
    if (!w->ended && !w->wait.len)
        from->events |= POLLIN;
    if (w->wait.len)
        to->events |= POLLOUT;
}

static void both_ways(struct client *c, int host)
{
    struct way out = {.from = c->fd, .to = host}, in = {.from = host, .to = c->fd};
    bool going = true;

    out.wait = c->in; /* the first message */
    c->in = (struct buf){0};
    going = client_may_send(c, out.wait.len) && way_write(&out);
    while (going && !(out.shut && in.shut)) {
        struct pollfd p[2] = {{c->fd, 0, 0}, {host, 0, 0}};

        way_events(&out, &p[0], &p[1]);
        way_events(&in, &p[1], &p[0]);
        for (int i = 0; i < 2; i++) /* one that has hung up would be reported without end */
            p[i].fd = p[i].events ? p[i].fd : -1;
        if (poll(p, 2, IDLE_MS) <= 0)
            break;
        if ((p[0].revents & (POLLERR | POLLNVAL)) || (p[1].revents & (POLLERR | POLLNVAL)))
            break;
        if (p[0].revents & (POLLIN | POLLHUP) && !out.ended && !out.wait.len)
            going = way_read(c, &out, true);
        if (going && p[1].revents & (POLLIN | POLLHUP) && !in.ended && !in.wait.len)
            going = way_read(c, &in, false);
        going = going && way_write(&out) && way_write(&in);
    }
    buf_release(&out.wait);
    buf_release(&in.wait);
}

void tunnel_run(struct client *c, const struct net_rule *rule)
{
    static const char open[] = "HTTP/1.1 200 Connection established\r\n\r\n";
    const char *words;

    /* looking it up tells it to whoever serves the names of its domain */
    if (!client_may_send(c, strlen(c->h.host))) {
        autofree char *limit = xasprintf("403 %s", c->refusal);
        client_refuse(c, limit);
        return;
    }
    autoclose int host = dial(c->h.host, c->h.port, rule, &words);
    if (host < 0) {
        client_refuse(c, words);
        return;
    }
    if (!client_write(c, open, sizeof open - 1))
        return;
    const char *wrong = hello_wrong(c);
    if (wrong)
        snprintf(c->refusal, sizeof c->refusal, "%s", wrong);
    else
        both_ways(c, host);
    client_over(c, 0);
}
