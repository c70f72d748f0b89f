/* sandbox_network.c - starts the proxy's process and reads what it tells. It is our own binary, executed anew
 * with an environment made for it, since a fork alone would have the model's keys in its memory.
 */
#include "sandbox/sandbox_network.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/argv.h"
#include "base/file.h"
#include "base/mem.h"
#include "conversation/network.h"
#include "json/json.h"
#include "process/child.h"
#include "process/loop.h"
#include "records/run_dir.h"

#define TOLD_MAX 8192 /* bytes of one packet */
#define A_TURN   64   /* packets */
#define END_MS   500

struct network {
    struct loop *loop;
    struct child *process;
    int sock;
    network_fn *fn;
    void *ctx;
};

/* What finds a server's certificate; nothing else of ours. */
static void make_environment(struct argv *env)
{
    static const char *const names[] = {"CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR", "RES_OPTIONS"};

    for (size_t i = 0; i < countof(names); i++)
        if (getenv(names[i]))
            argv_pushf(env, "%s=%s", names[i], getenv(names[i]));
}

static void proxy_gone(struct network *n)
{
    loop_unwatch(n->loop, n->sock);
    fd_close(&n->sock);
    n->fn(n->ctx, &(struct network_request){.state = NETWORK_LOST});
}

static void take_packet(const struct network *n, const char *text, size_t len)
{
    autojson struct json *o = json_parse(text, len, JSON_FEW, NULL, NULL);
    struct network_request r;

    if (o && network_request_read(o, &r) == 0)
        n->fn(n->ctx, &r);
}

static void serve_network(void *ctx)
{
    struct network *n = ctx;
    char packet[TOLD_MAX];

    for (int i = 0; i < A_TURN; i++) {
        ssize_t got = recv(n->sock, packet, sizeof packet, MSG_DONTWAIT);

        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (got <= 0) {
            proxy_gone(n);
            return;
        }
        take_packet(n, packet, (size_t)got);
    }
}

static struct child *start_proxy(int theirs)
{
    struct argv env autorelease(argv_release) = ARGV_INIT;
    char *const argv[] = {(char *)"/proc/self/exe", (char *)"debug", (char *)"proxy", NULL};
    static char *const none[] = {NULL};

    make_environment(&env);
    struct child_options o = {.argv = argv,
                              .env = env.n ? env.v : none,
                              .in = theirs,
                              .out = CHILD_NULL,
                              .err = CHILD_NULL,
                              .cwd = "/",
                              .own_session = true,
                              .die_with_parent = true};

    return child_start(&o, NULL);
}

struct network *network_new(const char *setup, struct loop *loop, network_fn *fn, void *ctx)
{
    size_t len = strlen(setup);
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return NULL;
    autoclose int ours = ends[0], theirs = ends[1];
    setsockopt(ours, SOL_SOCKET, SO_SNDBUF, &(int){512 << 10}, sizeof(int));
    struct child *process = start_proxy(theirs);
    if (!process || send(ours, setup, len, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)len) {
        child_free(process);
        return NULL;
    }
    struct network *n = xmalloc(sizeof *n);
    *n = (struct network){.loop = loop, .process = process, .sock = fd_steal(&ours), .fn = fn, .ctx = ctx};
    loop_watch(loop, n->sock, POLLIN, serve_network, n);
    return n;
}

void network_free(struct network *n)
{
    if (!n)
        return;
    if (n->sock >= 0)
        loop_unwatch(n->loop, n->sock);
    fd_close(&n->sock);
    child_wait(n->process, END_MS); /* it ends its own processes first */
    child_free(n->process);
    free(n);
}

static int option_of(int fd, int name)
{
    int value = -1;
    socklen_t size = sizeof value;

    return getsockopt(fd, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
}

int network_listen(struct network *n, int fd)
{
    autoclose int own = fd;

    if (option_of(own, SO_ACCEPTCONN) != 1 || option_of(own, SO_DOMAIN) != AF_INET
        || option_of(own, SO_TYPE) != SOCK_STREAM)
        return -1;
    return n->sock >= 0 ? run_dir_hand_over(n->sock, own) : 0;
}
