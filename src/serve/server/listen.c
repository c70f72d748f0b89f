/* listen.c - reads the address, binds and listens, takes a socket from systemd, and removes a dead one. */
#include "server/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"

#define BACKLOG  1024
#define FIRST_FD 3 /* sd_listen_fds(3) */

static int bad_address(const char *text, struct error *err)
{
    return error_set(err, ERROR_USAGE, 0,
                     "\"%s\" is not an address to listen on\n"
                     "Use 127.0.0.1:8000, [::1]:8000 or unix:/path/to/socket",
                     text);
}

static void set_path(struct listen_address *a, const char *path)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX};

    memcpy(un.sun_path, path, strlen(path) + 1);
    memcpy(a->path, path, strlen(path) + 1);
    memcpy(&a->addr, &un, sizeof un);
    a->len = sizeof un;
    a->local = a->loopback = true;
}

/* Fill in what follows from the IP address; its port is set already. */
static void describe(struct listen_address *a)
{
    if (a->addr.ss_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)&a->addr;

        a->port = ntohs(in->sin_port);
        a->loopback = ntohl(in->sin_addr.s_addr) >> 24 == 127;
        a->wildcard = in->sin_addr.s_addr == htonl(INADDR_ANY);
        a->len = sizeof *in;
    } else {
        const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)&a->addr;

        a->port = ntohs(in->sin6_port);
        a->loopback = IN6_IS_ADDR_LOOPBACK(&in->sin6_addr);
        a->wildcard = IN6_IS_ADDR_UNSPECIFIED(&in->sin6_addr);
        a->len = sizeof *in;
    }
}

static bool set_ip(struct listen_address *a, const char *host, unsigned port)
{
    struct sockaddr_in *in = (struct sockaddr_in *)&a->addr;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&a->addr;

    if (inet_pton(AF_INET, host, &in->sin_addr) == 1) {
        in->sin_family = AF_INET;
        in->sin_port = htons((uint16_t)port);
    } else if (inet_pton(AF_INET6, host, &in6->sin6_addr) == 1) {
        in6->sin6_family = AF_INET6;
        in6->sin6_port = htons((uint16_t)port);
    } else {
        return false;
    }
    describe(a);
    return true;
}

int listen_parse(const char *text, struct listen_address *out, struct error *err)
{
    char host[64] = "127.0.0.1";
    const char *colon = strrchr(text, ':');
    const char *digits = colon ? colon + 1 : text;
    char *end;

    *out = (struct listen_address){0};
    if (!strncmp(text, "unix:", 5)) {
        if (!text[5] || strlen(text + 5) >= sizeof out->path)
            return error_set(err, ERROR_USAGE, 0, "\"%s\": the path of a socket must have 1 to %zu bytes",
                             text, sizeof out->path - 1);
        set_path(out, text + 5);
        return 0;
    }
    unsigned long port = strtoul(digits, &end, 10);
    if (*digits < '0' || *digits > '9' || *end || port > 65535)
        return bad_address(text, err);
    if (colon && colon > text) {
        bool six = text[0] == '[' && colon[-1] == ']';
        size_t len = (size_t)(colon - text) - (six ? 2 : 0);

        if (len == 0 || len >= sizeof host || (!six && memchr(text, ':', len)))
            return bad_address(text, err);
        memcpy(host, text + six, len);
        host[len] = '\0';
        if (!strcmp(host, "localhost"))
            memcpy(host, "127.0.0.1", sizeof "127.0.0.1");
    }
    return set_ip(out, host, (unsigned)port) ? 0 : bad_address(text, err);
}

/* A socket file that nobody listens on is left over from a program that was killed. */
static bool is_dead_socket(const struct listen_address *a)
{
    struct stat st;
    autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    return lstat(a->path, &st) == 0 && S_ISSOCK(st.st_mode) && st.st_uid == geteuid() && fd >= 0
           && connect(fd, (const struct sockaddr *)&a->addr, a->len) != 0 && errno == ECONNREFUSED;
}

static bool is_file(const struct listen_address *a)
{
    struct stat st;

    return a->local && lstat(a->path, &st) == 0 && !S_ISSOCK(st.st_mode);
}

/* The mode has to be right from the first moment: the mask decides it, not a chmod afterwards. */
static int bind_private(int fd, const struct listen_address *a)
{
    mode_t before = umask(0177);
    int rc = bind(fd, (const struct sockaddr *)&a->addr, a->len);
    int code = errno;

    umask(before);
    errno = code;
    return rc;
}

int listen_open(struct listen_address *a, struct error *err)
{
    int one = 1;
    int fd = socket(a->addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    autofree char *shown = listen_show(a);

    if (fd < 0)
        return error_errno(err, "%s", shown);
    if (a->local && is_dead_socket(a))
        unlink(a->path);
    if (!a->local)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    int rc = a->local ? bind_private(fd, a) : bind(fd, (const struct sockaddr *)&a->addr, a->len);
    if (rc == 0)
        rc = listen(fd, BACKLOG);
    if (rc != 0) {
        if (errno == EADDRINUSE)
            error_set(err, ERROR_SYSTEM, errno, "%s is in use\n%s; use --listen", shown,
                      is_file(a) ? "There is a file that is no socket" : "Another program listens there");
        else
            error_errno(err, "cannot listen on %s", shown);
        fd_close(&fd);
        return -1;
    }
    socklen_t len = sizeof a->addr;
    if (!a->local && getsockname(fd, (struct sockaddr *)&a->addr, &len) == 0)
        describe(a);
    return fd;
}

void listen_remove(const struct listen_address *a)
{
    if (a->local && is_dead_socket(a))
        unlink(a->path);
}

int listen_inherited(struct listen_address *a, struct error *err)
{
    const char *pid = getenv("LISTEN_PID"), *n = getenv("LISTEN_FDS");
    bool ours = pid && n && strtol(pid, NULL, 10) == (long)getpid();
    long count = ours ? strtol(n, NULL, 10) : 0;
    int accepts = 0;
    socklen_t len = sizeof accepts, room = sizeof a->addr;

    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    if (!ours || count == 0)
        return -1;
    *a = (struct listen_address){0};
    if (count != 1 || getsockopt(FIRST_FD, SOL_SOCKET, SO_ACCEPTCONN, &accepts, &len) != 0 || !accepts
        || getsockname(FIRST_FD, (struct sockaddr *)&a->addr, &room) != 0) {
        error_set(err, ERROR_USAGE, 0,
                  "systemd passed something other than one listening socket\n"
                  "The socket unit needs one ListenStream= and Accept=no");
        return -2;
    }
    fcntl(FIRST_FD, F_SETFD, FD_CLOEXEC);
    fd_nonblock(FIRST_FD, true);
    a->len = room;
    if (a->addr.ss_family == AF_UNIX) {
        /* path stays empty: the file is systemd's, which made it and removes it */
        a->local = a->loopback = true;
    } else {
        describe(a);
    }
    return FIRST_FD;
}

char *listen_show(const struct listen_address *a)
{
    char text[INET6_ADDRSTRLEN] = "";
    bool six = a->addr.ss_family == AF_INET6;

    if (a->local)
        return xasprintf("unix:%s", a->path);
    inet_ntop(a->addr.ss_family,
              six ? (const void *)&((const struct sockaddr_in6 *)&a->addr)->sin6_addr
                  : (const void *)&((const struct sockaddr_in *)&a->addr)->sin_addr,
              text, sizeof text);
    return xasprintf("http://%s%s%s:%u", six ? "[" : "", text, six ? "]" : "", a->port);
}
