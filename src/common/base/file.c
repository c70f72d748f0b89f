/* file.c - small helpers for descriptors, files and the XDG folders. */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/fnv.h"
#include "base/mem.h"

const char *disk_trouble(int code)
{
    return code == ENOSPC                    ? "is full"
           : code == EDQUOT                  ? "is full (your quota is used up)"
           : code == EROFS                   ? "is read-only"
           : code == EACCES || code == EPERM ? "is not writable"
           : code == ENOTDIR                 ? "is not a folder"
           : code == ENOENT                  ? "cannot be created"
           : code == ELOOP                   ? "contains a symbolic link that is not followed"
                                             : strerror(code);
}

const char *disk_remedy(int code)
{
    return code == ENOSPC || code == EDQUOT ? "Make room there" : "Make it writable";
}

void fd_close(int *fd)
{
    if (!fd || *fd < 0)
        return;
    int saved = errno;
    close(*fd); /* on Linux the descriptor is closed even after EINTR */
    *fd = -1;
    errno = saved;
}

bool fd_none_left(int code)
{
    return code == EMFILE || code == ENFILE || code == ENOMEM;
}

int fd_write_all(int fd, const void *data, size_t len)
{
    const char *p = data;
    while (len > 0) {
        ssize_t n = write(fd, p, len);
        if (n >= 0) {
            p += n;
            len -= (size_t)n;
        } else if (errno == EAGAIN) {
            /* Another process shares the descriptor and made it non-blocking (a terminal, for instance). */
            struct pollfd w = {.fd = fd, .events = POLLOUT};
            if (poll(&w, 1, -1) < 0 && errno != EINTR)
                return -1;
        } else if (errno != EINTR) {
            return -1;
        }
    }
    return 0;
}

int fd_read_all(int fd, size_t max, struct buf *out)
{
    char piece[16384];
    ssize_t n;

    for (size_t got = 0; (n = read(fd, piece, sizeof(piece))) != 0;) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        got += (size_t)n;
        if (!buf_add(out, piece, (size_t)n) || got > max) {
            errno = EFBIG;
            return -1;
        }
    }
    return 0;
}

#define ALL_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

int fd_sealable(const char *name)
{
    return memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

int fd_seal(int fd)
{
    return fcntl(fd, F_ADD_SEALS, ALL_SEALS);
}

bool fd_sealed(int fd)
{
    int seals = fcntl(fd, F_GET_SEALS);

    return seals >= 0 && (seals & ALL_SEALS) == ALL_SEALS;
}

ssize_t fd_send(int sock, const void *data, size_t len, int fd)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {{0}};
    struct iovec v = {(void *)(uintptr_t)data, len};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};

    if (fd >= 0) {
        m.msg_control = control.bytes;
        m.msg_controllen = sizeof control.bytes;
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(c), &fd, sizeof fd);
    }
    return sendmsg(sock, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
}

ssize_t fd_receive(int sock, void *data, size_t len, int flags, int *fd)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec v = {data, len};
    /* CMSG_SPACE has room for a second one, which nobody would close */
    struct msghdr m = {.msg_iov = &v,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = CMSG_LEN(sizeof(int))};
    ssize_t n;

    *fd = -1;
    do
        n = recvmsg(sock, &m, flags | MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    struct cmsghdr *c = n >= 0 ? CMSG_FIRSTHDR(&m) : NULL;
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof *fd))
        memcpy(fd, CMSG_DATA(c), sizeof *fd);
    return n;
}

int fd_nonblock(int fd, bool on)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0)
        return -1;
    int want = on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
    return want == flags ? 0 : fcntl(fd, F_SETFL, want);
}

int fd_open_standard(void)
{
    int mask = 0;
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) >= 0)
            continue;
        /* open returns fd itself, since all lower numbers are open. Nobody reads 1 or 2, so O_RDWR does no
         * harm. */
        if (open("/dev/null", O_RDWR) == fd)
            mask |= 1 << fd;
    }
    return mask;
}

int file_read(const char *path, size_t max, struct buf *out, struct error *err)
{
    /* With O_NONBLOCK a FIFO in the place of a file cannot hang us; for a file it changes nothing. */
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    return fd < 0 ? error_errno(err, "cannot open %s", path) : file_read_open(fd, path, max, out, err);
}

int file_read_open(int fd, const char *path, size_t max, struct buf *out, struct error *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return error_errno(err, "cannot read %s", path);
    if (S_ISDIR(st.st_mode)) {
        errno = EISDIR;
        return error_errno(err, "cannot read %s", path);
    }
    if (S_ISREG(st.st_mode) && (uintmax_t)st.st_size > max)
        return error_set(err, ERROR_USAGE, EFBIG, "%s is too large: %jd bytes, the limit is %zu", path,
                         (intmax_t)st.st_size, max);
    if (fd_read_all(fd, max, out) == 0)
        return 0;
    if (errno == EFBIG) /* a file in /proc, or one that grows while it is read */
        return error_set(err, ERROR_USAGE, EFBIG, "%s is too large: the limit is %zu bytes", path,
                         out->max != 0 && out->max < max ? out->max : max);
    return error_errno(err, "cannot read %s", path);
}

