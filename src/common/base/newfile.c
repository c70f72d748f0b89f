/* newfile.c - opens a file without a name (O_TMPFILE) or a hidden one, and links or renames it when it is
 * whole.
 */
#include "base/newfile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/random.h"

#define PREFIX ".sandpiper-"
#define SUFFIX ".part"
#define TRIES  100

#define RANDOM_DIGITS 16 /* between the two */

static bool is_hidden_name(const char *name)
{
    size_t n = strlen(name);

    return n == strlen(PREFIX) + RANDOM_DIGITS + strlen(SUFFIX) && !strncmp(name, PREFIX, strlen(PREFIX))
           && strspn(name + strlen(PREFIX), "0123456789abcdef") == RANDOM_DIGITS
           && !strcmp(name + n - strlen(SUFFIX), SUFFIX);
}

/* Remove what killed writers left: files whose lock nobody holds. */
static void sweep(int dir)
{
    autoclosedir DIR *d = dir_take(openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));

    for (struct dirent *e; d && (e = readdir(d)) != NULL;)
        if (is_hidden_name(e->d_name))
            file_remove_unlocked(dir, e->d_name);
}

/* Once per folder, not for each of a thousand files. */
static void sweep_once(int dir)
{
    static struct stat swept;
    struct stat st;

    if (fstat(dir, &st) < 0 || (st.st_dev == swept.st_dev && st.st_ino == swept.st_ino))
        return;
    swept = st;
    sweep(dir);
}

static int open_hidden(int dir, int mode, char **name)
{
    for (int i = 0; i < TRIES; i++) {
        char random[RANDOM_DIGITS + 1];
        struct stat st;

        random_hex(random, RANDOM_DIGITS);
        *name = xasprintf(PREFIX "%s" SUFFIX, random);
        int fd = openat(dir, *name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode), code = errno;
        /* Once it is locked no sweep removes it. If one did so before, its link count is 0. */
        if (fd >= 0 && (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) && fstat(fd, &st) == 0
            && st.st_nlink > 0)
            return fd;
        free(steal(name));
        if (fd < 0 && code != EEXIST) {
            errno = code;
            return -1;
        }
        fd_close(&fd);
    }
    errno = EEXIST;
    return -1;
}

static int open_folder(struct newfile *f, const char *folder)
{
    newfile_release(f);
    f->dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return f->dir < 0 ? -1 : 0;
}

int newfile_open_hidden(struct newfile *f, const char *folder, int mode)
{
    if (open_folder(f, folder) < 0)
        return -1;
    sweep_once(f->dir);
    f->fd = open_hidden(f->dir, mode, &f->temp);
    return f->fd < 0 ? -1 : 0;
}

int newfile_open(struct newfile *f, const char *folder, int mode)
{
    if (open_folder(f, folder) < 0)
        return -1;
    f->fd = openat(f->dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
    /* EISDIR: the kernel takes it for a plain O_DIRECTORY. EINVAL, ENOENT: the file system does not support
     * it. */
    if (f->fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL || errno == ENOENT)) {
        sweep_once(f->dir);
        f->fd = open_hidden(f->dir, mode, &f->temp);
    }
    return f->fd < 0 ? -1 : 0;
}

/* The link is made through /proc, because linking a bare descriptor needs a capability. */
static int link_nameless(const struct newfile *f, const char *name)
{
    char path[32];

    snprintf(path, sizeof path, "/proc/self/fd/%d", f->fd);
    return linkat(AT_FDCWD, path, f->dir, name, AT_SYMLINK_FOLLOW);
}

/* The file system has neither a rename that replaces nothing nor hard links. So take the name first, which
 * keeps us from replacing another file. If we are killed right here, an empty file is left. */
static int rename_over_own(struct newfile *f, const char *name)
{
    autoclose int taken = openat(f->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (taken < 0)
        return -1;
    if (renameat(f->dir, f->temp, f->dir, name) == 0)
        return 0;
    int code = errno;
    unlinkat(f->dir, name, 0);
    errno = code;
    return -1;
}

static int name_hidden(struct newfile *f, const char *name)
{
    if (renameat2(f->dir, f->temp, f->dir, name, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
        return -1;
    if (linkat(f->dir, f->temp, f->dir, name, 0) == 0)
        return unlinkat(f->dir, f->temp, 0);
    return errno == EEXIST ? -1 : rename_over_own(f, name);
}

/* The file could be created without a name but cannot get one here: copy it to a file with a hidden name. */
static int copy_to_hidden(struct newfile *f)
{
    struct stat st;
    off_t at = 0;
    ssize_t n = 0;

    if (fstat(f->fd, &st) < 0)
        return -1;
    int fd = open_hidden(f->dir, (int)(st.st_mode & 0777), &f->temp);
    while (fd >= 0 && at < st.st_size && (n = sendfile(fd, f->fd, &at, (size_t)(st.st_size - at))) > 0)
        continue;
    if (fd >= 0 && at == st.st_size) {
        fd_close(&f->fd);
        f->fd = fd;
        return 0;
    }
    int code = errno;
    if (f->temp)
        unlinkat(f->dir, f->temp, 0);
    free(steal(&f->temp));
    fd_close(&fd);
    errno = n == 0 && at < st.st_size ? EIO : code;
    return -1;
}

static bool is_final(int code)
{
    return code == EEXIST || code == ENOSPC || code == EDQUOT || code == EROFS || code == EIO;
}

int newfile_name(struct newfile *f, const char *name)
{
    if (!f->temp) {
        if (link_nameless(f, name) == 0)
            return 0;
        if (is_final(errno) || copy_to_hidden(f) < 0)
            return -1;
    }
    if (name_hidden(f, name) < 0)
        return -1;
    free(steal(&f->temp));
    return 0;
}

int newfile_write(const char *path, const void *data, size_t len, struct error *err)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    autofree char *folder = slash ? xmemdup0(path, (size_t)(name - path)) : xstrdup(".");
    struct newfile f autorelease(newfile_release) = NEWFILE_INIT;

    if (newfile_open(&f, folder, 0600) < 0)
        return error_set(err, ERROR_USAGE, errno, "cannot write %.200s: %s", path, strerror(errno));
    if (fd_write_all(f.fd, data, len) == 0 && newfile_name(&f, name) == 0)
        return 0;
    if (errno == EEXIST)
        return error_set(err, ERROR_USAGE, 0, "%.200s exists already; name another file", path);
    return error_errno(err, "%.200s", path);
}

void newfile_release(struct newfile *f)
{
    if (f->temp)
        unlinkat(f->dir, f->temp, 0);
    free(f->temp);
    fd_close(&f->fd);
    fd_close(&f->dir);
    *f = NEWFILE_INIT;
}

int newfile_copy(const char *from, const char *folder, const char *name)
{
    autoclose int in = open(from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    struct newfile out autorelease(newfile_release) = NEWFILE_INIT;
    ssize_t n;

    if (in < 0 || newfile_open(&out, folder, 0666) < 0)
        return -1;
    while ((n = sendfile(out.fd, in, NULL, 1 << 30)) > 0)
        continue;
    return n < 0 ? -1 : newfile_name(&out, name);
}
