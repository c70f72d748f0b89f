/* lock.h - the exact packages that a list comes to, read from what uv (pylock.toml, PEP 751) or pip (its
 * report, JSON) has resolved. Pure. Hostile text: capped, and nothing is kept but names, versions, hashes,
 * sizes and dates that look like such.
 */
#ifndef PACKAGES_LOCK_H
#define PACKAGES_LOCK_H

#include <stddef.h>
#include <stdint.h>

#include "base/argv.h"

struct buf;
struct error;

#define LOCK_BYTES  (16u << 20) /* of the text */
#define LOCK_MOST   1000        /* packages */
#define LOCK_HASHES 512         /* of one package: lxml has 124 wheels */

struct locked {
    char *name, *version;
    char *marker;       /* where it is wanted, as "sys_platform == 'win32'"; NULL: everywhere */
    struct argv hashes; /* SHA-256, hexadecimal: any of them is right */
    int64_t size;       /* bytes to fetch; 0: not told */
    int64_t uploaded;   /* time(); 0: not told */
};

struct lock {
    struct locked *v;
    size_t n;
};

void lock_release(struct lock *l);
/* ERROR_PROTOCOL: it cannot be understood, or a package has no wheel. */
int lock_read_pylock(struct lock *l, const char *text, size_t len, struct error *err);
int lock_read_report(struct lock *l, const char *text, size_t len, struct error *err);
/* Leave out what is among these, "numpy==1.24.2" (sorted). */
void lock_leave_out(struct lock *l, const struct argv *installed);
/* A line for each, sorted: "emoji==2.16.0 --hash=sha256:... --hash=sha256:...", with " ; MARKER" behind the
 * version. */
void lock_write(const struct lock *l, struct buf *out);
/* Of the newest that is younger than so many seconds, or NULL. */
const struct locked *lock_youngest(const struct lock *l, int64_t now, int64_t seconds);

/* "Foo_Bar" and "foo.bar" are "foo-bar". The caller frees. */
char *package_name_plain(const char *name, size_t len);

#endif
