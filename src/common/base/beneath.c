/* beneath.c - see beneath.h. */
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

static int refuse(const char *path, int code, struct error *err)
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
        return refuse(path, errno, err);
    if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return refuse(path, ENXIO, err);
    *is_folder = S_ISDIR(st.st_mode);
    return fd_steal(&fd);
}
