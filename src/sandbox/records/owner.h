/* owner.h - identifies the process that made a container, directory or control group, so that a later start
 * can prove that it is dead: "HOST/BOOT/PIDSPACE:PID:START". START is the process's start time in clock ticks
 * since boot, so that a reused pid does not match.
 */
#ifndef RECORDS_OWNER_H
#define RECORDS_OWNER_H

#include <stdbool.h>
#include <sys/types.h>

/* What cannot be read, for lack of descriptors or of a right, proves nothing: then a process that exists is
 * alive. */
enum owner_state {
    OWNER_ALIVE,
    OWNER_DEAD,
    OWNER_ELSEWHERE,   /* on another host or in another pid namespace: nothing can be proven from here */
    OWNER_BEFORE_BOOT, /* on this host, but before its last boot: dead, with everything it started */
};

char *owner_self(void);    /* the caller frees */
char *owner_of(pid_t pid); /* for another process on this host; the caller frees */
enum owner_state owner_check(const char *owner);
enum owner_state owner_check_pid(pid_t pid, unsigned long long start); /* start 0: not known */
bool owner_dead(const char *owner);                                    /* only if that is proven */
pid_t owner_pid(const char *owner);                                    /* 0: none is written there */
unsigned long long owner_start(const char *owner);                     /* likewise */
unsigned long long owner_start_time(pid_t pid); /* 0: there is no such process, or it has ended */
/* Send SIGKILL to exactly that process and wait for its end. True: it is gone, or was already. False: it
 * still runs, or nothing can be proven. */
bool owner_kill(const char *owner, int wait_ms);
/* start: its start time, never 0 */
bool owner_kill_pid(pid_t pid, unsigned long long start, int wait_ms);
/* A name for a control group that identifies us likewise: sandpiper-PID-START-RANDOM-PIDSPACE. The caller
 * frees. */
char *owner_group_name(void);
enum owner_state owner_check_group(const char *name);
/* Remove a directory whose owner is recorded inside it. The record may be deleted before the rest, so the
 * directory is first given a name as above: if we are killed half-way, a later start knows what it has
 * found. */
void owner_erase(const char *dir);

#endif
