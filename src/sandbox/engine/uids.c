/* uids.c - draws a free uid at random from a range that no user of this host has.
 *
 * RULE: One sandbox cannot use up what another needs: a uid of its own, and limits inside (SECURITY.md,
 *     Neighbours).
 */
#include "engine/uids.h"

#include <dirent.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "records/run_dir.h"

#define CONF_MAX (64 * 1024)
#define TRIES    64

/* Does the line "passwd:" of nsswitch.conf name nothing but local files and systemd? */
static bool only_local(void)
{
    struct buf conf autorelease(buf_release) = BUF_INIT(CONF_MAX);
    const char *at = file_read("/etc/nsswitch.conf", CONF_MAX, &conf, NULL) == 0
                         ? strstr(buf_str(&conf), "\npasswd:")
                         : NULL;

    if (!at)
        return false;
    at += strlen("\npasswd:");
    for (size_t n; at += strspn(at, " \t"), (n = strcspn(at, " \t\n")) > 0; at += n)
        if ((n != 5 || strncmp(at, "files", n)) && (n != 7 || strncmp(at, "systemd", n)))
            return false;
    return true;
}

bool host_has_user(unsigned uid)
{
    FILE *users = only_local() ? fopen("/etc/passwd", "re") : NULL;
    const struct passwd *user = NULL;

    if (!users)
        return getpwuid(uid) != NULL;
    do
        user = fgetpwent(users);
    while (user && user->pw_uid != uid);
    fclose(users);
    return user != NULL;
}

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
