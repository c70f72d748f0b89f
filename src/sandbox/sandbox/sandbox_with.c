/* sandbox_with.c - packages of --with in a sandbox: mounted where the engine can do that, else sent as files,
 * as are those that are added while it runs. Code imports them from there with its next cell.
 */
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/size.h"
#include "engine/engines.h"
#include "mount/mount.h"
#include "process/signals.h"
#include "sandbox/private.h"

#define WITH_SENT "/tmp/.with-packages" /* guest/requests.py */

/* The name of the folder, which is that of the set. */
static const char *id_of_set(const char *folder)
{
    const char *slash = strrchr(folder, '/');

    return slash ? slash + 1 : folder;
}

static void send_later(struct sandbox *s, const char *folder)
{
    for (size_t i = 0; i < s->with.n; i++)
        if (!strcmp(s->with.v[i], folder))
            return;
    argv_push(&s->with, folder);
}

int with_greeted(struct sandbox *s, const struct argv *mounted)
{
    const struct mount *asked = s->o.run.packages, *known = s->taken ? &s->known_packages : asked;
    int there = known && known->path ? mount_is_seen(known, mounted, &s->error) : 0;

    if (there < 0)
        return -1;
    s->with_mounted = there;
    if (!s->taken)
        s->with_sent = 0;
    if (asked && !(there && known->dev == asked->dev && known->ino == asked->ino))
        send_later(s, asked->path);
    return 0;
}

void with_tell(struct sandbox *s)
{
    struct buf words autorelease(buf_release) = BUF_INIT(0);

    for (size_t i = s->with_sent; i > 0; i--) /* the latest has the most weight */
        buf_addf(&words, WITH_SENT "/%s%c", id_of_set(s->with.v[i - 1]), 0);
    if (s->with_mounted)
        buf_add(&words, MOUNT_PACKAGES, sizeof MOUNT_PACKAGES);
    if (words.len)
        channel_send(s->channel, &(struct frame_out){.type = TO_GUEST_PATH, .body = {words.data, words.len}});
}

/* The image has changed since it was looked at. What this start saw is remembered: the next one is right. */
void with_compare_python(const struct sandbox *s)
{
    const char *meant = s->o.with_python;
    size_t n = meant ? strlen(meant) : 0;

    if (n && !s->taken && (strncmp(s->python, meant, n) != 0 || (s->python[n] && s->python[n] != '.')))
        engine_notice(&s->o.run, false,
                      "the sandbox has Python %s, and its packages were fetched for %s; the next start "
                      "fetches others",
                      s->python, meant);
}

static int send_file(struct sandbox *s, const char *folder, const char *path, struct error *err)
{
    autofree char *name = xasprintf("%s%s", id_of_set(folder), path + strlen(folder));
    autoclose int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

    return fd < 0 ? error_errno(err, "%s", path) : sandbox_put_package(s, name, fd, err);
}

static int64_t size_of(const char *folder)
{
    char *const roots[] = {(char *)folder, NULL};
    FTS *f = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    int64_t bytes = 0;

    for (FTSENT *e; f && (e = fts_read(f));)
        bytes += e->fts_info == FTS_F ? (e->fts_statp->st_size + 4095) / 4096 * 4096 : 0;
    if (f)
        fts_close(f);
    return bytes;
}

static int send_folder(struct sandbox *s, const char *folder, struct error *err)
{
    char *const roots[] = {(char *)folder, NULL};
    int64_t bytes = size_of(folder);

    if (bytes > s->o.run.tmp_size)
        return error_set(err, ERROR_SANDBOX, ENOSPC,
                         "the packages take %s, and a sandbox that runs has room for %s of them\n"
                         "Give them to a new one (--with), under docker, podman or bwrap, which mount them.",
                         size_text(bytes).text, size_text(s->o.run.tmp_size).text);
    FTS *f = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    int rc = f ? 0 : error_errno(err, "%s", folder);
    s->copying = (struct copy_progress){.total = bytes};
    for (FTSENT *e; rc == 0 && (e = fts_read(f));)
        if (e->fts_info == FTS_F)
            rc = send_file(s, folder, e->fts_path, err);
    s->copying = (struct copy_progress){0};
    if (f)
        fts_close(f);
    return rc;
}

