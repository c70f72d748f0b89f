/* host_users.c - see host_users.h. */
#include "engine/host_users.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"

#define CONF_MAX (64 * 1024)

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
