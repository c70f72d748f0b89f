/* kept.c - sets of packages on disk. What is in a folder is compared with what was written down of it, by
 * name, size and time: reading every byte again would take longer than fetching a small one.
 */
#include "packages/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/place.h"
#include "base/sha256.h"
#include "json/json.h"
#include "packages/packages.h"
#include "process/loop.h"
#include "process/signals.h"

#define ABOUT_BYTES (4u << 20) /* of a set's .json */
#define STEP_MS     50         /* between looks whether another program has finished */
#define SHARE_TRIES 20         /* as long as that until a set counts as gone */
#define FILES_MOST  400000     /* of a set */

char *kept_path(const char *name)
{
    autofree char *below = name ? xasprintf("packages/%s", name) : xstrdup("packages");

    return xdg_path(XDG_CACHE, below);
}

static char *path_in(const char *folder, const char *id, const char *ending)
{
    autofree char *name = xasprintf("%s/%s%s", folder, id, ending);

    return kept_path(name);
}

char *kept_read(const char *folder, const char *id, int64_t *since)
{
    autofree char *path = path_in(folder, id, "");
    struct buf text = BUF_INIT(ABOUT_BYTES);
    struct stat st;

    if (!path || place_read(path, ABOUT_BYTES, &text, NULL) < 0 || stat(path, &st) < 0) {
        buf_release(&text);
        return NULL;
    }
    if (since)
        *since = (int64_t)st.st_mtim.tv_sec;
    return buf_steal(&text, NULL);
}

void kept_write(const char *folder, const char *id, const char *text)
{
    autofree char *path = path_in(folder, id, "");

    if (path)
        place_write_soon(path, text, strlen(text), NULL);
}

int kept_lock(struct loop *loop, void (*waits)(void *ctx), void *ctx, struct error *err)
{
    autofree char *path = kept_path("writer");
    bool told = false;

    if (!path)
        return error_set(err, ERROR_SANDBOX, 0, "packages need a home folder to be kept in\nSet HOME.");
    autoclose int fd = place_open(path, O_RDWR | O_CREAT | O_CLOEXEC, err);
    if (fd < 0)
        return -1;
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return error_errno(err, "%s", path);
        if (!told && waits)
            waits(ctx);
        told = true;
        loop_wait(loop, STEP_MS);
        if (loop_cancelled(loop))
            return error_set(err, ERROR_CANCELLED, 0, "interrupted while another program fetches packages");
    }
    return fd_steal(&fd);
}

/* ---- what is in a folder ---- */

static int by_entry_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static FTS *walk_set(const char *folder)
{
    char *const roots[] = {(char *)folder, NULL};

    return fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, by_entry_name);
}

struct summary {
    struct buf text; /* a line for each file */
    int64_t bytes, files;
    bool odd; /* there is something that is neither a file nor a folder */
};

/* False: it cannot be read, or is too much. */
static bool summarize(const char *folder, struct summary *s)
{
    FTS *f = walk_set(folder);
    bool good = f != NULL;

    for (FTSENT *e; good && (errno = 0, e = fts_read(f));) {
        if (e->fts_info == FTS_F) {
            good = ++s->files <= FILES_MOST;
            s->bytes += e->fts_statp->st_size;
            buf_addf(&s->text, "%s %" PRId64 " %" PRId64 ".%ld\n", e->fts_path + strlen(folder),
                     (int64_t)e->fts_statp->st_size, (int64_t)e->fts_statp->st_mtim.tv_sec,
                     e->fts_statp->st_mtim.tv_nsec);
        } else if (e->fts_info == FTS_DNR || e->fts_info == FTS_ERR || e->fts_info == FTS_NS) {
            good = false;
        } else if (e->fts_info != FTS_D && e->fts_info != FTS_DP) {
            s->odd = true;
        }
    }
    good = good && errno == 0;
    if (f)
        fts_close(f);
    return good;
}

int64_t kept_size(const char *path, const char *ending)
{
    FTS *f = walk_set(path);
    size_t n = ending ? strlen(ending) : 0;
    int64_t bytes = 0;

    for (FTSENT *e; f && (e = fts_read(f));)
        if (e->fts_info == FTS_F
            && (!n || (e->fts_namelen > n && !strcmp(e->fts_name + e->fts_namelen - n, ending))))
            bytes += e->fts_statp->st_size;
    if (f)
        fts_close(f);
    return bytes;
}

void kept_open_folders(const char *folder)
{
    FTS *f = walk_set(folder);

    for (FTSENT *e; f && (e = fts_read(f));)
        if (e->fts_info == FTS_D)
            chmod(e->fts_path, 0777);
    if (f)
        fts_close(f);
}

static bool digest_of_set(const char *folder, char out[SHA256_HEX], int64_t *bytes)
{
    struct summary s = {.text = BUF_INIT(0)};
    bool good = summarize(folder, &s) && !s.odd;

    sha256_hex(buf_str(&s.text), s.text.len, out);
    if (bytes)
        *bytes = s.bytes;
    buf_release(&s.text);
    return good;
}

