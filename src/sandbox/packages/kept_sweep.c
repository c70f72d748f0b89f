/* kept_sweep.c - lists and removes what is kept. A set that a program uses stays.
 */
#include "packages/packages.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/place.h"
#include "json/json.h"
#include "packages/kept.h"
#include "packages/lock.h"

#define ABOUT_BYTES (4u << 20)
#define DAY         (24 * 3600)

/* The names in a folder of ours, sorted. */
static void names_kept_in(const char *folder, struct argv *out)
{
    autofree char *path = kept_path(folder);
    autoclosedir DIR *d = path ? opendir(path) : NULL;

    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.')
            argv_push(out, e->d_name);
    argv_sort(out);
}

struct set_file {
    char *id;
    struct json *about;
    int fd; /* of its .json; locked where nobody uses it */
    bool in_use;
    int64_t used;
};

static void set_file_release(struct set_file *s)
{
    free(s->id);
    json_free(s->about);
    fd_close(&s->fd);
}

/* False: that is no set. */
static bool set_file_open(const char *name, struct set_file *s)
{
    const char *dot = strrchr(name, '.');
    struct buf text autorelease(buf_release) = BUF_INIT(ABOUT_BYTES);
    autofree char *below = xasprintf("sets/%s", name), *path = kept_path(below);
    struct stat st;
    struct error err;

    *s = (struct set_file){.fd = -1};
    if (!dot || strcmp(dot, ".json") != 0)
        return false;
    s->fd = place_open(path, O_RDONLY | O_CLOEXEC, &err);
    if (s->fd < 0 || fstat(s->fd, &st) != 0 || file_read_open(s->fd, path, ABOUT_BYTES, &text, NULL) < 0
        || !(s->about = json_parse(buf_str(&text), text.len, 0, NULL, NULL)))
        return false;
    s->id = xmemdup0(name, (size_t)(dot - name));
    s->used = (int64_t)st.st_mtim.tv_sec;
    s->in_use = flock(s->fd, LOCK_EX | LOCK_NB) != 0;
    return true;
}

/* Calls fn for each set; its lock is held meanwhile where nobody uses it. */
static void each_set(void (*fn)(void *ctx, struct set_file *s), void *ctx)
{
    struct argv names autorelease(argv_release) = ARGV_INIT;

    names_kept_in("sets", &names);
    for (size_t i = 0; i < names.n; i++) {
        struct set_file s autorelease(set_file_release);

        if (set_file_open(names.v[i], &s))
            fn(ctx, &s);
    }
}

/* ---- list ---- */

struct listing {
    void (*fn)(void *ctx, const struct packages_kept *k);
    void *ctx;
};

static void list_set(void *ctx, struct set_file *s)
{
    const struct listing *l = ctx;
    const struct json *o = s->about;

    l->fn(l->ctx, &(struct packages_kept){.id = s->id,
                                          .names = json_text(json_get(o, "names")),
                                          .python = json_text(json_get(o, "python")),
                                          .platform = json_text(json_get(o, "platform")),
                                          .bytes = json_int(json_get(o, "bytes"), 0),
                                          .made = json_int(json_get(o, "made"), 0),
                                          .used = s->used,
                                          .n = (unsigned)json_int(json_get(o, "packages"), 0),
                                          .in_use = s->in_use});
}

void packages_each(void (*fn)(void *ctx, const struct packages_kept *k), void *ctx)
{
    each_set(list_set, &(struct listing){fn, ctx});
}

/* ---- remove ---- */

struct set_removal {
    const char *name; /* only those with this package; NULL: all */
    int64_t before;   /* only those not used since; 0: all */
    unsigned removed, busy;
    int64_t bytes;
};

/* Is that package in the list of its names, or in the lock? */
static bool is_in_list(const char *list, char end, const char *wanted)
{
    for (const char *p = list; *p; p = strchrnul(p, end), p += *p != '\0', p += strspn(p, " ")) {
        autofree char *its = package_name_plain(p, strcspn(p, "= ,\n"));

        if (!strcmp(its, wanted))
            return true;
    }
    return false;
}

