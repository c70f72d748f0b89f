/* mount.c - opens and names each folder, writes it down for the guest, and compares it with what is seen
 * inside.
 *
 * RULE: A sandbox sees no folder but those that were checked, and no code runs before the inside has shown
 *     that.
 */
#include "mount/mount.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/argv.h"
#include "base/error.h"
#include "base/file.h"
#include "base/inputs.h"
#include "base/mem.h"
#include "base/place.h"
#include "base/scrub.h"

void mount_release(struct mount *m)
{
    free(m->path);
    free(m->inside);
    free(m->seen.closed_name);
    fd_close(&m->fd);
}

void mounts_release(struct mounts *m)
{
    for (size_t i = 0; m && i < m->n; i++)
        mount_release(&m->v[i]);
    if (m)
        m->n = 0;
}

/* ---- adding a folder ---- */

static bool has_controls(const char *s)
{
    while (*s && (unsigned char)*s >= 0x20 && *s != 0x7f)
        s++;
    return *s;
}

/* The path of what is open, as the kernel has it. */
static int find_path(struct mount *m, const char *shown, struct error *err)
{
    char link[40], path[4096];
    struct stat st;

    snprintf(link, sizeof link, "/proc/self/fd/%d", m->fd);
    ssize_t n = readlink(link, path, sizeof path);
    if (n <= 0 || n == (ssize_t)sizeof path)
        return error_set(err, ERROR_USAGE, 0, "--mount %s: its path cannot be found", shown);
    m->path = xmemdup0(path, (size_t)n);
    if (has_controls(m->path))
        return error_set(err, ERROR_USAGE, 0,
                         "--mount %s: its path has control characters\nRename the folder.", shown);
    if (lstat(m->path, &st) < 0 || st.st_dev != m->dev || st.st_ino != m->ino)
        return error_set(err, ERROR_USAGE, 0,
                         "--mount %s: the folder was moved or removed just now\nTry again.", shown);
    return 0;
}

/* The folder is /mnt/host/NAME, or NAME-2 (base/inputs.c). A name that needs no quotes for an engine, in a
 * prompt or in Python. */
static char *plain_name(const struct mounts *m, const char *path)
{
    autofree char *raw = name_plain(path), *name = scrub_line(raw, SCRUB_TERMINAL);
    const char *taken[MOUNTS_MAX];

    for (char *c = name; *c; c++)
        if ((unsigned char)*c < 0x80 && !isalnum((unsigned char)*c) && !strchr("._-", *c))
            *c = '_';
    for (size_t i = 0; i < m->n; i++)
        taken[i] = m->v[i].inside + strlen(MOUNTS_DIR "/");
    return name_not_taken(name, taken, m->n);
}

static int open_folder(struct mount *m, const char *shown, struct error *err)
{
    struct error why = {0};
    struct stat st;

    m->fd = place_folder(shown, false, &why);
    if (m->fd < 0)
        return error_set(err, ERROR_USAGE, why.code, "--mount %s%s", why.text, *why.remedy ? why.remedy : "");
    if (fstat(m->fd, &st) < 0)
        return error_errno(err, "--mount %s", shown);
    m->dev = st.st_dev;
    m->ino = st.st_ino;
    if (st.st_uid != geteuid() && st.st_uid != 0)
        return error_set(err, ERROR_USAGE, 0,
                         "--mount %s: the folder belongs to another user (uid %u)\n"
                         "Mount one of your own, or copy files in with --add.",
                         shown, (unsigned)st.st_uid);
    return 0;
}

static int check_mount(struct mount *m, const char *shown, struct error *err)
{
    if (open_folder(m, shown, err) < 0 || find_path(m, shown, err) < 0)
        return -1;
    return mount_place(m, err) < 0 || mount_look(m, err) < 0 ? error_wrap(err, "--mount %s", shown) : 0;
}

int mounts_add(struct mounts *m, const char *text, struct error *err)
{
    size_t len = strlen(text);
    bool rw = len > 3 && !strcmp(text + len - 3, ":rw"), ro = len > 3 && !strcmp(text + len - 3, ":ro");
    autofree char *shown = xmemdup0(text, rw || ro ? len - 3 : len);
    struct mount one = {.write = rw, .fd = -1};

    if (!*shown || has_controls(shown))
        return error_set(err, ERROR_USAGE, 0, "--mount: expected a folder, found %s",
                         *shown ? "a path with control characters" : "nothing");
    if (check_mount(&one, shown, err) < 0) {
        mount_release(&one);
        return -1;
    }
    for (size_t i = 0; i < m->n; i++)
        if (m->v[i].dev == one.dev && m->v[i].ino == one.ino) {
            m->v[i].write = one.write;
            mount_release(&one);
            return 0;
        }
    if (m->n == MOUNTS_MAX) {
        mount_release(&one);
        return error_set(err, ERROR_USAGE, 0, "--mount %s: at most %d folders can be mounted", shown,
                         MOUNTS_MAX);
    }
    autofree char *name = plain_name(m, shown);
    one.inside = xasprintf(MOUNTS_DIR "/%s", name);
    m->v[m->n++] = one;
    return 0;
}

int mount_packages(struct mount *m, const char *folder, struct error *err)
{
    *m = (struct mount){.fd = -1};
    if (open_folder(m, folder, err) < 0 || find_path(m, folder, err) < 0) {
        mount_release(m);
        return -1;
    }
    m->inside = xstrdup(MOUNT_PACKAGES);
    return 0;
}

bool mount_is_packages(const struct mount *m)
{
    return !strcmp(m->inside, MOUNT_PACKAGES);
}

char *mount_line(const struct mount *m)
{
    return xasprintf("%s is %s in the sandbox (%s)", m->path, m->inside,
                     m->write ? "code can change it" : "read-only");
}

