/* rerun_data.c - finds the data of a receipt, each file by its SHA-256. */
#include "main/rerun_data.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "receipt/receipt.h"

struct data_search {
    const struct receipt_file *file;
    const char *changed; /* where a file of that name is, which has other bytes; NULL: nowhere */
    bool link;           /* it is a link, which is not followed */
};

/* Has it these bytes? A receipt without a SHA-256 of it has only the size. */
static bool is_it(const struct receipt_file *f, int fd)
{
    char digest[SHA256_HEX];
    struct stat st;

    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (*f->sha256 && st.st_size != f->size))
        return false;
    return !*f->sha256 || (sha256_file(fd, digest, NULL) == 0 && !strcmp(digest, f->sha256));
}

static const char *base_name(const char *name)
{
    const char *slash = strrchr(name, '/');

    return slash ? slash + 1 : name;
}

/* Below the folder, by its whole name or by the last part of it. -1: not there. */
static int look_below(struct data_search *x, int folder, const char *where)
{
    const char *names[] = {x->file->name, base_name(x->file->name)};

    for (size_t i = 0; i < countof(names) && folder >= 0; i++) {
        struct error err = {0};
        bool is_folder = false;
        autoclose int fd = beneath_open(folder, names[i], &is_folder, &err);

        x->link |= fd < 0 && err.code == ELOOP;
        if (fd < 0 || is_folder)
            continue;
        if (is_it(x->file, fd))
            return fd_steal(&fd);
        x->changed = where;
    }
    return -1;
}

/* Another descriptor, since the file may be wanted again. */
static int open_again(int fd)
{
    autofree char *path = xasprintf("/proc/self/fd/%d", fd);

    return open(path, O_RDONLY | O_CLOEXEC);
}

/* What the user names is taken whatever its name is, if it has these bytes. */
static int look_in_added(struct data_search *x, const struct inputs *added)
{
    for (size_t i = 0; i < added->n; i++) {
        const struct input *in = &added->v[i];
        bool named = !strcmp(base_name(in->path), base_name(x->file->name));
        struct stat st;

        if (fstat(in->fd, &st) == 0 && S_ISDIR(st.st_mode)) {
            int fd = look_below(x, in->fd, in->path);

            if (fd >= 0)
                return fd;
        } else if ((named || *x->file->sha256) && is_it(x->file, in->fd)) {
            return open_again(in->fd);
        } else if (named) {
            x->changed = in->path;
        }
    }
    return -1;
}

static int data_not_found(const struct data_search *x, struct error *err)
{
    autofree char *name = scrub_line(x->file->name, SCRUB_TERMINAL);

    if (x->changed)
        return error_set(err, ERROR_USAGE, ESTALE,
                         "%.200s has changed: %.200s has another SHA-256 than the receipt", name, x->changed);
    return error_set(err, ERROR_USAGE, ENOENT, "%.200s %s; --add FILE says where it is", name,
                     x->link ? "is a link here, which is not followed"
                             : "was found neither beside the receipt nor in this folder");
}

int rerun_data_file(const struct rerun_data *d, const struct receipt_file *f, struct error *err)
{
    static const char *const where[] = {"the one beside the receipt", "the one in this folder"};
    struct data_search x = {.file = f};
    int fd = look_in_added(&x, &d->added);

    for (size_t i = 0; i < countof(where) && fd < 0; i++)
        fd = look_below(&x, d->folders[i], where[i]);
    return fd >= 0 ? fd : data_not_found(&x, err);
}

static int folder_beside(const char *path)
{
    const char *slash = strrchr(path, '/');
    autofree char *folder = slash ? xmemdup0(path, slash == path ? 1 : (size_t)(slash - path)) : NULL;

    return folder ? beneath_folder(folder, NULL) : -1;
}

int rerun_data_open(struct rerun_data *d, const char *receipt, const char *const *add, struct error *err)
{
    *d = (struct rerun_data){.folders = {folder_beside(receipt), beneath_folder(".", NULL)}};
    return inputs_open(&d->added, "--add ", add, err);
}

void rerun_data_release(struct rerun_data *d)
{
    inputs_release(&d->added);
    for (size_t i = 0; i < countof(d->folders); i++)
        fd_close(&d->folders[i]);
}
