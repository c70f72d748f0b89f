/* cgroup.h - a control group around a bwrap sandbox, in the v1 or the v2 hierarchy, and the kernel's counters
 * for it. The caller may say where the tree is, so that tests can imitate both hierarchies in a plain
 * directory.
 */
#ifndef LIMITS_CGROUP_H
#define LIMITS_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cgroup_place {
    const char *root; /* NULL: /sys/fs/cgroup */
    const char *self; /* NULL: /proc/self/cgroup */
};

struct cgroup_limits {
    int64_t memory; /* bytes; no swap in addition */
    double cpus;
    int pids;
};

#define CGROUP_DIRS 3

struct cgroup {
    char *dirs[CGROUP_DIRS]; /* the directories that were made; v1 has one for each controller */
    unsigned n;
    bool memory, pids, cpu; /* the limits it enforces */
};

/* Make it and write the limits. Making nothing (no permission, no controllers) is not an error: look at n
 * and the three flags. */
void cgroup_make(struct cgroup *c, const struct cgroup_place *place, const char *name,
                 const struct cgroup_limits *limits);
/* Move the process into the group. This may take 5 to 25 ms, because the kernel waits for all CPUs. 0, or
 * -1 with errno. */
int cgroup_add(const struct cgroup *c, pid_t pid);
/* Kill what is left inside and remove the directories; takes about a second at most. */
void cgroup_remove(struct cgroup *c);
/* The same within ms. False: that was too short, and it may be called again. */
bool cgroup_remove_within(struct cgroup *c, int ms);
void cgroup_forget(struct cgroup *c); /* release the struct without removing anything */
/* Remove one directory by its path, for a sweep, which has no struct. True when it is gone. */
bool cgroup_remove_dir(const char *path);

/* The directory of the process's group for memory, which the caller frees; NULL: not found. */
char *cgroup_memory_dir(const struct cgroup_place *place, pid_t pid);
/* How often the kernel has killed for memory there, which is read after every cell: open the file that has it
 * (-1: there is none), and read it (-1: cannot be read). */
int cgroup_kills_open(const char *memory_dir);
int64_t cgroup_kills_read(int fd);
/* Does the memory there hold so much that cannot be dropped that the kernel drops machine code instead, and
 * reads it again, over and over? Nothing moves then, and nothing is killed. To be asked once a second; true
 * after some seconds of that. fd: from cgroup_stat_open(); limit: of the memory. */
struct cgroup_thrash {
    int64_t again; /* pages read again so far; 0 in the beginning */
    unsigned seconds;
};
int cgroup_stat_open(const char *memory_dir);
bool cgroup_thrashes(struct cgroup_thrash *t, int fd, int64_t limit);
int64_t cgroup_files_read(int fd);                  /* bytes of files in memory; fd as above; -1: unknown */
int64_t cgroup_memory_used(const char *memory_dir); /* bytes; -1: unknown */
/* The smallest limit of memory that is set there or in a group above, in bytes; 0: none can be seen. */
int64_t cgroup_memory_limit(const char *memory_dir);

/* The limits that the groups of a process set, each read in its own group only; 0: no limit, or none that
 * can be seen. */
void cgroup_limits_of(const struct cgroup_place *place, pid_t pid, struct cgroup_limits *held);

/* Has systemd delegated this controller ("cpu") to that user, in the v2 hierarchy? */
bool cgroup_delegated(const struct cgroup_place *place, uid_t uid, const char *controller);

/* Remove the empty groups beside ours that are named PREFIX... and for which dead(name) is true. Returns
 * the number of directories removed. */
unsigned cgroup_sweep(const struct cgroup_place *place, const char *prefix, bool (*dead)(const char *name));

#endif
