/* mount_look.c - looks through a folder that is to be mounted for what must not be in a sandbox: sockets,
 * pipes and devices, which lead out of it even where nothing can be written, and files that look like keys or
 * passwords. Bounded in entries, depth and time; the nearest are looked at first. Follows no link.
 */
#include "mount/mount.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/argv.h"
#include "base/beneath.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"

#define ENTRIES_MAX 100000
#define DEPTH_MAX   24
#define TIME_MS     5000
#define READ_MAX    16384 /* bytes of a file that may hold a key */
#define READS_MAX   5000  /* such files */

/* The first row that fits a name counts. */
static const struct row {
    const char *name;
    bool folder;
    const char *mark; /* it counts only if its first bytes hold this; NULL: it does in any case */
    const char *what; /* NULL: harmless */
} rows[] = {
    {"*.pub", false, NULL, NULL},
    {".env.example", false, NULL, NULL},
    {".env.sample", false, NULL, NULL},
    {".env.template", false, NULL, NULL},
    {".env.dist", false, NULL, NULL},
    {".env", false, NULL, "which may hold keys"},
    {".env.*", false, NULL, "which may hold keys"},
    {"id_*", false, "PRIVATE KEY", "a private key"},
    {"*.pem", false, "PRIVATE KEY", "a private key"},
    {"*.key", false, "PRIVATE KEY", "a private key"},
    {"*.ppk", false, "PuTTY-User-Key-File", "a private key"},
    {"*.p12", false, NULL, "a private key"},
    {"*.pfx", false, NULL, "a private key"},
    {"*.kdbx", false, NULL, "which holds passwords"},
    {".netrc", false, NULL, "which holds passwords"},
    {"_netrc", false, NULL, "which holds passwords"},
    {".pgpass", false, NULL, "which holds passwords"},
    {".my.cnf", false, "password", "which holds passwords"},
    {".git-credentials", false, NULL, "which holds passwords"},
    {".pypirc", false, NULL, "which holds passwords"},
    {".npmrc", false, "_auth", "which holds a token"},
    {".vault-token", false, NULL, "which holds a token"},
    {"credentials", false, NULL, "which holds keys"},
    {"*credentials*.json", false, NULL, "which holds keys"},
    {"*.json", false, "\"private_key\"", "a private key"},
    {"kubeconfig", false, NULL, "which holds keys"},
    {"*.kubeconfig", false, NULL, "which holds keys"},
    {"config.json", false, "\"auths\"", "which holds passwords"},
    {".ssh", true, NULL, "which holds keys"},
    {".aws", true, NULL, "which holds keys"},
    {".gnupg", true, NULL, "which holds keys"},
    {".kube", true, NULL, "which holds keys"},
    {".azure", true, NULL, "which holds keys"},
    {".password-store", true, NULL, "which holds passwords"},
};

struct look {
    struct mount *m;
    struct argv folders; /* paths from the folder, "." first; those after at are still to be looked at */
    size_t at;
    int64_t until;
    unsigned reads;
};

static int refuse_content(const char *path, const char *what, struct error *err)
{
    return error_set(err, ERROR_USAGE, 0,
                     "it holds %s, %s\n"
                     "Move it out of there, mount a folder without it, or copy what is needed with --add.",
                     path, what);
}

static bool has_mark(struct look *l, const char *path, const char *mark)
{
    static char text[READ_MAX];
    bool is_folder;

    if (++l->reads > READS_MAX) {
        l->m->seen.cut = true;
        return false;
    }
    autoclose int fd = beneath_open(l->m->fd, path, &is_folder, NULL);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text);

    return n > 0 && memmem(text, (size_t)n, mark, strlen(mark));
}

static int check_name(struct look *l, const char *path, bool folder, struct error *err)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

    for (size_t i = 0; i < countof(rows); i++) {
        const struct row *r = &rows[i];

        if (r->folder != folder || fnmatch(r->name, name, FNM_CASEFOLD) != 0)
            continue;
        if (!r->what)
            return 0;
        if (!r->mark || has_mark(l, path, r->mark))
            return refuse_content(path, r->what, err);
    }
    return 0;
}

static const char *special(mode_t mode)
{
    return S_ISSOCK(mode)                   ? "a socket"
           : S_ISFIFO(mode)                 ? "a pipe"
           : S_ISCHR(mode) || S_ISBLK(mode) ? "a device"
                                            : NULL;
}

static unsigned depth_of(const char *path)
{
    unsigned n = 0;

    for (; (path = strchr(path, '/')) != NULL; path++)
        n++;
    return n;
}

static int check_entry(struct look *l, const char *path, const struct stat *st, struct error *err)
{
    struct mount_seen *seen = &l->m->seen;
    bool folder = S_ISDIR(st->st_mode);
    mode_t needed = folder ? S_IROTH | S_IXOTH : S_IROTH;

    if (special(st->st_mode))
        return refuse_content(path, special(st->st_mode), err);
    if (S_ISLNK(st->st_mode))
        return 0;
    if (folder && st->st_dev != l->m->dev)
        return refuse_content(path, "where another file system is mounted", err);
    if ((st->st_mode & needed) != needed && !seen->closed++)
        seen->closed_name = xstrdup(path);
    if (folder && depth_of(path) >= DEPTH_MAX)
        seen->cut = true;
    else if (folder)
        argv_push(&l->folders, path);
    return check_name(l, path, folder, err);
}

static int look_at(struct look *l, const char *folder, DIR *d, struct error *err)
{
    const struct dirent *e;
    struct stat st;

    while ((e = readdir(d)) != NULL) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")
            || fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        if (++l->m->seen.looked_at > ENTRIES_MAX || clock_ms() > l->until) {
            l->m->seen.cut = true;
            return 0;
        }
        autofree char *path = strcmp(folder, ".") ? xasprintf("%s/%s", folder, e->d_name)
                                                  : xstrdup(e->d_name);
        if (check_entry(l, path, &st, err) < 0)
            return -1;
    }
    return 0;
}

/* The folder itself must be readable; what is closed to us in it is closed to the code as well. */
static int look_in(struct look *l, const char *path, struct error *err)
{
    struct error why = {0};
    bool is_folder;
    /* A file, which is_folder would tell, has no entries to read. */
    autoclosedir DIR *d = dir_take(beneath_open(l->m->fd, path, &is_folder, &why));

    if (!d)
        return strcmp(path, ".") ? 0 : error_set(err, ERROR_USAGE, why.code, "%s", strerror(why.code));
    return look_at(l, path, d, err);
}

int mount_look(struct mount *m, struct error *err)
{
    struct look l = {.m = m, .folders = ARGV_INIT, .until = clock_ms() + TIME_MS};
    int status = 0;

    argv_push(&l.folders, ".");
    while (status == 0 && l.at < l.folders.n && !(m->seen.cut && clock_ms() > l.until)
           && m->seen.looked_at <= ENTRIES_MAX)
        status = look_in(&l, l.folders.v[l.at++], err);
    argv_release(&l.folders);
    return status;
}
