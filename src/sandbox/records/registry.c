/* registry.c - takes and gives up the lock of a name, and follows its link to the sandbox. The holder of its
 * lock may remove a name's directory, so a lock counts only while it is still the file under that name.
 *
 * RULE: A named sandbox has one holder, who has its lock, and is found by its link and nothing else.
 */
#include "records/registry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/size.h"
#include "records/owner.h"
#include "records/record.h"
#include "records/run_dir.h"

#define HOLDER_SIZE 33
#define TRIES       20 /* "sandpiper ps" holds a lock only for a moment; a holder keeps it */
#define TRY_NS      5000000

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

int registry_check_name(const char *name, struct error *err)
{
    size_t n = strlen(name);

    if (n >= 1 && n <= REGISTRY_NAME_MAX && name[0] != '.' && name[0] != '-' && strspn(name, letters) == n)
        return 0;
    return error_set(err, ERROR_USAGE, 0,
                     "bad sandbox name: use 1 to %d letters, digits, . _ -, not starting with . or -",
                     REGISTRY_NAME_MAX);
}

/* ---- directories and files that are ours alone ---- */

static bool ours_alone(int fd, mode_t type)
{
    struct stat st;

    return fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == type && st.st_uid == geteuid()
           && (st.st_mode & 022) == 0;
}

static int open_ours(int at, const char *name, int flags, mode_t type)
{
    int fd = openat(at, name, flags | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd >= 0 && !ours_alone(fd, type)) {
        fd_close(&fd);
        errno = EPERM;
    }
    return fd;
}

static int open_dir(int at, const char *name)
{
    return open_ours(at, name, O_RDONLY | O_DIRECTORY, S_IFDIR);
}

/* Open RUNTIME/names. make: create it if needed. */
static int open_names(bool make, struct error *err)
{
    autofree char *runtime = xdg_path(XDG_RUNTIME, NULL);

    if (!runtime)
        return error_set(err, ERROR_SYSTEM, 0, "no folder to keep named sandboxes in\nset XDG_RUNTIME_DIR");
    if (make && file_mkdirs(runtime, 0700, err) != 0)
        return -1;
    autoclose int top = open_dir(AT_FDCWD, runtime);
    if (top >= 0 && make && mkdirat(top, "names", 0700) != 0 && errno != EEXIST)
        return error_errno(err, "%s/names", runtime);
    int fd = top < 0 ? -1 : open_dir(top, "names");
    return fd < 0 ? error_errno(err, "%s/names", runtime) : fd;
}

static int open_lock(int dir, int flags)
{
    return open_ours(dir, "lock", O_RDWR | O_NONBLOCK | flags, S_IFREG);
}

/* ---- the lock ---- */

static void read_holder(int lock, struct registry_holder *h)
{
    char text[HOLDER_SIZE + 1];
    long long since = 0;
    ssize_t n = pread(lock, text, HOLDER_SIZE, 0);

    text[n > 0 ? n : 0] = '\0';
    *h = (struct registry_holder){0};
    if (sscanf(text, "%ld %lld", &h->pid, &since) == 2)
        h->since = since;
}

static void write_holder(int lock, pid_t pid)
{
    char text[HOLDER_SIZE + 1];

    /* Always the same length, because truncating a file can cost milliseconds. This is only for display,
     * so a full disk must not keep users from their sandboxes. */
    snprintf(text, sizeof text, "%-11d %-20lld\n", (int)pid, (long long)time(NULL));
    (void)!pwrite(lock, text, HOLDER_SIZE, 0);
}

static struct short_text time_text(int64_t at)
{
    struct short_text out = {""};
    time_t t = (time_t)at, now = time(NULL);
    struct tm tm = {0};

    localtime_r(&t, &tm);
    strftime(out.text, sizeof out.text, now - t < 12 * 3600 ? "%H:%M:%S" : "%Y-%m-%d %H:%M", &tm);
    return out;
}

