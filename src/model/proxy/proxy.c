/* proxy.c - the process: takes its setup and the listeners, and gives each connection a process of its own.
 */
#include "proxy/proxy.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "proxy/private.h"

#define SETUP_MAX    (256 << 10)
#define CONNECTIONS  32 /* at once; more wait in the listener's queue */
#define IDLE_SERVERS 2
#define FULL_MS      50          /* until a place is looked for again */
#define LOOK_MS      1000        /* for those that have ended */
#define NOBODY       0x6f000000u /* no user of a host; those of sandboxes lie above */

static int take_setup(struct gate *g)
{
    autofree char *text = xmalloc(SETUP_MAX);
    ssize_t n = recv(0, text, SETUP_MAX, 0);
    struct error err;
    int rc = n > 0 && n < SETUP_MAX ? setup_read(g, text, (size_t)n, &err) : -1;

    explicit_bzero(text, n > 0 ? (size_t)n : 0);
    return rc;
}

/* A process that reads what hostile code sends needs no rights: root's becomes a user that does not exist. */
static int become_nobody(void)
{
    unsigned number = 0;

    if (getrandom(&number, sizeof number, 0) != sizeof number)
        return -1;
    unsigned uid = NOBODY + (number & 0xffffff);
    return setgroups(0, NULL) != 0 || setresgid(uid, uid, uid) != 0 || setresuid(uid, uid, uid) != 0 ? -1 : 0;
}

/* The kernel forgets PR_SET_PDEATHSIG where a process becomes another user. */
static int drop_rights(pid_t parent)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
        return -1;
    if (geteuid() == 0 && become_nobody() < 0)
        return -1;
    return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent ? 0 : -1;
}

/* What each connection would otherwise load anew. */
static void load_libraries(void)
{
    struct addrinfo *all = NULL;

    forward_prepare();
    if (getaddrinfo("localhost", "80", NULL, &all) == 0)
        freeaddrinfo(all);
}

/* False: the program is gone. */
static bool take_listener(struct gate *g)
{
    char byte;
    int fd;
    ssize_t n = fd_receive(0, &byte, 1, MSG_DONTWAIT, &fd);

    if (n < 0)
        return errno == EAGAIN;
    if (fd >= 0) {
        fd_close(&g->listener);
        g->listener = fd;
        fd_nonblock(fd, true);
    }
    return n > 0;
}

/* ---- the processes of connections ---- */

/* Each waits for a connection before it is needed: a fork takes a moment, and on a busy machine a new process
 * waits longest for a processor. */
struct pool_server {
    pid_t pid;
    bool idle; /* it has no connection yet */
};

struct pool {
    struct pool_server v[CONNECTIONS];
    size_t n;
    int took[2]; /* a pipe to us: the pids of those that have one */
};

static void wait_for_connection(struct gate *g, int took)
{
    pid_t self = getpid();

    for (;;) {
        autoclose int fd = -1;

        if (poll(&(struct pollfd){g->listener, POLLIN, 0}, 1, -1) == 1)
            fd = accept4(g->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED))
            continue;
        fd_close(&g->listener);
        if (fd >= 0 && write(took, &self, sizeof self) == (ssize_t)sizeof self)
            client_serve(g, fd);
        return;
    }
}

static bool pool_add(struct pool *p, struct gate *g)
{
    pid_t parent = getpid(), pid = fork();

    if (pid < 0)
        return false;
    if (pid > 0) {
        p->v[p->n++] = (struct pool_server){pid, true};
        return true;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent)
        wait_for_connection(g, p->took[1]);
    _exit(0);
}

static void pool_fill(struct pool *p, struct gate *g)
{
    size_t idle = 0;

    for (size_t i = 0; i < p->n; i++)
        idle += p->v[i].idle;
    while (g->listener >= 0 && idle < IDLE_SERVERS && p->n < CONNECTIONS && pool_add(p, g))
        idle++;
}

/* Those that have ended leave; those that have a connection are not idle any more. */
static void pool_look(struct pool *p)
{
    pid_t pid;

    while (read(p->took[0], &pid, sizeof pid) == (ssize_t)sizeof pid)
        for (size_t i = 0; i < p->n; i++)
            p->v[i].idle &= p->v[i].pid != pid;
    while (p->n && (pid = waitpid(-1, NULL, WNOHANG)) > 0)
        for (size_t i = 0; i < p->n; i++)
            if (p->v[i].pid == pid) {
                p->v[i] = p->v[--p->n];
                break;
            }
}

/* There is a new listener, or none: who waits at the one before is not needed. */
static void pool_drop_idle(const struct pool *p)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->v[i].idle)
            kill(p->v[i].pid, SIGKILL);
}

/* Nobody is left behind, not even for another to reap. */
static void pool_end(struct pool *p)
{
    for (size_t i = 0; i < p->n; i++)
        kill(p->v[i].pid, SIGKILL);
    while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
        ;
}

static void serve(struct gate *g, struct pool *pool)
{
    for (;;) {
        struct pollfd p[2] = {{0, POLLIN, 0}, {pool->took[0], POLLIN, 0}};

        if (poll(p, 2, pool->n == CONNECTIONS ? FULL_MS : pool->n ? LOOK_MS : -1) < 0 && errno != EINTR)
            return;
        pool_look(pool);
        if (p[0].revents) {
            pool_drop_idle(pool);
            if (!take_listener(g))
                return;
        }
        pool_fill(pool, g);
    }
}

int proxy_main(void)
{
    struct gate g = {.program = 0, .listener = -1};
    struct pool pool = {.took = {-1, -1}};
    pid_t parent = getppid();

    prctl(PR_SET_NAME, "sp-proxy");
    g.traffic = mmap(NULL, sizeof *g.traffic, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (g.traffic == MAP_FAILED || take_setup(&g) < 0)
        return 1;
    load_libraries();
    if (drop_rights(parent) < 0 || pipe2(pool.took, O_CLOEXEC | O_NONBLOCK) != 0)
        return 1;
    serve(&g, &pool);
    pool_end(&pool);
    return 0;
}
