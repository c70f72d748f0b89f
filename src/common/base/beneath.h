/* beneath.h - opens what lies beneath a folder, and nothing else: openat2 with RESOLVE_BENEATH,
 * RESOLVE_NO_SYMLINKS and RESOLVE_NO_MAGICLINKS, so that "..", an absolute path, a link anywhere on the way,
 * and a folder that is replaced by a link meanwhile are refused by the kernel.
 */
#ifndef BASE_BENEATH_H
#define BASE_BENEATH_H

#include <stdbool.h>

struct error;

/* A folder by its path; links to it are followed. O_PATH: it stays the same folder, whatever takes its name
 * later. -1 with err (ERROR_USAGE). */
int beneath_folder(const char *path, struct error *err);
/* A regular file, for reading from its beginning, or a folder (*is_folder), by a path without a leading slash
 * beneath the descriptor. Never waits: a FIFO, a device and a socket are refused. -1 with err
 * (ERROR_SYSTEM, code: errno; ELOOP: a link, EXDEV: out of the folder); it names path. */
int beneath_open(int folder, const char *path, bool *is_folder, struct error *err);

#endif
