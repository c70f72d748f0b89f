/* inside_apptainer.c - Apptainer as walls. Its own options build them; it reads the filter of system calls
 * from a file, as docker does. Tried with Apptainer 1.4.5.
 *
 * Its own folders in memory have one size for all sandboxes of a machine (an administrator's, 64 MiB), or for
 * root none. So they are mounted before it starts, in a mount namespace of its own, and for an ordinary user
 * in a user namespace too.
 */
#include "engine/inside_apptainer.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/argv.h"
#include "base/embed.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "engine/bwrap.h"
#include "engine/options.h"
#include "engine/plan.h"
#include "process/child.h"

#define PROBE_MS 5000
#define SCRATCH  "/scratch" DATA_DIR

EMBED(seccomp_json, SECCOMP_JSON)

/* ---- its folders ---- */

static int map_id(const char *file, unsigned id)
{
    autoclose int fd = open(file, O_WRONLY | O_CLOEXEC);

    return fd < 0 || dprintf(fd, "%u %u 1", id, id) <= 0 ? -1 : 0;
}

/* An ordinary user may mount in a user namespace of its own, where it keeps its uid. */
static int enter_namespaces(void)
{
    uid_t uid = geteuid();
    gid_t gid = getegid();

    if (unshare(uid == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) != 0)
        return -1;
    if (uid != 0) {
        autoclose int groups = open("/proc/self/setgroups", O_WRONLY | O_CLOEXEC);

        if (groups < 0 || dprintf(groups, "deny") <= 0 || map_id("/proc/self/uid_map", uid) != 0
            || map_id("/proc/self/gid_map", gid) != 0)
            return -1;
    }
    return mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL);
}

static int mount_memory(const char *at, int64_t size, uid_t uid, gid_t gid)
{
    char data[96];

    snprintf(data, sizeof data, "mode=0700,size=%lld,uid=%u,gid=%u", (long long)size, uid, gid);
    return mount("tmpfs", at, "tmpfs", MS_NOSUID | MS_NODEV, data);
}

/* What is under --workdir, and /dev/shm, which Apptainer would not limit. */
static int make_folders(const struct apptainer *a)
{
    static const char *const folders[] = {"/tmp", "/var_tmp", "/shm", "/scratch", "/scratch/mnt", SCRATCH};
    uid_t uid = a->uid ? a->uid : geteuid();
    gid_t gid = a->uid ? a->uid : getegid();
    char path[64];

    if (enter_namespaces() != 0 || mount_memory(STAGE_DIR, a->limits->o->tmp_size, uid, gid) != 0)
        return -1;
    for (size_t i = 0; i < countof(folders); i++) {
        snprintf(path, sizeof path, STAGE_DIR "%s", folders[i]);
        if (mkdir(path, 0700) != 0 || chown(path, uid, gid) != 0)
            return -1;
    }
    return mount_memory(STAGE_DIR SCRATCH, a->limits->o->data_size, uid, gid);
}

static int try_folders(void *apptainer)
{
    return make_folders(apptainer) != 0;
}

int apptainer_set_limits(void *apptainer)
{
    struct apptainer *a = apptainer;
    int code = bwrap_set_limits(a->limits);

    return code == 0 && a->folders ? try_folders(a) : code;
}

/* ---- its words ---- */

static int open_filter(struct error *err)
{
    autoclose int fd = memfd_create("seccomp", MFD_CLOEXEC);

    if (fd < 0 || fd_write_all(fd, seccomp_json, EMBED_SIZE(seccomp_json)) != 0)
        return error_errno(err, "seccomp filter");
    return fd_steal(&fd);
}

int apptainer_prepare(struct apptainer *a, struct error *err)
{
    a->filter = -1;
    if (EMBED_SIZE(seccomp_json) > 0 && (a->filter = open_filter(err)) < 0)
        return -1;
    a->uid = geteuid() == 0 ? bwrap_pick_uid() : 0;
    /* Where it may not (some systems give a user namespace no rights), the attempt is not taken back. */
    struct child *probe = child_run(&(struct child_options){.argv = (char *[]){(char *)a->program, NULL},
                                                            .in = CHILD_NULL,
                                                            .out = CHILD_NULL,
                                                            .err = CHILD_NULL,
                                                            .deadline_ms = PROBE_MS,
                                                            .body = try_folders,
                                                            .ctx = a},
                                    NULL);
    a->folders = child_ok(probe);
    child_free(probe);
    return 0;
}

void apptainer_words(const struct apptainer *a, struct argv *out)
{
    argv_push(out, a->program);
    /* Nothing of the host but the image: own /tmp and home, no environment, own namespaces, no network, no
     * rights; none of the files that apptainer.conf binds, which root could change. No first process of
     * Apptainer's own: from an ordinary user it has the code's uid, and would give it the channel. */
    argv_pushl(out, "exec", "--containall", "--cleanenv", "--no-home", "--no-init", "--no-privs",
               "--no-umask", "--no-eval", "--net", "--network", "none", "--no-mount", "bind-paths,sys,hostfs",
               "--scratch", DATA_DIR, "--pwd", DATA_DIR, NULL);
    if (a->folders) {
        argv_pushl(out, "--workdir", STAGE_DIR, "--bind", STAGE_DIR "/shm:/dev/shm", NULL);
        if (!a->uid)
            argv_push(out, "--userns"); /* a program with a set-uid bit could not work in ours */
    }
    if (a->uid) {
        argv_option(out, "--security", "uid:%u", a->uid);
        argv_option(out, "--security", "gid:%u", a->uid);
    }
    if (a->filter >= 0)
        argv_option(out, "--security", "seccomp:/proc/self/fd/%d", a->filter);
    /* The two are set anew inside, where they are missing. */
    argv_pushl(out, a->image, "env", "-u", "HOME", "-u", "LANG", "python3", NULL);
}
