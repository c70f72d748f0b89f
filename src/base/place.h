/* place.h - files that we keep below the user's home: history, lists, what was learnt, answers about folders.
 *
 * A path is walked component by component from the root. A link on the way is followed only if it belongs to
 * root or to us: one that somebody else has put there would lead us to a file of his choice. Nothing is made
 * behind a link that leads nowhere. Where HOME is another's, xdg_path has put root's own in its place
 * already.
 */
#ifndef BASE_PLACE_H
#define BASE_PLACE_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct error;

/* The directory at path, as an O_PATH descriptor; make: it and those above it, 0700, where they are missing.
 */
int place_folder(const char *path, bool make, struct error *err);
/* A regular file that belongs to us or to root. O_CREAT among flags makes it, 0600, and the folders above it.
 */
int place_open(const char *path, int flags, struct error *err);
/* All of one that nobody else can write. */
int place_read(const char *path, size_t max, struct buf *out, struct error *err);
/* As file_write and file_write_soon (sync: wait for the disk), 0600, the folders made; what killed writers
 * left is swept away. */
int place_write(const char *path, const void *data, size_t len, bool sync, struct error *err);

/* Write a file to XDG_CACHE, which is worth nothing but time. Where that fails everything goes on as without
 * it. */
bool cache_keep(const char *path, const void *data, size_t len);
int cache_trouble(void); /* the errno of the first that failed; 0: none */

#endif
