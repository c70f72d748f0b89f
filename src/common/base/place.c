/* place.c - walks a path with openat, component by component, so that what is opened is what was checked.
 * openat2 can only refuse all links, not just those of other users, and a user may well keep his state on
 * another disk by a link.
 *
 * RULE: On the way to our files below the home folder only links of root and of the user are followed.
 */
#include "base/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"

#define LINKS_MAX 40 /* the kernel's limit */

struct place_walk {
    const char *path; /* as the caller gave it, for messages */
    char *rest;       /* what remains to be walked */
    size_t own;       /* its last bytes are the caller's; the others came from a link */
    int at;           /* the folder reached so far */
    int links;
};

static int refuse_link(const struct place_walk *w, uid_t owner, struct error *err)
{
    return error_set(err, ERROR_SYSTEM, ELOOP,
                     "%s contains a symbolic link of another user (uid %u), which is not followed", w->path,
                     (unsigned)owner);
}

/* Follow the link name in w->at: its text replaces its name in the path. */
static int take_link(struct place_walk *w, const char *name, struct error *err)
{
    autoclose int link = openat(w->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    char text[PATH_MAX];
    struct stat st;
    ssize_t n;

    if (link < 0 || fstat(link, &st) < 0)
        return error_errno(err, "%s", w->path);
    errno = ENOTDIR;
    if (!S_ISLNK(st.st_mode))
        return error_errno(err, "%s", w->path);
    if (st.st_uid != 0 && st.st_uid != geteuid())
        return refuse_link(w, st.st_uid, err);
    errno = ELOOP;
    if (++w->links > LINKS_MAX || (n = readlinkat(link, "", text, sizeof text - 1)) < 0)
        return error_errno(err, "%s", w->path);
    text[n] = '\0';
    if (*text == '/') {
        fd_close(&w->at);
        w->at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    }
    autofree char *rest = w->rest;
    w->rest = xasprintf("%s/%s", text, rest);
    return 0;
}

/* Take one component. O_DIRECTORY makes the kernel mount a home that is mounted on demand. */
static int step_into(struct place_walk *w, const char *name, bool make, struct error *err)
{
    int next = openat(w->at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (next < 0 && errno == ENOENT && make && (mkdirat(w->at, name, 0700) == 0 || errno == EEXIST))
        next = openat(w->at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0 && (errno == ELOOP || errno == ENOTDIR))
        return take_link(w, name, err);
    if (next < 0)
        return error_errno(err, "%s", w->path);
    fd_close(&w->at);
    w->at = next;
    return 0;
}

static int go(struct place_walk *w, bool make, struct error *err)
{
    while (w->rest[strspn(w->rest, "/")]) {
        const char *from = w->rest + strspn(w->rest, "/");
        size_t n = strcspn(from, "/");
        bool own = strlen(from) <= w->own;
        autofree char *name = xmemdup0(from, n);

        memmove(w->rest, from + n, strlen(from + n) + 1);
        if (own)
            w->own = strlen(w->rest);
        if (step_into(w, name, make && own, err) < 0)
            return -1;
    }
    return 0;
}

/* The file or folder that a path is to be resolved to. */
struct goal {
    const char *path, *shown; /* shown: as the caller gave it, for messages */
    int links;                /* followed so far */
};

/* The folder path, which is g's or the one that it lies in. */
static int walk_to_folder(const struct goal *g, const char *path, bool make, struct error *err)
{
    struct place_walk w = {.path = g->shown, .rest = xstrdup(path), .own = strlen(path), .links = g->links};

    w.at = open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int status = w.at < 0 ? error_errno(err, "%s", g->shown) : go(&w, make, err);
    free(w.rest);
    if (status < 0)
        fd_close(&w.at);
    return status < 0 ? -1 : w.at;
}

int place_folder(const char *path, bool make, struct error *err)
{
    return walk_to_folder(&(struct goal){path, path, 0}, path, make, err);
}

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash != path ? xmemdup0(path, (size_t)(slash - path)) : xstrdup(slash ? "/" : ".");
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* For root, a second hard link is refused too: it may be a system file that somebody has linked to. */
static int check_file(int fd, const char *shown, struct error *err)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return error_errno(err, "%s", shown);
    if (!S_ISREG(st.st_mode))
        return error_set(err, ERROR_SYSTEM, 0, "%s is not a regular file", shown);
    if (st.st_uid != geteuid() && st.st_uid != 0)
        return error_set(err, ERROR_SYSTEM, 0, "%s belongs to another user (uid %u)", shown,
                         (unsigned)st.st_uid);
    if (st.st_nlink > 1 && geteuid() == 0)
        return error_set(err, ERROR_SYSTEM, 0, "%s has more than one hard link", shown);
    return 0;
}

/* The path that a link at the end of path leads to; NULL with err. */
static char *link_target(int folder, const struct goal *g, struct error *err)
{
    struct place_walk w = {.path = g->shown, .rest = xstrdup(""), .at = fcntl(folder, F_DUPFD_CLOEXEC, 0)};
    autofree char *base = folder_of(g->path);
    char *target = NULL;

    if (take_link(&w, name_of(g->path), err) == 0) {
        size_t n = strlen(w.rest) - 1; /* the slash before the last component */

        target = *w.rest == '/' ? xmemdup0(w.rest, n) : xasprintf("%s/%.*s", base, (int)n, w.rest);
    }
    free(w.rest);
    fd_close(&w.at);
    return target;
}

static int open_file(const struct goal *g, int flags, struct error *err)
{
    autofree char *base = folder_of(g->path);
    autoclose int folder = walk_to_folder(g, base, (flags & O_CREAT) && !g->links, err);

    if (folder < 0)
        return -1;
    int fd = openat(folder, name_of(g->path), flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
    if (fd < 0 && errno == ELOOP && g->links < LINKS_MAX) {
        autofree char *target = link_target(folder, g, err);
        struct goal next = {target, g->shown, g->links + 1};

        return target ? open_file(&next, flags & ~O_CREAT, err) : -1;
    }
    if (fd < 0)
        return error_errno(err, "%s", g->shown);
    if (check_file(fd, g->shown, err) < 0)
        fd_close(&fd);
    return fd;
}

int place_open(const char *path, int flags, struct error *err)
{
    return open_file(&(struct goal){path, path, 0}, flags, err);
}

int place_read(const char *path, size_t max, struct buf *out, struct error *err)
{
    autoclose int fd = place_open(path, O_RDONLY, err);
    struct stat st;

    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && (st.st_mode & 022))
        return error_set(err, ERROR_SYSTEM, 0, "%s is writable by other users", path);
    return file_read_open(fd, path, max, out, err);
}

typedef int file_writer(const char *path, const void *data, size_t len, struct error *err);

/* The writer renames the file into place, which would replace a link instead of following it: so the folder
 * is walked to first. */
static int write_by(file_writer *writer, const char *path, const void *data, size_t len, struct error *err)
{
    struct error why = {0};
    autofree char *base = folder_of(path);
    autoclose int folder = walk_to_folder(&(struct goal){path, path, 0}, base, true, err);

    if (folder < 0)
        return -1;
    autofree char *at = xasprintf("/proc/self/fd/%d/%s", folder, name_of(path));
    file_sweep(at);
    if (writer(at, data, len, &why) == 0)
        return 0;
    errno = why.code; /* its text names a file in /proc, which means nothing to the user */
    return error_errno(err, "cannot write %s", path);
}

int place_write(const char *path, const void *data, size_t len, struct error *err)
{
    return write_by(file_write, path, data, len, err);
}

int place_write_soon(const char *path, const void *data, size_t len, struct error *err)
{
    return write_by(file_write_soon, path, data, len, err);
}

static int cache_errno;

bool cache_keep(const char *path, const void *data, size_t len)
{
    struct error err = {0};

    if (!path || *path != '/')
        return false;
    if (place_write_soon(path, data, len, &err) == 0)
        return true;
    if (!cache_errno)
        cache_errno = err.code;
    return false;
}

int cache_trouble(void)
{
    return cache_errno;
}