int with_send(struct sandbox *s, struct error *err)
{
    bool sent = false;
    int rc = 0;

    if (s->with_busy || s->with_sent >= s->with.n)
        return 0;
    s->with_busy = true;
    while (rc == 0 && s->with_sent < s->with.n) {
        rc = send_folder(s, s->with.v[s->with_sent], err);
        s->with_sent += rc == 0;
        sent = rc == 0;
    }
    s->with_busy = false;
    if (sent && s->stage == STAGE_READY)
        with_tell(s);
    return rc;
}

static void note_packages(struct sandbox *s, const char *names, const char *lock)
{
    xreplace(&s->strings[6], xstrdup(names));
    xreplace(&s->strings[7], xstrdup(lock));
    s->o.with = s->strings[6];
    s->o.with_lock = s->strings[7];
    if (s->o.up)
        s->o.up(s->o.ctx, s);
}

int sandbox_add_packages(struct sandbox *s, const char *folder, const char *names, const char *lock,
                         struct error *err)
{
    size_t before = s->with.n;

    if (sandbox_wait(s, err) < 0)
        return -1;
    if (folder)
        send_later(s, folder);
    if (with_send(s, err) < 0) {
        if (s->with.n > before) { /* it is not tried again at the next start */
            free(s->with.v[--s->with.n]);
            s->with.v[s->with.n] = NULL;
        }
        s->with_sent = s->with_sent < s->with.n ? s->with_sent : s->with.n;
        return -1;
    }
    note_packages(s, names, lock);
    return 0;
}

/* ---- those for which there is no room: the sandbox starts again, and mounts them ---- */

/* The sandbox ends; a new one goes on from the live copy (-1: there was nothing to copy). */
static int start_again(struct sandbox *s, int copy, unsigned cells, struct error *err)
{
    s->touched = s->has_files = false; /* nothing is lost: it is in the copy */
    sandbox_break(s, "it starts again with other packages");
    if (sandbox_wait(s, err) < 0 || (copy >= 0 && sandbox_copy_in(s, copy, cells, err) < 0))
        return -1;
    with_tell(s); /* the interpreter has the path of the one that was copied */
    return 0;
}

static int tell_no_restart(struct error *err, const char *why)
{
    return error_set(
        err, ERROR_SANDBOX, ENOTSUP,
        "the packages are too large for a sandbox that runs, and it cannot be started again with "
        "its variables: %s",
        why);
}

int sandbox_mount_packages(struct sandbox *s, const struct mount *m, const char *names, const char *lock,
                           struct error *err)
{
    const struct mount *was = s->o.run.packages;
    const struct engine *engine = engines_find(sandbox_engine(s));
    bool used = s->touched || s->has_files;
    unsigned cells = s->cells;
    struct error why = {0}, again = {0};

    if (!engine || !engine->mounts)
        return tell_no_restart(err, "its engine mounts nothing\nLeave, and start with them: --with NAMES");
    if (s->hold.name)
        return tell_no_restart(
            err, "it has a name\nRemove it (sandpiper rm), and start it with them: --with NAMES");
    autoclose int copy = used ? fd_sealable("live copy") : -1;
    if (used && (copy < 0 || sandbox_copy_out(s, copy, &why) < 0)) {
        autofree char *line = xasprintf("%s\nLeave, and start with them: --with NAMES",
                                        copy < 0 ? strerror(errno) : why.text);
        return why.kind == ERROR_CANCELLED ? error_set(err, why.kind, 0, "%s", why.text)
                                           : tell_no_restart(err, line);
    }
    s->o.run.packages = m;
    if (start_again(s, copy, cells, err) == 0) {
        note_packages(s, names, lock);
        return 0;
    }
    s->o.run.packages = was;
    loop_arm(s->loop); /* an interrupt ends the attempt, not the way back */
    if (start_again(s, copy, cells, &again) < 0 && used) {
        s->lost_state = s->lost_files = s->put_back.due = true;
        snprintf(s->lost_why, sizeof s->lost_why, "%.150s", again.text);
    }
    return -1;
}

void sandbox_share_packages(struct sandbox *s, const struct sandbox *from)
{
    for (size_t i = 0; i < from->with.n; i++)
        send_later(s, from->with.v[i]);
}