char *mount_unseen(const struct mount *m)
{
    return m->seen.cut ? xasprintf("%s: only %u of its entries were searched for keys and sockets", m->path,
                                   m->seen.looked_at)
                       : NULL;
}

/* ---- in a record ---- */

char *mount_text(const struct mount *m)
{
    return xasprintf("%c %" PRIu64 " %" PRIu64 " %s %s", m->write ? 'w' : 'r', m->dev, m->ino, m->inside,
                     m->path);
}

void mounts_take(struct mounts *m, const char *text)
{
    struct mount one = {.fd = -1};
    int at = 0;
    char mode;

    if (m->n == MOUNTS_MAX
        || sscanf(text, "%c %" SCNu64 " %" SCNu64 " %n", &mode, &one.dev, &one.ino, &at) != 3
        || strncmp(text + at, MOUNTS_DIR "/", strlen(MOUNTS_DIR "/")) != 0)
        return;
    size_t len = strcspn(text + at, " ");
    if (text[at + (int)len] != ' ')
        return;
    one.write = mode == 'w';
    one.inside = xmemdup0(text + at, len);
    one.path = xstrdup(text + at + len + 1);
    m->v[m->n++] = one;
}

bool mounts_within(const struct mounts *a, const struct mounts *b)
{
    for (size_t i = 0; a && i < a->n; i++) {
        bool there = false;

        for (size_t k = 0; b && k < b->n && !there; k++)
            there = a->v[i].dev == b->v[k].dev && a->v[i].ino == b->v[k].ino
                    && a->v[i].write <= b->v[k].write;
        if (!there)
            return false;
    }
    return true;
}

/* ---- seen inside ---- */

struct inside_mount {
    uint64_t dev, ino;
    char mode;      /* 'r' or 'w' */
    char access[4]; /* "rwx" */
};

/* The line about that place, or false. */
static bool find_inside(const struct argv *seen, const char *inside, struct inside_mount *out)
{
    for (size_t i = 0; i < seen->n; i++) {
        int at = 0;

        if (sscanf(seen->v[i], "%" SCNu64 " %" SCNu64 " %c %3s %n", &out->dev, &out->ino, &out->mode,
                   out->access, &at)
                == 4
            && at > 0 && !strcmp(seen->v[i] + at, inside + strlen(MOUNTS_DIR "/")))
            return true;
    }
    return false;
}

/* Is that line about our own folder? */
static bool is_of_packages(const char *line)
{
    const char *name = &MOUNT_PACKAGES[sizeof MOUNTS_DIR];
    size_t len = strlen(line), n = strlen(name);

    return len > n && line[len - n - 1] == ' ' && !strcmp(line + len - n, name);
}

int mount_is_seen(const struct mount *one, const struct argv *seen, struct error *err)
{
    struct inside_mount is = {0};

    if (!find_inside(seen, one->inside, &is))
        return 0;
    if (is.dev != one->dev || is.ino != one->ino)
        return error_set(
            err, ERROR_SANDBOX, 0,
            "--mount %s: the folder in the sandbox was not the one that was checked, so the sandbox "
            "was ended before any code ran\n"
            "Was it replaced just now? Start again. An engine in a virtual machine cannot "
            "be used with --mount.",
            one->path);
    if (is.mode != (one->write ? 'w' : 'r'))
        return error_set(err, ERROR_SANDBOX, 0,
                         "--mount %s: it is %s in the sandbox, which was ended\n"
                         "Use another engine: --sandbox",
                         one->path, one->write ? "read-only" : "not read-only");
    return 1;
}

int mounts_compare(const struct mounts *m, const struct argv *seen, struct error *err)
{
    size_t n = m ? m->n : 0, others = 0;

    for (size_t i = 0; i < n; i++) {
        int there = mount_is_seen(&m->v[i], seen, err);

        if (there < 0)
            return -1;
        if (!there)
            return error_set(err, ERROR_SANDBOX, 0,
                             "--mount %s: the folder is not in the sandbox\n"
                             "Is the engine on another machine, or in a virtual one? Use --sandbox bwrap.",
                             m->v[i].path);
    }
    for (size_t i = 0; i < seen->n; i++)
        others += !is_of_packages(seen->v[i]);
    if (others != n)
        return error_set(err, ERROR_SANDBOX, 0,
                         "--mount: more was mounted in the sandbox than was asked for, so it was ended\n"
                         "Was a disk mounted below one of the folders just now? Start again.");
    return 0;
}

char *mount_lacks(const struct mount *m, bool other_user, const struct argv *seen)
{
    struct inside_mount is = {0};
    autofree char *place = scrub_line(m->path, SCRUB_TERMINAL);

    if (!find_inside(seen, m->inside, &is))
        return NULL;
    if (is.access[0] != 'r' || is.access[2] != 'x')
        return xasprintf("%s: code runs as another user here, and cannot read the folder; allow it (chmod "
                         "o+rx), or use --add%s",
                         place, geteuid() ? " or --sandbox bwrap" : "");
    if (m->write && is.access[1] != 'w')
        return xasprintf("%s: code runs as another user here, and cannot make or change files in the folder; "
                         "allow it (chmod -R o+rwX)%s",
                         place, geteuid() ? ", or use --sandbox bwrap" : "");
    if (!other_user || !m->seen.closed)
        return NULL;
    autofree char *name = scrub_line(m->seen.closed_name, SCRUB_TERMINAL);
    return xasprintf("%s: code runs as another user here, and cannot read %s%s; allow it (chmod -R o+rX)%s",
                     place, name, m->seen.closed > 1 ? " and others that are yours alone" : "",
                     geteuid() ? ", or use --sandbox bwrap" : "");
}
