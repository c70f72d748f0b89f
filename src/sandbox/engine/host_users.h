/* host_users.h - whether a uid belongs to a user of this host. */
#ifndef ENGINE_HOST_USERS_H
#define ENGINE_HOST_USERS_H

#include <stdbool.h>

/* As getpwuid(3) says, but where only local files and systemd tell users (nsswitch.conf), /etc/passwd alone
 * is read: loading systemd's module and asking it takes 0.4 ms of a start. Not for a uid
 * of systemd's own, 60001 to 65534 and 524288 to 1879048191 (systemd.io/UIDS-GIDS). */
bool host_has_user(unsigned uid);

#endif
