/* host_files.c - grants folders, and opens, lists and describes the files beneath them for the agent that
 * asks.
 *
 * RULE: An agent looks at nothing outside of the folders that the user allowed, by no link and no race
 *     (openat2).
 */
#include "agent/host_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/argv.h"
#include "base/beneath.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/scrub.h"

#define FOLDERS_MAX   64
#define ENTRIES_MAX   10000 /* that are looked at in one folder */
#define NAMES_MAX     60    /* that are told of one folder */
#define LIST_MAX      2048  /* bytes of one folder's names */
#define DESCRIBED_MAX 4096

struct folder {
    char *path; /* without links, no slash at its end */
    int fd;     /* -1: the user said no */
};

struct host_files {
    struct folder v[FOLDERS_MAX];
    size_t n;
    enum host_answer (*ask)(void *ctx, const char *folder);
    void *ctx;
};

struct host_files *host_files_new(enum host_answer (*ask)(void *ctx, const char *folder), void *ctx)
{
    struct host_files *h = xmalloc(sizeof *h);

    *h = (struct host_files){.ask = ask, .ctx = ctx};
    return h;
}

void host_files_free(struct host_files *h)
{
    for (size_t i = 0; h && i < h->n; i++) {
        free(h->v[i].path);
        fd_close(&h->v[i].fd);
    }
    free(h);
}

static int add_folder(struct host_files *h, const char *path, bool allowed, struct error *err)
{
    if (h->n == FOLDERS_MAX)
        return error_set(err, ERROR_USAGE, 0, "%.200s: at most %d folders can be allowed", path, FOLDERS_MAX);
    int fd = allowed ? beneath_folder(path, err) : -1;

    if (allowed && fd < 0)
        return -1;
    h->v[h->n++] = (struct folder){xstrdup(path), fd};
    return 0;
}

static char *below_home(const char *path)
{
    const char *home = getenv("HOME");

    return home && *home && (!strncmp(path, "~/", 2) || !strcmp(path, "~"))
               ? xasprintf("%s%s", home, path + 1)
               : xstrdup(path);
}

int host_files_allow(struct host_files *h, const char *path, struct error *err)
{
    autofree char *named = below_home(path), *real = realpath(named, NULL);

    if (!real)
        return error_set(err, ERROR_USAGE, errno, "%.200s: %s", path, strerror(errno));
    if (!strcmp(real, "/"))
        return error_set(err, ERROR_USAGE, 0,
                         "%.200s is the whole machine, which no agent may see\n"
                         "Name the folder that holds the data",
                         path);
    return add_folder(h, real, true, err);
}

/* A part of the path that begins with a dot. "." alone means nothing. */
static bool is_hidden(const char *path)
{
    for (; *path; path += strspn(path, "/")) {
        size_t len = strcspn(path, "/");

        if (*path == '.' && len > 1)
            return true;
        path += len;
    }
    return false;
}

static bool is_plain(const char *path)
{
    size_t len = strlen(path);

    for (size_t i = 0; i < len; i++)
        if ((unsigned char)path[i] < 0x20 || path[i] == 0x7f)
            return false;
    return len > 0 && len < PATH_MAX;
}

/* What follows the folder in an absolute path; NULL: it is elsewhere. */
static const char *behind(const char *folder, const char *path)
{
    size_t n = strlen(folder);

    if (strncmp(path, folder, n) != 0 || (path[n] && path[n] != '/'))
        return NULL;
    path += n;
    path += strspn(path, "/");
    return *path ? path : ".";
}

static int open_beneath(const struct folder *f, const char *rest, struct host_found *out, struct error *err)
{
    if ((out->fd = beneath_open(f->fd, rest, &out->folder, err)) < 0)
        return -1;
    out->path = !strcmp(rest, ".") ? xstrdup(f->path) : xasprintf("%s/%s", f->path, rest);
    return 0;
}

/* A relative path is tried beneath the folder, then from where the user is; NULL: it is not in this one. */
static const char *rest_of(const struct folder *f, const char *path, const char *whole, bool beneath)
{
    return beneath ? (*path == '/' ? NULL : path) : behind(f->path, whole);
}

/* 0, or -1 with err; ENOENT: nothing of that name. */
static int take_known(const struct host_files *h, const char *path, struct host_found *out, struct error *err)
{
    autofree char *here = getcwd(NULL, 0);
    autofree char *whole = *path == '/' || !here ? xstrdup(path) : xasprintf("%s/%s", here, path);

    error_set(err, ERROR_SYSTEM, ENOENT, "%.200s: there is no such file in an allowed folder", path);
    for (size_t i = 0; i < 2 * h->n && err->code == ENOENT; i++) {
        const struct folder *f = &h->v[i % h->n];
        const char *rest = rest_of(f, path, whole, i < h->n);

        if (rest && f->fd >= 0 && open_beneath(f, rest, out, err) == 0)
            return 0;
    }
    return -1;
}

