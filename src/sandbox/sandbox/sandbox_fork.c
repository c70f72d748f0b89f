/* sandbox_fork.c - a second named sandbox, which goes on from a live copy of the first: the same engine,
 * limits and folders.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "mount/mount.h"
#include "records/record.h"
#include "sandbox/private.h"

struct forking {
    const char *from, *to;
    struct sandbox *s, *copy;
    struct mounts mounts;
    struct mount packages;
    char *no_proxy; /* it can be given hosts, and so can its copy */
};

static void forking_release(struct forking *f)
{
    sandbox_free(f->copy);
    sandbox_free(f->s);
    mounts_release(&f->mounts);
    mount_release(&f->packages);
    free(f->no_proxy);
}

static int tell_ended_already(const char *name, struct error *err)
{
    return error_set(
        err, ERROR_USAGE, 0,
        "the sandbox \"%s\" has ended: its variables and files are gone, and no copy of it can be "
        "made\nsandpiper rm %s removes the name",
        name, name);
}

/* Attach to the one that is there; a new one is never started. */
static int attach_first(struct forking *f, const struct sandbox_options *o, struct loop *loop,
                        struct error *err)
{
    struct sandbox_options own = *o;
    struct record r autorelease(record_release) = {0};

    if (registry_check_name(f->from, err) < 0 || registry_check_name(f->to, err) < 0)
        return -1;
    if (!strcmp(f->from, f->to))
        return error_set(err, ERROR_USAGE, 0, "the copy needs another name than \"%s\"", f->from);
    if (!registry_exists(f->from))
        return error_set(err, ERROR_USAGE, 0, "no sandbox \"%s\" (sandpiper ps lists them)", f->from);
    own.run.name = f->from;
    f->s = sandbox_new(&own, loop);
    if (sandbox_claim(f->s, err) < 0)
        return -1;
    enum registry_state state = registry_look(&f->s->hold, &r);
    if (state == REGISTRY_NEW)
        return error_set(err, ERROR_USAGE, 0, "no sandbox \"%s\" (sandpiper ps lists them)", f->from);
    if (state == REGISTRY_ENDED)
        return tell_ended_already(f->from, err);
    f->s->o.run.idle_ms = r.idle * 1000; /* it keeps its own */
    f->no_proxy = steal(&r.no_proxy);
    if (sandbox_wait(f->s, err) < 0)
        return -1;
    if (sandbox_continued(f->s))
        return 0;
    sandbox_discard(f->s); /* it ended just now */
    return tell_ended_already(f->from, err);
}

static int check_free(const char *name, struct error *err)
{
    struct registry_hold hold autorelease(registry_release) = REGISTRY_HOLD_INIT;
    struct record r autorelease(record_release) = {0};

    if (registry_take(&hold, name, err) < 0)
        return -1;
    enum registry_state state = registry_look(&hold, &r);
    if (state == REGISTRY_UNSEEN)
        return named_tell_unseen(name, err);
    return state != REGISTRY_ALIVE ? 0
                                   : error_set(err, ERROR_USAGE, 0,
                                               "there is a sandbox \"%s\" already\n"
                                               "Take another name, or remove it first: sandpiper rm %s",
                                               name, name);
}

/* The folders that it sees, opened and checked anew. */
static int open_mounts(struct forking *f, struct error *err)
{
    const struct mounts *has = &f->s->known_mounts;
    const struct mount *packages = &f->s->known_packages;

    for (size_t i = 0; i < has->n; i++) {
        autofree char *text = xasprintf("%s:%s", has->v[i].path, has->v[i].write ? "rw" : "ro");

        if (mounts_add(&f->mounts, text, err) < 0)
            return -1;
    }
    if (!mounts_within(has, &f->mounts))
        return error_set(
            err, ERROR_SANDBOX, 0,
            "the sandbox \"%s\" sees a folder that has been replaced since, so no copy of it can "
            "be made",
            f->from);
    if (!packages->path)
        return 0;
    if (mount_packages(&f->packages, packages->path, err) < 0)
        return -1;
    return f->packages.dev == packages->dev && f->packages.ino == packages->ino
               ? 0
               : error_set(
                   err, ERROR_SANDBOX, 0,
                   "the packages of the sandbox \"%s\" have been removed since, so no copy of it can be "
                   "made",
                   f->from);
}

static int start_copy(struct forking *f, const struct sandbox_options *o, struct loop *loop,
                      struct error *err)
{
    const struct sandbox_options *has = sandbox_options(f->s);
    struct sandbox_options like = *o;

    like.run = has->run;
    like.run.name = f->to;
    like.run.engine = sandbox_engine(f->s);
    like.run.image = f->s->image ? f->s->image : has->run.image;
    like.run.runtime = sandbox_runtime(f->s);
    like.run.words = NULL;
    like.run.mounts = &f->mounts;
    like.run.packages = f->packages.path ? &f->packages : NULL;
    like.run.no_proxy = f->no_proxy;
    like.name_is_ours = true; /* it is new, of course */
    sandbox_fit(&like);
    f->copy = sandbox_new(&like, loop);
    f->copy->keep_later = true; /* killed meanwhile, we leave nothing */
    return sandbox_claim(f->copy, err) < 0 || sandbox_wait(f->copy, err) < 0 ? -1 : 0;
}

static int keep_copy(struct forking *f, struct error *err)
{
    named_keep(f->copy);
    return f->copy->kept ? 0
                         : error_set(err, ERROR_SANDBOX, 0,
                                     "the sandbox \"%s\" cannot be kept, so there is no copy", f->to);
}

int sandbox_fork(const struct sandbox_names *names, const struct sandbox_options *o, struct loop *loop,
                 struct error *err)
{
    struct forking f autorelease(forking_release) = {
        .from = names->from, .to = names->to, .packages = {.fd = -1}};
    autoclose int fd = fd_sealable("live copy");

    if (fd < 0)
        return error_errno(err, "no memory file can be made for a live copy");
    if (attach_first(&f, o, loop, err) < 0 || check_free(f.to, err) < 0 || open_mounts(&f, err) < 0
        || start_copy(&f, o, loop, err) < 0)
        return -1;
    return sandbox_copy_out(f.s, fd, err) < 0 || sandbox_copy_in(f.copy, fd, sandbox_cells(f.s), err) < 0
                   || keep_copy(&f, err) < 0
               ? -1
               : 0;
}
