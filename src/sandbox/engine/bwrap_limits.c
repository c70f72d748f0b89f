/* bwrap_limits.c - what is set between fork and exec of bwrap: resource limits, folders to be mounted, the
 * uid. */
#include "engine/bwrap.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "engine/hard_limits.h"
#include "engine/options.h"
#include "engine/uids.h"
#include "limits/cgroup.h"
#include "mount/mount.h"

/* Nothing uses the uids from here to 2^31-2: they are above those of containers, and not yet negative as
 * an int. */
#define FREE_UID_FIRST 0x70000000u
#define FREE_UID_COUNT 0x0ffffffeu
#define OWN_FILES      4096 /* for a supervisor whose uid other sandboxes share */

/* A uid that nothing on this host uses. It sets the sandbox apart from all others of this host, so that their
 * code can neither signal it nor count against its limits. */
unsigned bwrap_pick_uid(void)
{
    unsigned number;

    if (getrandom(&number, sizeof number, 0) != sizeof number)
        number = (unsigned)getpid();
    unsigned uid = FREE_UID_FIRST + number % FREE_UID_COUNT;

    for (int i = 0; i < 16 && host_has_user(uid); i++)
        uid = FREE_UID_FIRST + (uid - FREE_UID_FIRST + 0x01000001u) % FREE_UID_COUNT;
    return uid;
}

static int limit(int what, rlim_t value)
{
    rlim_t most = hard_limit(what, value);

    return setrlimit(what, &(struct rlimit){most, most});
}

static int bwrap_complain(const char *what)
{
    (void)!write(STDERR_FILENO, what, strlen(what));
    return 1;
}

/* Bind a folder of the user's at a place of ours. A mount namespace binds only what was opened in it, so it
 * is opened again, and must be the one that was checked. */
static int stage_one(const struct mount *m, const char *to)
{
    int fd = open(m->path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    char from[32];

    if (fd < 0 || fstat(fd, &st) != 0 || st.st_dev != m->dev || st.st_ino != m->ino)
        return -1;
    snprintf(from, sizeof from, "/proc/self/fd/%d", fd);
    return mkdir(to, 0755) != 0 || mount(from, to, NULL, MS_BIND, NULL) != 0 ? -1 : 0;
}

/* Root's folders may lie where the uid that bwrap gets cannot go, so bwrap is given them in another place, in
 * a mount namespace of its own, and nothing that is mounted in them. */
static int stage(const struct engine_options *o)
{
    const struct mount *m;
    char to[32];

    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) != 0
        || mount("tmpfs", STAGE_DIR, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=64k") != 0)
        return bwrap_complain("no mount namespace for --mount");
    for (size_t i = 0; (m = engine_mount(o, i)); i++) {
        snprintf(to, sizeof to, STAGE_DIR "/%zu", i);
        if (stage_one(m, to) != 0)
            return bwrap_complain("a folder given with --mount was replaced after it was checked");
    }
    return 0;
}

/* Runs in the child before exec, so it makes only calls that are safe there. Sets the limits while it may,
 * then the uid.
 *
 * The sandboxes of an ordinary user all have that user's uid. The limits under which a user namespace is
 * made (signals, processes) then hold for all of them together, and a process whose limit of files is
 * lower than the number of descriptors that they all have in flight cannot pass one. So the code gets its
 * own limits inside (start.py), and the supervisor keeps reserves that no code can use up.
 *
 * There is no --die-with-parent and no death signal. If bwrap were killed after its clone and before it
 * tells the child that its uids are mapped, the child would wait for ever, still outside any control
 * group. Left alone, it starts the supervisor, which finds the channel closed and ends everything, as it
 * does whenever the program is gone. */
int bwrap_set_limits(void *ctx)
{
    const struct bwrap_setup *s = ctx;
    int files = s->uid || s->o->open_files > OWN_FILES ? s->o->open_files : OWN_FILES;
    const struct {
        int what;
        rlim_t value;
    } limits[] = {
        {RLIMIT_CORE, 0},
        {RLIMIT_NOFILE, (rlim_t)files},
        {RLIMIT_FSIZE, (rlim_t)s->o->file_size},
        {RLIMIT_MEMLOCK, LOCKED_MOST}, /* for the supervisor; the code may lock nothing (guest/start.py) */
        {RLIMIT_MSGQUEUE, 0},
        {RLIMIT_SIGPENDING, s->uid ? PENDING_MOST : RLIM_INFINITY},
        {RLIMIT_STACK, 8 << 20},
        {RLIMIT_RTPRIO, 0},
        {RLIMIT_NICE, 0},
        /* as many as allowed; the limit for the code is set inside or by a control group */
        {RLIMIT_NPROC, RLIM_INFINITY},
    };

    if (s->group && cgroup_add(s->group, getpid()) != 0)
        return bwrap_complain("cannot join the control group");
    for (size_t i = 0; i < countof(limits); i++)
        if (limit((int)limits[i].what, limits[i].value) != 0)
            return bwrap_complain("cannot set a limit");
    if (s->limit_memory && limit(RLIMIT_AS, (rlim_t)s->o->memory) != 0)
        return bwrap_complain("cannot set the memory limit");
    if (s->staged && stage(s->o) != 0)
        return 1;
    umask(077);
    if (s->uid
        && (setgroups(0, NULL) != 0 || setresgid(s->uid, s->uid, s->uid) != 0
            || setresuid(s->uid, s->uid, s->uid) != 0))
        return bwrap_complain("cannot become an ordinary user");
    return 0;
}
