/* cgroup.h - a control group around a bwrap sandbox, in the v1 or the v2 hierarchy, and what the kernel
 * counts there. The place of the tree can be given, so that both hierarchies are tested in a directory that
 * only looks like one.
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
    int64_t memory; /* bytes; no swap beside it */
    double cpus;
    int pids;
};

#define CGROUP_DIRS 3

struct cgroup {
    char *dirs[CGROUP_DIRS]; /* what was made; v1 has one for each controller */
    unsigned n;
    bool memory, pids, cpu; /* which limits it holds */
};

/* Make it and write the limits. Nothing made (no right, no controllers) is no error: look at n and the three
 * flags. */
void cgroup_make(struct cgroup *c, const struct cgroup_place *place, const char *name,
                 const struct cgroup_limits *limits);
/* The process joins. It may take 5 to 25 ms: the kernel waits for all CPUs. 0 or -1 with errno. */
int cgroup_add(const struct cgroup *c, pid_t pid);
/* End what is left inside and remove the directories; at most about a second. */
void cgroup_remove(struct cgroup *c);
/* false: that was too short; it can be asked for again */
bool cgroup_remove_within(struct cgroup *c, int ms);
void cgroup_forget(struct cgroup *c); /* without removing anything */
/* one of them, by name (a reaper has no struct); true when it is gone */
bool cgroup_remove_dir(const char *path);

/* How often the kernel killed for memory in the group of the process; -1 where it cannot be read. */
int64_t cgroup_kills_of(const struct cgroup_place *place, pid_t pid);
/* where it is read; NULL when not to be found */
char *cgroup_memory_dir(const struct cgroup_place *place, pid_t pid);
int64_t cgroup_kills(const char *memory_dir);
int64_t cgroup_memory_used(const char *memory_dir); /* bytes; -1 unknown */

/* What the groups of a process hold it to, each read in its own group only: 0 where there is no limit or none
 * to be seen. */
void cgroup_limits_of(const struct cgroup_place *place, pid_t pid, struct cgroup_limits *held);

/* Remove the empty groups named PREFIX... beside ours for which dead(name) says so. Returns how many
 * directories that were. */
unsigned cgroup_sweep(const struct cgroup_place *place, const char *prefix, bool (*dead)(const char *name));

#endif
