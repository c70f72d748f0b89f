/* run_dir.c - makes, locks, finds and removes these directories, and has the socket in them: listen,
 * connect, accept.
 */
#include "records/run_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "json/json.h"
#include "base/mem.h"
#include "records/owner.h"
#include "records/record.h"
#include "limits/seccomp.h"

#define ROOM (64 * 1024) /* bytes that a directory may come to need */

/* Is there room for what will be written: records, the profile, the socket? A quota of ours is not seen here,
 * but by the first write. */
static int check_room(const char *dir)
{
    struct statvfs fs;

    if (statvfs(dir, &fs) != 0 || fs.f_blocks == 0) /* a file system that does not tell its size */
        return 0;
    errno = ENOSPC;
    return (geteuid() == 0 ? fs.f_bfree : fs.f_bavail) < ROOM / fs.f_frsize + 1 ? -1 : 0;
}

static int make_below(struct run_dir *d, const char *runtime, struct error *err)
{
    uint64_t random;

    *d = (struct run_dir){0};
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        return error_errno(err, "random numbers");
    if (file_mkdirs(runtime, 0700, err) != 0)
        return -1;
    snprintf(d->id, sizeof d->id, "%016llx", (unsigned long long)random);
    autofree char *maker = owner_group_name(), *final = xasprintf("%s/%s", runtime, d->id);
    d->path = xasprintf("%s/%s", runtime, maker);
    if (mkdir(d->path, 0700) != 0) {
        error_errno(err, "%s", d->path);
        free(steal(&d->path));
        return -1;
    }
    /* Until there is a record, the name tells whose directory it is, so it can be attributed whenever we
     * are killed. */
    autofree char *self = owner_self();
    if (record_write(&(struct record){.dir = d->path, .owner = self}, err) != 0)
        return -1;
    if (check_room(d->path) != 0 || rename(d->path, final) != 0)
        return error_errno(err, "%s", final);
    xreplace(&d->path, steal(&final));
    d->in = xasprintf("%s/in", d->path);
    if (mkdir(d->in, 0711) != 0 || chmod(d->in, 0711) != 0) /* regardless of our umask */
        return error_errno(err, "%s", d->in);
    return 0;
}

int run_dir_make(struct run_dir *d, struct error *err)
{
    autofree char *runtime = xdg_path(XDG_RUNTIME, NULL);
    struct error why = {.code = runtime ? 0 : errno}, ignored;

    if (runtime && make_below(d, runtime, &why) == 0)
        return 0;
    if (fd_none_left(why.code)) { /* another place would not help */
        if (err)
            *err = why;
        return -1;
    }
    if (runtime)
        run_dir_remove(d);
    for (unsigned i = 0; i < XDG_SPARES; i++) {
        autofree char *spare = xdg_spare(i, true);

        if (spare && make_below(d, spare, &ignored) == 0) {
            d->runtime_errno = why.code;
            return 0;
        }
        d->runtime_errno = why.code;
        run_dir_remove(d);
    }
    return error_set(err, ERROR_SANDBOX, why.code,
                     "no folder for the sandbox's socket: %s %s\n"
                     "%s, or set XDG_RUNTIME_DIR to a folder of your own with mode 0700",
                     runtime ? runtime : "/tmp", disk_trouble(why.code), disk_remedy(why.code));
}

/* The i-th place where such directories can be, or NULL when it does not exist now. */
#define PLACES (1 + XDG_SPARES)
static char *place(unsigned i)
{
    return i == 0 ? xdg_path(XDG_RUNTIME, NULL) : xdg_spare(i - 1, false);
}

int run_dir_find(struct run_dir *d, const char *id, struct error *err)
{
    autofree char *runtime = NULL;

    *d = (struct run_dir){0};
    for (unsigned i = 0; i < PLACES; i++) {
        autofree char *other = place(i), *path = other ? xasprintf("%s/%s", other, id) : NULL;

        if (other && (!runtime || access(path, F_OK) == 0 || errno == EACCES))
            xreplace(&runtime, steal(&other));
    }
    if (!runtime)
        return error_set(err, ERROR_SYSTEM, 0, "no folder for the sandbox's socket\nset XDG_RUNTIME_DIR");
    snprintf(d->id, sizeof d->id, "%s", id);
    d->path = xasprintf("%s/%s", runtime, d->id);
    d->in = xasprintf("%s/in", d->path);
    return 0;
}