#define TEMP ".XXXXXX"

/* A file to be written in one go; the functions below return 0, or -1 with errno. */
struct whole_file {
    const char *path;
    const void *data;
    size_t len;
    bool sync;
};

static int write_once(const struct whole_file *f)
{
    autofree char *temp = xasprintf("%s" TEMP, f->path);
    autoclose int fd = mkostemp(temp, O_CLOEXEC);
    if (fd < 0)
        return -1;
    flock(fd, LOCK_EX | LOCK_NB); /* tells file_sweep that it is being written */
    /* Data before name: after a crash the name holds the old text or the new one, never a part. */
    if (fchmod(fd, 0600) == 0 && fd_write_all(fd, f->data, f->len) == 0 && (!f->sync || fdatasync(fd) == 0)
        && rename(temp, f->path) == 0)
        return 0;
    int code = errno;
    unlink(temp);
    errno = code;
    return -1;
}

static int write_file(const struct whole_file *f, struct error *err)
{
    /* If a sweep removed it before it was locked, try once more. */
    if (write_once(f) == 0 || (errno == ENOENT && write_once(f) == 0))
        return 0;
    return error_errno(err, "cannot write %s", f->path);
}

void file_sweep(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    autofree char *dir = slash ? xmemdup0(path, (size_t)(slash - path) + 1) : xstrdup(".");
    size_t n = strlen(name);
    DIR *d = opendir(dir);

    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        if (strncmp(e->d_name, name, n) != 0 || e->d_name[n] != '.' || strlen(e->d_name) != n + strlen(TEMP))
            continue;
        file_remove_unlocked(dirfd(d), e->d_name);
    }
    if (d)
        closedir(d);
}

void file_remove_unlocked(int folder, const char *name)
{
    autoclose int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
        unlinkat(folder, name, 0);
}

int file_write(const char *path, const void *data, size_t len, struct error *err)
{
    return write_file(&(struct whole_file){path, data, len, true}, err);
}

int file_write_soon(const char *path, const void *data, size_t len, struct error *err)
{
    return write_file(&(struct whole_file){path, data, len, false}, err);
}

int file_mkdirs(const char *path, int mode, struct error *err)
{
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return 0;
    autofree char *p = xstrdup(path);
    for (char *s = p; *s != '\0';) {
        s += strspn(s, "/");
        s += strcspn(s, "/");
        char saved = *s;
        *s = '\0';
        if (*p != '\0' && mkdir(p, (mode_t)mode) < 0) {
            int code = errno;
            /* Other errors (a read-only parent) do not matter if the folder exists. */
            if (stat(p, &st) < 0 || !S_ISDIR(st.st_mode)) {
                errno = code == EEXIST ? ENOTDIR : code;
                return error_errno(err, "cannot create the directory %s", p);
            }
        }
        *s = saved;
    }
    return 0;
}

static bool is_dot(const char *name)
{
    return !strcmp(name, ".") || !strcmp(name, "..");
}

DIR *dir_take(int fd)
{
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;

    if (!d)
        fd_close(&fd);
    return d;
}

/* Open a directory for removal, even one of mode 000. O_PATH first, since fchmodat would follow a link put in
 * its place. */
