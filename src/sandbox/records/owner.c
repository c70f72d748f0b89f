/* owner.c - reads a process's start time from /proc and compares it with what was written down.
 *
 * RULE: What a killed program left is removed by the next start, and only where its owner is proven dead.
 */
#include "records/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"

static ssize_t read_small(const char *path, char *out, size_t size)
{
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);

    out[n > 0 ? n : 0] = '\0';
    return n;
}

/* 0: there is no such process, or /proc hides it. *dead: it has ended, and its parent has not reaped it
 * yet. */
static unsigned long long start_time(pid_t pid, bool *dead)
{
    char path[64], text[2048], *p;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    if (read_small(path, text, sizeof text) <= 0)
        return 0;
    /* The name in parentheses may contain anything, so count from the last parenthesis: the state is field
     * 3, the start time field 22. */
    p = strrchr(text, ')');
    *dead = p && (p[2] == 'Z' || p[2] == 'X');
    for (int field = 2; p && field < 22; field++)
        p = strchr(p + 1, ' ');
    return p ? strtoull(p + 1, NULL, 10) : 0;
}

unsigned long long owner_start_time(pid_t pid)
{
    bool dead = false;
    unsigned long long start = start_time(pid, &dead);

    return dead ? 0 : start;
}

/* The number of our pid namespace; "": cannot be seen. */
static void pid_space(char space[24])
{
    char link[64];
    ssize_t n = readlink("/proc/self/ns/pid", link, sizeof link - 1);

    link[n > 0 ? n : 0] = '\0';
    const char *p = strchr(link, '[');
    snprintf(space, 24, "%.*s", p ? (int)strcspn(p + 1, "]") : 0, p ? p + 1 : "");
}

struct this_host { /* this host, its boot, our pid namespace */
    char host[256], boot[9], space[24];
};

static void look_here(struct this_host *h)
{
    char text[64];

    *h = (struct this_host){0};
    gethostname(h->host, sizeof h->host - 1);
    if (!*h->host) /* owner_check reads at least one character */
        h->host[0] = '-';
    for (char *p = h->host; (p = strpbrk(p, "/:")) != NULL;)
        *p = '-';
    read_small("/proc/sys/kernel/random/boot_id", text, sizeof text);
    snprintf(h->boot, sizeof h->boot, "%.8s", text[0] ? text : "unknown");
    pid_space(h->space);
}

char *owner_self(void)
{
    return owner_of(getpid());
}

char *owner_of(pid_t pid)
{
    struct this_host h;

    look_here(&h);
    return xasprintf("%s/%s/%s:%d:%llu", h.host, h.boot, h.space, (int)pid, owner_start_time(pid));
}

enum owner_state owner_check_pid(pid_t pid, unsigned long long start)
{
    bool dead = false;
    unsigned long long now = start_time(pid, &dead);

    if (dead)
        return OWNER_DEAD;
    if (now == 0 || start == 0) /* it could or can not be read, but kill() still knows whether it exists */
        return kill(pid, 0) == 0 || errno != ESRCH ? OWNER_ALIVE : OWNER_DEAD;
    return now == start ? OWNER_ALIVE : OWNER_DEAD;
}

static enum owner_state check_written(long long pid, unsigned long long start)
{
    return pid > 0 && pid <= INT32_MAX ? owner_check_pid((pid_t)pid, start) : OWNER_ELSEWHERE;
}

enum owner_state owner_check(const char *owner)
{
    char theirs[256], their_boot[16], their_space[32];
    struct this_host h;
    long long pid;
    unsigned long long start;

    if (sscanf(owner, "%255[^/]/%15[^/]/%31[^:]:%lld:%llu", theirs, their_boot, their_space, &pid, &start)
        != 5)
        return OWNER_ELSEWHERE;
    look_here(&h);
    bool same_boot = !strcmp(h.boot, their_boot);
    bool known = strcmp(h.boot, "unknown") != 0 && strcmp(their_boot, "unknown") != 0;
    /* No other machine has the same boot id, and a machine may be renamed while it runs. */
    if (strcmp(h.host, theirs) != 0 && (!same_boot || !known))
        return OWNER_ELSEWHERE;
    if (!same_boot && known) /* otherwise the process alone tells: of another boot it is not there either */
        return OWNER_BEFORE_BOOT;
    if (strcmp(h.space, their_space) != 0)
        return OWNER_ELSEWHERE;
    return check_written(pid, start);
}

bool owner_dead(const char *owner)
{
    enum owner_state state = owner_check(owner);

    return state == OWNER_DEAD || state == OWNER_BEFORE_BOOT;
}

pid_t owner_pid(const char *owner)
{
    int pid = 0;

    return owner && sscanf(owner, "%*[^:]:%d:", &pid) == 1 && pid > 0 ? pid : 0;
}

unsigned long long owner_start(const char *owner)
{
    unsigned long long start = 0;

    return owner && sscanf(owner, "%*[^:]:%*d:%llu", &start) == 1 ? start : 0;
}

bool owner_kill_pid(pid_t pid, unsigned long long start, int wait_ms)
{
    int64_t end = clock_ms() + wait_ms;
    autoclose int fd = (int)syscall(SYS_pidfd_open, pid, 0U);

    if (pid <= 1)
        return false;
    /* Check after the descriptor is open, so that a reused pid is not killed. */
    if (owner_start_time(pid) != start)
        return owner_check_pid(pid, start) == OWNER_DEAD;
    if (fd < 0) /* before Linux 5.3 */
        kill(pid, SIGKILL);
    else
        syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0U);
    for (int64_t left; owner_check_pid(pid, start) == OWNER_ALIVE && (left = end - clock_ms()) > 0;)
        poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, fd < 0 && left > 10 ? 10 : (int)left);
    return owner_check_pid(pid, start) == OWNER_DEAD;
}

bool owner_kill(const char *owner, int wait_ms)
{
    unsigned long long start = owner_start(owner);

    if (owner_check(owner) != OWNER_ALIVE || start == 0)
        return owner_dead(owner);
    return owner_kill_pid(owner_pid(owner), start, wait_ms);
}

char *owner_group_name(void)
{
    unsigned random = 0;
    char space[24];

    if (getrandom(&random, sizeof random, 0) != sizeof random)
        random = (unsigned)getpid();
    pid_space(space);
    return xasprintf("sandpiper-%d-%llu-%08x-%s", (int)getpid(), owner_start_time(getpid()), random, space);
}

enum owner_state owner_check_group(const char *name)
{
    long long pid;
    unsigned long long start;
    unsigned random;
    char space[24], theirs[24];
    int n = sscanf(name, "sandpiper-%lld-%llu-%x-%23[0-9]", &pid, &start, &random, theirs);

    pid_space(space);
    if (n < 3 || (n == 4 && strcmp(space, theirs) != 0)) /* 3: made by an older version */
        return OWNER_ELSEWHERE;
    return check_written(pid, start);
}

void owner_erase(const char *dir)
{
    const char *slash = strrchr(dir, '/');
    autofree char *name = owner_group_name(),
                  *ours = xasprintf("%.*s/%s", slash ? (int)(slash - dir) : 1, slash ? dir : ".", name);

    file_remove_tree(rename(dir, ours) == 0 ? ours : dir);
}
