/* file.h - helpers for descriptors, files and the folders of the XDG base directory specification. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct buf;
struct error;

/* The errno of a failed write as the end of a sentence about the place: "is full", "is read-only". */
const char *disk_trouble(int code);
const char *disk_remedy(int code); /* "Make room there" */
void fd_close(int *fd);            /* close if >= 0, set -1, errno kept */
static inline void fd_closep(int *fd)
{
    fd_close(fd);
}
#define autoclose __attribute__((cleanup(fd_closep)))
static inline void dir_closep(DIR **d)
{
    if (*d)
        closedir(*d);
}
#define autoclosedir \
    __attribute__((cleanup(dir_closep))) /* closes a DIR *, or NULL, at the end of the scope */
/* Read the entries of a folder that is open at fd, which now belongs to the DIR and is closed on failure too.
 * NULL with errno, also where fd is -1. */
DIR *dir_take(int fd);
/* Take over a descriptor: returns it and sets the variable to -1. */
static inline int fd_steal(int *fd)
{
    int taken = *fd;

    *fd = -1;
    return taken;
}
/* Is this errno of open about our own descriptor limit, so that it says nothing about the file? */
bool fd_none_left(int code);
int fd_write_all(int fd, const void *data, size_t len); /* blocking, restarts after EINTR; -1 with errno */
/* Append what is left of fd. -1 with errno: EFBIG if that is more than max bytes, or than out takes. */
int fd_read_all(int fd, size_t max, struct buf *out);
int fd_nonblock(int fd, bool on); /* 0, or -1 with errno */
/* An empty memory file that can be sealed; CLOEXEC. -1 with errno. */
int fd_sealable(const char *name);
/* Nobody can change it, nor what it holds, from now on. -1 with errno: somebody has it mapped for writing. */
int fd_seal(int fd);
bool fd_sealed(int fd);
/* Sends bytes over a Unix socket, and with the first of them a copy of the descriptor fd; -1: none. Does not
 * wait. As send(). */
ssize_t fd_send(int sock, const void *data, size_t len, int fd);
/* As recv(), but restarts after EINTR. *fd gets the descriptor that came with the bytes, which the caller
 * then owns; -1: none did. Of several only the first is taken, the kernel closes the others. */
ssize_t fd_receive(int sock, void *data, size_t len, int flags, int *fd);
/* Open /dev/null on each of descriptors 0 to 2 that is closed. Returns those as a bit mask. */
int fd_open_standard(void);

/* Read the whole file, at most max bytes; a longer one is ERROR_USAGE naming both sizes. */
int file_read(const char *path, size_t max, struct buf *out, struct error *err);
/* The same for a file that is open at its beginning; path names it in errors. */
int file_read_open(int fd, const char *path, size_t max, struct buf *out, struct error *err);
/* Write to a temporary name, mode 0600, sync, then rename over path. */
int file_write(const char *path, const void *data, size_t len, struct error *err);
/* The same without sync: after a crash of the machine the file may be empty. */
int file_write_soon(const char *path, const void *data, size_t len, struct error *err);
/* Remove the temporary files that killed writers of path left. */
void file_sweep(const char *path);
/* Remove a file of the folder if it can be opened and no process holds a lock (flock) on it. */
void file_remove_unlocked(int folder, const char *name);
/* Like mkdir -p: an existing directory is fine. */
int file_mkdirs(const char *path, int mode, struct error *err);
/* Remove a tree without following links. 0 also if it does not exist. */
int file_remove_tree(const char *path);

enum xdg { XDG_CONFIG, XDG_CACHE, XDG_STATE, XDG_DATA, XDG_RUNTIME };
/* The part of path behind $HOME, which messages show behind "~". NULL: path is not below it. */
const char *file_below_home(const char *path);
/* "$XDG_..._HOME/sandpiper/NAME", or the specification's default below $HOME. name may be NULL. The caller
 * frees. Nothing is created, with one exception: where XDG_RUNTIME_DIR is not usable, XDG_RUNTIME is
 * /tmp/sandpiper-UID, which is made with mode 0700 and checked to be ours. Root does not use another user's
 * folders (as sudo leaves them in the environment), nor a HOME that does not exist, but those of its own
 * home. NULL: there is no home or, for XDG_RUNTIME and with errno, no folder that is safe. */
char *xdg_path(enum xdg which, const char *name);
/* A place to use when XDG_RUNTIME cannot be written to: the i-th of XDG_SPARES folders, which are found again
 * by every program with the same XDG_RUNTIME and are as safe as that. make: create it if it does not exist.
 * NULL: this one cannot be had. The caller frees. */
#define XDG_SPARES 3
char *xdg_spare(unsigned i, bool make);
/* Call fn for each spare folder of this user. The XDG_RUNTIME that it was made for may be gone by now. */
void xdg_spare_each(void (*fn)(void *ctx, const char *spare), void *ctx);

#endif
