/* uid_range.c - see uid_range.h. */
#include "engine/uid_range.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "engine/host_users.h"
#include "records/run_dir.h"

#define TRIES 64

/* We cannot read other users' records, but we can see their processes. A container that runs under other
 * ids outside is not noticed, which does no harm: those ids belong to its user. */
static bool runs(unsigned uid)
{
    autoclosedir DIR *d = opendir("/proc");
    bool found = false;
    struct stat st;

    for (struct dirent *e; d && !found && (e = readdir(d)) != NULL;)
        found = e->d_name[0] >= '1' && e->d_name[0] <= '9' && fstatat(dirfd(d), e->d_name, &st, 0) == 0
                && st.st_uid == uid;
    return found;
}

unsigned uid_range_draw(void)
{
    unsigned uid = UID_RANGE_FIRST;
    uint32_t lot;

    for (int i = 0; i < TRIES; i++) {
        if (getrandom(&lot, sizeof lot, 0) != sizeof lot)
            lot = (uint32_t)getpid() + (uint32_t)i;
        uid = UID_RANGE_FIRST + lot % UID_RANGE_COUNT;
        if (uid != geteuid() && !run_dir_has_uid(uid) && !host_has_user(uid) && !runs(uid))
            break;
    }
    return uid;
}
