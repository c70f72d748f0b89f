/* mount.h - folders of this machine that a sandbox sees (--mount DIR[:rw]), each at MOUNTS_DIR/NAME.
 *
 * A folder is opened once and stays open: what is checked is that descriptor (mount_place.c: where it lies;
 * mount_look.c: what it holds), and what runs inside says, before any code, which folder it has there. An
 * engine that takes only paths may thus be led to another folder, but then no code ever runs with it.
 */
#ifndef MOUNT_MOUNT_H
#define MOUNT_MOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct argv;
struct error;

#define MOUNTS_DIR "/mnt/host"
#define MOUNTS_MAX 16
/* Where the packages of --with are: no folder of the user's, whose names do not begin with a dot. */
#define MOUNT_PACKAGES MOUNTS_DIR "/.with-packages"

struct mount_seen {     /* what mount_look() saw */
    unsigned closed;    /* entries that only their owner may read */
    char *closed_name;  /* one of them, from the folder; or NULL */
    unsigned looked_at; /* entries */
    bool cut;           /* there are more than are looked at */
};

struct mount {
    char *path;   /* of the folder, absolute and without links; no control characters */
    char *inside; /* MOUNTS_DIR "/NAME"; NAME has letters, digits, "._-" and what is not ASCII */
    bool write;
    int fd;            /* O_PATH; -1: it is in the record of another program's sandbox */
    uint64_t dev, ino; /* of the folder */
    struct mount_seen seen;
};

struct mounts {
    struct mount v[MOUNTS_MAX];
    size_t n;
};

/* Open and check the folder of "DIR", "DIR:ro" or "DIR:rw". One that is there already gets the new mode.
 * ERROR_USAGE: it cannot be opened, or must not be in a sandbox; cause and remedy. */
int mounts_add(struct mounts *m, const char *text, struct error *err);
void mounts_release(struct mounts *m);
/* Open a folder of packages (packages/packages.h), which is ours; mount_release() closes it. */
int mount_packages(struct mount *m, const char *folder, struct error *err);
void mount_release(struct mount *m);
bool mount_is_packages(const struct mount *m);

/* "/srv/data is /mnt/host/data in the sandbox (read-only)". Untrusted text; the caller frees. */
char *mount_line(const struct mount *m);

/* What of it was not looked at, as one line; or NULL. The caller frees. */
char *mount_unseen(const struct mount *m);

/* For the record of a sandbox: one as text without a line break (the caller frees), and back. A text that
 * makes no sense is left out. */
char *mount_text(const struct mount *m);
void mounts_take(struct mounts *m, const char *text);
/* Is every one of a in b, and writable only where it is there? */
bool mounts_within(const struct mounts *a, const struct mounts *b);

/* Is that mount among what was seen? -1 with err: something else is in its place. */
int mount_is_seen(const struct mount *m, const struct argv *seen, struct error *err);
/* Is what is mounted inside what was opened here? seen: a line for each, "DEV INO MODE ACCESS NAME", as
 * guest/mounted.py makes it. -1: ERROR_SANDBOX. */
int mounts_compare(const struct mounts *m, const struct argv *seen, struct error *err);
/* What of this folder code cannot use, which is so where it runs under another uid (other_user), as one
 * line; or NULL. access: "rwx", "-" for what it cannot do; of that line. The caller frees. */
char *mount_lacks(const struct mount *m, bool other_user, const struct argv *seen);

/* For mount.c. Both ERROR_USAGE. path as the user wrote it, for messages. */
int mount_place(const struct mount *m, struct error *err); /* where it lies: home, /etc, keys, mounts in it */
int mount_look(struct mount *m, struct error *err);        /* what it holds: keys, sockets, devices */

#endif
