/* place.h - reads and writes our files below the user's home: history, cached lists, what was learnt of
 * endpoints, answers about folders.
 *
 * A path is walked component by component from the root. A symbolic link is followed only if it belongs to
 * root or to us: somebody else's could lead us to any file. Nothing is created behind a dangling link. A HOME
 * of another user has already been replaced by root's own (xdg_path).
 */
#ifndef BASE_PLACE_H
#define BASE_PLACE_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct error;

/* Open the directory at path as an O_PATH descriptor. make: create it and its parents, mode 0700. -1 with
 * err. */
int place_folder(const char *path, bool make, struct error *err);
/* Open a regular file that belongs to us or to root. With O_CREAT it is created, mode 0600, with its parent
 * folders. -1 with err. */
int place_open(const char *path, int flags, struct error *err);
/* Read all of such a file, at most max bytes; refused if others can write to it. */
int place_read(const char *path, size_t max, struct buf *out, struct error *err);
/* Write a file, mode 0600, creating its folders. Temporary files that killed writers left behind are
 * removed. */
int place_write(const char *path, const void *data, size_t len, struct error *err);
/* The same without waiting for the disk. */
int place_write_soon(const char *path, const void *data, size_t len, struct error *err);

/* Write a file below XDG_CACHE. If that fails the program continues without it. */
bool cache_keep(const char *path, const void *data, size_t len);
int cache_trouble(void); /* errno of the first cache_keep that failed; 0: none */

#endif
