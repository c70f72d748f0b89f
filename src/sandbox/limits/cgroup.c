/* cgroup.c - makes, reads and removes control groups, in v1 and v2. In v1 only root can make groups: one
 * directory for each controller, below our own group, so that the limits set on us still apply. In v2 root
 * can make one, and a user to whom systemd has delegated a part of the tree: a sibling of our own group,
 * because a group with processes may not have limited children.
 *
 * RULE: Code that no longer makes progress, because memory is too short for its machine code, is killed
 *     (cgroup_thrashes).
 */
#include "limits/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"

#define FILE_MAX_BYTES (64 * 1024)
#define PERIOD_US      100000
/* Memory thrashes when for so many seconds there is hardly room for files, and what fits there was read again
 * so many times in each. A big file in a folder of the user's may be read over and over, too, but then it has
 * the room that is left. */
#define THRASH_SECONDS 3
#define THRASH_FEW     (8 << 20) /* bytes; or a 32nd of the limit */
#define THRASH_TIMES   4
#define REMOVE_MS      1000 /* for killed processes to be dead */

static const char *root_of(const struct cgroup_place *p)
{
    return p && p->root ? p->root : "/sys/fs/cgroup";
}

static char *read_text(const char *path)
{
    struct buf b = BUF_INIT(FILE_MAX_BYTES);
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return NULL;
    (void)fd_read_all(fd, FILE_MAX_BYTES, &b); /* of a longer one the beginning does */
    return buf_steal(&b, NULL);
}

static char *read_in(const char *dir, const char *name)
{
    autofree char *path = xasprintf("%s/%s", dir, name);

    return read_text(path);
}

/* O_CREAT does nothing in a real tree, where the kernel makes the files. It lets a plain directory stand
 * in for one in tests. */
static bool write_in(const char *dir, const char *name, const char *text)
{
    autofree char *path = xasprintf("%s/%s", dir, name);
    autoclose int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    return fd >= 0 && fd_write_all(fd, text, strlen(text)) == 0;
}

static bool has_word(const char *list, const char *word, const char *separators)
{
    size_t len = strlen(word);

    for (const char *p = list; p && *p; p += strspn(p, separators)) {
        size_t n = strcspn(p, separators);

        if (n == len && !memcmp(p, word, len))
            return true;
        p += n;
    }
    return false;
}

