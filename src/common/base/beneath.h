/* beneath.h - opens files by names that may be anybody's. Either the file lies beneath a folder: openat2 with
 * RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS and RESOLVE_NO_MAGICLINKS, so that "..", an absolute path, a link
 * anywhere on the way, and a folder that is replaced by a link meanwhile are refused by the kernel. Or it is
 * still as it was when its name was noted.
 */
#ifndef BASE_BENEATH_H
#define BASE_BENEATH_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct stat;

/* A folder by its path; links to it are followed. O_PATH: it stays the same folder, whatever takes its name
 * later. -1 with err (ERROR_USAGE). */
int beneath_folder(const char *path, struct error *err);
/* A regular file, for reading from its beginning, or a folder (*is_folder), by a path without a leading slash
 * beneath the descriptor. Never waits: a FIFO, a device and a socket are refused. -1 with err
 * (ERROR_SYSTEM, code: errno; ELOOP: a link, EXDEV: out of the folder); it names path. */
int beneath_open(int folder, const char *path, bool *is_folder, struct error *err);

/* A file that something on disk names, such as a saved session. Whoever could write there may have named any
 * file, so a name alone opens nothing. */
struct noted_file {
    const char *path; /* NULL or "": nowhere */
    int64_t size;     /* bytes */
    int64_t modified; /* when it had changed last, as noted_time() has it; 0: that was not noted */
};

/* Microseconds since the epoch. */
int64_t noted_time(const struct stat *st);
/* Of a file of ours there; 0: it cannot be looked at, or is a link by now, which code may have put there. */
int64_t noted_time_of(const char *path);
/* Open it for reading: a regular file, or a folder, whose size is not compared. own: the folder that the file
 * may belong to, beneath which no link is followed; NULL: none. Nothing is waited for. -1 with err
 * (ERROR_SYSTEM); its code is ESTALE where there is a file, but not as it was noted. */
int noted_open(const char *own, const struct noted_file *n, struct error *err);

#endif
