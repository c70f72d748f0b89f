/* owner.h - who made a container, a directory or a control group, written so that a later start can prove
 * that this program is dead: "HOST/BOOT/PIDSPACE:PID:START". Start is the process' start time in ticks since
 * boot, so a reused pid is no match.
 */
#ifndef RECORDS_OWNER_H
#define RECORDS_OWNER_H

#include <stdbool.h>
#include <sys/types.h>

enum owner_state {
    OWNER_ALIVE,
    OWNER_DEAD,
    OWNER_ELSEWHERE,   /* another host or pid namespace: nothing can be proven from here */
    OWNER_BEFORE_BOOT, /* this host, an earlier boot: dead, and so is all it started */
};

char *owner_self(void);    /* the caller frees */
char *owner_of(pid_t pid); /* of another process here; it too */
enum owner_state owner_check(const char *owner);
unsigned long long owner_start_time(pid_t pid); /* 0: there is no such process, or it has ended */
/* SIGKILL to that process and no other, and wait for its end. True: it is gone, or was. False: it still runs,
 * or nothing is proven. */
bool owner_kill(const char *owner, int wait_ms);
/* start: when it was started, never 0 */
bool owner_kill_pid(pid_t pid, unsigned long long start, int wait_ms);
/* a name for a control group that tells the same: sandpiper-PID-START-RANDOM-PIDSPACE */
char *owner_group_name(void);
enum owner_state owner_check_group(const char *name);
/* Remove a directory that says inside whose it is. That may go first, so it takes such a name before: if we
 * are killed in the middle of it, a later start knows what it has found. */
void owner_erase(const char *dir);

#endif