static bool is_dir(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Find the line "ID:CONTROLLERS:PATH" that names the controller ("" finds the line of v2). */
static bool find_line(const char *text, const char *controller, char **controllers, char **path)
{
    for (const char *line = text; line && *line;) {
        const char *end = strchrnul(line, '\n'), *a = memchr(line, ':', (size_t)(end - line));
        const char *b = a ? memchr(a + 1, ':', (size_t)(end - a - 1)) : NULL;

        if (b) {
            autofree char *list = xmemdup0(a + 1, (size_t)(b - a - 1));

            if (*controller ? has_word(list, controller, ",") : *list == '\0') {
                *controllers = steal(&list);
                *path = xmemdup0(b + 1, (size_t)(end - b - 1));
                return true;
            }
        }
        line = *end ? end + 1 : end;
    }
    return false;
}

/* The groups of one process, as /proc/PID/cgroup lists them. */
struct groups {
    const struct cgroup_place *place;
    char *text;
    char *own; /* the directory of its group in the v2 hierarchy; NULL if v1 limits memory or processes */
};

static void groups_release(struct groups *g)
{
    free(g->text);
    free(g->own);
}

/* pid 0: this process. */
static void groups_read(struct groups *g, const struct cgroup_place *place, pid_t pid)
{
    autofree char *list = NULL, *path = NULL;
    autofree char *file = pid ? xasprintf("/proc/%d/cgroup", (int)pid)
                              : xstrdup(place && place->self ? place->self : "/proc/self/cgroup");

    *g = (struct groups){.place = place, .text = read_text(file)};
    if (!g->text || find_line(g->text, "memory", &list, &path) || find_line(g->text, "pids", &list, &path)
        || !find_line(g->text, "", &list, &path))
        return;
    g->own = xasprintf("%s%s", root_of(place), !strcmp(path, "/") ? "" : path);
}

/* The directory of a v1 controller. Inside a container the path may name something that is not mounted
 * here. */
static char *v1_dir(const struct groups *g, const char *controller)
{
    autofree char *list = NULL, *path = NULL;

    if (!g->text || !find_line(g->text, controller, &list, &path))
        return NULL;
    for (int i = 0; i < 2; i++) {
        char *dir = xasprintf("%s/%s%s", root_of(g->place), list, i || !strcmp(path, "/") ? "" : path);

        if (is_dir(dir))
            return dir;
        free(dir);
    }
    return NULL;
}

/* Remove the last component, up to the root of the hierarchy. False: there is none left. */
static bool go_up(const struct groups *g, char *dir)
{
    if (strlen(dir) <= strlen(root_of(g->place)))
        return false;
    *strrchr(dir, '/') = '\0';
    return true;
}

static bool add_dir(struct cgroup *c, const char *parent, const char *name)
{
    autofree char *dir = xasprintf("%s/%s", parent, name);

    if (mkdir(dir, 0755) != 0)
        return false;
    c->dirs[c->n++] = steal(&dir);
    return true;
}

static bool write_number(const char *dir, const char *name, int64_t value)
{
    char text[32];

    snprintf(text, sizeof text, "%lld", (long long)value);
    return write_in(dir, name, text);
}

static const char *const controllers[CGROUP_DIRS] = {"memory", "pids", "cpu"};

static void make_v1(struct cgroup *c, const struct groups *g, const char *name, const struct cgroup_limits *l)
{
    for (unsigned i = 0; i < CGROUP_DIRS; i++) {
        autofree char *parent = v1_dir(g, controllers[i]);

        if (!parent || !add_dir(c, parent, name))
            continue;
        const char *dir = c->dirs[c->n - 1];
        if (i == 0) {
            c->memory = write_number(dir, "memory.limit_in_bytes", l->memory);
            /* the kernel has no swap accounting */
            if (!write_number(dir, "memory.memsw.limit_in_bytes", l->memory))
                write_in(dir, "memory.swappiness", "0");
        } else if (i == 1) {
            c->pids = write_number(dir, "pids.max", l->pids);
        } else {
            /* a new group has this period already, and to set it costs as much as the quota */
            c->cpu = write_number(dir, "cpu.cfs_quota_us", (int64_t)(l->cpus * PERIOD_US));
        }
    }
}

/* Can limited groups be made below dir? Turns the controllers on if they are off. */
static bool v2_usable(const char *dir)
{
    autofree char *there = read_in(dir, "cgroup.controllers");

    if (!there || !has_word(there, "memory", " \n") || !has_word(there, "pids", " \n")
        || access(dir, W_OK) != 0)
        return false;
    autofree char *on = read_in(dir, "cgroup.subtree_control");
    if (!has_word(on, "cpu", " \n") && has_word(there, "cpu", " \n"))
        /* not delegated everywhere, and less important than memory and pids */
        write_in(dir, "cgroup.subtree_control", "+cpu");
    return (has_word(on, "memory", " \n") && has_word(on, "pids", " \n"))
           || write_in(dir, "cgroup.subtree_control", "+memory +pids");
}

/* Try our group's parent, then upwards. */
static void make_v2(struct cgroup *c, const struct groups *g, const char *name, const struct cgroup_limits *l)
{
    autofree char *dir = xstrdup(g->own);
    char text[64];

    go_up(g, dir);
    while (!v2_usable(dir) || !add_dir(c, dir, name))
        if (!go_up(g, dir))
            return;
    autofree char *there = read_in(dir, "cgroup.controllers");
    c->memory = write_number(c->dirs[0], "memory.max", l->memory);
    write_in(c->dirs[0], "memory.swap.max", "0");
    c->pids = write_number(c->dirs[0], "pids.max", l->pids);
    snprintf(text, sizeof text, "%lld %d", (long long)(l->cpus * PERIOD_US), PERIOD_US);
    c->cpu = has_word(there, "cpu", " \n") && write_in(c->dirs[0], "cpu.max", text);
}

void cgroup_make(struct cgroup *c, const struct cgroup_place *place, const char *name,
                 const struct cgroup_limits *limits)
{
    struct groups g autorelease(groups_release) = {0};

    *c = (struct cgroup){0};
    groups_read(&g, place, 0);
    if (g.own)
        make_v2(c, &g, name, limits);
    else
        make_v1(c, &g, name, limits);
    if (c->n > 0 && !c->memory && !c->pids && !c->cpu)
        cgroup_remove(c);
}

int cgroup_add(const struct cgroup *c, pid_t pid)
{
    for (unsigned i = 0; i < c->n; i++)
        if (!write_number(c->dirs[i], "cgroup.procs", pid))
            return -1;
    return 0;
}

static void kill_inside(const char *path)
{
    if (access(path, F_OK) != 0)
        return;
    autofree char *v2 = xasprintf("%s/cgroup.kill", path);
    if (access(v2, W_OK) == 0 && write_in(path, "cgroup.kill", "1"))
        return;
    autofree char *procs = read_in(path, "cgroup.procs");
    for (char *p = procs, *end; p && *p; p = end) {
        long pid = strtol(p, &end, 10);

        if (end == p)
            break;
        if (pid > 1 && pid != getpid())
            kill((pid_t)pid, SIGKILL);
        end += *end == '\n';
    }
}

static bool remove_until(const char *path, int64_t until)
{
    for (int i = 0;; i++) {
        if (rmdir(path) == 0 || errno == ENOENT || errno == ENOTDIR)
            return true;
        if (errno != EBUSY || clock_ms() >= until)
            return false;
        kill_inside(path);
        /* usually it is dead at once */
        nanosleep(&(struct timespec){.tv_nsec = (i < 20 ? 1 : 10) * 1000 * 1000}, NULL);
    }
}

bool cgroup_remove_dir(const char *path)
{
    return remove_until(path, clock_ms() + REMOVE_MS);
}

bool cgroup_remove_within(struct cgroup *c, int ms)
{
    int64_t until = clock_ms() + ms;

    while (c->n > 0 && remove_until(c->dirs[c->n - 1], until))
        free(c->dirs[--c->n]);
    return c->n == 0;
}

void cgroup_forget(struct cgroup *c)
{
    for (unsigned i = 0; i < c->n; i++)
        free(c->dirs[i]);
    *c = (struct cgroup){0};
}

void cgroup_remove(struct cgroup *c)
{
    cgroup_remove_within(c, REMOVE_MS);
    cgroup_forget(c);
}

char *cgroup_memory_dir(const struct cgroup_place *place, pid_t pid)
{
    struct groups g autorelease(groups_release) = {0};

    groups_read(&g, place, pid);
    return g.own ? steal(&g.own) : v1_dir(&g, "memory");
}

/* Read whichever of the two files this hierarchy has. */
static char *read_either(const char *dir, const char *v1, const char *v2)
{
    char *text = read_in(dir, v1);

    return text ? text : read_in(dir, v2);
}

int cgroup_kills_open(const char *memory_dir)
{
    static const char *const names[] = {"memory.oom_control", "memory.events"};
    int fd = -1;

    for (size_t i = 0; i < countof(names) && fd < 0; i++) {
        autofree char *path = xasprintf("%s/%s", memory_dir, names[i]);

        fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    return fd;
}

int64_t cgroup_kills_read(int fd)
{
    char text[512];
    ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof text - 1, 0);

    text[n > 0 ? n : 0] = '\0';
    for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n')
        if (!strncmp(p, "oom_kill ", 9))
            return strtoll(p + 9, NULL, 10);
    return -1;
}

int cgroup_stat_open(const char *memory_dir)
{
    autofree char *path = xasprintf("%s/memory.stat", memory_dir);

    return open(path, O_RDONLY | O_CLOEXEC);
}

/* The number behind that name in memory.stat, which both hierarchies have; -1: it is not there. */
static int64_t stat_number(const char *text, const char *name)
{
    size_t len = strlen(name);

    for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n')
        if (!strncmp(p, name, len) && p[len] == ' ')
            return strtoll(p + len, NULL, 10);
    return -1;
}

static const char *read_stat(int fd, char *text, size_t size)
{
    ssize_t n = fd < 0 ? -1 : pread(fd, text, size - 1, 0);

    text[n > 0 ? n : 0] = '\0';
    return text;
}

int64_t cgroup_files_read(int fd)
{
    char text[8192];

    return stat_number(read_stat(fd, text, sizeof text), "shmem");
}

bool cgroup_thrashes(struct cgroup_thrash *t, int fd, int64_t limit)
{
    char text[8192];

    read_stat(fd, text, sizeof text);
    int64_t again = stat_number(text, "workingset_refault_file"), before = t->again,
            kept = stat_number(text, "active_file") + stat_number(text, "inactive_file"),
            few = limit / 32 > THRASH_FEW ? limit / 32 : THRASH_FEW;

    t->again = again > 0 ? again : 0;
    bool now = before > 0 && kept >= 0 && kept < few
               && t->again - before >= THRASH_TIMES * (kept / sysconf(_SC_PAGESIZE) + 1);
    t->seconds = now ? t->seconds + 1 : 0;
    return t->seconds >= THRASH_SECONDS;
}

int64_t cgroup_memory_used(const char *memory_dir)
{
    autofree char *text = read_either(memory_dir, "memory.usage_in_bytes", "memory.current");

    return text && *text >= '0' && *text <= '9' ? strtoll(text, NULL, 10) : -1;
}

/* The first number in the file; 0 for "max", for -1 (no quota), and for what v1 writes when there is no
 * limit. */
static int64_t read_limit(const char *dir, const char *name, int64_t *second)
{
    autofree char *text = read_in(dir, name);
    char *end = NULL;
    long long v = text ? strtoll(text, &end, 10) : 0;

    if (second && end && *end == ' ')
        *second = strtoll(end, NULL, 10);
    return v < 0 || v >= INT64_MAX / 4096 * 4096 ? 0 : v;
}

int64_t cgroup_memory_limit(const char *memory_dir)
{
    autofree char *dir = xstrdup(memory_dir), *stat = read_in(dir, "memory.stat");
    int64_t least = stat ? stat_number(stat, "hierarchical_memory_limit") : 0; /* v1 */

    least = least < 0 || least >= INT64_MAX / 4096 * 4096 ? 0 : least;
    for (char *slash; (slash = strrchr(dir, '/')); *slash = '\0') {
        int64_t held = read_limit(dir, "memory.max", NULL);

        least = held > 0 && (!least || held < least) ? held : least;
    }
    return least;
}

static void limits_v1(const struct groups *g, struct cgroup_limits *held)
{
    autofree char *memory = v1_dir(g, "memory"), *pids = v1_dir(g, "pids"), *cpu = v1_dir(g, "cpu");
    int64_t period = cpu ? read_limit(cpu, "cpu.cfs_period_us", NULL) : 0;

    held->memory = memory ? read_limit(memory, "memory.limit_in_bytes", NULL) : 0;
    held->pids = pids ? (int)read_limit(pids, "pids.max", NULL) : 0;
    held->cpus = period > 0 ? (double)read_limit(cpu, "cpu.cfs_quota_us", NULL) / (double)period : 0;
}

static void limits_v2(const char *dir, struct cgroup_limits *held)
{
    int64_t period = 0, quota = read_limit(dir, "cpu.max", &period);

    held->memory = read_limit(dir, "memory.max", NULL);
    held->pids = (int)read_limit(dir, "pids.max", NULL);
    held->cpus = period > 0 ? (double)quota / (double)period : 0;
}

void cgroup_limits_of(const struct cgroup_place *place, pid_t pid, struct cgroup_limits *held)
{
    struct groups g autorelease(groups_release) = {0};

    *held = (struct cgroup_limits){0};
    groups_read(&g, place, pid);
    if (g.own)
        limits_v2(g.own, held);
    else
        limits_v1(&g, held);
}

bool cgroup_delegated(const struct cgroup_place *place, uid_t uid, const char *controller)
{
    autofree char *dir = xasprintf("%s/user.slice/user-%u.slice/user@%u.service", root_of(place),
                                   (unsigned)uid, (unsigned)uid);
    autofree char *there = read_in(dir, "cgroup.controllers");

    return has_word(there, controller, " \n");
}

static unsigned sweep_dir(const char *parent, const char *prefix, bool (*dead)(const char *name))
{
    autoclosedir DIR *d = opendir(parent);
    unsigned n = 0;

    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        if (strncmp(e->d_name, prefix, strlen(prefix)) != 0 || !dead(e->d_name))
            continue;
        autofree char *path = xasprintf("%s/%s", parent, e->d_name);
        /* rmdir only: a name alone does not prove that what runs inside is ours to kill */
        n += rmdir(path) == 0;
    }
    return n;
}

unsigned cgroup_sweep(const struct cgroup_place *place, const char *prefix, bool (*dead)(const char *name))
{
    struct groups g autorelease(groups_release) = {0};
    unsigned n = 0;

    groups_read(&g, place, 0);
    for (unsigned i = 0; i < CGROUP_DIRS; i++) {
        autofree char *parent = v1_dir(&g, controllers[i]);

        if (parent)
            n += sweep_dir(parent, prefix, dead);
    }
    /* From our group's parent upwards, because that is where groups are made. */
    while (g.own && go_up(&g, g.own))
        n += sweep_dir(g.own, prefix, dead);
    return n;
}
