/* registry.c - see registry.h. The holder of its lock may remove a name's directory, so a lock counts only
 * while it is still the file under that name.
 */
#include "records/registry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"

#define RECORD_MAX  (16 * 1024)
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

static int open_dir(int at, const char *name)
{
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd >= 0 && !ours_alone(fd, S_IFDIR)) {
        fd_close(&fd);
        errno = EPERM;
    }
    return fd;
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
    if (fd < 0)
        error_errno(err, "%s/names", runtime);
    return fd;
}

static int open_file(int dir, const char *name, int flags)
{
    int fd = openat(dir, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);

    if (fd >= 0 && !ours_alone(fd, S_IFREG)) {
        fd_close(&fd);
        errno = EPERM;
    }
    return fd;
}

static bool read_text(int fd, struct buf *out)
{
    char part[4096];
    ssize_t n;

    while ((n = pread(fd, part, sizeof part, (off_t)out->len)) > 0)
        if (!buf_add(out, part, (size_t)n))
            return false;
    return n == 0;
}

/* ---- the lock ---- */

static void read_holder(int lock, struct registry_holder *h)
{
    struct buf text = BUF_INIT(64);
    long long since = 0;

    *h = (struct registry_holder){0};
    if (read_text(lock, &text) && sscanf(buf_str(&text), "%ld %lld", &h->pid, &since) == 2)
        h->since = since;
    buf_release(&text);
}

static void write_holder(int lock, pid_t pid)
{
    char text[HOLDER_SIZE + 1];

    /* Always the same length, because truncating a file can cost milliseconds. This is only for display,
     * so a full disk must not keep users from their sandboxes. */
    snprintf(text, sizeof text, "%-11d %-20lld\n", (int)pid, (long long)time(NULL));
    (void)!pwrite(lock, text, HOLDER_SIZE, 0);
}

static void time_text(int64_t at, char *out, size_t size)
{
    time_t t = (time_t)at, now = time(NULL);
    struct tm tm = {0};

    localtime_r(&t, &tm);
    strftime(out, size, now - t < 12 * 3600 ? "%H:%M:%S" : "%Y-%m-%d %H:%M", &tm);
}

static int tell_held(const char *name, int lock, struct error *err)
{
    struct registry_holder h;
    char since[32];

    read_holder(lock, &h);
    if (h.pid <= 0)
        return error_set(err, ERROR_SANDBOX, 0,
                         "the sandbox \"%s\" is in use by another program\n"
                         "use another --sandbox-name, or none",
                         name);
    time_text(h.since, since, sizeof since);
    return error_set(err, ERROR_SANDBOX, 0,
                     "the sandbox \"%s\" is in use by process %ld since %s\n"
                     "end that program, or use another --sandbox-name",
                     name, h.pid, since);
}

/* 1: locked, and still the file under that name. 0: another process holds it. -1: it was removed
 * meanwhile, or cannot be opened. */
static int lock_once(int dir, int *lock)
{
    struct stat mine, there;

    *lock = open_file(dir, "lock", O_RDWR | O_CREAT);
    if (*lock < 0)
        return -1;
    for (int i = 0; flock(*lock, LOCK_EX | LOCK_NB) != 0; i++) {
        if (errno != EWOULDBLOCK || i == TRIES)
            return 0;
        nanosleep(&(struct timespec){.tv_nsec = TRY_NS}, NULL);
    }
    if (fstat(*lock, &mine) == 0 && fstatat(dir, "lock", &there, AT_SYMLINK_NOFOLLOW) == 0
        && mine.st_ino == there.st_ino && mine.st_nlink == 1)
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
        *h = (struct registry_hold){xstrdup(name), dir, lock, before.since};
        dir = lock = -1;
        return 0;
    }
    return error_set(err, ERROR_SANDBOX, 0, "the sandbox \"%s\" keeps appearing and disappearing; try again",
                     name);
}

bool registry_exists(const char *name)
{
    struct error ignored;
    autoclose int names = open_names(false, &ignored);
    autoclose int dir = names < 0 ? -1 : open_dir(names, name);

    return dir >= 0;
}

static void remove_dir(int names, int dir, const char *name)
{
    unlinkat(dir, "record", 0);
    unlinkat(dir, "record.new", 0);
    unlinkat(dir, "lock", 0);
    unlinkat(names, name, AT_REMOVEDIR);
}