/* Would Python run this by itself, in a folder that it takes for a site's? */
static bool runs_by_itself(const char *name)
{
    static const char *const modules[] = {"sitecustomize", "usercustomize"};
    size_t len = strlen(name);

    for (size_t i = 0; i < countof(modules); i++)
        if (!strncmp(name, modules[i], strlen(modules[i])) && strchr("./", name[strlen(modules[i])]))
            return true;
    return len > 4 && !strcmp(name + len - 4, ".pth");
}

int kept_clean(const char *folder, struct argv *told, struct error *err)
{
    FTS *f = walk_set(folder);
    int rc = f ? 0 : error_errno(err, "%s", folder);

    for (FTSENT *e; rc == 0 && (errno = 0, e = fts_read(f));) {
        bool top = e->fts_level == 1 && e->fts_info != FTS_DP;

        if (top && runs_by_itself(e->fts_name)) {
            argv_push(told, e->fts_name);
            fts_set(f, e, FTS_SKIP);
            rc = file_remove_tree(e->fts_path) < 0 ? error_errno(err, "%s", e->fts_path) : 0;
        } else if (top && !strcmp(e->fts_name, ".lock")) { /* uv's own */
            unlink(e->fts_path);
        } else if (e->fts_info == FTS_F || e->fts_info == FTS_D) {
            mode_t mode = e->fts_statp->st_mode & 0777;
            mode_t wanted = (mode | (e->fts_info == FTS_D ? 0755 : 0444 | (mode & 0100 ? 0111 : 0))) & ~0022U;

            if (e->fts_statp->st_uid != geteuid() && lchown(e->fts_path, geteuid(), getegid()) != 0)
                rc = error_errno(err, "%s", e->fts_path);
            if (rc == 0 && (mode != wanted || e->fts_statp->st_mode & 07000))
                chmod(e->fts_path, wanted);
        } else if (e->fts_info != FTS_DP) {
            rc = error_set(err, ERROR_SANDBOX, 0, "a package holds %s, which is no plain file", e->fts_name);
        }
    }
    if (f)
        fts_close(f);
    return rc;
}

/* ---- sets ---- */

static void take_told(struct packages_set *s, const struct json *about)
{
    for (const struct json *one = json_first(json_get(about, "told")); one; one = json_next(one))
        argv_push(&s->told, json_text(one));
}

/* Take part in it. Who lists or removes what is kept has it for a moment alone. */
static bool share_set(int fd)
{
    struct stat st;
    int rc = -1;

    for (int i = 0; rc != 0 && i < SHARE_TRIES; i++)
        if ((rc = flock(fd, LOCK_SH | LOCK_NB)) != 0)
            poll(NULL, 0, STEP_MS);
    return rc == 0 && fstat(fd, &st) == 0 && st.st_nlink > 0; /* not removed meanwhile */
}

bool kept_open(const char *id, struct packages_set *s)
{
    autofree char *folder = path_in("sets", id, ""), *about = path_in("sets", id, ".json");
    struct buf text autorelease(buf_release) = BUF_INIT(ABOUT_BYTES);
    char digest[SHA256_HEX];
    struct error err;

    autoclose int fd = about ? place_open(about, O_RDONLY | O_CLOEXEC, &err) : -1;
    if (fd < 0 || !share_set(fd) || file_read_open(fd, about, ABOUT_BYTES, &text, NULL) < 0)
        return false;
    autojson struct json *o = json_parse(buf_str(&text), text.len, 0, NULL, NULL);
    const char *was = json_str(json_get(o, "digest"));
    if (!was || !digest_of_set(folder, digest, NULL) || strcmp(was, digest) != 0)
        return false;
    futimens(fd, NULL); /* it was used */
    *s = (struct packages_set){.folder = steal(&folder),
                               .id = xstrdup(id),
                               .names = xstrdup(json_text(json_get(o, "names"))),
                               .lock = xstrdup(json_text(json_get(o, "lock"))),
                               .n = (unsigned)json_int(json_get(o, "packages"), 0),
                               .bytes = json_int(json_get(o, "bytes"), 0),
                               .hold = fd_steal(&fd)};
    take_told(s, o);
    return true;
}

int kept_add(const char *folder, const char *id, struct json *about, struct error *err)
{
    autofree char *to = path_in("sets", id, ""), *note = path_in("sets", id, ".json");
    autofree char *sets = kept_path("sets");
    char digest[SHA256_HEX];
    int64_t bytes = 0;

    if (!to || file_mkdirs(sets, 0700, err) < 0)
        return -1;
    unlink(note);
    file_remove_tree(to);
    if (chmod(folder, 0755) != 0 || rename(folder, to) != 0)
        return error_errno(err, "%s", to);
    if (!digest_of_set(to, digest, &bytes))
        return error_set(err, ERROR_SANDBOX, 0, "%s cannot be read back", to);
    json_set_str(about, "digest", digest);
    json_set_int(about, "bytes", bytes);
    json_set_int(about, "made", (int64_t)time(NULL));
    autofree char *text = json_print(about);
    return place_write(note, text, strlen(text), err);
}

void packages_set_release(struct packages_set *s)
{
    free(s->folder);
    free(s->id);
    free(s->names);
    free(s->lock);
    argv_release(&s->told);
    fd_close(&s->hold);
    *s = PACKAGES_SET_INIT;
}
