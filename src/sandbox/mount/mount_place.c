/* mount_place.c - folders that must not be mounted because of where they lie: home and what is around it,
 * the system's, those that keep keys, our own, and those in which another file system is mounted. Folders are
 * compared by device and inode on the whole way up, so that neither links nor bind mounts hide them.
 */
#include "mount/mount.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"

#define MOUNTINFO_MAX (4u << 20)
#define DEPTH_MAX     256

/* Is the folder at inner that one, or below it? */
static bool lies_in(int inner, uint64_t dev, uint64_t ino)
{
    int at = openat(inner, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct stat st = {0}, up;
    bool found = false;

    for (int i = 0; i < DEPTH_MAX && at >= 0 && fstat(at, &st) == 0; i++) {
        found = st.st_dev == dev && st.st_ino == ino;
        int next = found ? -1 : openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (next >= 0 && fstat(next, &up) == 0 && up.st_dev == st.st_dev && up.st_ino == st.st_ino)
            fd_close(&next); /* the root */
        fd_close(&at);
        at = next;
    }
    fd_close(&at);
    return found;
}

struct relation {
    bool there, same, below, above; /* the folder at path is there; m is it, is below it, is above it */
};

static struct relation relation_to(const struct mount *m, const char *path)
{
    autoclose int fd = path ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    struct relation r = {0};
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return r;
    r.there = true;
    r.same = st.st_dev == m->dev && st.st_ino == m->ino;
    r.below = !r.same && lies_in(m->fd, st.st_dev, st.st_ino);
    r.above = !r.same && lies_in(fd, m->dev, m->ino);
    return r;
}

static int refuse_place(struct error *err, const char *why)
{
    return error_set(err, ERROR_USAGE, 0, "%s\nMount a folder that holds only what the code needs.", why);
}

static int check_home(const struct mount *m, const char *home, struct error *err)
{
    /* From the home folder of each that keeps keys, passwords or sessions. */
    static const char *const keys[] = {
        ".ssh",
        ".aws",
        ".gnupg",
        ".kube",
        ".azure",
        ".docker",
        ".mozilla",
        ".thunderbird",
        ".config/gcloud",
        ".config/gh",
        ".password-store",
        ".config/chromium",
        ".config/google-chrome",
        ".config/op",
        ".local/share/keyrings",
    };
    struct relation r = relation_to(m, home);

    if (r.same || r.above)
        return refuse_place(err, r.same ? "this is the home folder" : "it contains the home folder");
    for (size_t i = 0; r.there && i < countof(keys); i++) {
        autofree char *path = xasprintf("%s/%s", home, keys[i]), *why = NULL;
        struct relation to = relation_to(m, path);

        if (!to.same && !to.below && !to.above)
            continue;
        why = xasprintf("%s ~/%s, which keeps keys", to.above ? "it holds" : "it belongs to", keys[i]);
        return refuse_place(err, why);
    }
    return 0;
}

static int check_own(const struct mount *m, struct error *err)
{
    static const enum xdg own[] = {XDG_CONFIG, XDG_CACHE, XDG_STATE, XDG_DATA, XDG_RUNTIME};

    for (size_t i = 0; i < countof(own); i++) {
        autofree char *path = xdg_path(own[i], NULL);
        struct relation r = relation_to(m, path);

        if (r.same || r.below || r.above) {
            autofree char *why = xasprintf("sandpiper's own folder %s %s", path,
                                           r.above ? "lies in it" : "must not be in a sandbox");
            return refuse_place(err, why);
        }
    }
    return 0;
}

static int check_system(const struct mount *m, struct error *err)
{
    static const struct {
        const char *path;
        bool below; /* and all folders in it */
    } folders[] = {
        {"/", false},           {"/bin", true},       {"/boot", true},     {"/dev", true},
        {"/etc", true},         {"/home", false},     {"/lib", true},      {"/lib32", true},
        {"/lib64", true},       {"/libx32", true},    {"/proc", true},     {"/root", false},
        {"/run", false},        {"/run/lock", true},  {"/run/user", true}, {"/sbin", true},
        {"/sys", true},         {"/tmp", false},      {"/usr", true},      {"/var", false},
        {"/var/backups", true}, {"/var/cache", true}, {"/var/lib", true},  {"/var/log", true},
        {"/var/mail", true},    {"/var/spool", true}, {"/var/tmp", false},
    };

    for (size_t i = 0; i < countof(folders); i++) {
        struct relation r = relation_to(m, folders[i].path);

        if (!r.same && !(r.below && folders[i].below))
            continue;
        autofree char *why = xasprintf("%s is a system folder", folders[i].path);
        return refuse_place(err, why);
    }
    return 0;
}

/* Replace each "\040" of mountinfo by the character it stands for, in place. */
static void unescape(char *s)
{
    char *to = s;

    for (; *s; s++)
        if (s[0] == '\\' && strspn(s + 1, "01234567") >= 3) {
            *to++ = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
            s += 3;
        } else {
            *to++ = *s;
        }
    *to = '\0';
}

/* A line of /proc/self/mountinfo has the place as its fifth word. */
static bool is_below(char *line, const char *path)
{
    size_t len = strlen(path);

    for (int i = 0; i < 4 && line; i++)
        line = (line = strchr(line, ' ')) ? line + 1 : NULL;
    if (!line)
        return false;
    line[strcspn(line, " ")] = '\0';
    unescape(line);
    return !strncmp(line, path, len) && line[len] == '/';
}

/* Some engines bind what is mounted in a folder along with it, with rights of its own. */
static int check_mounts(const struct mount *m, struct error *err)
{
    struct buf text autorelease(buf_release) = BUF_INIT(MOUNTINFO_MAX);
    char *save = NULL;

    if (file_read("/proc/self/mountinfo", MOUNTINFO_MAX, &text, err) < 0)
        return -1;
    autofree char *lines = xstrdup(buf_str(&text));
    for (char *line = strtok_r(lines, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        autofree char *place = xstrdup(line);

        if (is_below(place, m->path))
            return error_set(err, ERROR_USAGE, 0,
                             "another file system is mounted in it\n"
                             "Unmount that, or mount a folder without one; each can be mounted by itself.");
    }
    return 0;
}

int mount_place(const struct mount *m, struct error *err)
{
    const struct passwd *pw = getpwuid(geteuid());
    autofree char *home = pw ? xstrdup(pw->pw_dir) : NULL;

    if (check_home(m, getenv("HOME"), err) < 0 || check_home(m, home, err) < 0 || check_system(m, err) < 0
        || check_own(m, err) < 0)
        return -1;
    return check_mounts(m, err);
}
