/* dial.c - resolves a name and connects to one of its addresses that are allowed: what was checked is what is
 * connected to.
 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "proxy/private.h"

#define ONE_MS 3000 /* for an address that is not the last: some are announced and lead nowhere */

void no_delay(int fd)
{
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
}

static int connect_within(const struct addrinfo *to, int64_t left)
{
    autoclose int fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int error = 0;
    socklen_t size = sizeof error;

    if (fd < 0)
        return -1;
    no_delay(fd);
    if (connect(fd, to->ai_addr, to->ai_addrlen) == 0)
        return fd_steal(&fd);
    struct pollfd p = {fd, POLLOUT, 0};
    if (errno != EINPROGRESS || left <= 0 || poll(&p, 1, (int)left) != 1
        || getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error)
        return -1;
    return fd_steal(&fd);
}

int dial(const char *host, unsigned port, const struct net_rule *rule, const char **words)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *all = NULL;
    int64_t until = clock_ms() + CONNECT_MS;
    char service[16];
    bool any = false;
    int fd = -1;

    snprintf(service, sizeof service, "%u", port);
    if (rule->address)
        hints.ai_flags |= AI_NUMERICHOST;
    if (getaddrinfo(host, service, &hints, &all) != 0) {
        *words = "502 that host is not known";
        return -1;
    }
    for (const struct addrinfo *a = all; a && fd < 0; a = a->ai_next)
        if (rule_permits(rule, a->ai_addr)) {
            any = true;
            int64_t left = until - clock_ms();
            fd = connect_within(a, a->ai_next && left > ONE_MS ? ONE_MS : left);
        }
    freeaddrinfo(all);
    *words = any ? "502 that host does not answer"
                 : "403 that name leads to no public address; write the address out in --allow-net";
    return fd;
}