static char *existing_folder(const char *path)
{
    char *real = realpath(path, NULL);
    struct stat st;

    if (real && (stat(real, &st) < 0 || !S_ISDIR(st.st_mode)))
        free(steal(&real));
    return real;
}

/* Folders that the user is not even asked about: somebody who wants a key would ask again and again. */
static bool is_private(const char *real)
{
    static const char *const never[] = {"/proc", "/sys", "/dev", "/run", "/etc", "/boot"};
    const char *home = getenv("HOME");
    bool never_asked = is_hidden(real) || !strcmp(real, "/") || (home && !strcmp(real, home));

    for (size_t i = 0; i < countof(never); i++)
        never_asked |= behind(never[i], real) != NULL;
    return never_asked;
}

static int not_allowed(const char *path, struct error *err)
{
    return error_set(err, ERROR_SYSTEM, EACCES, "%.200s is outside the allowed folders", path);
}

/* A path outside the known folders: ask about its folder, once. */
static int ask_about_folder(struct host_files *h, const char *path, struct host_found *out, struct error *err)
{
    autofree char *own = existing_folder(path);
    const char *slash = strrchr(path, '/'), *name = own ? "." : slash ? slash + 1 : path;
    autofree char *parent = slash ? xmemdup0(path, (size_t)(slash - path) + (slash == path)) : xstrdup(".");
    autofree char *real = own ? xstrdup(own) : existing_folder(parent);

    if (!real || is_private(real))
        return not_allowed(path, err);
    for (size_t i = 0; i < h->n; i++)
        if (!strcmp(h->v[i].path, real) && h->v[i].fd < 0)
            return error_set(err, ERROR_SYSTEM, EACCES, "the user did not allow access to %.200s", real);
    enum host_answer answer = h->ask(h->ctx, real);

    if (answer == HOST_INTERRUPTED)
        return error_set(err, ERROR_CANCELLED, 0, "interrupted");
    if (answer == HOST_NOBODY)
        return not_allowed(path, err);
    if (add_folder(h, real, answer == HOST_ALLOWED, err) < 0)
        return -1;
    if (answer == HOST_DENIED)
        return error_set(err, ERROR_SYSTEM, EACCES, "the user did not allow access to %.200s", real);
    return open_beneath(&h->v[h->n - 1], name, out, err);
}

int host_files_open(struct host_files *h, const char *path, struct host_found *out, struct error *err)
{
    autofree char *whole = below_home(path);

    *out = (struct host_found){.fd = -1};
    if (!is_plain(whole))
        return error_set(err, ERROR_SYSTEM, EINVAL, "the path is empty, too long, or has control characters");
    if (is_hidden(whole))
        return error_set(err, ERROR_SYSTEM, EACCES,
                         "%.200s: hidden files (names that begin with a dot) cannot be read", path);
    if (take_known(h, whole, out, err) == 0)
        return 0;
    return err->code != ENOENT ? -1 : h->ask ? ask_about_folder(h, whole, out, err) : -1;
}

static char *entry(int folder, const char *name)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    autofree char *clean = scrub_line(name, SCRUB_TERMINAL);
    struct stat st;
    size_t unit = 0;

    if (*name == '.' || fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0
        || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
        return NULL;
    if (S_ISDIR(st.st_mode))
        return xasprintf("%s/", clean);
    double size = (double)st.st_size;
    for (; size >= 1000; size /= 1000)
        unit++;
    return xasprintf("%s (%.*f %s)", clean, unit && size < 10, size, units[unit]);
}

void host_files_list(int folder, struct buf *out)
{
    autoclosedir DIR *d = dir_take(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct argv names autorelease(argv_release) = ARGV_INIT;
    size_t told = 0, seen = 0, start = out->len;

    for (struct dirent *e; d && seen < ENTRIES_MAX && (e = readdir(d)) != NULL; seen++) {
        autofree char *one = entry(folder, e->d_name);

        if (one)
            argv_push(&names, one);
    }
    argv_sort(&names);
    for (; told < names.n && told < NAMES_MAX && out->len - start < LIST_MAX; told++)
        buf_addf(out, "%s%s", told ? ", " : "", names.v[told]);
    if (told < names.n)
        buf_addf(out, " and %zu more", names.n - told);
    if (!names.n)
        buf_addstr(out, "nothing");
}

void host_files_describe(const struct host_files *h, struct buf *out)
{
    autofree char *here = getcwd(NULL, 0);
    size_t start = out->len;

    for (size_t i = 0; i < h->n; i++) {
        if (h->v[i].fd < 0)
            continue;
        buf_addf(out, "%s%s", out->len > start ? "; " : "", h->v[i].path);
        if (out->len - start > DESCRIBED_MAX)
            continue;
        buf_addstr(out, " holds ");
        host_files_list(h->v[i].fd, out);
    }
    if (out->len == start)
        buf_addstr(out, "no folder yet");
    if (h->ask)
        buf_addf(out, "; the user, who is in %s, is asked about any other folder", here ? here : "no folder");
}
