/* gather.c - walks a folder with openat2 and lists its regular files, up to the cap. */
#include "base/gather.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"

struct gather_walk {
    int folder;
    const char *name;
    struct gathered *out;
    unsigned seen;
};

static int open_below(int folder, const char *path, int flags)
{
    struct open_how how = {.flags = (uint64_t)(flags | O_CLOEXEC),
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};

    return (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
}

int gather_open(int folder, const char *path)
{
    int fd = open_below(folder, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    struct stat st;

    if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
        close(fd);
        errno = ENXIO;
        return -1;
    }
    return fd;
}

static const char *kind_of_mode(mode_t mode)
{
    return S_ISSOCK(mode)                   ? "a socket"
           : S_ISFIFO(mode)                 ? "a named pipe"
           : S_ISCHR(mode) || S_ISBLK(mode) ? "a device"
           : S_ISDIR(mode)                  ? "a link to a folder"
                                            : "not a regular file";
}

static void refuse_file(struct gather_walk *w, const char *path, const char *why)
{
    argv_pushf(&w->out->refused, "%s: %s", path, why);
}

static void add_gathered(struct gather_walk *w, const char *path, int64_t size)
{
    struct gathered *g = w->out;

    g->v = xreallocarray(g->v, g->n + 1, sizeof *g->v);
    g->v[g->n++] = (struct gathered_file){xstrdup(path), size};
    g->total += size;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names in a folder, sorted. */
static int names_in(struct gather_walk *w, const char *path, struct argv *names, struct error *err)
{
    autoclosedir DIR *dir = dir_take(open_below(w->folder, *path ? path : ".", O_RDONLY | O_DIRECTORY));
    struct dirent *e;

    if (!dir && !*path)
        return error_errno(err, "%s", w->name);
    if (!dir) {
        refuse_file(w, path, strerror(errno));
        return 0;
    }
    while ((e = readdir(dir))) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        if (++w->seen > GATHER_FILES)
            return error_set(err, ERROR_USAGE, 0,
                             "%s has more than %d files; add a folder in it, or single files\n"
                             "Start with --mount DIR to have all of it read where it is.",
                             w->name, GATHER_FILES);
        if (e->d_name[0] == '.')
            w->out->hidden++;
        else
            argv_push(names, e->d_name);
    }
    if (names->n)
        qsort(names->v, names->n, sizeof *names->v, by_name);
    return 0;
}

/* One name: a folder is walked by the caller (1), a file is added, everything else is left out (0). */
static int look_at_entry(struct gather_walk *w, const char *path)
{
    autoclose int fd = open_below(w->folder, path, O_PATH | O_NOFOLLOW);
    struct stat st;

    if (fd < 0 || fstat(fd, &st)) {
        if (errno != ENOENT) /* gone meanwhile */
            refuse_file(w, path, strerror(errno));
        return 0;
    }
    bool link = S_ISLNK(st.st_mode);
    if (S_ISDIR(st.st_mode))
        return 1;
    if (link) {
        autoclose int end = open_below(w->folder, path, O_PATH);

        if (end < 0 || fstat(end, &st)) {
            refuse_file(w, path, errno == ENOENT ? "a link to nothing" : "a link out of the folder");
            return 0;
        }
    }
    if (S_ISREG(st.st_mode))
        add_gathered(w, path, st.st_size);
    else
        refuse_file(w, path, kind_of_mode(st.st_mode));
    return 0;
}

static int walk_folder(struct gather_walk *w, const char *path, unsigned depth, struct error *err)
{
    struct argv names autorelease(argv_release) = ARGV_INIT;

    if (depth > GATHER_DEPTH)
        return error_set(err, ERROR_USAGE, 0, "%s: folders nested more than %d deep", w->name, GATHER_DEPTH);
    if (names_in(w, path, &names, err) < 0)
        return -1;
    for (size_t i = 0; i < names.n; i++) {
        autofree char *inner = xasprintf("%s%s%s", path, *path ? "/" : "", names.v[i]);

        if (look_at_entry(w, inner) && walk_folder(w, inner, depth + 1, err) < 0)
            return -1;
    }
    return 0;
}

int gather(int folder, const char *name, struct gathered *g, struct error *err)
{
    struct gather_walk w = {.folder = folder, .name = name, .out = g};

    *g = (struct gathered){.refused = ARGV_INIT};
    return walk_folder(&w, "", 0, err);
}

void gathered_release(struct gathered *g)
{
    for (size_t i = 0; i < g->n; i++)
        free(g->v[i].path);
    free(g->v);
    argv_release(&g->refused);
    *g = (struct gathered){.refused = ARGV_INIT};
}
