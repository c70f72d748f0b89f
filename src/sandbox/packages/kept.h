/* kept.h - the folders of packages on disk, below XDG_CACHE/packages:
 *
 *     writer            locked (flock) by the one program that writes
 *     lists/ID          the set that a list came to; ID: a digest of the list, the Python, the index
 *     sets/ID           the folder; ID: a digest of the lock, the Python and the platform
 *     sets/ID.json      what is in it; locked (shared) by who uses it
 *     pythons/ID        what is known of the Python of an engine
 *     new               being made, by the one that writes
 *     uv, uv-cache      uv itself, and what it keeps
 *
 * A set without its .json is not there. The folder gets its name, and then the .json, when it is whole.
 */
#ifndef PACKAGES_KEPT_H
#define PACKAGES_KEPT_H

#include <stdbool.h>
#include <stdint.h>

struct argv;
struct error;
struct json;
struct loop;
struct packages_set;

#define KEPT_DAYS 30 /* without use; then packages_sweep() removes a set */

/* "ROOT", or "ROOT/NAME". NULL: there is no home. The caller frees. */
char *kept_path(const char *name);
/* A small text of ours; *since (may be NULL): when it was written, time(). NULL: there is none. The caller
 * frees. */
char *kept_read(const char *folder, const char *id, int64_t *since);
void kept_write(const char *folder, const char *id, const char *text);

/* Bytes of all files below; of those alone whose names end so, unless that is NULL. */
int64_t kept_size(const char *path, const char *ending);
/* Let any user make files in the folders below, which are closed to others above; kept_clean() ends that. */
void kept_open_folders(const char *folder);

/* Wait until no other program writes. A descriptor to close, or -1: ERROR_CANCELLED, ERROR_SANDBOX. */
int kept_lock(struct loop *loop, void (*waits)(void *ctx), void *ctx, struct error *err);

/* Open a set for use: its files are looked at (names, sizes, times). False: it is not there, or not as it
 * was left. */
bool kept_open(const char *id, struct packages_set *s);
/* Take out of a new folder what Python would run by itself, and what is no file. told gets a line for each
 * that may be missed. -1: ERROR_SANDBOX. */
int kept_clean(const char *folder, struct argv *told, struct error *err);
/* Give a new folder its place. about: what is to be known of it. -1: ERROR_SANDBOX. */
int kept_add(const char *folder, const char *id, struct json *about, struct error *err);

#endif