void run_dir_remove(struct run_dir *d)
{
    if (d->path)
        owner_erase(d->path);
    if (d->path && d->runtime_errno) { /* remove the spare place too, if nothing else is in it */
        *strrchr(d->path, '/') = '\0';
        rmdir(d->path);
    }
    run_dir_release(d);
}

static int lock_in(const struct run_dir *d, const char *name, struct error *err)
{
    autofree char *path = xasprintf("%s/%s", d->path, name);
    autoclose int fd = open(path, O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd_steal(&fd);
    return error_errno(err, "%s", path);
}

int run_dir_hold(const struct run_dir *d, struct error *err)
{
    return lock_in(d, "hold", err);
}

int run_dir_keep(const struct run_dir *d, struct error *err)
{
    return lock_in(d, "keep", err);
}

static bool locked_in(const char *dir, const char *name)
{
    autofree char *path = xasprintf("%s/%s", dir, name);
    autoclose int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

    return fd < 0 ? errno != ENOENT : flock(fd, LOCK_EX | LOCK_NB) != 0;
}

bool run_dir_held(const char *dir)
{
    return locked_in(dir, "hold");
}

void run_dir_release(struct run_dir *d)
{
    free(d->path);
    free(d->in);
    free(d->profile);
    *d = (struct run_dir){0};
}

int run_dir_profile(struct run_dir *d, struct error *err)
{
    autojson struct json *profile = seccomp_profile();
    autofree char *text = json_print(profile);

    d->profile = xasprintf("%s/seccomp", d->path);
    return file_write_soon(d->profile, text, strlen(text), err);
}

/* Address the socket through the descriptor of its directory: an address holds only 107 bytes, and the
 * path of a runtime directory may be longer. */
static int open_socket(const struct run_dir *d, struct sockaddr_un *address, int *dir)
{
    *dir = open(d->in, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(address->sun_path, sizeof address->sun_path, "/proc/self/fd/%d/s", *dir);
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

int run_dir_listen(const struct run_dir *d, bool open_to_all, struct error *err)
{
    struct sockaddr_un address;
    autoclose int dir = -1, fd = open_socket(d, &address, &dir);

    if (dir < 0 || fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0
        || fchmodat(dir, "s", open_to_all ? 0666 : 0600, 0) != 0 || listen(fd, 8) != 0)
        return error_errno(err, "the sandbox's socket in %s", d->in);
    return fd_steal(&fd);
}

int run_dir_connect(const struct run_dir *d)
{
    struct sockaddr_un address;
    autoclose int dir = -1;
    int fd = open_socket(d, &address, &dir);

    if (dir < 0 || fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
        fd_close(&fd);
    return fd;
}

bool run_dir_silent(const char *id, int ms)
{
    struct run_dir d;

    if (run_dir_find(&d, id, NULL) != 0)
        return false;
    autoclose int fd = run_dir_connect(&d);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    run_dir_release(&d);
    if (fd < 0) /* nobody listens, or its queue is full */
        return errno == ECONNREFUSED || errno == ENOENT || errno == EAGAIN;
    return shutdown(fd, SHUT_WR) == 0 && poll(&p, 1, ms) == 0;
}

int run_dir_accept(const struct run_dir *d, int listener, pid_t *peer)
{
    struct ucred who = {0};
    socklen_t size = sizeof who;
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0)
        return -1;
    /* From outside only root and we can reach the socket, and neither should connect. The container's uid
     * is a different one. */
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0 || who.uid == 0 || who.uid == geteuid()) {
        close(fd);
        errno = EPERM;
        return -1;
    }
    *peer = who.pid;
    /* The code has the same uid as the supervisor, so from now on only we may connect. */
    autofree char *path = xasprintf("%s/s", d->in);
    if (chmod(path, 0600) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

int run_dir_hand_over(int channel, int listener)
{
    return fd_send(channel, listener >= 0 ? "L" : "N", 1, listener) == 1 ? 0 : -1;
}

/* ---- what others left ---- */

bool run_dir_id(const char *name)
{
    return strlen(name) == 16 && strspn(name, "0123456789abcdef") == 16;
}

bool run_dir_container(const char *name)
{
    return name && !strncmp(name, "sandpiper-", 10) && run_dir_id(name + 10);
}

/* So old that whoever made it will write nothing into it any more. */
static bool is_old(const char *dir)
{
    struct stat st;

    return stat(dir, &st) == 0 && time(NULL) - st.st_mtime > 3600;
}

static bool tell_dead(const char *dir, run_dir_fn *fn, void *ctx)
{
    struct record r autorelease(record_release) = {0};

    /* There is none, or it is not ours, or of an older version. One that we cannot look at may belong to
     * somebody alive. */
    if (record_read(&r, dir) != 0)
        return (errno == ENOENT || errno == 0) && is_old(dir);
    enum owner_state state = owner_check(r.owner);
    if (state != OWNER_BEFORE_BOOT && (state != OWNER_DEAD || locked_in(dir, "keep")))
        return false;
    return fn(ctx, &r);
}

static bool is_ending(const struct record *r, unsigned unused)
{
    enum owner_state state = owner_check(r->owner);

    (void)unused;
    return state == OWNER_ALIVE ? r->ending : state == OWNER_DEAD && locked_in(r->dir, "keep");
}

static bool has_uid(const struct record *r, unsigned uid)
{
    return r->uid == uid;
}

/* How many directories, in all places, have a record that is() accepts. id: of this one alone; NULL: of
 * all. */
static unsigned count_where(const char *id, bool (*is)(const struct record *r, unsigned what), unsigned what)
{
    unsigned n = 0;

    for (unsigned i = 0; i < PLACES; i++) {
        autofree char *runtime = place(i);
        autoclosedir DIR *d = runtime ? opendir(runtime) : NULL;

        for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
            autofree char *dir = xasprintf("%s/%s", runtime, e->d_name);
            struct record r autorelease(record_release) = {0};

            if (id ? !strcmp(id, e->d_name) : run_dir_id(e->d_name))
                n += record_read(&r, dir) == 0 && is(&r, what);
        }
    }
    return n;
}

bool run_dir_is_ending(const char *id)
{
    return count_where(id, is_ending, 0) > 0;
}

unsigned run_dir_ending(void)
{
    return count_where(NULL, is_ending, 0);
}

bool run_dir_has_uid(unsigned uid)
{
    return count_where(NULL, has_uid, uid) > 0;
}

static void find_dead(const char *runtime, run_dir_fn *fn, void *ctx)
{
    autoclosedir DIR *d = opendir(runtime);

    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        /* its program was killed before there was a record, or while it was being removed */
        bool unfinished = owner_check_group(e->d_name) == OWNER_DEAD;

        if (!unfinished && !run_dir_id(e->d_name))
            continue;
        autofree char *dir = xasprintf("%s/%s", runtime, e->d_name);
        if (unfinished || tell_dead(dir, fn, ctx))
            owner_erase(dir);
    }
}

struct dead_listener {
    run_dir_fn *fn;
    void *ctx;
};

static void find_dead_in_spare(void *ctx, const char *spare)
{
    const struct dead_listener *d = ctx;

    find_dead(spare, d->fn, d->ctx);
    if (is_old(spare))
        rmdir(spare); /* fails where it is not empty; whoever needs it makes it again */
}

void run_dir_dead(run_dir_fn *fn, void *ctx)
{
    autofree char *runtime = xdg_path(XDG_RUNTIME, NULL);

    if (runtime)
        find_dead(runtime, fn, ctx);
    xdg_spare_each(find_dead_in_spare, &(struct dead_listener){fn, ctx});
}