/* What was asked for is not in the lock if the sandbox has it itself. */
static bool has_package(const struct set_file *s, const char *name)
{
    autofree char *wanted = package_name_plain(name, strlen(name));

    return is_in_list(json_text(json_get(s->about, "names")), ',', wanted)
           || is_in_list(json_text(json_get(s->about, "lock")), '\n', wanted);
}

static void remove_set(void *ctx, struct set_file *s)
{
    struct set_removal *r = ctx;
    autofree char *below = xasprintf("sets/%s", s->id), *folder = kept_path(below);
    autofree char *note = xasprintf("%s.json", folder);

    if ((r->name && !has_package(s, r->name)) || (r->before && s->used >= r->before))
        return;
    if (s->in_use) {
        r->busy++;
        return;
    }
    if (unlink(note) == 0 && file_remove_tree(folder) == 0) {
        r->removed++;
        r->bytes += json_int(json_get(s->about, "bytes"), 0);
    }
}

/* Lists whose set is gone, and folders without a note. */
static void drop_dangling(void)
{
    struct argv lists autorelease(argv_release) = ARGV_INIT, sets autorelease(argv_release) = ARGV_INIT;

    names_kept_in("lists", &lists);
    names_kept_in("sets", &sets);
    for (size_t i = 0; i < lists.n; i++) {
        autofree char *id = kept_read("lists", lists.v[i], NULL);
        autofree char *below = xasprintf("sets/%s.json", id ? id : "-"), *note = kept_path(below);
        autofree char *own = xasprintf("lists/%s", lists.v[i]), *list = kept_path(own);

        if (access(note, F_OK) != 0)
            unlink(list);
    }
    for (size_t i = 0; i < sets.n; i++) {
        autofree char *below = xasprintf("sets/%s", sets.v[i]), *folder = kept_path(below);
        autofree char *note = xasprintf("%s.json", folder);

        if (!strchr(sets.v[i], '.') && access(note, F_OK) != 0)
            file_remove_tree(folder);
    }
}

/* Nobody makes a set meanwhile: it could be the one that is removed. -1 without err: there is none yet. */
static int lock_writers(struct error *err)
{
    autofree char *writer = kept_path("writer");

    if (!writer || access(writer, F_OK) != 0)
        return -1;
    autoclose int fd = place_open(writer, O_RDWR | O_CLOEXEC, err);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0)
        return error_set(err, ERROR_SANDBOX, EBUSY,
                         "another sandpiper is fetching packages, so none are removed\n"
                         "Try again when it has finished.");
    return fd < 0 ? -1 : fd_steal(&fd);
}

int packages_remove(const char *name, unsigned *removed, unsigned *busy, struct error *err)
{
    struct set_removal r = {.name = name};
    struct error why = {0};
    autoclose int fd = lock_writers(&why);

    *removed = *busy = 0;
    if (fd < 0 && why.kind) {
        *err = why;
        return -1;
    }
    each_set(remove_set, &r);
    drop_dangling();
    *removed = r.removed;
    *busy = r.busy;
    return 0;
}

/* ---- gc ---- */

static int64_t take_away(const char *name)
{
    autofree char *path = kept_path(name);
    int64_t bytes = path ? kept_size(path, NULL) : 0;

    return path && file_remove_tree(path) == 0 ? bytes : 0;
}

int packages_sweep(unsigned *removed, int64_t *bytes, struct error *err)
{
    struct set_removal r = {.before = (int64_t)time(NULL) - KEPT_DAYS * (int64_t)DAY};
    struct error why = {0};
    autoclose int fd = lock_writers(&why);

    *removed = 0;
    *bytes = 0;
    if (fd < 0) {
        if (why.kind)
            *err = why;
        return why.kind ? -1 : 0;
    }
    each_set(remove_set, &r);
    r.bytes += take_away("new") + take_away("uv-cache");
    take_away("pythons");
    drop_dangling();
    *removed = r.removed;
    *bytes = r.bytes;
    return 0;
}