static int open_to_remove(int at, const char *name)
{
    autoclose int path = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (path < 0)
        return -1;
    struct stat st;
    char proc[64];
    snprintf(proc, sizeof(proc), "/proc/self/fd/%d", path);
    if (fstat(path, &st) == 0 && (st.st_mode & 0700) != 0700)
        (void)!chmod(proc, 0700);
    return openat(path, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Remove what is in the directory name of top. Its subdirectories are moved up into top, where later rounds
 * find them, so neither the stack nor the number of descriptors grows with the depth of the tree. */
static bool remove_dir(int top, const char *name, unsigned *serial, bool *progress)
{
    if (unlinkat(top, name, AT_REMOVEDIR) == 0)
        return true;
    DIR *d = dir_take(open_to_remove(top, name));
    if (!d)
        return false;
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        if (is_dot(e->d_name) || unlinkat(dirfd(d), e->d_name, 0) == 0
            || unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR) == 0)
            continue;
        /* Moving a directory changes its "..", so it must be writable. */
        int sub = open_to_remove(dirfd(d), e->d_name);
        fd_close(&sub);
        char moved[48];
        do
            snprintf(moved, sizeof(moved), ".removed-%d-%u", (int)getpid(), ++*serial);
        while (faccessat(top, moved, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
        if (renameat(dirfd(d), e->d_name, top, moved) == 0)
            *progress = true;
    }
    closedir(d);
    return unlinkat(top, name, AT_REMOVEDIR) == 0;
}

int file_remove_tree(const char *path)
{
    if (unlink(path) == 0 || errno == ENOENT || rmdir(path) == 0)
        return 0;
    int top = open_to_remove(AT_FDCWD, path);
    autoclosedir DIR *d = dir_take(top);
    if (!d)
        return -1;
    unsigned serial = 0;
    /* each round must remove something or move it up, or the loop ends */
    bool progress = true;
    while (rmdir(path) < 0 && progress) {
        progress = false;
        rewinddir(d);
        for (struct dirent *e; (e = readdir(d)) != NULL;) {
            if (!is_dot(e->d_name)
                && (unlinkat(top, e->d_name, 0) == 0 || remove_dir(top, e->d_name, &serial, &progress)))
                progress = true;
        }
    }
    return access(path, F_OK) < 0 && errno == ENOENT ? 0 : -1;
}

/* Does root own the nearest existing folder on the way to path? */
static bool roots_own(const char *path)
{
    autofree char *p = xstrdup(path);
    struct stat st;

    while (stat(p, &st) < 0) {
        char *slash = strrchr(p, '/');

        if (!slash)
            return true;
        slash[slash == p] = '\0'; /* "/" always exists */
    }
    return st.st_uid == 0;
}

const char *file_below_home(const char *path)
{
    const char *home = getenv("HOME");
    size_t n = home ? strlen(home) : 0;

    while (n > 1 && home[n - 1] == '/')
        n--;
    return n > 1 && !strncmp(path, home, n) && (path[n] == '/' || !path[n]) ? path + n : NULL;
}

/* Root must not use another user's home, which sudo leaves in HOME: that user could place links that lead
 * root anywhere, and could not remove what root made there. */
static bool is_ours(const char *dir)
{
    return dir != NULL && dir[0] == '/' && (geteuid() != 0 || roots_own(dir));
}

/* Root could make a home that is not there, such as /nonexistent, which says that there is none. */
static const char *home_dir(void)
{
    const char *home = getenv("HOME");
    if (is_ours(home) && (geteuid() != 0 || access(home, F_OK) == 0))
        return home;
    struct passwd *pw = getpwuid(geteuid());
    return pw != NULL && is_ours(pw->pw_dir) ? pw->pw_dir : NULL;
}

static bool is_private(const struct stat *st)
{
    return S_ISDIR(st->st_mode) && st->st_uid == geteuid() && (st->st_mode & 077) == 0;
}

/* Is it a folder of ours that is closed to others? make: create it if it does not exist. False with errno. */
static bool private_dir(const char *path, bool make)
{
    struct stat st;
    if (make && mkdir(path, 0700) < 0 && errno != EEXIST)
        return false;
    if (lstat(path, &st) == 0 && is_private(&st))
        return true;
    errno = EPERM;
    return false;
}

/* Our folder in one that is shared with others, who may have put anything under its name. */
static char *own_below(const char *shared, bool make)
{
    autofree char *own = xasprintf("%s/sandpiper-%u", shared, (unsigned)geteuid());
    return private_dir(own, make) ? steal(&own) : NULL;
}

static char *runtime_dir(void)
{
    const char *dir = getenv("XDG_RUNTIME_DIR");
    if (dir != NULL && dir[0] == '/' && private_dir(dir, false))
        return xasprintf("%s/sandpiper", dir);
    return own_below("/tmp", true);
}

#define SPARE "spare-"
static const char *const shared[XDG_SPARES] = {"/tmp", "/var/tmp", "/dev/shm"};

char *xdg_spare(unsigned i, bool make)
{
    autofree char *runtime = runtime_dir(), *own = i < XDG_SPARES ? own_below(shared[i], make) : NULL;

    if (!own)
        return NULL;
    /* one spare folder for each runtime folder, with names of equal length */
    autofree char *spare = xasprintf("%s/" SPARE "%016" PRIx64, own,
                                     fnv1a(FNV_START, runtime ? runtime : ""));
    return private_dir(spare, make) ? steal(&spare) : NULL;
}

void xdg_spare_each(void (*fn)(void *ctx, const char *spare), void *ctx)
{
    for (size_t i = 0; i < XDG_SPARES; i++) {
        autofree char *own = own_below(shared[i], false);
        autoclosedir DIR *d = own ? opendir(own) : NULL;

        for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
            autofree char *spare = xasprintf("%s/%s", own, e->d_name);

            if (!strncmp(e->d_name, SPARE, strlen(SPARE)) && private_dir(spare, false))
                fn(ctx, spare);
        }
    }
}

char *xdg_path(enum xdg which, const char *name)
{
    static const struct {
        const char *var, *below_home;
    } places[] = {
        [XDG_CONFIG] = {"XDG_CONFIG_HOME", ".config"},
        [XDG_CACHE] = {"XDG_CACHE_HOME", ".cache"},
        [XDG_STATE] = {"XDG_STATE_HOME", ".local/state"},
        [XDG_DATA] = {"XDG_DATA_HOME", ".local/share"},
    };
    autofree char *dir = NULL;
    if (which == XDG_RUNTIME) {
        dir = runtime_dir();
    } else {
        const char *base = getenv(places[which].var);
        const char *home = home_dir();
        if (is_ours(base)) /* the specification says to ignore relative paths */
            dir = xasprintf("%s/sandpiper", base);
        else if (home != NULL)
            dir = xasprintf("%s/%s/sandpiper", home, places[which].below_home);
    }
    if (!dir)
        return NULL;
    return name != NULL ? xasprintf("%s/%s", dir, name) : steal(&dir);
}
