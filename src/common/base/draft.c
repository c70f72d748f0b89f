/* draft.c - makes, locks and removes the folder of a draft, and sweeps the folders that nobody holds. The
 * hold is a lock on the folder: the kernel drops it with the last process that has inherited it, however
 * that ends.
 */
#include "base/draft.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"

#define PREFIX    "edit-"
#define TRIES_MAX 3

/* The descriptor of the folder if nobody holds it yet, or -1. */
static int lock_folder(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;

    /* a sweep may have come between: then the folder has no name any more */
    if (fd >= 0 && (flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &st) < 0 || st.st_nlink == 0))
        fd_close(&fd);
    return fd;
}

static int make_folder(struct draft *d, const char *runtime, struct error *err)
{
    for (int i = 0; d->hold < 0 && i < TRIES_MAX; i++) {
        xreplace(&d->folder, xasprintf("%s/" PREFIX "XXXXXX", runtime));
        if (!mkdtemp(d->folder)) {
            error_errno(err, "no file to edit in %s", runtime);
            free(steal(&d->folder));
            return -1;
        }
        d->hold = lock_folder(d->folder);
    }
    return d->hold < 0 ? error_errno(err, "%s", d->folder) : 0;
}

int draft_make(struct draft *d, const char *name, const struct buf *text, struct error *err)
{
    autofree char *runtime = xdg_path(XDG_RUNTIME, NULL);

    if (!runtime)
        return error_errno(err, "no folder for the file to edit");
    if (file_mkdirs(runtime, 0700, err) < 0 || make_folder(d, runtime, err) < 0)
        return -1;
    d->path = xasprintf("%s/%s", d->folder, name);
    autoclose int fd = open(d->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || fd_write_all(fd, buf_str(text), text->len) < 0
        || fd_write_all(fd, "\n", text->len ? 1 : 0) < 0)
        return error_errno(err, "%s", d->path);
    return 0;
}

void draft_remove(struct draft *d)
{
    if (d->folder)
        file_remove_tree(d->folder);
    fd_close(&d->hold);
    free(d->folder);
    free(d->path);
    *d = DRAFT_INIT;
}

unsigned draft_sweep(void)
{
    autofree char *runtime = xdg_path(XDG_RUNTIME, NULL);
    DIR *dir = runtime ? opendir(runtime) : NULL;
    unsigned n = 0;

    for (struct dirent *e; dir && (e = readdir(dir)) != NULL;) {
        if (strncmp(e->d_name, PREFIX, strlen(PREFIX)) != 0)
            continue;
        autofree char *folder = xasprintf("%s/%s", runtime, e->d_name);
        autoclose int fd = lock_folder(folder);
        n += fd >= 0 && file_remove_tree(folder) == 0;
    }
    if (dir)
        closedir(dir);
    return n;
}