static int tell_held(const char *name, int lock, struct error *err)
{
    struct registry_holder h;

    read_holder(lock, &h);
    if (h.pid <= 0)
        return error_set(err, ERROR_SANDBOX, EBUSY,
                         "the sandbox \"%s\" is in use by another program\n"
                         "use another --sandbox-name, or none",
                         name);
    return error_set(err, ERROR_SANDBOX, EBUSY,
                     "the sandbox \"%s\" is in use by process %ld since %s\n"
                     "end that program, or use another --sandbox-name",
                     name, h.pid, time_text(h.since).text);
}

/* Is it the lock of the name? Only then does it prove that nobody else holds that. */
static bool is_its_lock(int dir, int lock)
{
    struct stat mine, there;

    return fstat(lock, &mine) == 0 && fstatat(dir, "lock", &there, AT_SYMLINK_NOFOLLOW) == 0
           && mine.st_ino == there.st_ino && mine.st_nlink == 1;
}

/* 1: locked, and still the file under that name. 0: another process holds it. -1: it was removed
 * meanwhile, or cannot be opened. */
static int lock_once(int dir, int *lock)
{
    *lock = open_lock(dir, O_CREAT);
    if (*lock < 0)
        return -1;
    for (int i = 0; flock(*lock, LOCK_EX | LOCK_NB) != 0; i++) {
        if (errno != EWOULDBLOCK || i == TRIES)
            return 0;
        nanosleep(&(struct timespec){.tv_nsec = TRY_NS}, NULL);
    }
    if (is_its_lock(dir, *lock))
        return 1;
    fd_close(lock);
    errno = ENOENT;
    return -1;
}

int registry_take(struct registry_hold *h, const char *name, struct error *err)
{
    *h = (struct registry_hold)REGISTRY_HOLD_INIT;
    if (registry_check_name(name, err) < 0)
        return -1;
    autoclose int names = open_names(true, err);
    if (names < 0)
        return -1;
    for (int i = 0; i < TRIES; i++) {
        autoclose int dir = -1, lock = -1;

        if (mkdirat(names, name, 0700) != 0 && errno != EEXIST)
            return error_errno(err, "the folder of the sandbox \"%s\"", name);
        dir = open_dir(names, name);
        int got = dir < 0 ? -1 : lock_once(dir, &lock);
        if (got == 0)
            return tell_held(name, lock, err);
        if (got < 0 && errno != ENOENT) {
            error_errno(err, "the folder of the sandbox \"%s\"", name);
            if (dir >= 0)
                unlinkat(names, name, AT_REMOVEDIR); /* only if it is empty: the disk is full */
            return -1;
        }
        if (got < 0)
            continue;
        struct registry_holder before;
        read_holder(lock, &before);
        write_holder(lock, getpid());
        *h = (struct registry_hold){xstrdup(name), fd_steal(&dir), fd_steal(&lock), before.since};
        return 0;
    }
    return error_set(err, ERROR_SANDBOX, 0, "the sandbox \"%s\" keeps appearing and disappearing; try again",
                     name);
}

bool registry_exists(const char *name)
{
    autofree char *runtime = xdg_path(XDG_RUNTIME, NULL),
                  *path = runtime ? xasprintf("%s/names/%s", runtime, name) : NULL;
    struct stat st;

    if (path && lstat(path, &st) == 0)
        return S_ISDIR(st.st_mode);
    return path && errno != ENOENT && errno != ENOTDIR;
}

static void remove_dir(int names, int dir, const char *name)
{
    unlinkat(dir, "sandbox", 0);
    unlinkat(dir, "lock", 0);
    unlinkat(names, name, AT_REMOVEDIR);
}

