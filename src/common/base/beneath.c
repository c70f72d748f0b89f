/* beneath.c - calls openat2 with the flags that refuse links, and compares the time of a file that was noted
 * earlier.
 *
 * RULE: A saved session opens only files that are as they were when they were noted, and no link leads it
 *     elsewhere.
 */
#include "base/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"

int beneath_folder(const char *path, struct error *err)
{
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

    return fd >= 0 ? fd : error_set(err, ERROR_USAGE, errno, "%.200s: %s", path, strerror(errno));
}

static int refuse_path(const char *path, int code, struct error *err)
{
    const char *why = code == ELOOP    ? "it is a link, or its path has one"
                      : code == EXDEV  ? "it leads out of the folder"
                      : code == ENOSYS ? "this kernel has no openat2 (Linux 5.6 or newer)"
                      : code == ENXIO  ? "it is not a regular file"
                                       : strerror(code);

    return error_set(err, ERROR_SYSTEM, code, "%.200s: %s", path, why);
}

int beneath_open(int folder, const char *path, bool *is_folder, struct error *err)
{
    const struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
                                 .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    autoclose int fd = (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
    struct stat st;

    *is_folder = false;
    if (fd < 0 || fstat(fd, &st) < 0)
        return refuse_path(path, errno, err);
    if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return refuse_path(path, ENXIO, err);
    *is_folder = S_ISDIR(st.st_mode);
    return fd_steal(&fd);
}

int64_t noted_time(const struct stat *st)
{
    return st->st_mtim.tv_sec * INT64_C(1000000) + st->st_mtim.tv_nsec / 1000;
}

int64_t noted_time_of(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISREG(st.st_mode) ? noted_time(&st) : 0;
}

int noted_open(const char *own, const struct noted_file *n, struct error *err)
{
    size_t len = own ? strlen(own) : 0;
    const char *path = n->path ? n->path : "";
    bool is_own = own && !strncmp(path, own, len) && path[len] == '/', is_folder;
    autoclose int fd = is_own ? beneath_folder(own, err)
                              : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;

    if (is_own)
        return fd < 0 ? -1 : beneath_open(fd, path + len + strspn(path + len, "/"), &is_folder, err);
    if (fd < 0 || fstat(fd, &st) < 0)
        return error_errno(err, "%.200s", path);
    if (n->modified > 0 && noted_time(&st) == n->modified
        && (S_ISDIR(st.st_mode) || (S_ISREG(st.st_mode) && st.st_size == n->size)))
        return fd_steal(&fd);
    return error_set(err, ERROR_SYSTEM, ESTALE, "%.200s has changed since", path);
}