void registry_release(struct registry_hold *h)
{
    struct error ignored;

    if (!h->name)
        return;
    if (faccessat(h->dir, "record", F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
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

/* clang-format off */
#define MEMBER(m) {#m, offsetof(struct registry_entry, m)}
/* clang-format on */
static const struct member {
    const char *key;
    size_t at;
} texts[] = {MEMBER(engine), MEMBER(id), MEMBER(container), MEMBER(image), MEMBER(runtime), MEMBER(owner)},
  numbers[] = {MEMBER(pid),     MEMBER(uid),  MEMBER(memory), MEMBER(data_size),
               MEMBER(created), MEMBER(idle), MEMBER(pids)},
  flags[] = {MEMBER(holds_memory), MEMBER(holds_pids), MEMBER(holds_cpu)};
#undef MEMBER

static void *at(const struct registry_entry *r, const struct member *m)
{
    return (char *)r + m->at;
}

static bool sound(const struct registry_entry *r)
{
    return r->engine && r->owner && r->id && strlen(r->id) == 16 && strspn(r->id, "0123456789abcdef") == 16
           && r->memory > 0 && r->pid >= 0 && r->pid <= INT32_MAX;
}

static int load(int dir, struct registry_entry *r)
{
    struct buf text autorelease(buf_release) = BUF_INIT(RECORD_MAX);
    autoclose int fd = open_file(dir, "record", O_RDONLY);

    *r = (struct registry_entry){0};
    if (fd < 0 || !read_text(fd, &text))
        return -1;
    errno = 0;
    autojson struct json *o = json_parse(text.data, text.len, 0, NULL, NULL);
    for (size_t i = 0; i < countof(texts); i++)
        *(char **)at(r, &texts[i]) = xstrdup(json_str(json_get(o, texts[i].key)));
    for (size_t i = 0; i < countof(numbers); i++)
        *(int64_t *)at(r, &numbers[i]) = json_int(json_get(o, numbers[i].key), 0);
    for (size_t i = 0; i < countof(flags); i++)
        *(bool *)at(r, &flags[i]) = json_bool(json_get(o, flags[i].key), false);
    r->cpus = json_double(json_get(o, "cpus"), 0);
    for (const struct json *g = json_first(json_get(o, "cgroups")); g; g = json_next(g)) {
        const char *base = json_str(g) ? strrchr(json_str(g), '/') : NULL;

        if (base && strncmp(base, "/sandpiper-", 11) == 0)
            argv_push(&r->cgroups, json_str(g));
    }
    if (sound(r))
        return 0;
    registry_entry_release(r);
    return -1;
}

int registry_load(const struct registry_hold *h, struct registry_entry *r)
{
    return load(h->dir, r);
}

int registry_store(const struct registry_hold *h, const struct registry_entry *r, struct error *err)
{
    autojson struct json *o = json_object();
    struct json *groups = json_array();

    for (size_t i = 0; i < countof(texts); i++)
        json_set_str(o, texts[i].key, *(char **)at(r, &texts[i]));
    for (size_t i = 0; i < countof(numbers); i++)
        json_set_int(o, numbers[i].key, *(int64_t *)at(r, &numbers[i]));
    for (size_t i = 0; i < countof(flags); i++)
        json_set_bool(o, flags[i].key, *(bool *)at(r, &flags[i]));
    json_set(o, "cpus", json_number(r->cpus));
    for (size_t i = 0; i < r->cgroups.n; i++)
        json_add(groups, json_string(r->cgroups.v[i]));
    json_set(o, "cgroups", groups);
    autofree char *text = json_print(o);

    unlinkat(h->dir, "record.new", 0);
    autoclose int fd = open_file(h->dir, "record.new", O_WRONLY | O_CREAT | O_EXCL);
    if (fd < 0 || fd_write_all(fd, text, strlen(text)) != 0
        || renameat(h->dir, "record.new", h->dir, "record") != 0)
        return error_errno(err, "the record of the sandbox \"%s\"", h->name);
    return 0;
}

void registry_forget(const struct registry_hold *h)
{
    if (h->name)
        unlinkat(h->dir, "record", 0);
}

bool registry_alive(const struct registry_entry *r)
{
    enum owner_state state = *r->owner ? owner_check(r->owner) : OWNER_ELSEWHERE;

    return state == OWNER_ALIVE || state == OWNER_ELSEWHERE;
}

void registry_entry_release(struct registry_entry *r)
{
    for (size_t i = 0; i < countof(texts); i++)
        free(*(char **)at(r, &texts[i]));
    argv_release(&r->cgroups);
    *r = (struct registry_entry){0};
}

/* ---- all of them ---- */

static void walk(bool remove_dead, registry_fn *fn, void *ctx)
{
    struct error ignored;
    autoclose int names = open_names(false, &ignored);
    int copy = names < 0 ? -1 : openat(names, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = copy < 0 ? NULL : fdopendir(copy);

    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        struct registry_holder holder = {0};
        struct registry_entry r = {0};

        if (registry_check_name(e->d_name, &ignored) < 0)
            continue;
        autoclose int dir = open_dir(names, e->d_name);
        autoclose int lock = dir < 0 ? -1 : open_file(dir, "lock", O_RDWR);
        if (lock < 0 && dir >= 0 && remove_dead)
            /* Only if it is empty: its maker was killed before it had a lock. A program that is just
             * making one starts over. */
            unlinkat(names, e->d_name, AT_REMOVEDIR);
        if (lock < 0)
            continue;
        bool held = flock(lock, LOCK_EX | LOCK_NB) != 0;
        bool there = load(dir, &r) == 0, unknown = !there && fd_none_left(errno);

        read_holder(lock, &holder);
        if (!held)
            holder.pid = 0;
        else if (holder.pid <= 0)
            holder.pid = -1;
        if (fn && (held || there))
            fn(ctx, e->d_name, &holder, there ? &r : NULL);
        if (remove_dead && !held && !unknown && (!there || !registry_alive(&r)))
            remove_dir(names, dir, e->d_name);
        if (there)
            registry_entry_release(&r);
    }
    if (d)
        closedir(d);
}

void registry_each(registry_fn *fn, void *ctx)
{
    walk(false, fn, ctx);
}

void registry_sweep(void)
{
    walk(true, NULL, NULL);
}