void registry_release(struct registry_hold *h)
{
    struct error ignored;

    if (!h->name)
        return;
    if (faccessat(h->dir, "sandbox", F_OK, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT) {
        write_holder(h->lock, 0);
    } else {
        autoclose int names = open_names(false, &ignored);
        if (names >= 0)
            remove_dir(names, h->dir, h->name);
    }
    fd_close(&h->lock);
    fd_close(&h->dir);
    free(h->name);
    *h = (struct registry_hold)REGISTRY_HOLD_INIT;
}

/* ---- the record ---- */

/* The directory of the sandbox, which the caller frees. NULL with errno: ENOENT: it has none; 0: the link
 * leads to none of ours. */
static char *leads_to(int dir)
{
    char path[PATH_MAX];
    struct run_dir d = {0};
    ssize_t n = readlinkat(dir, "sandbox", path, sizeof path - 1);

    if (n < 0)
        return NULL;
    path[n] = '\0';
    errno = 0;
    const char *slash = strrchr(path, '/'); /* the folder is looked for where ours are, not where this says */
    if (!slash || !run_dir_id(slash + 1) || run_dir_find(&d, slash + 1, NULL) != 0)
        return NULL;
    char *found = steal(&d.path);
    run_dir_release(&d);
    return found;
}

static enum registry_state look_at_record(int dir, struct record *r)
{
    *r = (struct record){0};
    autofree char *path = leads_to(dir);
    if (!path)
        return errno == ENOENT || errno == 0 ? REGISTRY_NEW : REGISTRY_UNSEEN;
    if (record_read(r, path) != 0)
        return errno == ENOENT ? REGISTRY_ENDED /* and a sweep was there before us */
               : errno == 0    ? REGISTRY_NEW
                               : REGISTRY_UNSEEN;
    if (r->engine && r->memory > 0)
        return owner_dead(r->owner) ? REGISTRY_ENDED : REGISTRY_ALIVE;
    record_release(r);
    return REGISTRY_NEW;
}

enum registry_state registry_look(const struct registry_hold *h, struct record *r)
{
    return look_at_record(h->dir, r);
}

int registry_store(const struct registry_hold *h, const char *dir, struct error *err)
{
    registry_forget(h);
    if (symlinkat(dir, h->dir, "sandbox") != 0)
        return error_errno(err, "the folder of the sandbox \"%s\"", h->name);
    return 0;
}

void registry_forget(const struct registry_hold *h)
{
    if (h->name)
        unlinkat(h->dir, "sandbox", 0);
}

/* ---- all of them ---- */

static void walk_records(bool remove_dead, registry_fn *fn, void *ctx)
{
    struct error ignored;
    autoclose int names = open_names(false, &ignored);
    autoclosedir DIR *d = names < 0 ? NULL : dir_take(openat(names, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));

    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        struct registry_holder holder = {0};
        struct record r autorelease(record_release) = {0};

        if (registry_check_name(e->d_name, &ignored) < 0)
            continue;
        autoclose int dir = open_dir(names, e->d_name);
        autoclose int lock = dir < 0 ? -1 : open_lock(dir, 0);
        if (lock < 0 && dir >= 0 && remove_dead)
            /* Only if it is empty: its maker was killed before it had a lock. A program that is just
             * making one starts over. */
            unlinkat(names, e->d_name, AT_REMOVEDIR);
        if (lock < 0)
            continue;
        bool held = flock(lock, LOCK_EX | LOCK_NB) != 0;
        if (!held && !is_its_lock(dir, lock)) /* another sweep was here, and somebody may be taking it anew */
            continue;
        enum registry_state state = look_at_record(dir, &r);
        bool lives = state == REGISTRY_ALIVE || state == REGISTRY_UNSEEN;

        read_holder(lock, &holder);
        if (!held)
            holder.pid = 0;
        else if (holder.pid <= 0)
            holder.pid = -1;
        if (fn && (held || lives))
            fn(ctx, e->d_name, &holder, state == REGISTRY_ALIVE ? &r : NULL);
        if (remove_dead && !held && !lives)
            remove_dir(names, dir, e->d_name);
    }
}

void registry_each(registry_fn *fn, void *ctx)
{
    walk_records(false, fn, ctx);
}

void registry_sweep(void)
{
    walk_records(true, NULL, NULL);
}
