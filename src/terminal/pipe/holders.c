/* holders.c - finds who could write to the pipe or socket we read from, as far as /proc tells.
 *
 * Both ends of a pipe share one inode, so the link text of /proc/PID/fd/N ("pipe:[123]", or a FIFO's path)
 * finds the other holders, and the link's mode says whether it is open for writing. A unix socket's peer has
 * another inode, which the kernel tells over netlink.
 */
#include "pipe/holders.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"

#define MAX_ANCESTORS 128
#define WORDS_MAX     (4U << 20)
#define SCAN_MS       3000 /* ms; with very many processes, give up rather than stall */

struct process {
    long parent, group;
};

/* Read the parent and the process group of pid from /proc/PID/stat. The name in it may contain anything, even
 * ")". */
static bool process_read(long pid, struct process *p)
{
    char path[64], text[512];
    char state;
    autoclose int fd = -1;

    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (n <= 0)
        return false;
    text[n] = '\0';
    const char *close = strrchr(text, ')');
    return close && sscanf(close + 1, " %c %ld %ld", &state, &p->parent, &p->group) == 3;
}

struct ancestors {
    long pid[MAX_ANCESTORS];
    size_t n;
};

static void ancestors_find(struct ancestors *a)
{
    struct process p = {.parent = getppid()};

    for (a->n = 0; p.parent > 0 && a->n < MAX_ANCESTORS;) {
        a->pid[a->n++] = p.parent;
        if (!process_read(p.parent, &p))
            break;
    }
}

static bool is_ancestor(const struct ancestors *a, long pid)
{
    for (size_t i = 0; i < a->n; i++)
        if (a->pid[i] == pid)
            return true;
    return false;
}

/* 1: process pid has what want names open for writing; 0: it has not; -1: its descriptors cannot be seen. */
static int holds_writing(long pid, const char *want)
{
    char path[64], link[PATH_MAX];
    struct dirent *d;
    DIR *dir;
    int found = 0;

    snprintf(path, sizeof path, "/proc/%ld/fd", pid);
    dir = opendir(path);
    if (!dir)
        return -1;
    while (!found && (d = readdir(dir))) {
        struct stat st;
        ssize_t n = readlinkat(dirfd(dir), d->d_name, link, sizeof link - 1);

        if (n <= 0)
            continue;
        link[n] = '\0';
        if (!strcmp(link, want) && fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0
            && (st.st_mode & S_IWUSR))
            found = 1;
    }
    closedir(dir);
    return found;
}

/* The inode of the other end of unix socket ino; 0 if unknown. */
static unsigned socket_peer(unsigned ino)
{
    struct {
        struct nlmsghdr head;
        struct unix_diag_req req;
    } q = {
        .head = {.nlmsg_len = sizeof q, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
        .req = {.sdiag_family = AF_UNIX,
                .udiag_states = ~0U,
                .udiag_ino = ino,
                .udiag_show = UDIAG_SHOW_PEER,
                .udiag_cookie = {~0U, ~0U}},
    };
    struct timeval patience = {.tv_sec = 1};
    char reply[1024] __attribute__((aligned(8)));
    const struct nlmsghdr *h = (const void *)reply;
    const struct rtattr *a;
    unsigned peer = 0;
    autoclose int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) < 0
        || send(fd, &q, sizeof q, 0) < 0)
        return 0;
    int len = (int)recv(fd, reply, sizeof reply, 0);
    if (len < 0 || !NLMSG_OK(h, (unsigned)len) || h->nlmsg_type != SOCK_DIAG_BY_FAMILY)
        return 0;
    len = (int)NLMSG_PAYLOAD(h, sizeof(struct unix_diag_msg));
    for (a = (const void *)((const char *)NLMSG_DATA(h) + NLMSG_ALIGN(sizeof(struct unix_diag_msg)));
         RTA_OK(a, len); a = RTA_NEXT(a, len))
        if (a->rta_type == UNIX_DIAG_PEER)
            memcpy(&peer, RTA_DATA(a), sizeof peer);
    return peer;
}

/* The link text in /proc of the writing side of fd. */
static bool other_end(int fd, char want[PATH_MAX])
{
    char path[64];
    unsigned ino;

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(path, want, PATH_MAX - 1);
    if (n <= 0)
        return false;
    want[n] = '\0';
    if (sscanf(want, "socket:[%u]", &ino) != 1)
        return true;
    ino = socket_peer(ino);
    snprintf(want, PATH_MAX, "socket:[%u]", ino);
    return ino != 0;
}

enum holder holders_find(int fd)
{
    int64_t until = clock_ms() + SCAN_MS;
    struct ancestors up;
    struct process we = {0}, p;
    char want[PATH_MAX];
    struct dirent *d;
    bool ancestor = false, hidden = false, other = false;
    DIR *dir;

    if (!other_end(fd, want) || !(dir = opendir("/proc")))
        return HOLDER_UNKNOWN;
    ancestors_find(&up);
    process_read(getpid(), &we);
    while (!other && clock_ms() < until && (d = readdir(dir))) {
        long pid = isdigit((unsigned char)d->d_name[0]) ? strtol(d->d_name, NULL, 10) : 0;

        if (pid <= 0 || pid == getpid())
            continue;
        int holds = holds_writing(pid, want);
        if (is_ancestor(&up, pid))
            ancestor = ancestor || holds == 1;
        else if (holds == 1)
            other = true;
        /* "sudo cat x | sandpiper": root's descriptors cannot be seen, but the process is in our pipeline. */
        else if (holds < 0 && process_read(pid, &p) && we.group > 0 && p.group == we.group)
            hidden = true;
    }
    closedir(dir);
    if (other || hidden)
        return HOLDER_OTHER;
    return ancestor ? HOLDER_ANCESTORS : HOLDER_UNKNOWN;
}

/* Does the command line of pid, each word of which ends with a NUL, end with ours? */
static bool runs_us(long pid)
{
    struct buf theirs autorelease(buf_release) = BUF_INIT(WORDS_MAX),
                      ours autorelease(buf_release) = BUF_INIT(WORDS_MAX);
    struct error err = {0};
    char path[64];

    snprintf(path, sizeof path, "/proc/%ld/cmdline", pid);
    if (file_read(path, WORDS_MAX, &theirs, &err) < 0
        || file_read("/proc/self/cmdline", WORDS_MAX, &ours, &err) < 0 || theirs.len <= ours.len)
        return false;
    const char *end = theirs.data + theirs.len - ours.len;
    return end[-1] == '\0' && !memcmp(end, buf_str(&ours), ours.len);
}

bool holders_parent_reads(int fd)
{
    struct stat ours, theirs;
    char path[64];

    snprintf(path, sizeof path, "/proc/%ld/fd/0", (long)getppid());
    return fstat(fd, &ours) == 0 && stat(path, &theirs) == 0 && ours.st_dev == theirs.st_dev
           && ours.st_ino == theirs.st_ino && !runs_us(getppid());
}
